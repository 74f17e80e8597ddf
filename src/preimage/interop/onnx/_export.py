"""From kernel machines, and pipelines that end in one, to ONNX models."""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._engine.arrays import is_foreign, to_dense, to_numpy
from preimage._engine.objects import refuse_objects
from preimage._engine.output_files import replacing
from preimage._engine.typing import Array
from preimage._models.machines import Coordinates, KernelMachine, Regression
from preimage.feature_space import Expansion
from preimage.interop._folding import fold
from preimage.interop._pipeline import Steps
from preimage.interop.onnx._graph import IR_VERSION, OPSET, OnnxGraph, element_type, onnx
from preimage.interop.onnx._outputs import Described, output_tensors
from preimage.interop.onnx._verify import GraphMismatchError, check_graph, sample_rows
from preimage.interop.tracing import kernel_values, step_values
from preimage.kernels import Kernel
from preimage.persistence import on_host

# What outputs of a graph may differ from the model's; where they exceed 100, by this fraction of a hundredth of them.
# The rounding of single precision is 1.2e-7: ten times less would send most machines to double precision.
ACCURACY = 1e-5
# The same where single precision was asked for: sums of many large terms lose most digits, but not all.
ROUGH = 1e-2
# Fractions of ACCURACY that rounding of sums, and errors of kernel values, may take by estimate: twice the estimate was
# seen in the worst of many rows.
OF_SUMS, OF_VALUES = 0.4, 0.2
# Points on which sizes are measured: function values of a machine vary little from one sample of its points to another.
SAMPLE = 256
# Rows of the user's on which a graph is compared with its model: probabilities of a thousand take a second.
MOST_ROWS = 1000


def to_onnx(
    model: Any,
    path: str | os.PathLike | None = None,
    *,
    X: Array | None = None,
    dtype: str = "float32",
    compute_dtype: str | None = None,
    probabilities: bool = True,
) -> Any:
    """A kernel machine, or a pipeline that ends in one, as one ONNX model of standard operators.

    The input "X" has shape (N, d). Outputs of classifiers are "label" (int64 or string) and, where the original has
    them, "decision" and "probabilities"; of regressors "prediction"; of detectors "label" and "decision"; of
    transformers "coordinates"; of an `Expansion` "values". They equal those of the model to 1e-5, or to the rounding of
    float32 where values exceed 100. The graph is run, by onnxruntime where that is installed, and compared with the
    model before it is returned or written.

    Parameters
    ----------
    model : compressed model, KernelMachine, Expansion, fitted estimator that `machine_of` knows, or Pipeline
        Scalers, PCA, feature selection and other steps before the machine become part of the graph.
    path : str or Path, optional
        A file to write, such as "model.onnx"; it appears whole or not at all.
    X : array of shape (n, d), optional
        Rows on which graph and model are compared, with the values that they will have in use. By default they are made
        of the points of the machine.
    dtype : {"float32", "float64"}, default="float32"
        Type of the input and of the outputs.
    compute_dtype : {"float32", "float64"} or None, default=None
        Type of the numbers in between. None is `dtype`, with float64 for the steps before the machine, and for the
        machine where coefficients of both signs are so large that single precision would lose the fifth decimal place.
        Say "float32" for hardware without the other.
    probabilities : bool, default=True
        Whether to export probabilities where the model has them: those of support vector machines are coupled by a
        loop in double precision, several times the work of the rest.

    Returns
    -------
    onnx.ModelProto
        The graph.

    Raises
    ------
    UnsupportedKernelError
        If the kernel is a function, or a kernel of your own that is no profile of a distance or inner product.
    TypeError
        If there is no kernel machine, or a step before it has no graph.
    ValueError
        If the graph, when it is run, does not give what the model gives.

    See Also
    --------
    compress : Makes the machine small first.
    save : A file for this library.
    preimage.interop.machine_of : Whether an estimator is a kernel machine.

    Notes
    -----
    Labels of rows whose decision is zero to within rounding may differ, and so may probabilities of single rows by
    some thousandths: libsvm stops its iteration at a threshold, and so do we. Curves of isotonic calibration are steep
    in places, where single precision shows as well; ``compute_dtype="float64"`` helps there.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVR
    >>> from preimage import to_onnx
    >>> model = make_pipeline(StandardScaler(), SVR()).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> proto = to_onnx(model)  # to_onnx(model, "model.onnx") writes it as well
    >>> [output.name for output in proto.graph.output]
    ['prediction']
    """
    for name, value in {"dtype": dtype, "compute_dtype": compute_dtype or dtype}.items():
        if value not in ("float32", "float64"):
            raise ValueError(f"to_onnx needs {name} to be 'float32' or 'float64'; got {value!r}.")
    onnx()
    parts = _Parts.of(model)
    if is_foreign(parts.machine.expansion.points):
        parts = _Parts.of(on_host(model))
    refuse_objects("to_onnx", parts.machine.expansion.points, "Graphs compute with tensors: keep the model by save().")
    rows = sample_rows(parts.machine, parts.front, parts.d, dtype) if X is None else _given_rows(X, parts.d, dtype)
    proto = _checked(parts, rows, dtype, compute_dtype, probabilities)
    if path is not None:
        with replacing(path) as aside:
            aside.write_bytes(proto.SerializeToString())
    return proto


@dataclass(frozen=True)
class _Parts:
    """What is exported: steps that stay, and a machine; an expansion is a machine without an output."""

    model: Any
    front: Steps
    machine: KernelMachine
    d: int

    @classmethod
    def of(cls, model: Any) -> "_Parts":
        if isinstance(model, Expansion):
            k, d = len(model), model.inputs.shape[1]
            return cls(model, [], KernelMachine(model, np.zeros(k), Regression(k, flat=False), d), d)
        if isinstance(model, KernelMachine):
            return cls(model, [], model, model.n_features_in)
        folded = fold(model)
        first = folded.front[0][1] if folded.front else None
        d = folded.machine.n_features_in if first is None else first.n_features_in_
        return cls(model, folded.front, folded.machine, d)


def _checked(parts: _Parts, rows: np.ndarray, dtype: str, compute_dtype: str | None, probabilities: bool) -> Any:
    """A graph that gives what the model gives; in double precision where single precision turns out not to suffice."""
    inner, tolerance = compute_dtype or dtype, np.inf
    if compute_dtype is None:
        inner, tolerance = _precision(*_numbers(parts.machine), dtype)
    proto = _graph_of(parts, dtype, inner, tolerance, compute_dtype or "float64", probabilities)
    # Whoever asks for single precision gets it; only a graph that is wrong altogether is refused then.
    accuracy = ROUGH if compute_dtype == "float32" else ACCURACY
    try:
        check_graph(proto, parts.model, parts.machine, parts.front, rows, accuracy)
    except GraphMismatchError:
        if inner == "float64" or compute_dtype is not None:
            raise
        proto = _graph_of(parts, dtype, "float64", np.inf, "float64", probabilities)
        check_graph(proto, parts.model, parts.machine, parts.front, rows, accuracy)
    return proto


def _graph_of(parts: _Parts, dtype: str, inner: str, tolerance: float, of_steps: str, probabilities: bool) -> Any:
    """The graph of `front` in the type `of_steps` and of the machine in the type `inner`, between inputs of `dtype`."""
    kernel, points, coefficients, intercept = _numbers(parts.machine)
    graph = OnnxGraph(inner, tolerance)
    X = "X"
    if parts.front:
        front = OnnxGraph(of_steps, outer=graph)
        X = X if of_steps == dtype else front.cast(X, of_steps)
        for name, step in parts.front:
            X = step_values(front, name, step, X)
        graph.nodes, graph.constants = front.nodes, front.constants
    if inner != (of_steps if parts.front else dtype):
        X = graph.cast(X, inner)
    K = kernel_values(graph, kernel, X, points)
    F = graph.add("Add", graph.add("MatMul", K, coefficients), intercept[None, :])
    if isinstance(parts.model, Expansion):
        tensors: dict[str, Described] = {"values": (F, graph.dtype, len(parts.model))}
    else:
        tensors = output_tensors(graph, parts.machine.output, F, dtype, probabilities)
    return _model(onnx(), graph, tensors, parts.d, np.dtype(dtype))


def _given_rows(X: Array, d: int, dtype: str) -> np.ndarray:
    try:
        rows = np.asarray(to_numpy(to_dense(X)), dtype=dtype)[:MOST_ROWS]
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"to_onnx makes a graph that takes one array of numbers, and X holds something else: {error}. Export "
            "what comes after the steps that encode it, to_onnx(model[1:], X=model[:1].transform(X)), and encode rows "
            "before."
        ) from error
    if rows.ndim != 2 or rows.shape[1] != d:
        raise ValueError(f"to_onnx needs X with {d} columns, which the model takes; got shape {rows.shape}.")
    return rows


def _numbers(machine: KernelMachine) -> tuple[Kernel, np.ndarray, np.ndarray, np.ndarray]:
    """Kernel, points, coefficients and intercepts, in NumPy and double precision."""
    expansion = machine.expansion
    coefficients = to_numpy(expansion.coefficients).astype(np.float64)
    points = to_numpy(to_dense(expansion.points))
    points = points if expansion.kernel.points_are_row_numbers else points.astype(np.float64)
    intercept = to_numpy(machine.intercept).astype(np.float64)
    if isinstance(machine.output, Coordinates):
        k = machine.output.n_components  # the mean, which comes after the axes, is for pre-images only
        coefficients, intercept = coefficients[:, :k], intercept[:k]
    return expansion.kernel, points, coefficients, intercept


def _precision(
    kernel: Kernel, points: np.ndarray, coefficients: np.ndarray, intercept: np.ndarray, dtype: str
) -> tuple[str, float]:
    """The type to compute in, and the error of a single kernel value that does not show in function values."""
    if dtype == "float64" or kernel.points_are_row_numbers:
        return dtype, np.inf
    some = points[:: max(1, points.shape[0] // SAMPLE)]
    with np.errstate(all="ignore"):
        K = kernel(some, points)
        # Not the size itself: decisions are about zero, however large they are elsewhere.
        scale = max(1.0, 0.01 * float(np.max(np.abs(K @ coefficients + intercept))))
        rounding = float(np.max((K * K) @ coefficients**2)) ** 0.5 * np.finfo(np.float32).eps
    if not rounding <= OF_SUMS * ACCURACY * scale:
        return "float64", np.inf
    length = float(np.max(np.sum(coefficients**2, axis=0))) ** 0.5
    return dtype, OF_VALUES * ACCURACY * scale / length if length > 0 else np.inf


def _model(package: Any, graph: OnnxGraph, tensors: dict[str, Described], d: int, dtype: np.dtype) -> Any:
    helper = package.helper
    outputs = []
    for name, (tensor, kind, columns) in tensors.items():
        kind = dtype if kind == graph.dtype else np.dtype(kind)
        tensor = graph.cast(tensor, kind) if kind == dtype != graph.dtype else tensor
        graph.nodes.append(helper.make_node("Identity", [tensor], [name]))
        shape = ["N"] if columns is None else ["N", columns]
        outputs.append(helper.make_tensor_value_info(name, element_type(kind), shape))
    X = helper.make_tensor_value_info("X", element_type(dtype), ["N", d])
    body = helper.make_graph(graph.nodes, "kernel_machine", [X], outputs, graph.constants)
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(body, opset_imports=opsets, ir_version=IR_VERSION, producer_name="preimage")
    package.checker.check_model(model, full_check=True)
    return model
