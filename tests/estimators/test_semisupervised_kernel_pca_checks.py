"""scikit-learn's own checks."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from preimage import SemiSupervisedKernelPCA
from preimage.kernels import Gaussian, Warped


@parametrize_with_checks(
    [
        SemiSupervisedKernelPCA(),
        SemiSupervisedKernelPCA(1, kernel="linear", encoding="first", center_codes=True),
        SemiSupervisedKernelPCA(kernel=Warped(Gaussian("median")), preimage="fixed_point"),
        SemiSupervisedKernelPCA(landmarks=10),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)
