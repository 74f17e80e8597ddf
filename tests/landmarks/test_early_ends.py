"""Selections that end before what was asked for: none does while rows are independent, and those that do say why."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons

from preimage import KernelPCA
from preimage.exceptions import RankWarning
from preimage.kernels import Gaussian, Precomputed
from preimage.landmarks import (
    AutoLandmarks,
    FeatureAnalysis,
    KMeans,
    PivotedCholesky,
    RandomlyPivotedCholesky,
    SparseGreedy,
    Uniform,
)

SELECTORS = [
    AutoLandmarks(),
    Uniform(),
    KMeans(),
    PivotedCholesky(),
    RandomlyPivotedCholesky(),
    FeatureAnalysis(),
    SparseGreedy(),
    SparseGreedy(n_candidates=5, block_size=1),
    SparseGreedy(rule="column", rearrange=True),
    SparseGreedy(space="column", n_candidates=5, block_size=3),
]
every_selector = pytest.mark.parametrize("selector", SELECTORS, ids=repr)
# Rows whose residual is less than this fraction of k(x, x) are not told from their projections in double precision.
ROUNDING = 1e-13


def asked(selector, **parameters):
    return clone(selector).set_params(**parameters)


def curve(n):
    rng = np.random.default_rng(2)
    t = rng.uniform(0, 6, n)
    return np.stack([np.cos(t), np.sin(t), t / 6], axis=1) + 0.01 * rng.normal(size=(n, 3))


DATA = {
    "one column": np.random.default_rng(0).normal(size=(300, 1)),
    "moons": make_moons(200, noise=0.05, random_state=0)[0],
    "curve": curve(200),
    "iris": load_iris().data,
    "far from zero": 1e4 + make_moons(200, noise=0.05, random_state=0)[0],
}
every_set = pytest.mark.parametrize("name", list(DATA))


def wide(X, width):
    """A Gaussian whose γ is so many times that of the median squared distance."""
    squared = ((X[:100, None] - X[None, :100]) ** 2).sum(axis=2)
    return Gaussian(width / float(np.median(squared[np.triu_indices(100, 1)])))


@every_selector
@every_set
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_selections_of_wide_kernels_go_on_until_rounding_alone_is_left(selector, name, dtype):
    """Landmarks close together hide in rounding what they leave of far rows, and a selection of those ended early."""
    X = DATA[name].astype(dtype)
    for width in (1e-5, 1e-3, 1e-2, 0.1, 1.0, 100.0):
        landmarks = asked(selector, n_landmarks=40).select(wide(DATA[name], width), X)
        assert len(landmarks) == 40 or landmarks.residual_fraction <= ROUNDING, (width, landmarks)


@every_selector
def test_as_many_landmarks_as_rows_are_independent(selector):
    X = DATA["one column"]
    for width in (1e-3, 1e-2, 0.1, 1.0):
        kernel = wide(X, width)
        path = PivotedCholesky(40).select(kernel, X).residuals_path
        independent = 1 + int(np.sum(path > ROUNDING * X.shape[0]))
        assert len(asked(selector, n_landmarks=independent).select(kernel, X)) == independent


@every_selector
@every_set
def test_tolerances_are_met_or_a_warning_tells_what_is_left(selector, name):
    X = DATA[name]
    for width in (1e-3, 0.1, 1.0):
        for tol in (1e-3, 1e-10, 1e-15, 0.0):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                landmarks = asked(selector, n_landmarks=None, tol=tol).select(wide(X, width), X)
            if landmarks.residual_trace > tol * landmarks.trace:
                message = next(str(each.message) for each in caught if each.category is RankWarning)
                assert f"leave {landmarks.residual_fraction:.2g} of the trace" in message
                assert f"chose {len(landmarks)}" in message and "Rounding errors" in message


@pytest.mark.parametrize("selector", [each for each in SELECTORS if not isinstance(each, KMeans)], ids=repr)
def test_kernel_values_of_single_precision_say_what_they_hide(selector):
    X = DATA["moons"]
    K = wide(X, 0.01)(X).astype(np.float32)
    with pytest.warns(RankWarning, match="Rounding errors of kernel values hide"):
        landmarks = asked(selector, n_landmarks=None, tol=1e-9).select(Precomputed(K), K)
    assert 1e-9 < landmarks.residual_fraction < 1e-4


@every_selector
def test_rows_that_no_candidate_represents_are_named_as_the_reason(selector):
    """Most rows are copies of twenty, and a sample of those has none of the others."""
    X = np.random.default_rng(1).normal(size=(4200, 2))
    X[:4000] = np.repeat(X[:20], 200, axis=0)
    with pytest.warns(RankWarning, match="rows among which they were chosen depend on them, other rows do not"):
        landmarks = asked(selector, n_landmarks=None, tol=1e-6, sample_size=50).select(Gaussian(5.0), X)
    assert landmarks.residual_fraction > 1e-6


@every_selector
def test_kernels_of_low_rank_need_no_warning(selector):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RankWarning)
        landmarks = asked(selector, n_landmarks=40).select(wide(DATA["iris"], 1e-8), DATA["iris"])
    assert len(landmarks) == 5


@every_selector
@pytest.mark.parametrize("width", [1e-2, 1.0, 100.0])
def test_landmarks_at_all_rows_give_the_exact_components(selector, width):
    X = DATA["iris"][::3]
    kernel = wide(DATA["iris"], width)
    exact = KernelPCA(5, kernel=kernel).fit(X)
    model = KernelPCA(5, kernel=kernel, landmarks=asked(selector, n_landmarks=len(X))).fit(X)
    np.testing.assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(model.transform(X), exact.transform(X), atol=1e-6 * np.abs(exact.transform(X)).max())
