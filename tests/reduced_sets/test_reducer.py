"""Laws that every reducer obeys, and paths of nested ones; best coefficients for given points."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from random_targets import random_target
from scipy import sparse

from preimage._engine.arrays import to_dense, to_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.kernels import CallableKernel, Gaussian, Laplacian, Linear, Polynomial, Precomputed, Sigmoid
from preimage.reduced_sets import (
    Construct,
    Distill,
    ReductionPath,
    Refine,
    Select,
    SelectL1,
    project,
    relative_error,
    squared_error,
)
from preimage.reduced_sets._reducer import check_n_points

SELECTORS = [Select(), Select("forward"), SelectL1(), SelectL1(adaptive=False)]


MOVERS = [Construct(), Refine(), Refine(Select()), Distill(), Distill(Select("forward"))]


every = pytest.mark.parametrize("reducer", SELECTORS + MOVERS, ids=repr)


selectors = pytest.mark.parametrize("reducer", SELECTORS, ids=repr)


movers = pytest.mark.parametrize("reducer", MOVERS, ids=repr)


def is_finite(reduction):
    arrays = [to_dense(reduction.expansion.points), reduction.expansion.coefficients]
    arrays += [] if reduction.shift is None else [reduction.shift]
    return all(np.isfinite(to_numpy(array)).all() for array in arrays)


def as_rows(points):
    return {tuple(row) for row in to_numpy(to_dense(points)).tolist()}


@every
@pytest.mark.parametrize("k", [1, 3])
def test_returns_few_points_and_a_fair_approximation(reducer, k, rng):
    target = random_target(rng, k=k)
    reduced = reducer.reduce(target, 10).expansion
    assert reduced.points.shape == (10, 3)
    assert reduced.coefficients.shape == (10, k)
    assert relative_error(target, reduced) < 0.3


@selectors
@pytest.mark.parametrize("k", [1, 2])
def test_selection_returns_a_subset(reducer, k, rng):
    target = random_target(rng, k=k)
    reduced = reducer.reduce(target, 7).expansion
    assert as_rows(reduced.points) < as_rows(target.points)
    assert_allclose(reduced.coefficients, project(target, reduced.points).coefficients)


@selectors
def test_error_falls_with_points_and_vanishes_for_all(reducer, rng):
    target = random_target(rng)
    errors = [relative_error(target, reducer.reduce(target, n).expansion) for n in (1, 4, 8, 16, 25, 40)]
    # Subsets of SelectL1 are not nested, and its error falls only on the whole.
    slack = 0.05 if isinstance(reducer, SelectL1) else 1e-10
    assert (np.diff(errors) <= slack).all()
    assert max(errors[-2:]) < 1e-12


@every
def test_as_many_points_as_there_are_make_no_error(reducer, rng):
    target = random_target(rng, m=12)
    for n in (12, 30):
        reduction = reducer.reduce(target, n)
        assert reduction.expansion.points.shape[0] <= 12
        assert relative_error(target, reduction.expansion) < 1e-8


@pytest.mark.parametrize("reducer", [*SELECTORS, Construct(), Refine()], ids=repr)
@pytest.mark.parametrize("k", [1, 2])
def test_rank_many_points_make_no_error(reducer, k, rng):
    """Cubes of two variables live in four dimensions."""
    target = random_target(rng, Polynomial(3, gamma=1.0, coef0=0.0), m=20, d=2, k=k)
    assert relative_error(target, reducer.reduce(target, 4).expansion) < 1e-10


@every
def test_duplicates_go_at_no_cost(reducer, rng):
    single = random_target(rng, m=8)
    points = np.concatenate([single.points, single.points[::-1]])
    share = rng.normal(size=single.coefficients.shape)
    coefficients = np.concatenate([share, (single.coefficients - share)[::-1]])
    doubled = Expansion(single.kernel, points, coefficients)
    reduced = reducer.reduce(doubled, 8).expansion
    assert reduced.points.shape[0] <= 8
    assert relative_error(single, reduced) < 1e-8


@every
def test_order_of_points_does_not_matter(reducer, rng):
    target = random_target(rng)
    order = rng.permutation(25)
    shuffled = Expansion(target.kernel, target.points[order], target.coefficients[order])
    first, second = (reducer.reduce(one, 6).expansion for one in (target, shuffled))
    Z = rng.normal(size=(10, 3))
    assert_allclose(second(Z), first(Z), rtol=1e-4, atol=1e-5 * np.abs(first(Z)).max())


@every
def test_single_precision_stays(reducer, rng):
    target = random_target(rng)
    small = Expansion(target.kernel, target.points.astype(np.float32), target.coefficients.astype(np.float32))
    for n in (8, 20):
        reduction = reducer.reduce(small, n)
        assert is_finite(reduction)
        assert reduction.expansion.coefficients.dtype == reduction.expansion.points.dtype == np.float32
        reference = relative_error(target, reducer.reduce(target, n).expansion)
        # Distill looks at function values, not at this error: rounding leads it to other points that are as good.
        slack = 2.5 if isinstance(reducer, Distill) else 1.5
        assert relative_error(small, reduction.expansion) < slack * reference + 1e-3


@every
def test_every_array_library(reducer, xp, rng):
    target = random_target(rng)
    foreign = Expansion(target.kernel, xp.asarray(target.points), xp.asarray(target.coefficients))
    reduction, reference = reducer.reduce(foreign, 6), reducer.reduce(target, 6)
    assert type(reduction.expansion.points) is type(foreign.points)
    assert type(reduction.expansion.coefficients) is type(foreign.coefficients)
    # Long descents amplify rounding errors: how good the answer is does not depend on the library, points may.
    assert_allclose(
        relative_error(foreign, reduction.expansion), relative_error(target, reference.expansion), rtol=0.05
    )
    if isinstance(reducer, (Select, SelectL1)):
        assert_allclose(to_numpy(reduction.expansion.points), reference.expansion.points)


@every
@pytest.mark.parametrize("layout", [sparse.csr_matrix, sparse.csr_array])
def test_sparse_points(reducer, layout, rng):
    points = np.maximum(rng.normal(size=(25, 4)), 0)
    dense = Expansion(Gaussian(0.5), points, rng.normal(size=(25, 2)))
    thin = Expansion(dense.kernel, layout(points), dense.coefficients)
    reduction = reducer.reduce(thin, 8)
    assert is_finite(reduction)
    assert reduction.expansion.points.shape == (8, 4)
    assert sparse.issparse(reduction.expansion.points) == isinstance(reducer, (Select, SelectL1))
    assert relative_error(thin, reduction.expansion) < 0.2


@every
def test_integer_points(reducer):
    rng = np.random.default_rng(1)
    target = Expansion(Gaussian(0.3), rng.integers(0, 4, size=(25, 3)), rng.normal(size=(25, 2)))
    floating = Expansion(target.kernel, target.points.astype(float), target.coefficients)
    reduced, reference = (reducer.reduce(one, 6).expansion for one in (target, floating))
    assert_allclose(relative_error(target, reduced), relative_error(floating, reference), rtol=0.05)


@selectors
@pytest.mark.parametrize("k", [1, 2])
def test_precomputed_kernel(reducer, k, rng):
    target = random_target(rng, k=k)
    order = np.lexsort(target.points.T[::-1])  # the order that merging gives the points
    points, coefficients = target.points[order], target.coefficients[order]
    numbers = np.arange(25)[:, None]
    known = Expansion(Precomputed(target.kernel(points)), numbers, coefficients)
    reduced, reference = reducer.reduce(known, 6).expansion, reducer.reduce(target, 6).expansion
    assert_allclose(points[reduced.points[:, 0]], reference.points)
    assert_allclose(reduced.coefficients, reference.coefficients, rtol=1e-7, atol=1e-9)


@movers
def test_kernels_without_gradient_are_refused(reducer, rng):
    target = random_target(rng, CallableKernel(lambda X, Y: X @ Y.T, positive_semidefinite=True))
    with pytest.raises(UnsupportedKernelError, match="needs the gradient"):
        reducer.reduce(target, 4)


@selectors
def test_selection_needs_no_gradient(reducer, rng):
    kernel = CallableKernel(lambda X, Y: np.exp(-np.abs(X[:, None] - Y[None]).sum(axis=2)), positive_semidefinite=True)
    target = random_target(rng, kernel)
    assert is_finite(reducer.reduce(target, 4))


@pytest.mark.parametrize("reducer", [*SELECTORS, Construct()], ids=repr)
def test_indefinite_kernels_are_refused(reducer, rng):
    target = random_target(rng, Sigmoid(1.0, -1.0))
    with pytest.raises(UnsupportedKernelError, match=r"negative eigenvalues.*Distill"):
        reducer.reduce(target, 4)


def test_distillation_takes_indefinite_kernels(rng):
    target = random_target(rng, Sigmoid(1.0, -1.0))
    X = rng.normal(size=(60, 3))
    errors = []
    for n in (2, 6, 12):
        reduction = Distill().reduce(target, n, X=X)
        assert is_finite(reduction)
        errors.append(np.mean((reduction.expansion(X) + reduction.shift - target(X)) ** 2) / np.var(target(X)))
    assert errors[0] < 1
    assert errors[2] < errors[1] < errors[0]


@every
@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.3),
        *(pytest.param(Gaussian(gamma), marks=pytest.mark.net) for gamma in (1e8, 1e-12)),
        Linear(),
        *(pytest.param(Polynomial(2, **one), marks=pytest.mark.net) for one in ({"coef0": 0.0}, {"gamma": 1.0})),
    ],
    ids=repr,
)
@pytest.mark.parametrize("case", ["random", "zero", "signs", "one point", "points at zero", "last is zero", "large"])
def test_degenerate_targets_give_finite_answers(reducer, kernel, case, rng):
    target = random_target(rng, kernel.resolve(np.ones((1, 3))))
    points, coefficients = target.points, target.coefficients
    points, coefficients = {
        "random": (points, coefficients),
        "zero": (points, 0 * coefficients),
        "signs": (points, np.sign(coefficients)),
        "one point": (points[:1], coefficients[:1]),
        "points at zero": (0 * points, coefficients),
        "last is zero": (points * (np.arange(25) < 24)[:, None], coefficients),
        "large": (points, 1e9 * coefficients),
    }[case]
    target = Expansion(target.kernel, points, coefficients)
    for k in (1, 2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            reduction = reducer.reduce(target[:k], 5)
        assert is_finite(reduction)
        assert 1 <= reduction.expansion.points.shape[0] <= min(5, target.points.shape[0])
        if not isinstance(reducer, Distill):
            assert relative_error(target[:k], reduction.expansion) <= 1 + 1e-9


NESTED = [Select(), Select("forward"), Construct()]


nested = pytest.mark.parametrize("reducer", NESTED, ids=repr)


@nested
@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.3), Polynomial(3)], ids=repr)
@pytest.mark.parametrize("k", [1, 3])
def test_errors_are_those_of_the_prefixes(reducer, kernel, k, rng):
    target = random_target(rng, kernel, k=k)
    path = reducer.path(target, 12)
    assert len(path) == 12
    assert path.errors.shape == (12,)
    for n in (1, 2, 7, 12):
        assert path[n].points.shape[0] == n
        assert_allclose(relative_error(target, path[n]), path.errors[n - 1], rtol=1e-6, atol=1e-9)
        assert_allclose(relative_error(target, project(target, path.points[:n])), path.errors[n - 1], atol=1e-9)
    assert (np.diff(path.errors) <= 1e-12).all()


@nested
def test_paths_have_no_more_points_than_the_target(reducer, rng):
    path = reducer.path(random_target(rng, m=6), 50)
    assert len(path) <= 6


@nested
def test_paths_go_from_one_point_to_all(reducer, rng):
    path = reducer.path(random_target(rng), 5)
    assert [expansion.points.shape[0] for expansion in path] == [1, 2, 3, 4, 5]
    for outside in (0, 6, -1):
        with pytest.raises(IndexError, match=f"expansions on 1 to 5; got {outside}"):
            path[outside]


@nested
def test_dependent_points_add_nothing(reducer, rng):
    target = random_target(rng, Polynomial(3, gamma=1.0, coef0=0.0), m=12, d=2)
    errors = reducer.path(target, 12).errors
    assert np.isfinite(errors).all()
    assert (errors[3:] < 1e-9).all()


@nested
def test_a_target_of_length_zero_has_a_path(reducer, rng):
    target = random_target(rng)
    path = reducer.path(target @ np.zeros((2, 1)), 4)
    assert (path.errors == 0).all()
    assert not path[1].coefficients.any()


@nested
def test_paths_in_every_array_library(reducer, xp, rng):
    target = random_target(rng)
    foreign = Expansion(target.kernel, xp.asarray(target.points), xp.asarray(target.coefficients))
    path, reference = reducer.path(foreign, 5), reducer.path(target, 5)
    assert isinstance(path.errors, np.ndarray)
    assert_allclose(path.errors, reference.errors, rtol=1e-2)
    assert_allclose(to_numpy(path[3].points), reference[3].points, rtol=1e-2, atol=1e-2)


@nested
@pytest.mark.parametrize("n_points", [0, -3, 1.5])
def test_paths_need_a_number_of_points(reducer, n_points, rng):
    with pytest.raises(ValueError, match=r"n_points must be an integer ≥ 1"):
        reducer.path(random_target(rng), n_points)


def test_order_of_points_is_kept(rng):
    target, Z = random_target(rng), rng.normal(size=(4, 3))
    assert_allclose(ReductionPath(target, Z)[2].points, Z[:2])


@pytest.mark.parametrize("n_points", [0, -1, 2.5, None, True])
def test_numbers_of_points_without_meaning_are_refused(n_points):
    with pytest.raises(ValueError, match=r"n_points must be an integer ≥ 1"):
        check_n_points(n_points)


@given(st.integers(0, 2**31), st.integers(1, 8), st.floats(1e-6, 1e3), st.sampled_from([0.01, 0.3, 5.0]))
def test_no_other_coefficients_are_better(seed, n, size, gamma):
    rng = np.random.default_rng(seed)
    target = random_target(rng, Gaussian(gamma))
    best = project(target, rng.normal(size=(n, 3)))
    moved = best.coefficients + size * rng.normal(size=best.coefficients.shape)
    other = Expansion(target.kernel, best.points, moved)
    assert squared_error(target, best) <= squared_error(target, other) + 1e-10 * target.squared_norms().sum()


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Laplacian(0.3), Polynomial(3), Linear()], ids=repr)
def test_residual_is_orthogonal_to_the_span(kernel, rng):
    target, Z = random_target(rng, kernel), rng.normal(size=(6, 3))
    reduced = project(target, Z)
    assert_allclose(reduced(Z), target(Z), atol=1e-9 * np.abs(target(Z)).max())


def test_error_is_what_the_projection_leaves(rng):
    """(R1) at the optimum equals (R3)."""
    target, Z = random_target(rng), rng.normal(size=(6, 3))
    reduced = project(target, Z)
    shorter = target.squared_norms().sum() - np.sum(target(Z) * reduced.coefficients)
    assert_allclose(squared_error(target, reduced), shorter)
    assert_allclose(squared_error(target, reduced), (target - reduced).squared_norms().sum())


def test_own_points_give_own_coefficients(rng):
    target = random_target(rng, Gaussian(2.0))
    reduced = project(target, target.points)
    assert_allclose(reduced.coefficients, target.coefficients, rtol=1e-9, atol=1e-9)
    assert relative_error(target, reduced) < 1e-14


def test_one_more_point_takes_the_share_promised(rng):
    """(R4)."""
    target, Z = random_target(rng), rng.normal(size=(6, 3))
    old, new = project(target, Z[:5]), project(target, Z)
    kappa = target.kernel(Z[:5], Z[5:])
    rest = 1 - kappa.T @ np.linalg.solve(target.kernel(Z[:5]), kappa)
    residual = (target - old)(Z[5:])
    promised = np.sum(residual**2) / rest[0, 0]
    assert_allclose(squared_error(target, old) - squared_error(target, new), promised, rtol=1e-8)


def test_one_point_less_costs_what_it_says(rng):
    """(R5)."""
    target, Z = random_target(rng), rng.normal(size=(6, 3))
    full = project(target, Z)
    precision = np.linalg.inv(target.kernel(Z))
    for n in range(6):
        less = project(target, np.delete(Z, n, axis=0))
        cost = np.sum(full.coefficients[n] ** 2) / precision[n, n]
        assert_allclose(squared_error(target, less) - squared_error(target, full), cost, rtol=1e-6)


def test_dependent_images_share_their_coefficient(rng):
    target = random_target(rng, k=1)
    z = rng.normal(size=(1, 3))
    once, thrice = project(target, z), project(target, np.repeat(z, 3, axis=0))
    assert_allclose(thrice.coefficients, once.coefficients / 3 * np.ones((3, 1)))


def test_a_target_of_length_zero_has_no_error(rng):
    target = random_target(rng)
    nothing = target @ np.zeros((2, 1))
    assert relative_error(nothing, project(nothing, target.points[:3])) == 0


@pytest.mark.parametrize("reducer", [Select(), SelectL1()])
def test_matrices_beyond_the_memory_are_refused(reducer, monkeypatch):
    monkeypatch.setattr("preimage.reduced_sets._reducer.memory_budget", lambda *_: 10**6)
    target = Expansion(Gaussian(0.5), np.random.default_rng(0).normal(size=(300, 2)), np.ones((300, 1)))
    with pytest.raises(MemoryError, match=r"300 points needs .* Select\('forward'\)"):
        reducer.reduce(target, 3)
    assert Select("forward").reduce(target, 3).expansion.points.shape[0] == 3


@pytest.mark.parametrize("reducer", [Construct(), Refine(), Distill(), Select("forward")])
def test_many_points_need_no_gram_matrix(reducer):
    """3,000 points, whose Gram matrix takes 72 MB."""
    rng = np.random.default_rng(0)
    target = Expansion(Gaussian(0.5), rng.normal(size=(3000, 2)), rng.normal(size=(3000, 1)))
    reducer.reduce(target, 2)  # what is allocated once
    tracemalloc.start()
    reducer.reduce(target, 4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6
