"""As many points as a machine has: the machine itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from preimage import KernelPCA, compress
from preimage.kernels import Chi2, Gaussian, Sigmoid


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", [Chi2(0.002), Gaussian(1e-4), Sigmoid(0.1, 0.3)], ids=repr)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_kernel_pca_keeps_its_coordinates(kernel, dtype, rng):
    X = rng.random((30, 3)).astype(dtype)
    model = KernelPCA(2, kernel=kernel).fit(X)
    small = compress(model, 30, X=X)
    assert small.reason_ == "all points are kept"
    # Equal up to the rounding of kernel values, which coordinates of wide kernels enlarge.
    assert_allclose(small.transform(X), model.transform(X), atol=2e-2 * model.transform(X).std(axis=0).max())


@pytest.mark.parametrize("points", [40, 100])
def test_ridge_and_support_vectors_stay(points, rng):
    X = rng.normal(size=(40, 3))
    y = np.sin(X[:, 0])
    ridge, svc = KernelRidge(kernel="rbf", alpha=0.1).fit(X, y), SVC().fit(X, y > 0)
    assert_allclose(compress(ridge, points, X=X).predict(X), ridge.predict(X), rtol=1e-10)
    assert_allclose(compress(svc, points, X=X).decision_function(X), svc.decision_function(X), rtol=1e-8, atol=1e-10)


def test_compression_stays_among_inputs_that_the_kernel_accepts(rng):
    X = rng.random((40, 3)) * rng.integers(0, 2, (40, 3))
    model = KernelPCA(3, kernel=Chi2(1.0)).fit(X)
    small = compress(model, 6, X=X)
    assert small.machine_.expansion.points.min() >= 0
    assert np.isfinite(small.transform(X)).all()
