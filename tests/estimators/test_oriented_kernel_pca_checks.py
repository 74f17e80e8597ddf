"""scikit-learn's own checks."""

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks

from preimage import OrientedKernelPCA


def _grow(X, t):
    return np.exp(t) * X


# Weights count rows, not chances to be chosen: other landmarks come of rows in another order.
OF_THE_CHOICE = {
    f"check_sample_weight_equivalence_on_{kind}_data": "landmarks are chosen among rows without weights"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [
        OrientedKernelPCA(),
        OrientedKernelPCA(2, kernel="linear"),
        OrientedKernelPCA(2, noise=_grow),
        OrientedKernelPCA(2, noise=[_grow], landmarks=10),
    ],
    expected_failed_checks=lambda estimator: {} if estimator.landmarks is None else OF_THE_CHOICE,
)
def test_sklearn_checks(estimator, check):
    check(estimator)
