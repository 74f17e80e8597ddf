"""Kernels of the chi-squared distance."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics.pairwise import additive_chi2_kernel, chi2_kernel

from preimage import KernelPCA
from preimage.feature_space import Expansion
from preimage.kernels import AdditiveChi2, Chi2, Gaussian, Linear, ScaledInputs
from preimage.solvers import Gradient
from preimage.testing import check_kernel


def histograms(rng, n=12, d=4):
    X = rng.random((n, d)) + 0.05  # away from zero, where differences of the contract would leave the domain
    return X / X.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    "kernel",
    [Chi2(0.7), Chi2("median"), AdditiveChi2(), Chi2(0.5) + Gaussian(1.0), 2.0 * Chi2(0.5) ** 2, Chi2(1.0) * Linear()],
    ids=repr,
)
def test_kernels_keep_the_contract(kernel, rng):
    check_kernel(kernel, 4 * histograms(rng))


def test_values_are_scikit_learns_also_with_empty_columns(rng):
    X, Y = rng.integers(0, 3, (9, 5)).astype(float), rng.integers(0, 2, (7, 5)).astype(float)
    X[:, 2] = Y[:, 2] = 0
    X[0] = 0
    assert_allclose(Chi2(0.3)(X, Y), chi2_kernel(X, Y, gamma=0.3), rtol=1e-14)
    assert_allclose(AdditiveChi2()(X, Y), additive_chi2_kernel(X, Y), rtol=1e-14)
    assert_allclose(Chi2(0.3)(sparse.csr_array(X), Y), chi2_kernel(X, Y, gamma=0.3), rtol=1e-14)


def test_array_libraries_agree(xp, rng):
    X, Z, W = rng.integers(0, 3, (8, 3)), rng.integers(0, 3, (5, 3)), rng.normal(size=(5, 8))
    X, Z = X.astype(float), Z.astype(float)
    there = [xp.asarray(array) for array in (X, Z, W)]
    kernel = Chi2(0.4)
    assert_allclose(np.asarray(kernel(there[1], there[0])), kernel(Z, X), rtol=1e-14)
    assert_allclose(np.asarray(kernel.gradient(there[1], there[0], there[2])), kernel.gradient(Z, X, W), atol=1e-14)


@pytest.mark.parametrize("kernel", [Chi2(1.0), AdditiveChi2(), Chi2(1.0) + Linear()], ids=repr)
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_negative_inputs_are_refused(kernel, convert, rng):
    X = rng.random((6, 3))
    bad = X.copy()
    bad[2, 1] = -0.25
    for left, right in ((bad, X), (X, bad)):
        with pytest.raises(ValueError, match=r"non-negative.*-0\.25"):
            kernel(convert(left), convert(right))
    with pytest.raises(ValueError, match="non-negative"):
        kernel.against(X)(bad)
    with pytest.raises(ValueError, match="non-negative"):
        KernelPCA(2, kernel=kernel).fit(convert(bad))


def test_minus_the_distance_is_positive_semidefinite_when_centred(rng):
    X = rng.random((30, 6)) * rng.integers(0, 2, (30, 6))
    K = AdditiveChi2()(X)
    H = np.eye(30) - 1 / 30
    assert np.linalg.eigvalsh(K)[0] < -1
    assert np.linalg.eigvalsh(H @ K @ H)[0] > -1e-12 * np.abs(K).max()
    assert not AdditiveChi2().is_positive_semidefinite and Chi2().is_positive_semidefinite


def test_percentiles_are_those_of_chi_squared_distances(rng):
    X = rng.random((15, 4))
    distances = -additive_chi2_kernel(X)[np.triu_indices(15, 1)]
    assert Chi2("median").resolve(X).gamma == pytest.approx(1 / np.median(distances))


@pytest.mark.parametrize("kernel", [Chi2(2.0), Chi2(1.0) + Gaussian(1.0), ScaledInputs(Chi2(1.0), np.ones(4))])
def test_descent_stays_among_non_negative_inputs(kernel, rng):
    X = histograms(rng, 20)
    X[:10, 0] = 0
    # Weights of both signs push towards the border of the domain.
    target = Expansion(kernel, X, rng.normal(size=(20, 15)))
    result = Gradient().solve(target)
    assert np.isfinite(result.points).all() and result.points.min() >= 0
    kept = Gradient(lower=-1.0, upper=0.3).solve(target).points
    assert kept.min() >= 0 and kept.max() <= 0.3
