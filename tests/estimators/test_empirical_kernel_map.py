"""Kernel values as features."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from preimage import EmpiricalKernelMap
from preimage._arrays import to_numpy
from preimage.exceptions import IndefiniteKernelWarning
from preimage.kernels import Gaussian, Linear, Multiquadric, Polynomial, Sigmoid


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 3))


def test_plain_map_is_the_kernel_matrix(X, xp):
    features = EmpiricalKernelMap(gamma=0.3).fit(xp.asarray(X))
    assert_allclose(to_numpy(features.transform(xp.asarray(X[:7]))), rbf_kernel(X[:7], X, gamma=0.3), atol=1e-12)
    assert features.get_feature_names_out().shape == (40,)


def test_whitened_map_has_the_inner_products_of_the_kernel(X):
    features = EmpiricalKernelMap(gamma=0.3, whiten=True)
    F = features.fit_transform(X)
    assert_allclose(F @ F.T, rbf_kernel(X, gamma=0.3), atol=1e-8)


def test_other_points(X, rng):
    points = rng.normal(size=(6, 3))
    features = EmpiricalKernelMap(gamma=0.3, points=points).fit(X)
    assert_allclose(features.transform(X), rbf_kernel(X, points, gamma=0.3))
    with pytest.raises(ValueError, match="2 features"):
        EmpiricalKernelMap(points=points[:, :2]).fit(X)


def test_linear_machine_on_whitened_features_is_the_kernel_machine(X):
    y = (np.sum(X**2, axis=1) > 2.5).astype(int)
    F = EmpiricalKernelMap(gamma=0.3, whiten=True).fit(X)
    linear = SVC(kernel="linear", tol=1e-8).fit(F.transform(X), y)
    kernel = SVC(gamma=0.3, tol=1e-8).fit(X, y)
    Z = X + 0.05
    assert_allclose(linear.decision_function(F.transform(Z)), kernel.decision_function(Z), atol=1e-4)


def test_precomputed(X):
    K = rbf_kernel(X, gamma=0.3)
    plain = EmpiricalKernelMap("precomputed").fit(K)
    assert_allclose(plain.transform(K[:5]), K[:5])
    F = EmpiricalKernelMap("precomputed", whiten=True).fit_transform(K)
    assert_allclose(F @ F.T, K, atol=1e-8)


def test_precomputed_kernels_take_no_other_points(X):
    K = rbf_kernel(X, gamma=0.3)
    with pytest.raises(ValueError, match="leave `points` out"):
        EmpiricalKernelMap("precomputed", points=K[10:15]).fit(K)


@pytest.mark.parametrize("kernel", [Sigmoid(1.0, -1.0), Multiquadric(1.0), "additive_chi2"], ids=str)
def test_whitening_warns_of_negative_eigenvalues_and_keeps_the_positive_part(X, kernel):
    X = np.abs(X)
    with pytest.warns(IndefiniteKernelWarning, match=r"negative eigenvalues.*positive part"):
        features = EmpiricalKernelMap(kernel, whiten=True).fit(X)
    values, vectors = np.linalg.eigh(features.kernel_(X))
    positive = (vectors * np.maximum(values, 0)) @ vectors.T
    F = features.transform(X)
    assert_allclose(F @ F.T, positive, atol=1e-7 * np.abs(values).max())


def test_whitening_is_silent_where_the_kernel_is_positive(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kernel in (Gaussian(1e-3), Linear(), Polynomial(3)):
            EmpiricalKernelMap(kernel, whiten=True).fit(np.vstack([X, X, 0 * X]))
            EmpiricalKernelMap(kernel, whiten=True).fit(X.astype(np.float32))
        EmpiricalKernelMap(Sigmoid(1.0, -1.0)).fit(X)
