"""scikit-learn's own checks."""

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks

from preimage import OrientedKernelPCA


def _grow(X, t):
    return np.exp(t) * X


@parametrize_with_checks(
    [
        OrientedKernelPCA(),
        OrientedKernelPCA(2, kernel="linear"),
        OrientedKernelPCA(2, noise=_grow),
        OrientedKernelPCA(2, noise=[_grow], landmarks=10),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)
