"""scikit-learn's own checks, without exceptions."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from preimage.estimators._penalized_discriminant import PenalizedDiscriminant


@parametrize_with_checks([PenalizedDiscriminant(), PenalizedDiscriminant(0.1, n_components=2, priors="empirical")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
