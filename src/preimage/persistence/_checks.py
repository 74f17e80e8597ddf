"""What loaded objects must satisfy, so that damaged or hostile files fail when they are read, with a clear message."""

from contextlib import suppress
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.svm import OneClassSVM

from preimage._arrays import is_sparse
from preimage._typing import Array
from preimage._warnings import ignored, ignored_of_others
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion, Subspace
from preimage.kernels import Kernel, Patches, Warped
from preimage.machines import Compression, KernelMachine, Output
from preimage.persistence._tensors import Tensors

# Patches build a matrix of pixels by pixels, and warped kernels one of their points by their points, of 2 GB at this
# number: a small file must not fill the memory when its model is used.
MOST_PIXELS = MOST_GRAPH_POINTS = 2**14
# Models are tried when they are loaded unless that would take memory which the file does not: matrices of more rows
# than this have more than 32 MB, and a dense row of more columns more than 8 MB.
MOST_ROWS_TRIED, MOST_COLUMNS_TRIED = 2**11, 10**6
# Searches for denoising solve for pre-images; a forger could have them iterate for hours.
MOST_ITERATIONS_TRIED = 10_000
# Kernels that a composed kernel may consist of. A part that a file refers to twice at each level, k = k + k, doubles
# them: 30 such lines would keep every evaluation busy for hours. Evaluating this many takes seconds.
MOST_PARTS = 10_000


def check_loaded(value: Any) -> None:
    """Raise ValueError, or another error, if an object of a file is not what its class promises."""
    for kind, check in _CHECKS.items():
        if isinstance(value, kind):
            check(value)
    if hasattr(value, "_n_support"):
        _check_libsvm(value)
    if hasattr(value, "check_fields"):
        value.check_fields()
    if hasattr(value, "n_features_in_"):
        _check_features(value)
    if hasattr(value, "compression_"):
        _check_compressed(value)


def check_answers(model: Any, parts: list[Any], tensors: Tensors) -> None:
    """Ask an estimator of ours, or a pipeline that ends in one, about a row of zeros: ValueError if it cannot answer.

    Arrays that fit together cannot all be compared one by one; a model whose parts do not fit fails here.

    Parameters
    ----------
    model : anything that a file holds
    parts : list of objects
        All that it is made of.
    tensors : Tensors
        The arrays of the file.
    """
    d = getattr(model, "n_features_in_", None)
    if _is_ours(model) and not isinstance(model, Pipeline):
        is_fitted = any(name.endswith("_") and not name.startswith("_") for name in vars(model))
        _require(d is not None or not is_fitted, "the number of features that it was fitted on")
    if not _is_ours(model) or d is None or any(_takes_memory(part) or _takes_time(part) for part in parts):
        return
    methods = [name for name in ("predict", "decision_function", "predict_proba", "transform") if hasattr(model, name)]
    if d > MOST_COLUMNS_TRIED:
        _require(not methods or tensors.has_size(d), f"an array of {d} columns, as many as it takes; the file has none")
        return
    try:
        with np.errstate(all="ignore"), ignored_of_others(Warning), ignored(Warning):
            for name in methods:
                with suppress(ValueError, UnsupportedKernelError):  # rows of zeros are not for every kernel
                    getattr(model, name)(np.zeros((1, d)))
    except (TypeError, AttributeError, LookupError, ArithmeticError, MemoryError) as error:
        raise ValueError(f"{type(model).__name__} of the file has parts that do not fit: {error}") from error


def _is_ours(model: Any) -> bool:
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    return type(last).__module__.startswith("preimage.") and hasattr(last, "fit")


def _takes_memory(part: Any) -> bool:
    """Whether evaluating an object builds matrices that are larger than the file."""
    if isinstance(part, Patches):
        return int(np.prod(part.image_shape, dtype=float)) > MOST_ROWS_TRIED
    return isinstance(part, Warped) and np.shape(part.points)[:1] > (MOST_ROWS_TRIED,)


def _takes_time(part: Any) -> bool:
    """Whether the file asks for more iterations than any default of ours."""
    iterations = getattr(part, "max_iter", None)
    return isinstance(iterations, Integral) and int(iterations) > MOST_ITERATIONS_TRIED


def _check_expansion(expansion: Expansion) -> None:
    kernel, points, coefficients = expansion.kernel, expansion.points, expansion.coefficients
    _require(
        isinstance(kernel, Kernel) and kernel.is_resolved, "a kernel with numbers as parameters; got {!r:.200}", kernel
    )
    _check_floats("coefficients", coefficients, 2)
    _require(_is_matrix(points), f"points as rows of an array; got {type(points).__name__}")
    _require(
        points.shape[0] == coefficients.shape[0],
        f"{coefficients.shape[0]} points, one for each row of coefficients; got {_describe(points)}",
    )
    if kernel.points_are_row_numbers:
        are_numbers = points.dtype.kind == "i" and not is_sparse(points) and points.shape[1] == 1
        _require(are_numbers and (not points.size or points.min() >= 0), f"numbers of points; got {_describe(points)}")
        return
    _require(points.dtype.kind == "f", f"floating points; got {_describe(points)}")
    if points.shape[0]:
        _check_kernel(kernel, points)


def _check_composition(kernel: Kernel) -> None:
    counts: dict[int, int] = {}

    def count(part: Kernel) -> int:
        if id(part) not in counts:
            counts[id(part)] = 1 + sum(map(count, part.parts()))
        return counts[id(part)]

    n = count(kernel)
    _require(n <= MOST_PARTS, f"kernels composed of at most {MOST_PARTS} parts; one has {n:.2g}")


def _check_kernel(kernel: Kernel, points: Array) -> None:
    """Whether the kernel takes such points: matrices and weights of kernels have to fit them."""
    d = points.shape[1]
    for part in _parts(kernel):
        if isinstance(part, Patches):
            _require(d <= MOST_PIXELS, f"images of at most {MOST_PIXELS} pixels for Patches; the file has {d}")
        if isinstance(part, Warped):
            is_graph = np.ndim(part.points) == 2 and np.shape(part.points)[0] <= MOST_GRAPH_POINTS
            _require(
                is_graph,
                f"at most {MOST_GRAPH_POINTS} points for a warped kernel, rows of an array; the file has "
                f"{type(part.points).__name__} of shape {np.shape(part.points)}",
            )
    if (d > MOST_COLUMNS_TRIED and is_sparse(points)) or any(map(_takes_memory, _parts(kernel))):
        return
    try:
        with np.errstate(all="ignore"):
            values = kernel.blocks(points[:1], points[:1])(slice(None), slice(None))
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, MemoryError) as error:
        raise ValueError(f"The kernel {kernel!r:.100} of the file does not fit its points: {error}") from error
    _require(values.shape == (1, 1), "a kernel that fits its points; got {!r:.100}", kernel)


def _check_subspace(subspace: Subspace) -> None:
    k = len(subspace.frame)
    _require(isinstance(subspace.frame, Expansion), f"a frame of vectors; got {type(subspace.frame).__name__}")
    for name in ("offset", "signature"):
        array = getattr(subspace, name)
        if array is not None:
            _check_floats(name, array, 1)
            _require(array.shape == (k,), f"{k} numbers as `{name}`; got {_describe(array)}")
    if subspace.origin is not None:
        _require(isinstance(subspace.origin, Expansion) and len(subspace.origin) == 1, "one vector as origin")
        _require(isinstance(subspace.origin_squared_norm, float), "a number as the squared norm of the origin")
        _require(subspace.offset is not None, "the coordinates of the origin")


def _check_machine(machine: KernelMachine) -> None:
    output, d = machine.output, machine.n_features_in
    _require(isinstance(output, Output), f"an output; got {type(output).__name__}")
    _require(isinstance(machine.expansion, Expansion), f"an expansion; got {type(machine.expansion).__name__}")
    _require(_is_count(d), "a positive number of features; got {!r:.30}", d)
    _check_names(machine.feature_names_in, d)
    # A transformer has one function more than coordinates: the mean, for pre-images.
    counts = {output.n_functions, output.n_functions + 1} if output.kind == "transformer" else {output.n_functions}
    points, k = machine.expansion.points, len(machine.expansion)
    _require(k in counts, f"coefficients for {min(counts)} functions; got {k}")
    _require(points.shape[0] > 0, "one or more points")
    _check_floats("intercept", machine.intercept, 1)
    if machine.weights is not None:
        _check_floats("weights", machine.weights, 1)
    sizes = [len(part) for part in (machine.intercept, machine.weights) if part is not None]
    _require(set(sizes) == {k}, f"intercepts and weights for {k} functions; got {sizes}")
    for name in ("coefficients", "points"):
        array = getattr(machine.expansion, name)
        finite = np.isfinite(array.data if is_sparse(array) else array)
        _require(bool(np.all(finite)), f"finite numbers as `{name}`")
    if machine.expansion.kernel.points_are_row_numbers:
        _require(points.max() < d, f"numbers of points below {d}; got {points.max()}")
    else:
        columns = d + machine.expansion.kernel.own_columns
        _require(points.shape[1] == columns, f"points of {columns} columns; got {_describe(points)}")


def _check_compression(compression: Compression) -> None:
    is_number = lambda value: isinstance(value, float) and not np.isinf(value)
    scores, ratio = compression.scores, compression.work_ratio
    _require(isinstance(compression.machine, KernelMachine), "a kernel machine")
    _require(_is_count(compression.n_original_points), "a positive number of points")
    _require(is_number(compression.error), "a number as error; got {!r:.60}", compression.error)
    are_scores = isinstance(scores, tuple) and len(scores) == 2 and all(map(is_number, scores))
    _require(scores is None or are_scores, "two numbers or None as scores; got {!r:.60}", scores)
    _require(is_number(ratio) and ratio > 0, "a positive work_ratio; got {!r:.60}", ratio)
    for name in ("converged", "is_scored_by_original"):
        value = getattr(compression, name)
        _require(isinstance(value, bool), "true or false as {}; got {!r:.60}", name, value)
    _require(isinstance(compression.reason, str), "text as reason; got {!r:.60}", compression.reason)


def _check_compressed(model: Any) -> None:
    compression = model.compression_
    _require(isinstance(compression, Compression), f"a compression; got {type(compression).__name__}")
    kind, d = compression.machine.output.kind, compression.machine.n_features_in
    _require(kind == model.kind, f"a {model.kind}; got a {kind}")
    _require(model.n_features_in_ == d, "{} features; got {!r:.30}", d, model.n_features_in_)


def _check_features(estimator: Any) -> None:
    d = estimator.n_features_in_
    _require(_is_count(d), "a positive number of features; got {!r:.30}", d)
    _check_names(getattr(estimator, "feature_names_in_", None), d)
    if "subspace_" in vars(estimator):
        _check_fitted_subspace(estimator.subspace_, _kept_columns(estimator))


def _kept_columns(estimator: Any) -> int:
    """Columns that the points of a model have: all of its inputs, or of an imputer those with known entries."""
    d, valid = estimator.n_features_in_, vars(estimator).get("valid_features_")
    if valid is None:
        return int(d)
    described = _describe(valid) if hasattr(valid, "shape") else type(valid).__name__
    is_mask = isinstance(valid, np.ndarray) and valid.dtype == bool and valid.shape == (d,)
    _require(is_mask, f"{d} booleans that say which columns are valid; got {described}")
    return int(valid.sum())


def _check_fitted_subspace(subspace: Any, d: int) -> None:
    _require(isinstance(subspace, Subspace), f"a subspace; got {type(subspace).__name__}")
    frame = subspace.frame
    if not frame.kernel.points_are_row_numbers:
        _require(frame.points.shape[1] == d, f"points of {d} columns; got {_describe(frame.points)}")


def _check_libsvm(svm: Any) -> None:
    """libsvm trusts its arrays: sizes that do not agree would make it read beyond them."""
    _require("_impl" not in vars(svm), "a support vector machine of the kind that its class says")
    n, counts = len(svm.support_), np.asarray(svm._n_support)
    # libsvm stores regression and one-class machines in the arrays of two classes, with all vectors in the first count.
    classes = 2 if isinstance(svm, OneClassSVM) or not hasattr(svm, "classes_") else len(svm.classes_)
    pairs = classes * (classes - 1) // 2
    is_classifier = hasattr(svm, "classes_")
    _require(counts.dtype == np.int32 and counts.min() >= 0, "counts of support vectors")
    _require(int(counts[: classes if is_classifier else 1].sum()) == n, f"{n} support vectors in all classes together")
    _require(counts.shape == (max(classes, 2),), f"counts of support vectors of {classes} classes")
    _require(svm.dual_coef_.shape == (classes - 1, n), f"coefficients of {n} support vectors")
    _require(svm._dual_coef_.shape == (classes - 1, n), f"coefficients of {n} support vectors")
    # libsvm reads (classes − 1) · n numbers from this array, whatever its shape says, so zeros must be stored too.
    stored = svm._dual_coef_.data if is_sparse(svm._dual_coef_) else svm._dual_coef_
    _require(stored.size == (classes - 1) * n, f"coefficients of {n} support vectors, zeros included")
    _require(svm.intercept_.shape == svm._intercept_.shape == (pairs,), f"{pairs} intercepts")
    if svm.kernel != "precomputed" and not callable(svm.kernel):
        _require(svm.support_vectors_.shape == (n, svm.n_features_in_), f"{n} support vectors as rows")
    for name in ("_probA", "_probB"):
        _require(getattr(svm, name).shape in ((0,), (pairs,)), f"{pairs} parameters of probabilities")


def _check_floats(name: str, array: Any, ndim: int) -> None:
    is_right = isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.ndim == ndim
    _require(is_right, f"floating numbers as `{name}`; got {_describe(array)}")


def _check_names(names: Any, d: int) -> None:
    is_right = names is None or (
        isinstance(names, np.ndarray) and names.shape == (d,) and all(isinstance(name, str) for name in names)
    )
    _require(is_right, "{} strings as feature names; got {!r:.100}", d, names)


def _parts(kernel: Kernel) -> list[Kernel]:
    """A kernel and all that it is made of."""
    return [kernel, *(each for part in kernel.parts() for each in _parts(part))]


def _is_matrix(array: Any) -> bool:
    return (isinstance(array, np.ndarray) or is_sparse(array)) and array.ndim == 2


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and 1 <= int(value) < 2**31


def _describe(array: Any) -> str:
    return f"{array.dtype} of shape {tuple(array.shape)}" if hasattr(array, "dtype") else type(array).__name__


def _require(condition: Any, wanted: str, *found: Any) -> None:
    """Raise unless `condition` holds; only then what was `found` is written into `wanted`."""
    if not condition:
        raise ValueError(f"The model of the file needs {wanted.format(*found) if found else wanted}.")


_CHECKS: dict[type, Any] = {
    Kernel: _check_composition,
    Expansion: _check_expansion,
    Subspace: _check_subspace,
    KernelMachine: _check_machine,
    Compression: _check_compression,
}
