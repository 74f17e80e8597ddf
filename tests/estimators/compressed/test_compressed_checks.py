"""scikit-learn's own checks of the compressed machines as estimators."""

import pytest
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from preimage import CompressedClassifier, CompressedDetector, CompressedRegressor, CompressedTransformer


@parametrize_with_checks(
    [
        # Without break_ties, predictions of SVC itself differ from the largest decision where votes are equal.
        CompressedClassifier(SVC(kernel="linear", break_ties=True), method="select"),
        CompressedClassifier(n_points=6),
        CompressedDetector(n_points=6, method="construct"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.net
@parametrize_with_checks([CompressedRegressor(n_points=6), CompressedTransformer(n_points=6)])
def test_scikit_learn_checks_of_longer_fits(estimator, check):
    check(estimator)
