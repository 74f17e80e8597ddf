"""What loaded objects must satisfy, so that damaged or hostile files fail when they are read, with a clear message."""

from contextlib import suppress
from numbers import Integral
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any
from warnings import catch_warnings

import numpy as np
from joblib import parallel_config
from sklearn.kernel_approximation import PolynomialCountSketch
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils import get_tags

from preimage._engine.arrays import is_objects, is_sparse
from preimage._engine.typing import Array
from preimage._engine.warnings import filters_in_use, ignored
from preimage._models.machines import Compression, KernelMachine, Output
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion, Subspace
from preimage.kernels import Kernel, Patches, Warped
from preimage.persistence._compiled_code import check_booleans, check_compiled, check_csr, check_generator, require
from preimage.persistence._safetensors import Tensors
from preimage.solvers import Preimage

# Patches build a matrix of pixels by pixels, and warped kernels one of their points by their points, of 2 GB at this
# number: a small file must not fill the memory when its model is used.
MOST_PIXELS = MOST_GRAPH_POINTS = 2**14
# Models are tried when they are loaded unless that would take memory which the file does not: matrices of more rows
# than this have more than 32 MB, and a dense row of more columns more than 8 MB.
MOST_ROWS_TRIED, MOST_COLUMNS_TRIED = 2**11, 10**6
# Searches for denoising solve for pre-images; a forger could have them iterate for hours.
MOST_ITERATIONS_TRIED = 10_000
# Methods that a file is asked for.
_ANSWERS = ("predict", "decision_function", "predict_proba", "transform", "kneighbors")


def check_loaded(value: Any) -> None:
    """Raise ValueError, or another error, if an object of a file is not what its class promises."""
    for kind, check in _CHECKS.items():
        if isinstance(value, kind):
            check(value)
    check_compiled(value)
    for name, kind in _LEARNED.items():
        if name in getattr(value, "__dict__", {}):
            found = vars(value)[name]
            require(found is None or isinstance(found, kind), f"a {kind.__name__} as `{name}`; got {{!r:.60}}", found)
    if hasattr(value, "check_fields"):
        value.check_fields()
    if hasattr(value, "n_features_in_"):
        _check_features(value)
    if hasattr(value, "compression_"):
        _check_compressed(value)


def check_graph(value: Any) -> None:
    """Apply `check_loaded` to an object that another library restored, and to all that it consists of.

    Raises
    ------
    ValueError
        If compiled code would follow something out of an array. Objects that are compiled code themselves (trees,
        neighbour searches) are not looked into; skops does not trust them.
    """
    seen: dict[int, Any] = {}
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, (type, ModuleType, FunctionType, BuiltinFunctionType, np.ufunc)):
            continue
        seen[id(part)] = part
        if isinstance(part, dict):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, (list, tuple, set, frozenset)):
            waiting += part
        elif isinstance(part, np.ndarray):
            check_booleans(part)
            waiting += part.ravel().tolist() if part.dtype == object else []
        elif is_sparse(part):
            _check_foreign_sparse(part)
        elif isinstance(part, np.random.RandomState | np.random.Generator | np.random.BitGenerator):
            bits = _state_of_generator(part)
            check_generator(bits["bit_generator"], bits["state"])
        elif hasattr(part, "__dict__"):
            check_loaded(part)
            waiting += vars(part).values()


def _state_of_generator(generator: Any) -> Any:
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    return generator.state if isinstance(generator, np.random.BitGenerator) else generator.bit_generator.state


def _check_foreign_sparse(array: Any) -> None:
    require(array.format in ("csr", "csc"), "sparse arrays of rows or columns; got the format {}", array.format)
    shape = array.shape if array.format == "csr" else array.shape[::-1]
    check_csr(type(array).__name__, array.data, array.indices, array.indptr, shape)


def check_answers(model: Any, parts: list[Any], tensors: Tensors) -> None:
    """Ask an estimator of ours, or the end of a pipeline, about a row of zeros: ValueError if it cannot answer.

    Arrays that fit together cannot all be compared one by one; a model whose parts do not fit fails here.

    Parameters
    ----------
    model : anything that a file holds
    parts : list of objects
        All that it is made of.
    tensors : Tensors
        The arrays of the file.
    """
    if not _is_ours(model):
        return
    tried = _part_to_try(model)
    d = getattr(tried, "n_features_in_", None)
    takes_texts = any(is_objects(getattr(part, "points", None)) for part in parts)
    if takes_texts and d is None and not isinstance(tried, Pipeline):
        d = 1
    if not isinstance(tried, Pipeline):
        is_fitted = any(name.endswith("_") and not name.startswith("_") for name in vars(tried))
        require(d is not None or not is_fitted, "the number of features that it was fitted on")
    if d is None or any(_takes_memory(part) or _takes_time(part) for part in parts):
        return
    methods = [name for name in _ANSWERS if hasattr(tried, name)]
    if d > MOST_COLUMNS_TRIED:
        require(not methods or tensors.has_size(d), f"an array of {d} columns, as many as it takes; the file has none")
        return
    try:
        _ask(tried, methods, [""] if takes_texts else _row_of(tried, d))
    except (TypeError, AttributeError, LookupError, ArithmeticError, MemoryError) as error:
        raise ValueError(f"{type(model).__name__} of the file has parts that do not fit: {error}") from error


def _part_to_try(model: Any) -> Any:
    """A model as a whole, or only the last step of a pipeline.

    Steps of scikit-learn may make rows of any width from a few numbers of a file (encoders, samplers, unions), so
    pipelines are tried as a whole only where all steps before the last keep the width of their rows.
    """
    if not isinstance(model, Pipeline):
        return model
    keep_width = all(step in (None, "passthrough") or type(step) in _KEEP_WIDTH for _, step in model.steps[:-1])
    return model if keep_width else model.steps[-1][1]


def _row_of(model: Any, d: int) -> Array:
    """A row of zeros, in which imputers find a gap."""
    row = np.zeros((1, d))
    if get_tags(model).input_tags.allow_nan:
        row[0, 0] = np.nan
    return row


def _ask(model: Any, methods: list[str], row: Any) -> None:
    """Call these methods with a row; errors that are not about such rows escape."""
    quiet = np.errstate(all="ignore"), catch_warnings(action="ignore"), ignored(Warning)
    # Sequential, whatever `n_jobs` of the file says: loading starts no processes.
    with filters_in_use, quiet[0], quiet[1], quiet[2], parallel_config(backend="sequential"):
        for name in methods:
            answer = None
            with suppress(ValueError, UnsupportedKernelError):  # rows of zeros are not for every kernel
                answer = getattr(model, name)(row)
            if answer is not None and name in ("decision_function", "predict_proba"):
                _check_columns(model, answer)


def _check_columns(model: Any, answer: Any) -> None:
    """A class for each column: the largest one is looked up among the classes."""
    n = np.size(getattr(model, "classes_", ()))
    columns = 1 if np.ndim(answer) == 1 else np.shape(answer)[1]
    require(n == 0 or columns in ((1, 2) if n <= 2 else (n,)), f"answers for {n} classes; got {columns}")


def _is_ours(model: Any) -> bool:
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    return type(last).__module__.startswith("preimage.") and hasattr(last, "fit")


def _takes_memory(part: Any) -> bool:
    """Whether evaluating an object builds matrices that are larger than the file."""
    if isinstance(part, PolynomialCountSketch):
        return part.n_components * part.degree > MOST_COLUMNS_TRIED
    if getattr(part, "n_output_features_", 0) > MOST_COLUMNS_TRIED:  # of polynomials
        return True
    if isinstance(part, Patches):
        return int(np.prod(part.image_shape, dtype=float)) > MOST_ROWS_TRIED
    return isinstance(part, Warped) and np.shape(part.points)[:1] > (MOST_ROWS_TRIED,)


def _takes_time(part: Any) -> bool:
    """Whether the file asks for more iterations, or steps, than any default of ours."""
    numbers = [number for name, number in getattr(part, "__dict__", {}).items() if "iter" in name or "steps" in name]
    return any(isinstance(number, Integral) and int(number) > MOST_ITERATIONS_TRIED for number in numbers)


def _check_expansion(expansion: Expansion) -> None:
    kernel, points, coefficients = expansion.kernel, expansion.points, expansion.coefficients
    require(
        isinstance(kernel, Kernel) and kernel.is_resolved, "a kernel with numbers as parameters; got {!r:.200}", kernel
    )
    _check_floats("coefficients", coefficients, 2)
    require(_is_matrix(points), f"points as rows of an array; got {type(points).__name__}")
    require(
        points.shape[0] == coefficients.shape[0],
        f"{coefficients.shape[0]} points, one for each row of coefficients; got {_describe(points)}",
    )
    if kernel.points_are_row_numbers:
        are_numbers = points.dtype.kind == "i" and not is_sparse(points) and points.shape[1] == 1
        require(are_numbers and (not points.size or points.min() >= 0), f"numbers of points; got {_describe(points)}")
        return
    if is_objects(points):
        _check_texts(kernel, points)
    else:
        is_right = points.dtype.kind == "f" and kernel.takes_numbers
        require(is_right, f"floating points, and a kernel that takes them; got {_describe(points)} and {kernel!r:.100}")
    if points.shape[0]:
        _check_kernel(kernel, points)


def _check_texts(kernel: Kernel, points: Array) -> None:
    """Objects of files are texts, and kernels on other objects have none: they are functions."""
    are_texts = all(type(each) is str for each in points[:, 0])
    require(kernel.takes_objects and are_texts, "texts as points, and a kernel on texts; got {!r:.100}", kernel)


def _check_kernel(kernel: Kernel, points: Array) -> None:
    """Whether the kernel takes such points: matrices and weights of kernels have to fit them."""
    d = points.shape[1]
    for part in _parts(kernel):
        if isinstance(part, Patches):
            require(d <= MOST_PIXELS, f"images of at most {MOST_PIXELS} pixels for Patches; the file has {d}")
            pixels = int(np.prod(part.image_shape, dtype=float))
            fits = pixels == d if part is kernel else pixels <= MOST_PIXELS  # inside of others it may see fewer columns
            require(fits, f"images of {d} pixels for Patches; the file has {pixels}")
        if isinstance(part, Warped):
            is_graph = np.ndim(part.points) == 2 and np.shape(part.points)[0] <= MOST_GRAPH_POINTS
            require(
                is_graph,
                f"at most {MOST_GRAPH_POINTS} points for a warped kernel, rows of an array; the file has "
                f"{type(part.points).__name__} of shape {np.shape(part.points)}",
            )
    if (d > MOST_COLUMNS_TRIED and is_sparse(points)) or any(map(_takes_memory, _parts(kernel))):
        return
    try:
        with np.errstate(all="ignore"):
            values = kernel.prepare(points[:1])(points[:1])
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, MemoryError) as error:
        raise ValueError(f"The kernel {kernel!r:.100} of the file does not fit its points: {error}") from error
    require(values.shape == (1, 1), "a kernel that fits its points; got {!r:.100}", kernel)


def _check_subspace(subspace: Subspace) -> None:
    k = len(subspace.frame)
    require(isinstance(subspace.frame, Expansion), f"a frame of vectors; got {type(subspace.frame).__name__}")
    for name in ("offset", "signature"):
        array = getattr(subspace, name)
        if array is not None:
            _check_floats(name, array, 1)
            require(array.shape == (k,), f"{k} numbers as `{name}`; got {_describe(array)}")
    if subspace.origin is not None:
        require(isinstance(subspace.origin, Expansion) and len(subspace.origin) == 1, "one vector as origin")
        require(isinstance(subspace.origin_squared_norm, float), "a number as the squared norm of the origin")
        require(subspace.offset is not None, "the coordinates of the origin")


def _check_machine(machine: KernelMachine) -> None:
    output, d = machine.output, machine.n_features_in
    require(isinstance(output, Output), f"an output; got {type(output).__name__}")
    require(isinstance(machine.expansion, Expansion), f"an expansion; got {type(machine.expansion).__name__}")
    require(_is_count(d), "a positive number of features; got {!r:.30}", d)
    _check_names(machine.feature_names_in, d)
    # A transformer has one function more than coordinates: the mean, for pre-images.
    counts = {output.n_functions, output.n_functions + 1} if output.kind == "transformer" else {output.n_functions}
    points, k = machine.expansion.points, len(machine.expansion)
    require(k in counts, f"coefficients for {min(counts)} functions; got {k}")
    require(points.shape[0] > 0, "one or more points")
    _check_floats("intercept", machine.intercept, 1)
    if machine.weights is not None:
        _check_floats("weights", machine.weights, 1)
    sizes = [len(part) for part in (machine.intercept, machine.weights) if part is not None]
    require(set(sizes) == {k}, f"intercepts and weights for {k} functions; got {sizes}")
    for name in ("coefficients",) if is_objects(points) else ("coefficients", "points"):
        array = getattr(machine.expansion, name)
        finite = np.isfinite(array.data if is_sparse(array) else array)
        require(bool(np.all(finite)), f"finite numbers as `{name}`")
    if machine.expansion.kernel.points_are_row_numbers:
        require(points.max() < d, f"numbers of points below {d}; got {points.max()}")
    else:
        columns = d + machine.expansion.kernel.own_columns
        require(points.shape[1] == columns, f"points of {columns} columns; got {_describe(points)}")


def _check_compression(compression: Compression) -> None:
    is_number = lambda value: isinstance(value, float) and not np.isinf(value)
    scores, ratio = compression.scores, compression.work_ratio
    require(isinstance(compression.machine, KernelMachine), "a kernel machine")
    require(_is_count(compression.n_original_points), "a positive number of points")
    require(is_number(compression.error), "a number as error; got {!r:.60}", compression.error)
    are_scores = isinstance(scores, tuple) and len(scores) == 2 and all(map(is_number, scores))
    require(scores is None or are_scores, "two numbers or None as scores; got {!r:.60}", scores)
    require(is_number(ratio) and ratio > 0, "a positive work_ratio; got {!r:.60}", ratio)
    left_out, error = compression.left_out_scores, compression.left_out_standard_error
    are_scores = isinstance(left_out, tuple) and len(left_out) == 2 and all(map(is_number, left_out))
    require(left_out is None or are_scores, "two numbers or None as left_out_scores; got {!r:.60}", left_out)
    is_error = error is None if left_out is None else error is not None and is_number(error) and error >= 0
    require(is_error, "a standard error with left_out_scores, and None without; got {!r:.60}", error)
    for name in ("converged", "is_scored_by_original", "is_retrained"):
        value = getattr(compression, name)
        require(isinstance(value, bool), "true or false as {}; got {!r:.60}", name, value)
    require(isinstance(compression.reason, str), "text as reason; got {!r:.60}", compression.reason)


def _check_compressed(model: Any) -> None:
    compression = model.compression_
    require(isinstance(compression, Compression), f"a compression; got {type(compression).__name__}")
    kind, d = compression.machine.output.kind, compression.machine.n_features_in
    require(kind == model.kind, f"a {model.kind}; got a {kind}")
    require(model.n_features_in_ == d, "{} features; got {!r:.30}", d, model.n_features_in_)


def _check_features(estimator: Any) -> None:
    d = estimator.n_features_in_
    require(_is_count(d), "a positive number of features; got {!r:.30}", d)
    _check_names(getattr(estimator, "feature_names_in_", None), d)
    if "subspace_" in vars(estimator):
        _check_fitted_subspace(estimator.subspace_, _kept_columns(estimator))


def _kept_columns(estimator: Any) -> int:
    """Columns that the points of a model have: all of its inputs, or of an imputer those with known entries.

    Imputers have a column for each category instead of the column that holds them.
    """
    d, valid = estimator.n_features_in_, vars(estimator).get("valid_features_")
    if valid is None:
        return int(d)
    _check_mask(valid, d, "valid")
    is_categorical = vars(estimator).get("is_categorical_")
    if is_categorical is None:
        return int(valid.sum())
    _check_mask(is_categorical, d, "categorical")
    categories, count = vars(estimator).get("categories_"), int(is_categorical.sum())
    is_right = isinstance(categories, list) and len(categories) == count
    is_right = is_right and all(isinstance(each, np.ndarray) and each.ndim == 1 for each in categories)
    require(is_right, "the categories of {} columns; got {!r:.60}", count, categories)
    known = [len(each) for each, is_valid in zip(categories, valid[is_categorical], strict=True) if is_valid]
    return int((valid & ~is_categorical).sum()) + sum(known)


def _check_mask(mask: Any, d: int, what: str) -> None:
    described = _describe(mask) if hasattr(mask, "shape") else type(mask).__name__
    is_mask = isinstance(mask, np.ndarray) and mask.dtype == bool and mask.shape == (d,)
    require(is_mask, f"{d} booleans that say which columns are {what}; got {described}")


def _check_fitted_subspace(subspace: Any, d: int) -> None:
    require(isinstance(subspace, Subspace), f"a subspace; got {type(subspace).__name__}")
    frame = subspace.frame
    if not frame.kernel.points_are_row_numbers:
        require(frame.points.shape[1] == d, f"points of {d} columns; got {_describe(frame.points)}")


def _check_floats(name: str, array: Any, ndim: int) -> None:
    is_right = isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.ndim == ndim
    require(is_right, f"floating numbers as `{name}`; got {_describe(array)}")


def _check_names(names: Any, d: int) -> None:
    is_right = names is None or (
        isinstance(names, np.ndarray) and names.shape == (d,) and all(isinstance(name, str) for name in names)
    )
    require(is_right, "{} strings as feature names; got {!r:.100}", d, names)


def _parts(kernel: Kernel) -> list[Kernel]:
    """A kernel and all that it is made of."""
    return [kernel, *(each for part in kernel.parts() for each in _parts(part))]


def _is_matrix(array: Any) -> bool:
    return (isinstance(array, np.ndarray) or is_sparse(array)) and array.ndim == 2


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and 1 <= int(value) < 2**31


def _describe(array: Any) -> str:
    return f"{array.dtype} of shape {tuple(array.shape)}" if hasattr(array, "dtype") else type(array).__name__


# Steps whose rows have as many columns afterwards as before, whatever a file says of them.
_KEEP_WIDTH = (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
# Learned attributes that are of one kind wherever they occur, and are not used before somebody asks for a pre-image.
_LEARNED = {"preimage_": Preimage, "kernel_": Kernel}
_CHECKS: dict[type, Any] = {
    Expansion: _check_expansion,
    Subspace: _check_subspace,
    KernelMachine: _check_machine,
    Compression: _check_compression,
}
