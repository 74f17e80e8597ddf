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


def test_the_member_nearest_to_a_given_start_is_one_of_the_starts():
    # From zero, where searches without bounds begin, nothing is to be seen of a bump that far away.
    line = FunctionFamily(lambda T: np.column_stack([T[:, 0], T[:, 0] ** 2]), 1)
    target = Expansion(Gaussian(2.0), np.array([[7.0, 49.0]]), np.array([[1.0]]))
    assert Parametrized(line).solve(target).objective[0] > 0.9
    found = Parametrized(line).solve(target, np.array([[6.0, 49.3]]))
    assert_allclose(found.parameters, 7.0, atol=1e-4)


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
