"""Kernel values as features."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from preimage import EmpiricalKernelMap
from preimage._arrays import to_numpy


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
