"""Semi-supervised directions by products alone are those of dense decompositions."""

import tracemalloc
import warnings

import numpy as np
import pytest

from preimage.components import exact_semi_supervised
from preimage.exceptions import RankWarning
from preimage.feature_space import Gram
from preimage.kernels import Gaussian, Linear, Polynomial, Precomputed

RNG = np.random.default_rng(3)
N = 120
X = RNG.normal(size=(N, 3))
LABELLED = np.arange(0, N, 4)
SIGNS = np.where(X[LABELLED, 0] + 0.3 * RNG.normal(size=LABELLED.size) > 0, 1.0, -1.0)
MODULE = "preimage.components._semi_supervised_products"


def solved(monkeypatch, most_dense, targets, n_components=3, *, kernel=None, points=X, labelled=LABELLED, **options):
    monkeypatch.setattr(f"{MODULE}.MOST_DENSE", most_dense)
    options = {"label_weight": 2.0, "scale": 0.6} | options
    return exact_semi_supervised(kernel or Gaussian(0.5), points, labelled, targets, n_components, **options)


def assert_same(found, expected, points=X, atol=1e-7):
    np.testing.assert_allclose(found.multipliers, expected.multipliers, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.variances, expected.variances, rtol=1e-8)
    assert found.total == pytest.approx(expected.total, rel=1e-9)
    here, there = found.subspace.coordinates(points), expected.subspace.coordinates(points)
    np.testing.assert_allclose(here, there, atol=atol * np.abs(there).max())


@pytest.mark.parametrize("is_held", [True, False])
@pytest.mark.parametrize(
    "targets", [[SIGNS], [SIGNS] * 3, [None, SIGNS], [SIGNS, None, -SIGNS], [None] * 3, [0 * SIGNS, SIGNS]]
)
def test_components_are_those_of_dense_decompositions(monkeypatch, targets, is_held):
    expected = solved(monkeypatch, N, targets)
    if not is_held:
        monkeypatch.setattr(f"{MODULE}.memory_budget", lambda *_: 0)
    found = solved(monkeypatch, 0, targets)
    assert_same(found, expected)
    A = found.subspace.frame.coefficients
    np.testing.assert_allclose(A.T @ Gaussian(0.5)(X) @ A, np.eye(3), atol=1e-8)


@pytest.mark.parametrize(
    "options",
    [
        {"scale": 3.0},
        {"scale": 0.05},
        {"label_weight": 0.0},
        {"label_weight": 1e4},
        {"kernel": Gaussian(20.0)},
        {"kernel": Polynomial(2, coef0=1.0)},
        {"labelled": np.arange(N), "targets": [np.sign(X[:, 1])] * 2},
        {"weights": RNG.integers(1, 4, size=N).astype(float)},
    ],
)
def test_all_parameters_mean_the_same(monkeypatch, options):
    options = {"targets": [SIGNS, SIGNS]} | options
    assert_same(solved(monkeypatch, 0, **options), solved(monkeypatch, N, **options), atol=1e-6)


def test_a_precomputed_kernel_is_a_kernel(monkeypatch):
    kernel = Precomputed(Gaussian(0.5)(X))
    numbers = kernel.inputs(Gaussian(0.5)(X))
    found = solved(monkeypatch, 0, [SIGNS], kernel=kernel, points=numbers)
    assert_same(found, solved(monkeypatch, N, [SIGNS], kernel=kernel, points=numbers), numbers)


def test_the_rank_is_the_limit(monkeypatch):
    with pytest.warns(RankWarning, match="only 3"):
        found = solved(monkeypatch, 0, [SIGNS], 5, kernel=Linear())
    assert len(found.subspace) == 3


@pytest.mark.parametrize(
    ("kernel", "points"),
    [(Linear(), X), (Polynomial(2, coef0=1.0), X[:, :2]), (Polynomial(3, coef0=1.0), X[:, :2]), (Gaussian(1e-3), X)],
)
def test_labels_that_ask_for_more_than_a_singular_matrix_has(monkeypatch, kernel, points):
    """Products alone would find functions that are rounding errors, not numbers, or no factor of a matrix."""
    options = {"targets": [SIGNS] * 12, "n_components": 12, "kernel": kernel, "points": points}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", RankWarning)
        found, expected = solved(monkeypatch, 0, **options), solved(monkeypatch, N, **options)
    assert len(found.subspace) == len(expected.subspace)
    A = found.subspace.frame.coefficients
    np.testing.assert_allclose(A.T @ kernel(points) @ A, np.eye(len(found.subspace)), atol=1e-6)


def test_few_products_and_little_memory_do(monkeypatch):
    """600 points without a Gram matrix: a matrix of 600 × 600 takes 2.9 MB."""
    points = np.random.default_rng(0).normal(size=(600, 3))
    signs, products = np.sign(points[:20, 0]), []
    original = Gram.__matmul__
    monkeypatch.setattr(Gram, "__matmul__", lambda self, V: products.append(V.shape[1]) or original(self, V))
    monkeypatch.setattr(f"{MODULE}.memory_budget", lambda *_: 0)
    tracemalloc.start()
    solved(monkeypatch, 0, [signs], 1, points=points, labelled=np.arange(20))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(products) < 60
    assert peak < 2.5e6
