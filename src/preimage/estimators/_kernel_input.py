"""What estimators with a kernel parameter share: its constraints, its resolution on data, its tags."""

from numbers import Integral, Real

import numpy as np
import scipy

from preimage._arrays import (
    array_namespace,
    as_points,
    in_memory,
    is_chunked,
    is_lazy,
    is_sparse,
    itemsize,
    own_copy,
    take_rows,
    to_numpy,
)
from preimage._validation import Interval, check_gram, check_parameters, check_points, check_weights, generator
from preimage.kernels import Kernel, Scaled, ShiftedInputs, Sum, as_kernel
from preimage.widths._class_gram import stratified_rows
from preimage.widths._class_width import CLASS_POINTS, check_class_labels, needs_labels, with_class_widths

# Squared distance of the data from the origin, in units of their variance, from which on linear kernels are evaluated
# about their mean. Rounding errors of inner products are ε times that: 2e-12 and 1e-6 of the variance up to here.
FAR = {8: 1e4, 4: 10.0}

# Rows that stand for fewer weighted ones where a rule looks for a width; as many as there are stand for more.
MOST_REPEATED = 10_000
# Rows from which widths of kernels are found.
WIDTH_ROWS = 10_000
# Rows of a Dask array that a kernel without such parameters is shown: enough to try a user's function on.
TRIAL_ROWS = 32
# Rows of lazy data from which the mean is found.
ORIGIN_ROWS = 1000

KERNEL_CONSTRAINTS = {
    "kernel": [str, callable, Kernel],
    "gamma": [Interval(Real, 0, None, closed="neither"), str, None],
    "degree": [Interval(Integral, 1, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "kernel_params": [dict, None],
}


def kernel_and_inputs(
    estimator, X, y=None, *, min_samples=1, labelled_rows=None, sample_weight=None, centered=False, copy=True
):
    """The kernel of `estimator` resolved on X, and X, validated and the model's own to keep.

    Labels y are looked at where the width of the kernel is found from class means (`gamma="enclosing_ball"`), and not
    otherwise. Where rows may lack labels, `labelled_rows(n)` gives the numbers of those of n rows that have one, and
    their labels. A method that centres in feature space says so, `centered`: precomputed matrices need be symmetric
    then only when they are centred. With ``copy=False`` the model may keep the caller's array.
    """
    check_parameters(estimator)
    checked = check_points(estimator, X, reset=True, min_samples=min_samples)
    kernel = named_kernel(estimator)
    # A precomputed matrix is n × n: checked, but not copied.
    if kernel.points_are_row_numbers:
        checked = check_gram(estimator, checked, centered=centered)
    elif copy:
        checked = own_copy(checked, X)
    known = checked
    if labelled_rows is not None and needs_labels(kernel):
        rows, y = labelled_rows(checked.shape[0])
        known = take_rows(checked, rows)
    kernel = labelled_kernel(estimator, kernel, known, y)
    weights = check_weights(estimator, sample_weight, checked.shape[0])
    return kernel.resolve(checked if weights is None or kernel.is_resolved else repeated(checked, weights)), checked


def labelled_kernel(estimator, kernel, X, y=None):
    """`kernel` with widths that class means decide found on X and labels y; the same kernel if it has none of them.

    X is validated, and of any kind that rows can be taken from.
    """
    if not needs_labels(kernel):
        return kernel
    y = check_class_labels(f"{type(estimator).__name__} with {kernel!r}", y, X.shape[0])
    if is_lazy(X):  # rules look at some points only; what they do not look at need not be read
        rows = stratified_rows(y, CLASS_POINTS, generator(0))
        X, y = take_rows(X, rows), y[rows]
    return with_class_widths(kernel, as_points(X), y)


def repeated(X, weights):
    """Rows of X repeated as often as their weights say, for rules that find the width of a kernel.

    Exactly so often where weights are whole numbers of a moderate sum, once each where they are equal. Otherwise m rows
    in these proportions by systematic sampling: those at which sums of weights pass (i + ½)/m of the total, i < m.
    """
    n = weights.size
    if np.all(weights == np.rint(weights)) and weights.sum() <= max(n, MOST_REPEATED):
        return take_rows(X, np.repeat(np.arange(n), weights.astype(int)))
    if np.all(weights == weights[0]):
        return X
    m = max(n, min(10 * n, MOST_REPEATED))
    sums = np.cumsum(weights / weights.max())  # sums of huge weights overflow
    return take_rows(X, np.searchsorted(sums, (np.arange(m) + 0.5) * (sums[-1] / m)))


def width_sample(kernel, X, rng):
    """Rows of X, at most some thousands, from which a kernel finds its width; a few for a kernel that has it.

    A kernel that keeps the rows gets some of its own: those who gave X may change it.
    """
    n = X.shape[0]
    if is_chunked(X) and kernel.is_resolved:
        return as_points(take_rows(X, np.arange(min(n, TRIAL_ROWS))))
    if n <= WIDTH_ROWS:
        rows = as_points(in_memory(X))
        return own_copy(rows, X) if kernel.keeps_data else rows
    return as_points(take_rows(X, np.sort(rng.choice(n, WIDTH_ROWS, replace=False))))


def about_data(kernel, X):
    """`kernel`, evaluated about the mean of the rows X where they lie far from the origin and it can be.

    For methods that centre in feature space alone; see `Kernel.recentered`. Of lazy data the first rows are looked at.
    """
    if is_sparse(X) or kernel.recentered(np.zeros(X.shape[1])) is kernel:
        return kernel
    X = as_points(take_rows(X, np.arange(min(ORIGIN_ROWS, X.shape[0])))) if is_lazy(X) else X
    xp = array_namespace(X)
    mean = xp.mean(X, axis=0)
    if not bool(xp.all(xp.isfinite(mean))):  # the pass over lazy data will say so
        return kernel
    spread = float(xp.sum((X - mean) ** 2)) / X.shape[0]
    far = float(mean @ mean) > FAR[itemsize(X.dtype)] * spread
    return kernel.recentered(to_numpy(mean)) if far else kernel


def without_origin(kernel):
    """The kernel that `about_data` was given, for what needs its values and not differences of images alone."""
    if isinstance(kernel, ShiftedInputs):
        return kernel.kernel
    if isinstance(kernel, Sum):
        return without_origin(kernel.left) + without_origin(kernel.right)
    return without_origin(kernel.kernel) * kernel.factor if isinstance(kernel, Scaled) else kernel


def named_kernel(estimator):
    """The kernel that the parameters of `estimator` name."""
    names = ("gamma", "degree", "coef0", "kernel_params")
    return as_kernel(estimator.kernel, **{name: getattr(estimator, name) for name in names})


def is_precomputed(kernel):
    """Whether a kernel parameter, a name or an object, stands for a matrix of values."""
    if isinstance(kernel, Kernel):
        return kernel.points_are_row_numbers
    return isinstance(kernel, str) and kernel == "precomputed"


def with_kernel_tags(tags, kernel):
    """scikit-learn's tags of a transformer with a kernel."""
    tags.input_tags.sparse = True
    tags.input_tags.pairwise = is_precomputed(kernel)
    tags.transformer_tags.preserves_dtype = ["float64", "float32"]
    return with_array_tag(tags)


def with_array_tag(tags):
    """Say to scikit-learn that arrays of torch, CuPy and other libraries of the array API standard are taken.

    Its own support, which the tag switches tests of on, needs SciPy 1.14.
    """
    tags.array_api_support = tuple(int(part) for part in scipy.__version__.split(".")[:2]) >= (1, 14)
    return tags
