"""Inputs of kernel estimators: checks and kernels at fit, and queries of fitted models, in memory or block by block."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy

from preimage._engine.arrays import (
    array_namespace,
    as_points,
    in_memory,
    is_chunked,
    is_lazy,
    is_sparse,
    itemsize,
    on_device,
    own_copy,
    take_rows,
    to_numpy,
)
from preimage._engine.finite import current_method, finite_result, working_method
from preimage._engine.progress import stage
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array, Rows, Targets
from preimage._engine.validation import (
    Interval,
    check_finite_block,
    check_gram,
    check_lazy_points,
    check_model_inputs,
    check_parameters,
    check_points,
    check_weights,
    generator,
    is_stream,
    own_parameters,
    parameters,
)
from preimage.feature_space import Subspace
from preimage.kernels import Kernel, Scaled, ShiftedInputs, Sum, as_kernel
from preimage.kernels._bandwidth import GAMMA
from preimage.kernels._door import moderate_inputs
from preimage.solvers._reconstruction_width import has_reconstruction_width
from preimage.widths._class_gram import stratified_rows
from preimage.widths._class_width import CLASS_POINTS, check_class_labels, needs_labels, with_class_widths

# Squared distance of the data from the origin, in units of their variance and by bytes per number, from which on linear
# kernels are evaluated about their mean. Rounding errors of inner products are ε times that: 2e-12 and 1e-6 of the
# variance up to here. Nearer data would gain nothing that shows.
FAR = {8: 1e4, 4: 10.0}

# Most rows, or as many as there are if more, that weighted rows are repeated to where a rule looks for a width: rules
# look at 2,000 of them, and with fewer than ten copies of each a weight of 0.1 would not be seen.
MOST_REPEATED = 10_000
# Rows from which widths of kernels are found. Rules look at a few thousand of them; a kernel that keeps the rows, such
# as `Iterated`, gets this many, and evaluates each of them for every query.
WIDTH_ROWS = 10_000
# Rows of chunked data that a kernel without open parameters is shown: enough to try a function of the user on.
TRIAL_ROWS = 32
# Rows of lazy data from which the mean is found. It need only be near the data compared with the origin.
ORIGIN_ROWS = 1000

KERNEL_CONSTRAINTS = {
    "kernel": [str, callable, Kernel],
    "gamma": GAMMA,
    "degree": [Interval(Integral, 1, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "kernel_params": [dict, None],
}


def kernel_and_inputs(
    estimator: Any,
    X: Rows,
    y: Targets | None = None,
    *,
    min_samples: int = 1,
    labelled_rows: Callable[[int], tuple[Array, Array]] | None = None,
    sample_weight: Targets | None = None,
    centered: bool = False,
    copy: bool = True,
    symmetric: bool = True,
) -> tuple[Kernel, Array]:
    """The kernel of `estimator` resolved on X, and X, validated, which the model may keep.

    Parameters
    ----------
    estimator : estimator with the parameters of `KERNEL_CONSTRAINTS`
        Its parameters have been checked.
    X : array of shape (n, d), or (n, n) for precomputed kernels
    y : array of shape (n,), optional
        Class labels, used only where the width of the kernel is found from class means (`gamma="enclosing_ball"`).
    min_samples : int, default=1
        Fewer rows are refused.
    labelled_rows : callable, optional
        Where rows may lack labels: takes n, and returns the numbers of the rows that have one, and their labels.
    sample_weight : array of shape (n,), optional
        How often each row counts where a rule finds a width.
    centered : bool, default=False
        Whether the method centres in feature space: only the centred form of a precomputed matrix need be symmetric.
    copy : bool, default=True
        Whether X must be copied; otherwise the model may keep the caller's array.
    symmetric : bool, default=True
        Whether a kernel with a direction is refused.
    """
    checked = check_points(estimator, X, reset=True, min_samples=min_samples)
    kernel = named_kernel(estimator, symmetric=symmetric)
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
    kernel = _with_chosen_width(estimator, kernel, checked if weights is None else _weighted_rows(checked, weights))
    kernel = kernel.resolve(checked if weights is None or kernel.is_resolved else repeated(checked, weights))
    checked = moderate_inputs(type(estimator).__name__, kernel, checked)
    return _sharing(kernel, checked), checked


def _sharing(kernel: Kernel, X: Array) -> Kernel:
    """`kernel`, with the array X, which belongs to the model, where it has a copy of it, also in its parts.

    Then the model holds the rows once, also in its file, and the kernel knows its points without comparing them.
    """
    changed = {}
    for name, value in parameters(kernel).items():
        if isinstance(value, Kernel):
            changed[name] = _sharing(value, X)
        elif name in kernel.data_parameters and kernel.data_parameters[name].keeps_rows:
            is_copy = type(value) is type(X) is np.ndarray and value.dtype == X.dtype and np.array_equal(value, X)
            changed[name] = X if is_copy else value
    if all(value is getattr(kernel, name) for name, value in changed.items()):
        return kernel
    shared = object.__new__(type(kernel))
    shared.__dict__ = {**kernel.__dict__, **changed}  # with what the kernel has computed so far
    return shared


def kernel_on_sample(estimator: Any, kernel: Kernel, X: Rows, y: Targets | None = None) -> Kernel:
    """`kernel` resolved on some rows of validated data X of any kind, with class labels y where a rule needs them."""
    kernel = _with_chosen_width(estimator, labelled_kernel(estimator, kernel, X, y), X)
    return kernel.resolve(_width_sample(kernel, X, generator(estimator.random_state)))


def labelled_kernel(estimator: Any, kernel: Kernel, X: Rows, y: Targets | None = None) -> Kernel:
    """`kernel` with the widths that class means decide, found on validated data X with labels y; else as it is."""
    if not needs_labels(kernel):
        return kernel
    y = check_class_labels(f"{type(estimator).__name__} with {kernel!r}", y, X.shape[0])
    if is_lazy(X):  # rules look at some points only, so that the others need not be read
        rows = stratified_rows(y, CLASS_POINTS, generator(0))
        X, y = take_rows(X, rows), y[rows]
    return with_class_widths(kernel, as_points(X), y)


def _with_chosen_width(estimator: Any, kernel: Kernel, X: Rows) -> Kernel:
    """`kernel` with a width that the estimator chooses by reconstruction; as it is where that is not asked for."""
    choose = getattr(estimator, "_with_reconstruction_width", None)
    return choose(kernel, X) if choose is not None and has_reconstruction_width(kernel) else kernel


def _weighted_rows(X: Array, weights: np.ndarray) -> Array:
    """The rows whose weight is not zero."""
    return X if weights.all() else take_rows(X, np.flatnonzero(weights))


def repeated(X: Array, weights: np.ndarray) -> Array:
    """Rows of X repeated as often as their weights say, for rules that find the width of a kernel.

    Exactly that often where weights are integers of a moderate sum, once each where they are equal. Otherwise m rows in
    these proportions by systematic sampling: those at which sums of weights pass (i + ½)/m of the total, i < m.
    """
    n = weights.size
    if np.all(weights == np.rint(weights)) and weights.sum() <= max(n, MOST_REPEATED):
        return take_rows(X, np.repeat(np.arange(n), weights.astype(int)))
    if np.all(weights == weights[0]):
        return X
    m = max(n, min(10 * n, MOST_REPEATED))
    sums = np.cumsum(weights / weights.max())  # sums of huge weights overflow
    return take_rows(X, np.searchsorted(sums, (np.arange(m) + 0.5) * (sums[-1] / m)))


def _width_sample(kernel: Kernel, X: Rows, rng: np.random.Generator) -> Array:
    """At most `WIDTH_ROWS` rows of X, on which a kernel is resolved; a few for a kernel without open parameters.

    A kernel that keeps the rows gets a copy: the caller may change X afterwards.
    """
    n = X.shape[0]
    if is_chunked(X) and kernel.is_resolved:
        return as_points(take_rows(X, np.arange(min(n, TRIAL_ROWS))))
    if n <= WIDTH_ROWS:
        rows = as_points(in_memory(X))
        return own_copy(rows, X) if kernel.keeps_data else rows
    return as_points(take_rows(X, np.sort(rng.choice(n, WIDTH_ROWS, replace=False))))


def about_data(kernel: Kernel, X: Rows) -> Kernel:
    """`kernel`, evaluated about the mean of the rows X where they lie far from the origin and the kernel allows it.

    Only for methods that centre in feature space; see `Kernel.recentered`. Of lazy data the first rows are used.
    """
    if is_sparse(X) or kernel.recentered(np.zeros(X.shape[1])) is kernel:
        return kernel
    X = as_points(take_rows(X, np.arange(min(ORIGIN_ROWS, X.shape[0])))) if is_lazy(X) else X
    xp = array_namespace(X)
    mean = xp.mean(X, axis=0)
    if not bool(xp.all(xp.isfinite(mean))):  # the pass over lazy data raises the error
        return kernel
    spread = float(xp.sum((X - mean) ** 2)) / X.shape[0]
    far = float(mean @ mean) > FAR[itemsize(X.dtype)] * spread
    return kernel.recentered(to_numpy(mean)) if far else kernel


def without_origin(kernel: Kernel) -> Kernel:
    """The kernel that `about_data` was given, for methods that need its values, not only differences of images."""
    if isinstance(kernel, ShiftedInputs):
        return kernel.kernel
    if isinstance(kernel, Sum):
        return without_origin(kernel.left) + without_origin(kernel.right)
    return without_origin(kernel.kernel) * kernel.factor if isinstance(kernel, Scaled) else kernel


def named_kernel(estimator: Any, *, symmetric: bool = True) -> Kernel:
    """The kernel that the parameters of `estimator` describe; if it must be symmetric, one that is not is refused."""
    parameters = {name: getattr(estimator, name) for name in ("gamma", "degree", "coef0", "kernel_params")}
    if parameters["gamma"] is None and isinstance(estimator.kernel, str) and estimator.kernel == "rbf":
        parameters["gamma"] = getattr(estimator, "_default_rbf_gamma", None)  # of estimators with another default
    kernel = as_kernel(estimator.kernel, **parameters)
    check_parameters(kernel)  # before anyone asks its parts for a promise
    kernel = own_parameters(kernel)
    if symmetric:
        kernel.require_symmetry(type(estimator).__name__)
    return kernel


def is_precomputed(kernel: Any) -> bool:
    """Whether a kernel parameter, a name or an object, stands for a matrix of values."""
    if isinstance(kernel, Kernel):
        return kernel.points_are_row_numbers
    return isinstance(kernel, str) and kernel == "precomputed"


def with_kernel_tags(tags: Any, kernel: Any) -> Any:
    """scikit-learn's tags of a transformer with a kernel."""
    tags.input_tags.sparse = True
    tags.input_tags.pairwise = is_precomputed(kernel)
    tags.transformer_tags.preserves_dtype = ["float64", "float32"]
    return with_array_tag(tags)


def with_array_tag(tags: Any) -> Any:
    """Tell scikit-learn that arrays of torch, CuPy and other libraries of the array API standard are accepted.

    The tag switches on tests of scikit-learn that need SciPy 1.14.
    """
    tags.array_api_support = tuple(int(part) for part in scipy.__version__.split(".")[:2]) >= (1, 14)
    return tags


# Rows of a memory map or a chunk that are read together: enough to fill blocks of the kernel, few next to the memory.
LAZY_ROWS = 4096
# Rows that stream through a device together: enough to keep it busy, and 100 MB for 400 columns.
DEVICE_ROWS = 2**15


def check_queries(estimator: Any, X: Rows, like: Array) -> Rows:
    """Validate inputs for a fitted model, whose arrays have the library, device and precision of `like`."""
    if is_stream(X):
        raise TypeError(
            f"{type(estimator).__name__} was given an iterator of blocks, which can be read once only. Pass its blocks "
            "one by one."
        )
    if is_lazy(X):
        return check_lazy_points(estimator, X, reset=False)
    return check_model_inputs(estimator, X, fitted=like)


def map_queries(estimator: Any, function: Callable[[Array], Array], X: Rows, like: Array) -> Array:
    """`function` of validated inputs, or a pass with it over what does not fit into memory."""
    if not is_lazy(X):
        return function(X)
    name, dtype = type(estimator).__name__, like.dtype  # not the estimator: tasks should carry no more than they need
    checked = lambda rows: check_finite_block(name, as_points(rows).astype(dtype, copy=False))
    if is_chunked(X):  # whose progress is for its scheduler to show
        method = current_method()

        def looked_at(rows: Array) -> Array:  # on a worker, and later: nobody else looks at the result
            with working_method(method):
                return finite_result(function(checked(rows)), rows)

        return map_rows(looked_at, X, rows=LAZY_ROWS)
    with stage("Rows of a memory map", X.shape[0]) as advance:

        def counted(rows: Array) -> Array:
            found = function(checked(rows))
            advance(found.shape[0])
            return found

        return map_rows(counted, X, rows=LAZY_ROWS)


def through_device(subspace: Subspace, device: str) -> Callable[[Rows], Array]:
    """A function like ``subspace.coordinates`` that streams NumPy rows through a device and back."""
    moved = lambda array: on_device(to_numpy(array), device)
    there = subspace.converted(moved, moved(subspace.frame.points))
    coordinates = lambda rows: to_numpy(there.coordinates(moved(rows)))
    return lambda X: map_rows(coordinates, X, rows=DEVICE_ROWS, device_of=there.frame.points)
