"""Kernel PCA does not depend on the unit of its data, as far as kernel values have numbers."""

import numpy as np
import pytest

from preimage import KernelPCA
from preimage.kernels import Linear

X = np.random.default_rng(0).normal(size=(40, 3)) * [3, 2, 1]
SCALES = [1e-150, 1e-100, 1e-80, 1e80, 1e100, 1e150]
SOLVERS = ["dense", "arpack", "block_krylov"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_coordinates_scale_with_the_data(solver, scale):
    plain = KernelPCA(2, kernel="linear", eigensolver=solver).fit(X)
    model = KernelPCA(2, kernel="linear", eigensolver=solver).fit(scale * X)
    np.testing.assert_allclose(model.transform(scale * X) / scale, plain.transform(X), atol=1e-9)
    np.testing.assert_allclose(model.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=1e-9)
    np.testing.assert_allclose(model.inverse_transform(model.transform(scale * X[:3])) / scale, _projected(X[:3]))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-290, 1e-100, 1e100, 1e290])
@pytest.mark.parametrize("solver", SOLVERS)
def test_precomputed_values_scale_too(solver, scale):
    K = X @ X.T
    plain = KernelPCA(2, kernel="precomputed", eigensolver=solver).fit(K)
    model = KernelPCA(2, kernel="precomputed", eigensolver=solver).fit(scale * K)
    np.testing.assert_allclose(model.transform(scale * K) / scale**0.5, plain.transform(K), atol=1e-9)


@pytest.mark.parametrize("scale", [1e-12, 1e-8, 1e8, 1e12])
def test_single_precision_scales_as_well(scale):
    data = (scale * X).astype("float32")
    model = KernelPCA(2, kernel="linear").fit(data)
    found = model.transform(data)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found / scale, KernelPCA(2, kernel="linear").fit_transform(X), atol=1e-4)


def test_weights_and_kernels_that_are_not_held_scale():
    weights = np.arange(40) % 3 + 1.0
    plain = KernelPCA(2, kernel="linear").fit(X, sample_weight=weights)
    model = KernelPCA(2, kernel="linear", max_memory="1KB", eigensolver="block_krylov").fit(
        1e100 * X, sample_weight=weights
    )
    np.testing.assert_allclose(model.transform(1e100 * X) / 1e100, plain.transform(X), atol=1e-6)
    assert model.kernel_.is_same(Linear())


def _projected(rows):
    mean = X.mean(axis=0)
    axes = np.linalg.svd(X - mean)[2][:2]
    return mean + (rows - mean) @ axes.T @ axes


@pytest.mark.parametrize("solver", SOLVERS)
def test_distances_that_are_no_kernel_scale_too(solver):
    D = -np.abs(X[:, :1] - X[:, 0])
    plain = KernelPCA(2, kernel="precomputed", eigensolver=solver).fit(D)
    model = KernelPCA(2, kernel="precomputed", eigensolver=solver).fit(1e200 * D)
    assert np.isfinite(model.eigen_result_.residuals).all()
    np.testing.assert_allclose(model.transform(1e200 * D) / 1e100, plain.transform(D), atol=1e-9)
