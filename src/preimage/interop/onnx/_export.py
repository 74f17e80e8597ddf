"""From kernel machines to ONNX models."""

from typing import Any

import numpy as np

from preimage._arrays import to_dense, to_numpy
from preimage.feature_space import Expansion
from preimage.interop._sklearn import machine_of
from preimage.interop.onnx._graph import IR_VERSION, OPSET, Graph, element_type, onnx
from preimage.interop.onnx._kernels import kernel_values
from preimage.interop.onnx._outputs import Described, output_tensors
from preimage.kernels import Kernel
from preimage.machines import Coordinates, KernelMachine

# What outputs of a graph may differ from the model's; where they exceed 100, by this fraction of a hundredth of them.
# The rounding of single precision is 1.2e-7: ten times less would send most machines to double precision.
ACCURACY = 1e-5
# Fractions of ACCURACY that rounding of sums, and errors of kernel values, may take by estimate: twice the estimate was
# seen in the worst of many rows.
OF_SUMS, OF_VALUES = 0.4, 0.2
# Points on which sizes are measured: function values of a machine vary little from one sample of its points to another.
SAMPLE = 256


def to_onnx(model: Any, *, dtype: str = "float32", compute_dtype: str | None = None, probabilities: bool = True) -> Any:
    """A kernel machine as an ONNX model of standard operators, for onnxruntime and other runtimes.

    The input "X" has shape (N, d). Outputs of classifiers are "label" (int64 or string) and, where the original has
    them, "decision" and "probabilities"; of regressors "prediction"; of detectors "label" and "decision"; of
    transformers "coordinates"; of an `Expansion` "values". They equal those of the model to 1e-5, or to the rounding of
    float32 where values exceed 100.

    Parameters
    ----------
    model : compressed model, KernelMachine, Expansion, or fitted estimator that `machine_of` knows
        Also a Pipeline of scalers and one of these.
    dtype : {"float32", "float64"}, default="float32"
        Type of the input and of the outputs.
    compute_dtype : {"float32", "float64"} or None, default=None
        Type of the numbers in between. None is `dtype`, or float64 where coefficients of both signs are so large that
        single precision would lose the fifth decimal place. Say "float32" for hardware without the other.
    probabilities : bool, default=True
        Whether to export probabilities where the model has them: those of support vector machines are coupled by a
        loop in double precision, several times the work of the rest.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    UnsupportedKernelError
        If the kernel is a function, or a kernel of your own that is no profile of a distance or inner product.

    Notes
    -----
    Labels of rows whose decision is zero to within rounding may differ, and so may probabilities of single rows by
    some thousandths: libsvm stops its iteration at a threshold, and so do we. Curves of isotonic calibration are steep
    in places, where single precision shows as well; ``compute_dtype="float64"`` helps there.

    Examples
    --------
    >>> from sklearn.svm import SVR
    >>> from preimage.interop import to_onnx
    >>> svr = SVR(kernel="rbf", gamma=1.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> proto = to_onnx(svr)  # then proto.SerializeToString() for a file or an onnxruntime.InferenceSession
    >>> [output.name for output in proto.graph.output]
    ['prediction']
    """
    for name, value in {"dtype": dtype, "compute_dtype": compute_dtype or dtype}.items():
        if value not in ("float32", "float64"):
            raise ValueError(f"to_onnx needs {name} to be 'float32' or 'float64'; got {value!r}.")
    package = onnx()
    machine = None if isinstance(model, Expansion) else machine_of(model)
    kernel, points, coefficients, intercept = _numbers(model if machine is None else machine)
    inner, tolerance = _precision(kernel, points, coefficients, intercept, compute_dtype or dtype)
    inner = compute_dtype or inner
    graph = Graph(inner, tolerance)
    X = "X" if inner == dtype else graph.cast("X", inner)
    K = kernel_values(graph, kernel, X, points)
    F = graph.add("Add", graph.add("MatMul", K, coefficients), intercept[None, :])
    if machine is None:
        tensors: dict[str, Described] = {"values": (F, graph.dtype, len(model))}
    else:
        tensors = output_tensors(graph, machine.output, F, probabilities)
    d = points.shape[1] if machine is None else machine.n_features_in
    return _model(package, graph, tensors, d, np.dtype(dtype))


def _numbers(model: KernelMachine | Expansion) -> tuple[Kernel, np.ndarray, np.ndarray, np.ndarray]:
    """Kernel, points, coefficients and intercepts, in NumPy and double precision."""
    machine = model if isinstance(model, KernelMachine) else None
    expansion = model.expansion if isinstance(model, KernelMachine) else model
    coefficients = to_numpy(expansion.coefficients).astype(np.float64)
    points = to_numpy(to_dense(expansion.points))
    points = points if expansion.kernel.points_are_row_numbers else points.astype(np.float64)
    intercept = np.zeros(len(expansion)) if machine is None else to_numpy(machine.intercept).astype(np.float64)
    if machine is not None and isinstance(machine.output, Coordinates):
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


def _model(package: Any, graph: Graph, tensors: dict[str, Described], d: int, dtype: np.dtype) -> Any:
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
