"""What all selectors of landmarks do beyond their contract: samples, precisions, array libraries, streams."""

import numpy as np
import pytest
from for_each import for_each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from preimage import landmarks
from preimage._engine.arrays import to_numpy
from preimage._engine.rows import forced_block_shape
from preimage.exceptions import IndefiniteKernelWarning, UnsupportedKernelError
from preimage.kernels import Gaussian, Linear, Multiquadric, Polynomial, Precomputed, Sigmoid
from preimage.landmarks import (
    AutoLandmarks,
    FeatureAnalysis,
    KMeans,
    Landmarks,
    PivotedCholesky,
    RandomlyPivotedCholesky,
    SparseGreedy,
    Uniform,
    as_landmarks,
)
from preimage.landmarks._landmarks import sampling_deviation

SELECTORS = [
    AutoLandmarks(),
    Uniform(),
    KMeans(),
    PivotedCholesky(),
    PivotedCholesky(block_size=3),
    RandomlyPivotedCholesky(),
    RandomlyPivotedCholesky(block_size=1),
    FeatureAnalysis(),
    SparseGreedy(),
    SparseGreedy(n_candidates=5, block_size=2),
    SparseGreedy(n_candidates=5, block_size=1),
    SparseGreedy(rule="residual", n_candidates=5),
    SparseGreedy(rule="column", rearrange=True),
    SparseGreedy(space="column", n_candidates=5, block_size=3),
    SparseGreedy(space="column", rule="residual", block_size=1),
]
OF_ROWS = [selector for selector in SELECTORS if not isinstance(selector, (AutoLandmarks, KMeans))]
every_selector = pytest.mark.parametrize("selector", SELECTORS, ids=repr)
every_selector_of_rows = pytest.mark.parametrize("selector", OF_ROWS, ids=repr)


def asked(selector, **parameters):
    return clone(selector).set_params(**parameters)


def data(n=60, d=3):
    return np.random.default_rng(0).normal(size=(n, d))


@every_selector_of_rows
def test_all_points_leave_nothing(selector):
    X = data(25)
    landmarks = asked(selector, n_landmarks=1000).select(Gaussian(3.0), X)
    assert sorted(landmarks.indices) == list(range(25))
    assert landmarks.residual_trace <= 1e-12 * landmarks.trace


@every_selector
def test_landmarks_that_span_everything_leave_rounding_alone(selector):
    for kernel in (Polynomial(2), Linear()):
        landmarks = asked(selector, n_landmarks=40).select(kernel, data(80, 2))
        assert landmarks.residual_trace <= 1e-12 * landmarks.trace


@every_selector
@for_each(("gamma", "scale"), [(1.0, 1.0), (5.0, 3.0), (1e4, 1.0), (1.0, 1e3)])
def test_duplicates_are_chosen_once(selector, gamma, scale):
    """Also where the kernel is so narrow that rounding of distances is far larger than that of its values."""
    X = np.repeat(scale * data(20), 10, axis=0)
    landmarks = asked(selector, n_landmarks=60).select(Gaussian(gamma), X)
    assert len(landmarks) == 20
    assert landmarks.residual_trace <= 1e-8 * landmarks.trace


@every_selector
def test_constant_data_and_one_sample(selector):
    for X in (np.ones((12, 3)), np.ones((1, 3))):
        landmarks = selector.select(Gaussian(1.0), X)
        assert len(landmarks) == 1
        assert abs(landmarks.residual_trace) <= 1e-12


@every_selector_of_rows
def test_a_kernel_that_vanishes_has_no_landmarks(selector):
    landmarks = selector.select(Linear(), np.zeros((5, 3)), with_factor=True)
    assert len(landmarks) == 0 and landmarks.residual_fraction == 0
    assert landmarks.factor.shape == (5, 0)


@every_selector
def test_the_same_on_every_array_library(selector, xp):
    X = data()
    selector = asked(selector, n_landmarks=12)
    expected = selector.select(Gaussian(0.5), X)
    landmarks = selector.select(Gaussian(0.5), xp.asarray(X), with_factor=True)
    assert type(landmarks.points) is type(landmarks.factor) is type(xp.asarray(X))
    assert_allclose(to_numpy(landmarks.points), expected.points)
    assert_allclose(landmarks.residuals_path, expected.residuals_path)


@every_selector
def test_does_not_depend_on_blocks(selector):
    selector = asked(selector, n_landmarks=12)
    expected = selector.select(Gaussian(0.5), data())
    for shape in ((7, 5), (3, 11)):
        with forced_block_shape(*shape):
            assert_allclose(selector.select(Gaussian(0.5), data()).points, expected.points)


@every_selector
def test_float32_stays_and_is_nearly_the_same(selector):
    X = data(200)
    landmarks = asked(selector, n_landmarks=30).select(Gaussian(0.5), X.astype(np.float32), with_factor=True)
    assert landmarks.points.dtype == landmarks.factor.dtype == np.float32
    C, W = Gaussian(0.5)(X, landmarks.points.astype(float)), Gaussian(0.5)(landmarks.points.astype(float))
    exact = 200 - np.trace(C @ np.linalg.solve(W, C.T))
    assert_allclose(landmarks.residual_trace, exact, atol=2e-4 * landmarks.trace)
    assert len(selector.select(Gaussian(0.5), np.repeat(X[:5], 9, axis=0).astype(np.float32))) == 5


@every_selector
def test_float32_stops_where_only_rounding_is_left(selector):
    X = data(300, 2).astype(np.float32)
    landmarks = asked(selector, n_landmarks=200).select(Gaussian(0.02), X, with_factor=True)
    assert len(landmarks) < 100
    assert landmarks.residual_fraction < 1e-8
    assert np.isfinite(landmarks.factor).all()


@every_selector
@for_each("dtype", [np.float64, np.float32])
@for_each("gamma", [1e-3, 0.1])
def test_wide_kernels_are_held_to_rounding(selector, dtype, gamma):
    X = np.random.default_rng(0).normal(size=(500, 2)).astype(dtype)
    landmarks = asked(selector, n_landmarks=300).select(Gaussian(gamma), X)
    assert landmarks.residual_fraction < 1e-8
    landmarks = asked(selector, n_landmarks=None, tol=1e-8).select(Gaussian(gamma), X)
    assert landmarks.residual_fraction <= 1e-8
    assert landmarks.reason == "residual below tolerance"


@pytest.mark.parametrize("selector", SELECTORS[1:], ids=repr)  # AutoLandmarks chooses otherwise for sparse rows
def test_sparse_rows(selector):
    X = np.where(np.random.default_rng(1).random((50, 8)) < 0.4, data(50, 8), 0)
    selector = asked(selector, n_landmarks=10)
    landmarks, expected = selector.select(Gaussian(0.5), sparse.csr_matrix(X)), selector.select(Gaussian(0.5), X)
    assert sparse.issparse(landmarks.points)
    assert_allclose(landmarks.points.toarray(), expected.points, atol=1e-12)
    assert_allclose(landmarks.residual_trace, expected.residual_trace)


@every_selector_of_rows
def test_precomputed_values(selector, xp):
    X = data()
    selector = asked(selector, n_landmarks=10)
    expected = selector.select(Gaussian(0.5), X)
    K = xp.asarray(Gaussian(0.5)(X))
    kernel = Precomputed().resolve(K)
    for given in (K, kernel.inputs(K)):
        landmarks = selector.select(kernel, given)
        assert_array_equal(landmarks.indices, expected.indices)
        assert_array_equal(to_numpy(landmarks.points)[:, 0], expected.indices)
        assert_allclose(landmarks.residual_trace, expected.residual_trace)


@every_selector
def test_repeated_rows_change_nothing_but_the_trace(selector):
    """A row that is there twice is one landmark, and what is left counts twice."""
    X = data(40)
    repeated = asked(selector, n_landmarks=None, tol=1e-4).select(Gaussian(0.3), np.vstack([X, X, X]))
    C, W = Gaussian(0.3)(X, repeated.points), Gaussian(0.3)(repeated.points)
    assert len(np.unique(repeated.points, axis=0)) == len(repeated) <= 40
    left = 40 - np.trace(C @ np.linalg.solve(W, C.T))
    assert_allclose(repeated.residual_trace, 3 * left, atol=1e-9)
    assert repeated.residual_fraction <= 1e-4


@every_selector
def test_a_kernel_of_any_size(selector):
    X = data(80, 3)
    expected = asked(selector, n_landmarks=12).select(Gaussian(0.5), X)
    for factor in (1e-200, 1e200):
        landmarks = asked(selector, n_landmarks=12).select(factor * Gaussian(0.5), X)
        assert_allclose(landmarks.points, expected.points)
        assert_allclose(landmarks.residual_fraction, expected.residual_fraction)


def test_small_data_are_not_sampled():
    """A sample with its judges is no smaller than 3,000 rows; ten rows for each landmark are enough of more."""
    X = np.random.default_rng(0).normal(size=(3000, 3))
    kernel = Gaussian(0.02)
    for selector in (RandomlyPivotedCholesky(300), RandomlyPivotedCholesky(300, sample_size=1500)):
        landmarks, everywhere = selector.select(kernel, X), asked(selector, sample_size=None).select(kernel, X)
        assert_array_equal(landmarks.indices, everywhere.indices)
        assert landmarks.is_exact
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    shares = [RandomlyPivotedCholesky(100, sample_size=size).select(kernel, X).residual_fraction for size in (1, None)]
    assert shares[0] < 3 * shares[1]


def test_a_sample_of_precomputed_values():
    X = data(300, 2)
    K = Gaussian(0.3)(X)
    selector = RandomlyPivotedCholesky(10, sample_size=60)
    landmarks, expected = selector.select(Precomputed(K), K, with_factor=True), selector.select(Gaussian(0.3), X)
    assert_array_equal(landmarks.indices, expected.indices)
    assert landmarks.factor.shape == (300, 10)


def test_centers_need_inputs():
    with pytest.raises(UnsupportedKernelError, match="by number only"):
        KMeans(3).select(Precomputed(np.eye(9)), np.eye(9))


@every_selector
def test_a_sample_stands_for_all_rows(selector):
    X = data(4000, 2)
    selector = asked(selector, n_landmarks=12, sample_size=300)
    landmarks = selector.select(Gaussian(0.3), X)
    exact = selector.select(Gaussian(0.3), X, with_factor=True)
    assert_allclose(landmarks.points, exact.points)
    assert exact.is_exact and not landmarks.is_exact
    assert exact.factor.shape == (4000, 12)
    assert_allclose(exact.residual_trace, exact.trace - np.sum(exact.factor**2), rtol=1e-9)
    assert abs(landmarks.residual_trace - exact.residual_trace) < 5 * landmarks.standard_error
    assert exact.residual_trace < landmarks.residual_bound


@every_selector
def test_integers_and_lists_become_floating(selector):
    X = [[0, 1], [2, 3], [5, 4], [1, 1]]
    assert len(asked(selector, n_landmarks=2).select(Gaussian(0.1), X)) == 2


@every_selector
def test_says_what_is_wrong(selector):
    with pytest.raises(ValueError, match="needs `n_landmarks`, `tol` or both"):
        asked(selector, n_landmarks=None).select(Gaussian(1.0), data())
    with pytest.raises(ValueError, match="n_landmarks"):
        asked(selector, n_landmarks=0).select(Gaussian(1.0), data())
    with pytest.raises(ValueError, match="tol"):
        asked(selector, tol=1.5).select(Gaussian(1.0), data())
    for shape in ((5,), (0, 3)):
        with pytest.raises(ValueError, match="2D array with at least one row"):
            selector.select(Gaussian(1.0), np.ones(shape))
    with pytest.raises(ValueError, match="resolve"):
        selector.select(Gaussian("median"), data())
    with pytest.raises(UnsupportedKernelError, match="positive semidefinite"):
        selector.select(Multiquadric(1.0), data())


def test_warns_of_an_indefinite_kernel():
    with pytest.warns(IndefiniteKernelWarning, match="not positive semidefinite"):
        PivotedCholesky(10).select(Sigmoid(1.0, coef0=0.5), data())


def test_names_numbers_and_selectors():
    for name in landmarks.SELECTORS.names:
        assert isinstance(as_landmarks(name).select(Gaussian(1.0), data()), Landmarks)
    assert as_landmarks(7).n_landmarks == 7
    selector = Uniform(3)
    assert as_landmarks(selector) is selector
    for wrong in ("nystroem", 0, True, None, 0.5):
        with pytest.raises(ValueError, match="Unknown landmarks"):
            as_landmarks(wrong)


STREAM = np.random.default_rng(0).normal(size=(400, 2))


def left_by(kernel, points, rows):
    points, rows = np.asarray(points, dtype=float), np.asarray(rows, dtype=float)
    G = PivotedCholesky(len(points)).select(kernel, points).points  # without points that depend on others
    C, W = kernel(rows, G), kernel(G)
    return 1 - np.trace(C @ np.linalg.solve(W, C.T)) / np.trace(kernel(rows))


def more(kernel, points, rows, n_more, tolerance, seed=0):
    selector = RandomlyPivotedCholesky(n_more, tol=tolerance, sample_size=2000)
    return selector.select_more(kernel, rows, points, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("gamma", [0.001, 0.1, 2.0])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-5])
def test_rows_are_added_until_the_tolerance_is_met(dtype, gamma, tolerance):
    kernel, rows = Gaussian(gamma), STREAM.astype(dtype)
    old = rows[:3]
    new = more(kernel, old, rows[100:], 400, tolerance)
    assert new.dtype == dtype
    assert left_by(kernel, np.vstack([old, new]), rows[100:]) <= 1.01 * tolerance
    assert all((row == rows[100:]).all(axis=1).any() for row in new)


def test_no_more_than_asked_for_and_none_without_need():
    assert len(more(Gaussian(1.0), STREAM[:3], STREAM, 7, 1e-6)) == 7
    assert len(more(Gaussian(1.0), STREAM, STREAM, 7, 1e-6)) == 0
    assert len(more(Linear(), STREAM[:2], STREAM, 7, 0.0)) == 0


def test_growth_ends_at_the_rank_and_takes_no_row_twice():
    rows = np.repeat(STREAM[:30], 5, axis=0)
    new = more(Polynomial(2), STREAM[100:101], rows, 100, 0.0)
    assert len(new) == 5  # 1, x₁, x₂ and their products are six functions
    new = more(Gaussian(5.0), STREAM[:4], rows, 100, 0.0)
    assert len(np.unique(new, axis=0)) == len(new) == 26


def test_the_same_rows_again_with_the_same_seed():
    assert_array_equal(
        more(Gaussian(1.0), STREAM[:3], STREAM, 20, 1e-3), more(Gaussian(1.0), STREAM[:3], STREAM, 20, 1e-3)
    )


@pytest.mark.parametrize("selector", SELECTORS, ids=repr)
def test_work_on_a_device_gives_the_same_landmarks_in_numpy(selector, rng):
    pytest.importorskip("torch", reason="torch is not installed")
    X = rng.normal(size=(120, 3))
    selector = clone(selector).set_params(n_landmarks=12)
    here, there = (selector.select(Gaussian(0.2), X, device=device) for device in (None, "cpu"))
    assert isinstance(there.points, np.ndarray)
    assert_allclose(there.points, here.points, atol=1e-12)
    assert there.residual_trace == pytest.approx(here.residual_trace, rel=1e-6)


@pytest.mark.parametrize(("n", "sampled"), [(2, 1), (50, 10), (50, 45), (1000, 30)])
def test_deviations_are_as_rare_as_promised(n, sampled, rng):
    values = (rng.random(n) < 0.3).astype(float)
    if n == 2:
        values = np.array([0.0, 1.0])  # where the form for independent draws is false
    for confidence in (0.6, 0.9):
        allowed = sampling_deviation(n, sampled, 1.0, confidence)
        means = np.array([values[rng.permutation(n)[:sampled]].mean() for _ in range(2000)])
        assert np.mean(values.mean() - means >= allowed) <= 1 - confidence + 0.03


def test_all_rows_leave_no_doubt():
    assert sampling_deviation(10, 10, 3.0) == 0
    assert sampling_deviation(100, 10, 2.0) == 2 * sampling_deviation(100, 10, 1.0)
