"""scikit-learn's own checks, with transformers of every route inside."""

from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.decomposition import KernelPCA as SklearnKernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from preimage import KernelFisherDiscriminant, KernelPCA, Renormalized


@parametrize_with_checks(
    [
        Renormalized(PCA(1)),
        Renormalized(PCA(1, whiten=True), method="transfer"),
        Renormalized(KernelPCA(2)),
        Renormalized(KernelPCA(2, gamma=0.5), method="orthogonal"),
        Renormalized(KernelPCA(2, landmarks=5), method="affine", cv=3),
        Renormalized(SklearnKernelPCA(2, kernel="rbf"), method="isotonic"),
        Renormalized(TruncatedSVD(1), method="histogram", cv=3),
        Renormalized(make_pipeline(StandardScaler(), PCA(1)), guard=LinearDiscriminantAnalysis()),
    ]
)
def test_sklearn_checks_of_transformers(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [
        Renormalized(SVC()),
        Renormalized(LinearSVC(), method="transfer", cv=3),
        Renormalized(RidgeClassifier(), method="isotonic", cv=3),
        Renormalized(LinearDiscriminantAnalysis(), method="affine", cv=3),
        Renormalized(KernelFisherDiscriminant(), method="none", cv=3),
        Renormalized(make_pipeline(StandardScaler(), SVC()), method="histogram", cv=3),
    ]
)
def test_sklearn_checks_of_classifiers(estimator, check):
    check(estimator)
