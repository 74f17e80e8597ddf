"""scikit-learn's own checks of KernelKMeans, without exceptions."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from preimage import KernelKMeans


@parametrize_with_checks(
    [
        KernelKMeans(),
        KernelKMeans(3, kernel="linear", init="random", n_init=3),
        # Not kernel="precomputed": the checks of clusterers give it inputs.
        KernelKMeans(2, landmarks=200),
        # Nor algorithm="online": the check of weights shuffles rows, and the pass goes by their order.
        KernelKMeans(2, landmarks="auto", kernel="poly", degree=2),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
