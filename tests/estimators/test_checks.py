"""scikit-learn's own checks, without exceptions."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from preimage import EmpiricalKernelMap, KernelPCA
from preimage.kernels import Gaussian, Linear


@parametrize_with_checks(
    [
        KernelPCA(),
        KernelPCA(2, kernel="linear"),
        KernelPCA(0.9, kernel="poly", degree=2),
        KernelPCA(2, kernel=Linear() + Gaussian("scale")),
        KernelPCA(2, eigensolver="block_krylov"),
        KernelPCA(2, kernel="precomputed"),
        KernelPCA(2, landmarks=10),
        KernelPCA(2, landmarks="auto"),
        EmpiricalKernelMap(),
        EmpiricalKernelMap(whiten=True),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
