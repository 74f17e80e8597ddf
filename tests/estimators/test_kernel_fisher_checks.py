"""scikit-learn's own checks, without exceptions."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from preimage import KernelFisherDiscriminant, KernelFisherDiscriminantCV
from preimage.landmarks import RandomlyPivotedCholesky


@parametrize_with_checks(
    [
        KernelFisherDiscriminant(),
        KernelFisherDiscriminant(kernel="linear"),
        KernelFisherDiscriminant(multiclass="one_vs_rest"),
        KernelFisherDiscriminant(multiclass="one_vs_rest", threshold="margin", alpha=0.1),
        KernelFisherDiscriminant(landmarks=RandomlyPivotedCholesky(200)),
        KernelFisherDiscriminantCV(),
        KernelFisherDiscriminantCV(gammas=[0.5], alphas=[0.01, 0.1], landmarks=RandomlyPivotedCholesky(200)),
        KernelFisherDiscriminantCV(gammas=[0.3], alphas=[0.01], cv="loo"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
