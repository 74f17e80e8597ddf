"""scikit-learn's own checks."""

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks

from preimage import OrientedKernelPCA


class Grow:
    """A transformation whose name, unlike that of a function, is the same in every process that collects tests."""

    def __call__(self, X, t):
        return np.exp(t) * X

    def __repr__(self):
        return "grow"


# Weights count rows, not chances to be chosen: other landmarks come of rows in another order.
OF_THE_CHOICE = {
    f"check_sample_weight_equivalence_on_{kind}_data": "landmarks are chosen among rows without weights"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [
        OrientedKernelPCA(),
        OrientedKernelPCA(2, kernel="linear"),
        OrientedKernelPCA(2, invariances=Grow()),
        OrientedKernelPCA(2, invariances=[Grow()], landmarks=10),
    ],
    expected_failed_checks=lambda estimator: {} if estimator.landmarks is None else OF_THE_CHOICE,
)
def test_sklearn_checks(estimator, check):
    check(estimator)
