"""What estimators with a kernel parameter share: its constraints, its resolution on data, its tags."""

from numbers import Integral, Real

from preimage._arrays import own_copy
from preimage._validation import Interval, check_gram, check_parameters, check_points
from preimage.kernels import Kernel, Precomputed, as_kernel

KERNEL_CONSTRAINTS = {
    "kernel": [str, callable, Kernel],
    "gamma": [Interval(Real, 0, None, closed="neither"), str, None],
    "degree": [Interval(Integral, 1, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "kernel_params": [dict, None],
}


def kernel_and_inputs(estimator, X, *, min_samples=1):
    """The kernel of `estimator` resolved on X, and X, validated and the model's own to keep."""
    check_parameters(estimator)
    checked = check_points(estimator, X, reset=True, min_samples=min_samples)
    kernel = named_kernel(estimator)
    # A precomputed matrix is n × n: checked, but not copied.
    checked = check_gram(estimator, checked) if isinstance(kernel, Precomputed) else own_copy(checked, X)
    return kernel.resolve(checked), checked


def named_kernel(estimator):
    """The kernel that the parameters of `estimator` name."""
    names = ("gamma", "degree", "coef0", "kernel_params")
    return as_kernel(estimator.kernel, **{name: getattr(estimator, name) for name in names})


def is_precomputed(kernel):
    """Whether a kernel parameter, a name or an object, stands for a matrix of values."""
    return isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == "precomputed")


def with_kernel_tags(tags, kernel):
    """scikit-learn's tags of a transformer with a kernel."""
    tags.input_tags.sparse = True
    tags.input_tags.pairwise = is_precomputed(kernel)
    tags.transformer_tags.preserves_dtype = ["float64", "float32"]
    return tags
