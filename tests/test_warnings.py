"""Warnings name the line of the user."""

import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from preimage import EmpiricalKernelMap, KernelPCA, OrientedKernelPCA
from preimage.exceptions import ConvergenceWarning, IndefiniteKernelWarning, RankWarning
from preimage.kernels import Sigmoid


@pytest.fixture
def X(rng):
    return rng.normal(size=(60, 3))


def hard_to_find(X):
    return KernelPCA(2, gamma=0.5, eigensolver="block_krylov", max_iter=1, tol=1e-12).fit(np.repeat(X, 3, axis=0))


@pytest.mark.parametrize(
    ("use", "category"),
    [
        (lambda X: KernelPCA(10, kernel="linear").fit(X), RankWarning),
        (lambda X: KernelPCA(10, kernel="linear").fit_transform(X), RankWarning),
        (lambda X: KernelPCA(10, kernel="linear", n_jobs=1).fit(X), RankWarning),
        (lambda X: KernelPCA(10, kernel="linear", landmarks=20).fit(X), RankWarning),
        (lambda X: KernelPCA(10, kernel="linear", landmarks=20, n_jobs=1).partial_fit(X), RankWarning),
        (lambda X: KernelPCA(3, gamma=1e6).fit(X), UserWarning),
        (lambda X: KernelPCA(kernel=Sigmoid(2.0, 1.0)).fit(X), IndefiniteKernelWarning),
        (lambda X: OrientedKernelPCA(10, kernel="linear").fit(X), RankWarning),
        (lambda X: make_pipeline(StandardScaler(), KernelPCA(10, kernel="linear")).fit(X), RankWarning),
        (lambda X: make_pipeline(KernelPCA(10, kernel="linear"), StandardScaler()).fit(X), RankWarning),
        (lambda X: EmpiricalKernelMap(kernel=Sigmoid(2.0, 1.0), whiten=True).fit(X), IndefiniteKernelWarning),
        (hard_to_find, ConvergenceWarning),
    ],
)
def test_the_line_is_here(use, category, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        use(X)
    caught = [warning for warning in caught if issubclass(warning.category, category)]
    assert caught and {warning.filename for warning in caught} == {__file__}
