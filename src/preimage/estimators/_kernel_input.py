"""Inputs of fits: checks, the kernel that parameters and data say, and what `landmarks` means in all estimators."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy

from preimage._engine.arrays import (
    array_namespace,
    as_points,
    as_rows,
    in_memory,
    is_chunked,
    is_lazy,
    is_objects,
    is_sparse,
    itemsize,
    own_copy,
    take_rows,
    to_numpy,
)
from preimage._engine.finite import are_moderate_values, training_inputs
from preimage._engine.memory import memory_budget
from preimage._engine.objects import are_objects
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import (
    MOST_ACCEPTED,
    PLAIN,
    Interval,
    check_gram,
    check_lazy_points,
    check_parameters,
    check_points,
    check_weights,
    count_rows,
    generator,
    own_parameters,
    parameters,
    require_in_memory,
    with_weight,
)
from preimage._engine.warnings import unwarned
from preimage._models.components import LandmarkModel
from preimage.estimators._estimator import check_objects
from preimage.estimators._relevant_kernel import learns_relevance, relevant_kernel, without_learned
from preimage.kernels import Kernel, Scaled, ShiftedInputs, Sum, as_kernel
from preimage.kernels._bandwidth import CLASS_RULES, GAMMA, RECONSTRUCTION
from preimage.kernels._door import moderate_inputs
from preimage.landmarks import Landmarks, LandmarkSelector, as_landmarks
from preimage.widths._class_gram import stratified_rows
from preimage.widths._class_width import CLASS_POINTS, check_class_labels, with_class_widths

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

# Kernels that were made of plain parameters and accepted, by these and their types: for a few rows that takes as long
# as their eigenvectors.
_named: dict[tuple[tuple[type, ...], tuple[Any, ...]], tuple[Kernel, bool]] = {}

KERNEL_CONSTRAINTS = {
    "kernel": [str, callable, Kernel],
    "gamma": GAMMA,
    "degree": [Interval(Integral, 1, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "kernel_params": [dict, None],
}
# Constraints of a parameter `landmarks`.
LANDMARKS = [Interval(Integral, 1, None, closed="left"), str, LandmarkSelector, None]


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
    resolved: bool = True,
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
    resolved : bool, default=True
        Whether parameters of the kernel that wait for data are found; otherwise the caller does that.
    """
    without_learned(estimator)
    kernel, is_settled = _named_kernel(estimator, symmetric)
    if is_settled and type(X) is np.ndarray:
        checked = check_points(estimator, X, reset=True, min_samples=min_samples)
        return kernel, own_copy(checked, X) if copy else checked
    checked = check_rows_of(estimator, kernel, X, reset=True, min_samples=min_samples)
    if kernel.points_are_row_numbers:
        checked = check_gram(estimator, checked, centered=centered)
    elif copy:
        checked = own_copy(checked, X)
    has_all = type(kernel).resolve is Kernel.resolve and kernel.is_resolved
    if has_all and isinstance(estimator.kernel, str):  # data decide nothing, and the kernel is nobody else's
        return _sharing(kernel, checked), moderate_inputs(type(estimator).__name__, kernel, checked, are_checked=True)
    known, weights = checked, check_weights(estimator, sample_weight, checked.shape[0])
    if not resolved:
        return kernel, training_inputs(type(estimator).__name__, checked)
    if labelled_rows is not None and needs_targets(kernel):
        rows, y = labelled_rows(checked.shape[0])
        known = take_rows(checked, rows)
    kernel = labelled_kernel(estimator, kernel, known, y)
    counted = checked if weights is None or weights.all() else take_rows(checked, np.flatnonzero(weights))
    kernel = _with_chosen_width(estimator, kernel, counted)
    kernel = kernel.resolve(checked if weights is None or kernel.is_resolved else repeated(checked, weights))
    checked = moderate_inputs(type(estimator).__name__, kernel, checked)
    return _sharing(kernel, checked), checked


def are_rows_of_objects(kernel: Kernel, X: Rows) -> bool:
    """Whether rows that a user gave are objects for this kernel; a function of two rows takes what it is given."""
    return kernel.takes_objects and (not kernel.takes_numbers or are_objects(X))


def check_rows_of(
    estimator: Any, kernel: Kernel, X: Rows, *, reset: bool = True, like: Array = None, min_samples: int = 1
) -> Array:
    """Validate rows for an estimator with this kernel: rows of numbers, see `check_points`, or a column of objects.

    Without `reset`, `like` are points of a fitted model, which say what its rows are.
    """
    if not reset and is_objects(like):
        return check_objects(estimator, kernel, X, like=like, min_samples=min_samples)
    if reset and are_rows_of_objects(kernel, X):
        return check_objects(estimator, kernel, X, min_samples=min_samples)
    if not kernel.takes_numbers:
        return kernel.rows(X)  # which says why it takes neither
    return check_points(estimator, X, reset=reset, min_samples=min_samples)


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
    """`kernel` with the widths that class means or targets decide, found on validated data X with y; else as it is."""
    if learns_relevance(kernel):
        return relevant_kernel(estimator, kernel, X, y)
    if not needs_labels(kernel):
        return kernel
    y = check_class_labels(f"{type(estimator).__name__} with {kernel!r}", y, X.shape[0])
    if is_lazy(X):  # rules look at some points only, so that the others need not be read
        rows = stratified_rows(y, CLASS_POINTS, generator(0))
        X, y = take_rows(X, rows), y[rows]
    return with_class_widths(kernel, as_points(X), y)


def needs_labels(kernel: Kernel) -> bool:
    """Whether the width of a kernel, or of a part of it, is found from class means."""
    return not _rules(kernel).isdisjoint(CLASS_RULES)


def needs_targets(kernel: Kernel) -> bool:
    """Whether the width of a kernel, or of a part of it, is found from class means or learned from targets."""
    return needs_labels(kernel) or learns_relevance(kernel)


def _rules(kernel: Kernel) -> set[str]:
    """Rules that wait for data in a kernel and in its parts."""
    return {value for _, value, _ in kernel.open_parameters() if isinstance(value, str)}


def _with_chosen_width(estimator: Any, kernel: Kernel, X: Rows) -> Kernel:
    """`kernel` with a width that the estimator chooses by reconstruction; as it is where that is not asked for."""
    choose = getattr(estimator, "_with_reconstruction_width", None)
    return choose(kernel, X) if choose is not None and RECONSTRUCTION in _rules(kernel) else kernel


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
        rows = as_rows(in_memory(X))
        return own_copy(rows, X) if kernel.keeps_data else rows
    return as_rows(take_rows(X, np.sort(rng.choice(n, WIDTH_ROWS, replace=False))))


def about_data(kernel: Kernel, X: Rows) -> Kernel:
    """`kernel`, evaluated about the mean of the rows X where they lie far from the origin and the kernel allows it.

    Only for methods that centre in feature space; see `Kernel.recentered`. Of lazy data the first rows are used.
    """
    if is_sparse(X) or is_objects(X) or kernel.recentered(np.zeros(X.shape[1])) is kernel:
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
    return _named_kernel(estimator, symmetric)[0]


def _named_kernel(estimator: Any, symmetric: bool) -> tuple[Kernel, bool]:
    """The same, and whether it is known to be settled, see `_is_settled`."""
    name, gamma = estimator.kernel, estimator.gamma
    if gamma is None and isinstance(name, str) and name == "rbf":
        gamma = getattr(estimator, "_default_rbf_gamma", None)  # of estimators with another default
    given = name, gamma, estimator.degree, estimator.coef0, estimator.kernel_params, symmetric
    types = tuple(map(type, given))
    is_plain = types[0] is str and PLAIN.issuperset(types)
    known = _named.get((types, given)) if is_plain else None  # one look: another thread may clear them
    if known is not None:
        return _copy_of(known[0]), known[1]
    kernel = as_kernel(name, gamma=gamma, degree=given[2], coef0=given[3], kernel_params=given[4])
    check_parameters(kernel)  # before anyone asks its parts for a promise
    kernel = own_parameters(kernel)
    if symmetric:
        kernel.require_symmetry(type(estimator).__name__)
    if not is_plain:
        return kernel, False
    if len(_named) >= MOST_ACCEPTED:
        _named.clear()
    _named[types, given] = _copy_of(kernel), (is_settled := _is_settled(kernel))
    return kernel, is_settled


def _is_settled(kernel: Kernel) -> bool:
    """Whether data decide nothing about a radial kernel on numbers, and its values are moderate in any precision."""
    if type(kernel).resolve is not Kernel.resolve or not (kernel.is_radial and kernel.is_resolved):
        return False
    if kernel.takes_objects or kernel.points_are_row_numbers or kernel.has_extreme_parameters:
        return False
    with unwarned():
        return are_moderate_values(abs(float(kernel.diagonal(np.zeros((1, 1)))[0])), np.float32)


def _copy_of(kernel: Kernel) -> Kernel:
    """Another object with the same parameters: whoever changes it changes one model."""
    copied = object.__new__(type(kernel))
    copied.__dict__ = dict(kernel.__dict__)
    return copied


def is_precomputed(kernel: Any) -> bool:
    """Whether a kernel parameter, a name or an object, stands for a matrix of values."""
    if isinstance(kernel, Kernel):
        return kernel.points_are_row_numbers
    return isinstance(kernel, str) and kernel == "precomputed"


def with_kernel_tags(tags: Any, kernel: Any) -> Any:
    """scikit-learn's tags of a transformer with a kernel."""
    tags.input_tags.sparse = True
    tags = with_object_tags(tags, kernel)
    tags.input_tags.pairwise = is_precomputed(kernel)
    tags.transformer_tags.preserves_dtype = ["float64", "float32"]
    return with_array_tag(tags)


def with_object_tags(tags: Any, kernel: Any) -> Any:
    """Tell scikit-learn that rows are no table where a kernel takes objects alone."""
    if isinstance(kernel, Kernel) and kernel.takes_objects and not kernel.takes_numbers:
        tags.input_tags.two_d_array, tags.input_tags.one_d_array, tags.input_tags.string = False, True, True
    return tags


def with_array_tag(tags: Any) -> Any:
    """Tell scikit-learn that arrays of torch, CuPy and other libraries of the array API standard are accepted.

    The tag switches on tests of scikit-learn that need SciPy 1.14.
    """
    tags.array_api_support = tuple(int(part) for part in scipy.__version__.split(".")[:2]) >= (1, 14)
    return tags


# Landmarks of landmarks="auto" and of streams: their eigenproblem takes a second, and the model some megabytes. Ten
# times as many would take a thousand times as long.
DEFAULT_LANDMARKS = 1000
# Rows beyond which landmarks="auto" prefers landmarks even where the Gram matrix fits into memory: its time grows with
# the square of the rows, and is some minutes here.
MOST_EXACT_ROWS = 20_000
# A Gram matrix needs its entries, eight bytes each, and some room for work on them.
ROOM_FOR_WORK = 1.25


@dataclass(frozen=True)
class Inputs:
    """What a fit works on.

    Attributes
    ----------
    kernel : Kernel
        With all parameters resolved.
    X : array, sparse matrix, memory map or Dask array of shape (n, d)
        Validated rows, as the kernel takes them.
    weights : array of shape (n,), or None
        None counts every row once.
    kept : integer array of shape (n,), or None
        Numbers of these rows among those that were given, where some were left out.
    """

    kernel: Kernel
    X: Rows
    weights: np.ndarray | None
    kept: np.ndarray | None = None


def uses_landmarks(
    method: str, landmarks: Any, X: Rows, max_memory: int | str | None = None, *, takes_chunks: bool = False
) -> bool:
    """Whether a fit on X uses landmarks, the same for all estimators.

    None uses all rows; "auto" uses all rows up to 20,000 if their Gram matrix fits `max_memory` and X is no Dask
    collection; anything else uses landmarks. `method` names the fit on all rows in the error for Dask collections,
    which is raised unless that fit `takes_chunks`.
    """
    if landmarks is None and not takes_chunks:
        advice = "Give landmarks=500, say, to fit a Dask array, or pass X.compute()."
        require_in_memory(X, f"{method} needs all rows", advice)
    if not is_auto(landmarks):
        return landmarks is not None
    return is_chunked(X) or too_large_for_exact(count_rows(X), memory_budget(max_memory, X))


def decided_landmarks(method: str, landmarks: Any, X: Rows, max_memory: int | str | None = None) -> Any:
    """The `landmarks` parameter, or None where a fit on X uses all rows."""
    return landmarks if uses_landmarks(method, landmarks, X, max_memory) else None


def is_auto(landmarks: Any) -> bool:
    return isinstance(landmarks, str) and landmarks == "auto"


def gives_points(landmarks: Any) -> bool:
    """Whether a `landmarks` parameter contains the points themselves, not how to choose them."""
    return landmarks is not None and not isinstance(landmarks, (Integral, str, LandmarkSelector))


def too_large_for_exact(n: int, budget: int) -> bool:
    """Whether ``landmarks="auto"`` means landmarks for n rows and so many bytes."""
    return n > MOST_EXACT_ROWS or ROOM_FOR_WORK * 8 * n * n > budget


def as_selector(landmarks: Any) -> LandmarkSelector:
    """The selector that a `landmarks` parameter means where landmarks are used; None and "auto" have a default."""
    return as_landmarks(DEFAULT_LANDMARKS if landmarks is None or is_auto(landmarks) else landmarks)


def selection_rng(landmarks: Any, random_state: Seed) -> np.random.Generator | None:
    """The source of random numbers for a selection: None for a selector object, which has a seed of its own."""
    return None if isinstance(landmarks, LandmarkSelector) else generator(random_state)


def selected(estimator: Any, landmarks: Any, kernel: Kernel, X: Rows) -> Landmarks:
    """Landmarks among the rows of X as a `landmarks` parameter of an estimator says."""
    rng = selection_rng(landmarks, estimator.random_state)
    return as_selector(landmarks).select(kernel, X, rng=rng).required()


def batch_rng(random_state: Seed, seen: float) -> np.random.Generator:
    """Random numbers for a further batch of a stream: another sequence for every batch.

    It is the same whenever the stream is: `seen` is the number of rows, or the sum of weights, of the batches before.
    """
    return np.random.default_rng([int(generator(random_state).integers(2**32)), int(seen)])


def exact_inputs(
    estimator: Any,
    X: Rows,
    y: Targets = None,
    sample_weight: Targets = None,
    *,
    copy: bool,
    about_mean: bool = True,
) -> Inputs:
    """Inputs of a fit on all rows of X, centred in feature space; rows of weight zero are dropped.

    Parameters
    ----------
    estimator : BaseEstimator
        Has the parameters of a kernel; validation sets its `n_features_in_` and `feature_names_in_`.
    X, y, sample_weight
        As given to `fit`.
    copy : bool
        Whether the model must not keep the array of the caller.
    about_mean : bool, default=True
        Whether the fit centres in feature space.
    """
    kernel, X = kernel_and_inputs(
        estimator, X, y, min_samples=2, sample_weight=sample_weight, centered=about_mean, copy=copy
    )
    points, weights = kernel.inputs(X), check_weights(estimator, sample_weight, X.shape[0])
    if weights is not None:
        points, weights = with_weight(estimator, points, weights)
    return Inputs(about_data(kernel, points) if about_mean else kernel, points, weights)


def landmark_inputs(
    estimator: Any,
    X: Rows,
    y: Targets = None,
    sample_weight: Targets = None,
    *,
    min_samples: int = 2,
    keep_all: bool = False,
    about_mean: bool = True,
    resolved: bool = True,
) -> Inputs:
    """Inputs of a fit on landmarks, which reads X block by block; widths of the kernel are found on some of the rows.

    Parameters are those of `exact_inputs`. Rows of weight zero are dropped from arrays in memory unless `keep_all`.
    Unless `resolved`, the caller finds parameters of the kernel that wait for data.
    """
    without_learned(estimator)
    kernel = named_kernel(estimator)
    is_precomputed = kernel.points_are_row_numbers
    if is_precomputed:
        advice = f"Give {type(estimator).__name__} the kernel itself and the inputs, or pass X.compute()."
        require_in_memory(X, "A precomputed kernel needs its matrix", advice)
        X = np.asarray(X) if isinstance(X, np.memmap) else X  # the matrix is looked at as a whole
    if is_lazy(X) and not are_rows_of_objects(kernel, X):
        X = check_lazy_points(estimator, X, reset=True, min_samples=min_samples)  # which counts rows of unknown chunks
    else:
        X = check_rows_of(estimator, kernel, X, reset=True, min_samples=min_samples)
    weights = check_weights(estimator, in_memory(sample_weight), X.shape[0])
    if is_precomputed:
        kernel = kernel.resolve(check_gram(estimator, X))
        X = kernel.inputs(X)
    kept = None
    if weights is not None and not is_lazy(X) and not keep_all:
        if needs_targets(kernel) and y is not None and count_rows(y) == weights.size:
            y = np.asarray(in_memory(y))[np.flatnonzero(weights)]
        kept = np.flatnonzero(weights)
        X, weights = with_weight(estimator, X, weights)
    if is_precomputed:
        return Inputs(kernel, X, weights, kept)
    if not resolved:
        return Inputs(kernel, X, weights, kept)
    kernel = kernel_on_sample(estimator, kernel, X, y)
    X = moderate_inputs(type(estimator).__name__, kernel, X)
    return Inputs(about_data(kernel, X) if about_mean else kernel, X, weights, kept)


def fitted_to_moments(estimator: Any, model: LandmarkModel, n_rows: int) -> Any:
    """`estimator`, fitted to n rows of which the moments on landmarks are known: chunks of them were read before."""
    estimator._store_landmarks(model, model.landmarks.points, n_rows)
    return estimator
