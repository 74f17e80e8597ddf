"""scikit-learn's own checks, with a transformer and a classifier of every route inside."""

from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

from preimage import KernelFisherDiscriminant, KernelPCA, Renormalized

WEIGHTS = (
    "check_sample_weights_pandas_series",
    "check_sample_weights_not_an_array",
    "check_sample_weights_list",
    "check_sample_weights_shape",
    "check_sample_weights_not_overwritten",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_classifiers_one_label_sample_weights",
)


def takes_weights(estimator):
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    return has_fit_parameter(last, "sample_weight")


def expected_failures(estimator):
    """What the estimator inside cannot do, and where scikit-learn asks for something else."""
    found = {}
    if not takes_weights(estimator.estimator):
        found |= dict.fromkeys(WEIGHTS, "the fit of the estimator inside takes no weights")
    elif isinstance(estimator.estimator, (SVC, Pipeline)):
        reason = "weights of the estimator inside are repetitions up to its own tolerance, or steps before it take none"
        found |= dict.fromkeys(WEIGHTS[-3:-1], reason)
    return found


@parametrize_with_checks(
    [
        Renormalized(PCA(1)),
        Renormalized(KernelPCA(2, gamma=0.5), method="orthogonal"),
        Renormalized(TruncatedSVD(1), method="histogram", cv=3),
        Renormalized(make_pipeline(StandardScaler(), PCA(1)), guard=LinearDiscriminantAnalysis()),
    ],
    expected_failed_checks=expected_failures,
)
def test_sklearn_checks_of_transformers(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [
        Renormalized(SVC()),
        Renormalized(RidgeClassifier(), method="isotonic", cv=3),
        Renormalized(KernelFisherDiscriminant(), method="none", cv=3),
        Renormalized(make_pipeline(StandardScaler(), SVC()), method="histogram", cv=3),
    ],
    expected_failed_checks=expected_failures,
)
def test_sklearn_checks_of_classifiers(estimator, check):
    check(estimator)
