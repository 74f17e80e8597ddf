"""Pre-images among the members of a family."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits

import preimage
from preimage import KernelPCA
from preimage.feature_space import Expansion
from preimage.invariances import TranslateX, TranslateY
from preimage.kernels import CallableKernel, Gaussian, Laplacian, Linear, Polynomial
from preimage.solvers import (
    FunctionFamily,
    Gradient,
    Mixtures,
    Parametrized,
    ParametrizedResult,
    Reason,
    Transformed,
    free_length_preimages,
    objective_at,
)
from preimage.testing import check_preimage_solver

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))


def target_of(kernel, k=4, seed=1):
    rng = np.random.default_rng(seed)
    W = rng.random((len(X), k)) * (rng.random((len(X), k)) < 0.2)
    return Expansion(kernel, X, W / W.sum(axis=0))


def helix(T):
    return np.column_stack([np.cos(T[:, 0]), np.sin(T[:, 0]), T[:, 0] / 3])


def helix_jacobian(T):
    return np.stack([-np.sin(T), np.cos(T), np.full_like(T, 1 / 3)], axis=1)


HELIX = FunctionFamily(helix, 1, lower=-6.0, upper=6.0)


@pytest.mark.parametrize(
    "family",
    [
        Mixtures(X[:6]),
        Mixtures(X[:6], "affine"),
        Transformed(X[:6], lambda X, t: X + t[:, None], reach=1.0),
        FunctionFamily(helix, 1, helix_jacobian, lower=-6.0, upper=6.0),
        FunctionFamily(lambda T: T, 3),
    ],
    ids=lambda family: type(family).__name__,
)
def test_solver_keeps_the_contract(family):
    check_preimage_solver(Parametrized(family), tol=1e-4)


def test_all_inputs_as_a_family_give_the_pre_images_of_descent():
    target = target_of(Gaussian(0.2))
    start = X[:4]
    expected = Gradient().solve(target, start)
    result = Parametrized(FunctionFamily(lambda T: T, 3), tol=1e-8).solve(target, start)
    assert (result.objective <= expected.objective + 1e-9).all()
    same = np.abs(result.objective - expected.objective) < 1e-9
    assert same.any()
    assert_allclose(result.points[same], expected.points[same], atol=1e-4)


def test_linear_mixtures_of_a_linear_kernel_are_projections(rng):
    templates, points = rng.normal(size=(2, 5)), rng.normal(size=(4, 5))
    result = Parametrized(Mixtures(templates, "linear"), tol=1e-9).solve(Expansion(Linear(), points, np.eye(4)))
    weights = np.linalg.lstsq(templates.T, points.T, rcond=None)[0]
    assert_allclose(result.parameters, weights.T, atol=1e-5)
    assert_allclose(result.points, weights.T @ templates, atol=1e-5)


def test_convex_mixtures_stay_in_the_hull_and_are_the_best_there():
    target, corners = target_of(Gaussian(0.2)), X[:4]
    result = Parametrized(Mixtures(corners), n_starts=5, tol=1e-8).solve(target)
    assert (result.parameters >= 0).all()
    assert_allclose(result.parameters.sum(axis=1), 1)
    assert_allclose(result.parameters @ corners, result.points)
    # No mixture of a fine grid is better.
    grid = np.random.default_rng(2).dirichlet(np.ones(4), size=4000) @ corners
    best = target.squared_distances(np.concatenate([grid, corners])).min(axis=0)
    assert (result.objective <= best + 1e-6).all()


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Polynomial(3, coef0=1.0), Laplacian(0.3)], ids=repr)
def test_as_good_as_a_search_for_one_parameter(kernel):
    target = target_of(kernel)
    result = Parametrized(HELIX, n_starts=5, tol=1e-9).solve(target)
    for j in range(len(target)):
        values = target[j].squared_distances(helix(np.linspace(-6, 6, 4001)[:, None]))[:, 0]
        assert result.objective[j] <= values.min() + 1e-6
    assert_allclose(result.objective, objective_at(target, result.points))
    assert_allclose(helix(result.parameters), result.points)


def test_never_worse_than_any_start():
    target = target_of(Gaussian(2.0))
    for n_starts in (1, 3):
        result = Parametrized(HELIX, n_starts, max_iter=1).solve(target)
        assert (result.objective <= target.squared_distances(helix(HELIX.starts())).min(axis=0) + 1e-12).all()


def test_more_starts_are_never_worse():
    target = target_of(Gaussian(2.0))
    few, many = (Parametrized(HELIX, n).solve(target).objective for n in (1, 5))
    assert (many <= few + 1e-12).all()


def test_derivatives_of_users_differences_and_kernels_without_a_gradient_agree():
    without = CallableKernel(
        lambda A, B: np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2)),
        takes="matrices",
        positive_semidefinite=True,
    )
    with_jacobian = FunctionFamily(helix, 1, helix_jacobian, lower=-6.0, upper=6.0)
    results = [
        Parametrized(family, tol=1e-8).solve(target_of(kernel))
        for family, kernel in ((HELIX, Gaussian(0.5)), (with_jacobian, Gaussian(0.5)), (HELIX, without))
    ]
    assert not without.has_gradient
    for other in results[1:]:
        assert_allclose(other.parameters, results[0].parameters, atol=1e-3)


def test_translations_of_digits_are_found():
    digits = load_digits().data[:8] / 16
    family = Transformed(digits, [TranslateX((8, 8)), TranslateY((8, 8))], reach=2.0)
    parameters = np.array([[3, 0.7, -1.1], [5, -1.3, 0.4], [0, 0.0, 0.0]])
    target = Expansion(Gaussian(0.03), family(parameters), np.eye(3))
    result = Parametrized(family).solve(target)
    assert_allclose(result.parameters, parameters, atol=1e-3)
    assert (result.objective < 1e-6).all() and result.converged.all()


LINE = FunctionFamily(lambda T: np.column_stack([T[:, 0], T[:, 0] ** 2]), 1)


def test_members_nearest_to_the_nearest_row_and_to_a_given_start_are_tried():
    # From zero, where searches without bounds begin, nothing is to be seen of a bump that far away.
    one = Expansion(Gaussian(2.0), np.array([[7.0, 49.0]]), np.array([[1.0]]))
    assert_allclose(Parametrized(LINE).solve(one).parameters, 7.0, atol=1e-4)
    # The nearest of these rows is far from all members; a start leads to the other one.
    two = Expansion(Gaussian(2.0), np.array([[7.0, 49.0], [-30.0, 20.0]]), np.array([[0.4], [0.6]]))
    assert not Parametrized(LINE).solve(two).converged.any()
    found = Parametrized(LINE).solve(two, np.array([[6.0, 49.3]]))
    assert_allclose(found.parameters, 7.0, atol=1e-4)
    assert found.converged.all()


def test_searches_where_kernel_values_vanish_have_not_converged():
    target = Expansion(Gaussian(2.0), np.array([[-30.0, 20.0]]), np.array([[1.0]]))
    without = CallableKernel(Gaussian(2.0).__call__, takes="matrices", positive_semidefinite=True)
    for kernel in (target.kernel, without):
        result = Parametrized(LINE).solve(Expansion(kernel, target.points, target.coefficients))
        assert set(result.reason) == {Reason.VANISHING} and not result.converged.any()


def test_a_search_that_was_cut_short_is_not_convergence():
    result = Parametrized(WAVES, max_iter=1).solve(target_of_members(WAVES))
    assert not result.converged.any() and set(result.reason) == {Reason.ITERATION_LIMIT}


@pytest.mark.parametrize("p", [1, 2, 3, 4, 5, 6, 9])
def test_a_box_is_filled_with_256_starts(p):
    low, high = -np.arange(1.0, p + 1), np.arange(1.0, p + 1)
    T = FunctionFamily(lambda T: T, p, lower=low, upper=high).starts()
    assert T.shape == (256, p) and len(np.unique(T.round(9), axis=0)) == 256
    assert (low <= T).all() and (high >= T).all()
    assert (T == 0).all(axis=1).any()
    # No orthant is left out where they are fewer than a tenth of the starts.
    if 2**p < 25:
        assert len(np.unique(np.sign(T[(T != 0).all(axis=1)]), axis=0)) == 2**p


@pytest.mark.parametrize("m", [1, 2, 3, 7, 300])
def test_starts_of_mixtures_fill_the_hull(m):
    T = Mixtures(np.eye(m)).starts()
    assert T.shape == (max(256, m + 1), m)
    assert (T >= 0).all()
    assert_allclose(T.sum(axis=1), 1)


def waves(T):
    return np.sin(2 * np.pi * (T[:, :1] * np.linspace(0, 1, 40) + T[:, 1:2]))


def torus(T):
    width = 2 + np.cos(T[:, 1])
    return np.column_stack([np.cos(T[:, 0]) * width, np.sin(T[:, 0]) * width, np.sin(T[:, 1])])


WAVES = FunctionFamily(waves, 2, lower=[1.0, 0.0], upper=[9.0, 1.0])
TORUS = FunctionFamily(torus, 2, lower=0.0, upper=2 * np.pi)


def target_of_members(family, seed=0, k=15):
    """Sparse combinations of the images of noisy members: several minima each."""
    rng = np.random.default_rng(seed)
    low, high = family.bounds()
    points = family(low + rng.random((40, len(low))) * (high - low))
    points = points + 0.1 * points.std() * rng.normal(size=points.shape)
    W = (rng.random((40, k)) < 0.1) * rng.random((40, k)) + 1e-3
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    return Expansion(Gaussian(1 / np.percentile(squared[squared > 0], 5)), points, W / W.sum(axis=0))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", [WAVES, TORUS], ids=["waves", "torus"])
def test_two_parameters_are_never_worse_than_a_grid(family, seed):
    target = target_of_members(family, seed)
    ticks = [np.linspace(a, b, 81) for a, b in zip(*family.bounds(), strict=True)]
    grid = np.stack(np.meshgrid(*ticks), axis=-1).reshape(-1, 2)
    result = Parametrized(family).solve(target)
    assert (result.objective <= target.squared_distances(family(grid)).min(axis=0) + 1e-9).all()


def test_parameters_of_denoised_rows():
    bump = lambda T: np.exp(-((np.arange(30.0) - T) ** 2) / 10)
    family = FunctionFamily(bump, 1, lower=5.0, upper=25.0)
    model = KernelPCA(12, gamma=0.2, preimage=Parametrized(family)).fit(bump(np.linspace(5, 25, 40)[:, None]))
    places = np.array([[7.2], [12.3], [20.9]])
    noisy = bump(places) + 0.02 * np.random.default_rng(0).normal(size=(3, 30))
    result = model.find_preimages(model.transform(noisy), noisy)
    assert isinstance(result, ParametrizedResult)
    assert_allclose(result.parameters, places, atol=0.2)
    assert_allclose(model.denoise(noisy), bump(result.parameters), atol=1e-9)
    assert_allclose(model.denoise(noisy), bump(places), atol=0.06)


def test_axes_have_members_of_free_length():
    model = KernelPCA(2, gamma=0.3).fit(X)
    axes = model.subspace_.frame
    Z, factors, distances = free_length_preimages(axes, Parametrized(Mixtures(X)))
    anywhere = free_length_preimages(axes)[2]
    assert Z.shape == (2, 3) and np.isfinite(factors).all()
    assert (distances >= anywhere - 1e-6).all()
    best = [float(axes[j].squared_norms()[0]) for j in range(2)]  # with β = 0
    assert (distances < best).all()


def test_parameters_without_members_end_no_search():
    family = FunctionFamily(lambda T: np.column_stack([np.log(T[:, 0] + 1e-3), T[:, 0], T[:, 0]]), 1, lower=-5.0)
    result = Parametrized(family).solve(target_of(Gaussian(0.2)))
    assert np.isfinite(result.points).all() and (result.parameters > -1e-3).all()


def test_array_libraries_agree(xp):
    target = target_of(Gaussian(0.5))
    there = Expansion(target.kernel, xp.asarray(target.points), xp.asarray(target.coefficients))
    here, found = (Parametrized(HELIX).solve(each) for each in (target, there))
    assert_allclose(np.asarray(found.points), here.points, atol=1e-6)
    assert_allclose(found.parameters, here.parameters, atol=1e-6)


def test_mixtures_travel_in_files_and_functions_do_not(tmp_path):
    pytest.importorskip("safetensors", reason="files are safetensors")
    model = KernelPCA(2, gamma=0.3, preimage=Parametrized(Mixtures(X[:5]))).fit(X)
    model.save(tmp_path / "mixtures")
    again = preimage.load(tmp_path / "mixtures")
    assert np.array_equal(again.denoise(X[:3]), model.denoise(X[:3]))
    with pytest.raises(TypeError, match="FunctionFamily"):
        KernelPCA(2, preimage=Parametrized(HELIX)).fit(X).save(tmp_path / "function")


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (Parametrized(Mixtures(X[:, :2])), r"shape \(\d+, 3\)"),
        (Parametrized(HELIX, n_starts=0), "n_starts"),
        (Parametrized(HELIX, tol=-1.0), "tol"),
        (Parametrized("circle"), "family"),
        (Parametrized(FunctionFamily(lambda T: T * np.inf, 3)), "NaN or infinity"),
        (Parametrized(Mixtures([["a", "b", "c"]])), "rows of numbers"),
        (Parametrized(FunctionFamily(HELIX.function, 1, lambda T: np.ones((len(T), 2, 1)))), "each of 3 columns"),
        (Parametrized(FunctionFamily(HELIX.function, 1, lambda T: np.full((len(T), 3, 1), np.nan))), "with NaN"),
    ],
    ids=["columns", "n_starts", "tol", "family", "infinite", "letters", "jacobian", "nan"],
)
def test_bad_questions_are_refused(solver, message):
    with pytest.raises(ValueError, match=message):
        solver.solve(target_of(Gaussian(0.2)))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("family", [Mixtures, lambda rows: Transformed(rows, [TranslateX((1, 3))])])
def test_a_fit_refuses_templates_that_are_not_finite(family, value):
    templates = X[:2].copy()
    templates[0, 1] = value
    with pytest.raises(ValueError, match="`templates`"):
        KernelPCA(2, gamma=0.1, preimage=Parametrized(family(templates))).fit(X)
