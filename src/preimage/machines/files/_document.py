"""Kernel machines as bytes that hold no code, and back."""

from numbers import Integral

import numpy as np

from preimage._arrays import is_sparse, to_numpy
from preimage.feature_space import Expansion
from preimage.kernels import Kernel, Patches, Warped
from preimage.machines._machine import KernelMachine
from preimage.machines.files._tensors import Tensors, from_bytes, to_bytes
from preimage.machines.files._values import kernel_from_state, value_state
from preimage.machines.outputs import Output, output_from_state

FORMAT, VERSION = "preimage.kernel_machine", 1
# Patches build a matrix of pixels by pixels: a small file should not fill the memory when it is loaded.
MOST_PIXELS = 2**14
# Likewise the graph of a warped kernel, a matrix of its points by its points that is made again.
MOST_GRAPH_POINTS = 2**14
_ENTRIES = {
    "format",
    "version",
    "library",
    "kernel",
    "points",
    "coefficients",
    "intercept",
    "weights",
    "output",
    "n_features_in",
    "feature_names_in",
    "facts",
}


def machine_to_bytes(machine, facts=None):
    """A kernel machine in the safetensors format: arrays, and a JSON description without any code.

    Parameters
    ----------
    machine : KernelMachine
    facts : dict or None, default=None
        What else to keep: numbers, strings, flags, None, and lists and dicts of them.

    Returns
    -------
    bytes

    Raises
    ------
    UnsupportedKernelError
        If the kernel is a function.

    Examples
    --------
    >>> from sklearn.svm import SVR
    >>> from preimage.machines import machine_from_bytes, machine_to_bytes
    >>> from preimage.interop import machine_of
    >>> machine = machine_of(SVR(kernel="linear").fit([[0.0], [1.0]], [0.0, 1.0]))
    >>> data = machine_to_bytes(machine, {"made by": "an example"})
    >>> again, facts = machine_from_bytes(data)
    >>> again.expansion.kernel, facts
    (Linear(), {'made by': 'an example'})
    """
    import preimage

    tensors, expansion = Tensors(), machine.expansion
    points, names = expansion.points, machine.feature_names_in
    document = {
        "format": FORMAT,
        "version": VERSION,
        "library": preimage.__version__,
        "kernel": value_state(expansion.kernel, tensors, "kernel"),
        "points": tensors.put("points", points if is_sparse(points) else to_numpy(points)),
        "coefficients": tensors.put("coefficients", to_numpy(expansion.coefficients)),
        "intercept": tensors.put("intercept", to_numpy(machine.intercept)),
        "weights": None if machine.weights is None else tensors.put("weights", to_numpy(machine.weights)),
        "output": _output_state(machine.output, tensors),
        "n_features_in": int(machine.n_features_in),
        "feature_names_in": None if names is None else [str(name) for name in names],
        "facts": facts or {},
    }
    return to_bytes(document, tensors)


def machine_from_bytes(data):
    """The machine and the facts that `machine_to_bytes` was given.

    Everything is checked: names are looked up in tables, numbers must be finite, shapes must agree. Nothing in `data`
    is imported, called or unpickled.

    Raises
    ------
    ValueError
        If `data` are anything else, damaged, cut off, or of a later version; the message says which.
    """
    document, tensors = from_bytes(data)
    _check_document(document)
    kernel = kernel_from_state(document["kernel"], tensors)
    points, coefficients = tensors.get(document["points"]), tensors.get(document["coefficients"])
    intercept = tensors.get(document["intercept"])
    weights = None if document["weights"] is None else tensors.get(document["weights"])
    output = _output(document["output"], tensors)
    d, names = document["n_features_in"], document["feature_names_in"]
    _check_shapes(kernel, points, coefficients, intercept, weights, output, d)
    _check_kernel(kernel, points, d)
    names = None if names is None else np.array(names, dtype=object)
    machine = KernelMachine(Expansion(kernel, points, coefficients), intercept, output, d, names, weights)
    return machine, document["facts"]


def _output_state(output, tensors, prefix="output"):
    state = {}
    for name, value in output.state().items():
        if isinstance(value, Output):
            state[name] = _output_state(value, tensors, f"{prefix}.{name}")
        elif isinstance(value, np.ndarray):
            is_text = value.dtype.kind == "U"
            state[name] = {"strings": value.tolist()} if is_text else tensors.put(f"{prefix}.{name}", value)
        else:
            state[name] = value
    return {"class": type(output).__name__, "state": state}


def _output(stored, tensors, depth=0):
    if depth > 1:  # a calibrated classifier has an output inside, and that is a plain one
        raise ValueError("The outputs of the file are nested deeper than any that we write.")
    if not isinstance(stored, dict) or set(stored) != {"class", "state"} or not isinstance(stored["state"], dict):
        raise ValueError(f"A stored output has a class and a state; got {stored!r:.100}.")
    state = {name: _field(value, tensors, depth) for name, value in stored["state"].items()}
    return output_from_state(stored["class"], state)


def _field(value, tensors, depth):
    if not isinstance(value, dict):
        return value
    if "class" in value:
        return _output(value, tensors, depth + 1)
    if set(value) != {"strings"}:
        return tensors.get(value)
    strings = value["strings"]
    if not isinstance(strings, list) or not all(isinstance(each, str) for each in strings):
        raise ValueError(f"Class names in the file are strings; got {strings!r:.100}.")
    return np.array(strings, dtype=str)


def _check_document(document):
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        found = document.get("format") if isinstance(document, dict) else document
        raise ValueError(f"The file holds no kernel machine of preimage; its format is {found!r:.60}.")
    if document.get("version") != VERSION:
        raise ValueError(
            f"The file has version {document.get('version')!r:.30} of the format, written by preimage "
            f"{document.get('library')!r:.30}; this library reads version {VERSION}. A newer preimage may read it."
        )
    if set(document) != _ENTRIES:
        odd = ", ".join(sorted(_ENTRIES.symmetric_difference(document)))[:200]
        raise ValueError(f"The description in the file lacks entries or has unknown ones: {odd}.")
    d, names = document["n_features_in"], document["feature_names_in"]
    if not isinstance(d, Integral) or isinstance(d, bool) or not 1 <= d < 2**31:
        raise ValueError(f"n_features_in in the file must be a positive integer; got {d!r:.30}.")
    are_names = names is None or (isinstance(names, list) and all(isinstance(name, str) for name in names))
    if not are_names or (names is not None and len(names) != d):
        raise ValueError(f"feature_names_in of the file must be {d} strings or null; got {names!r:.100}.")
    if not isinstance(document["facts"], dict):
        raise ValueError(f"The facts of the file must be a dictionary; got {document['facts']!r:.60}.")


def _check_shapes(kernel, points, coefficients, intercept, weights, output, d):
    # A transformer has one function more than coordinates: the mean, for the way back.
    counts = {output.n_functions, output.n_functions + 1} if output.kind == "transformer" else {output.n_functions}
    k = coefficients.shape[1] if coefficients.ndim == 2 else -1
    wanted = {"coefficients": (coefficients, 2), "intercept": (intercept, 1)}
    wanted |= {} if weights is None else {"weights": (weights, 1)}
    for name, (array, ndim) in wanted.items():
        if is_sparse(array) or array.dtype.kind != "f" or array.ndim != ndim or array.shape[-1] not in counts:
            raise ValueError(
                f"`{name}` of the file must be floating numbers for {min(counts)} functions; got {_describe(array)}."
            )
    if intercept.shape != (k,) or (weights is not None and weights.shape != (k,)):
        raise ValueError(f"Intercepts and weights of the file must be {k} numbers each, as there are functions.")
    if points.ndim != 2 or points.shape[0] != coefficients.shape[0] or points.shape[0] == 0:
        raise ValueError(f"{coefficients.shape[0]} points are needed, one or more; the file has {_describe(points)}.")
    if kernel.points_are_row_numbers:
        in_range = points.dtype == np.int64 and not is_sparse(points) and points.shape[1] == 1
        if not in_range or points.min() < 0 or points.max() >= d:
            raise ValueError(f"Points of a precomputed kernel are numbers below {d}; the file has {_describe(points)}.")
    elif points.dtype.kind != "f" or points.shape[1] != d:
        raise ValueError(f"Points of {d} floating columns are needed; the file has {_describe(points)}.")


def _check_kernel(kernel, points, d):
    """Whether the kernel takes such points: matrices and weights of kernels have to fit them."""
    if d > MOST_PIXELS and any(isinstance(part, Patches) for part in _parts(kernel)):
        raise ValueError(f"Patches of a stored model take images of at most {MOST_PIXELS} pixels; the file has {d}.")
    for part in _parts(kernel):
        if isinstance(part, Warped) and not _is_graph_of_points(part.points):
            raise ValueError(
                f"A warped kernel of a stored model has at most {MOST_GRAPH_POINTS} points, rows of an array; the file "
                f"has {type(part.points).__name__} of shape {np.shape(part.points)}."
            )
    query = np.zeros((1, d)) if kernel.points_are_row_numbers else points[:1]
    try:
        with np.errstate(all="ignore"):
            values = kernel.blocks(query, points[:1])(slice(None), slice(None))
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, MemoryError) as error:
        raise ValueError(f"The kernel {kernel!r:.100} of the file does not fit its points: {error}") from error
    if values.shape != (1, 1):
        raise ValueError(f"The kernel {kernel!r:.100} of the file does not fit its points.")


def _is_graph_of_points(points):
    is_array = isinstance(points, np.ndarray) or is_sparse(points)
    return is_array and points.ndim == 2 and points.shape[0] <= MOST_GRAPH_POINTS


def _parts(kernel):
    """A kernel and all that it is made of."""
    yield kernel
    for part in kernel.get_params(deep=False).values():
        if isinstance(part, Kernel):
            yield from _parts(part)


def _describe(array):
    return f"{array.dtype} of shape {tuple(array.shape)}"
