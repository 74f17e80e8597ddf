"""Outputs of kernel machines as ONNX nodes: from function values to labels, decisions and probabilities."""

from collections.abc import Callable
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np

from preimage.interop.onnx._graph import Graph, Tensor
from preimage.interop.onnx._probabilities import calibrated_probabilities, class_probabilities, sum_to_one
from preimage.machines.outputs import (
    Binary,
    Calibrated,
    Coordinates,
    Detection,
    Logistic,
    OneVsOne,
    OneVsRest,
    Output,
    Regression,
)
from preimage.machines.outputs._classes import NOT_CONSTANT

# A tensor, its NumPy type, and its number of columns; None is a vector.
Described: TypeAlias = tuple[Tensor, Any, int | None]


def output_tensors(graph: Graph, output: Output, F: Tensor, probabilities: bool = True) -> dict[str, Described]:
    """The outputs of a graph by name."""
    tensors = _OUTPUTS[type(output)](graph, output, F)
    if probabilities and output.has_probabilities:
        tensors["probabilities"] = _PROBABILITIES[type(output)](graph, output, F)
    return tensors


def _binary(graph: Graph, output: Any, F: Tensor) -> dict[str, Described]:
    second = graph.cast(graph.add("GreaterOrEqual", _column(graph, F), 0.0), "int64")
    return {"label": _labels(graph, output.classes, second), "decision": (_column(graph, F), graph.dtype, None)}


def _one_vs_one(graph: Graph, output: Any, F: Tensor) -> dict[str, Described]:
    n, by_confidence = output.classes.size, output.decision_function_shape == "ovr"
    if output.break_ties and not by_confidence:
        raise ValueError("break_ties must be False when decision_function_shape is 'ovo': such a model cannot predict.")
    scores = _votes_with_confidence(graph, F, n) if by_confidence else F
    ranked = scores if output.break_ties else _votes(graph, graph.add("Greater", F, 0.0), n)
    decision = (scores, graph.dtype, n if by_confidence else n * (n - 1) // 2)
    return {"label": _labels(graph, output.classes, _first_largest(graph, ranked)), "decision": decision}


def _one_vs_rest(graph: Graph, output: Any, F: Tensor) -> dict[str, Described]:
    k = output.n_functions
    decision: Described = (_column(graph, F), graph.dtype, None) if k == 1 else (F, graph.dtype, k)
    above = graph.cast(graph.add("Greater", F, float(output.threshold)), "int64")
    label: Described
    if output.multilabel:
        label = (above, np.int64, k)
    else:
        chosen = _column(graph, above) if k == 1 else _first_largest(graph, F)
        label = _labels(graph, output.classes, chosen)
    return {"label": label, "decision": decision}


def _logistic(graph: Graph, output: Any, F: Tensor) -> dict[str, Described]:
    if output.n_functions > 1:
        decision = (F, graph.dtype, output.n_functions)
        return {"label": _labels(graph, output.classes, _first_largest(graph, F)), "decision": decision}
    second = graph.cast(graph.add("Greater", _column(graph, F), 0.0), "int64")
    return {"label": _labels(graph, output.classes, second), "decision": (_column(graph, F), graph.dtype, None)}


def _calibrated(graph: Graph, output: Any, F: Tensor) -> dict[str, Described]:
    # There is no decision function: the most probable class is the label, so probabilities are computed in any case.
    P, _, _ = _calibrated_probabilities(graph, output, F)
    return {"label": _labels(graph, output.classes, _first_largest(graph, P))}


def _logistic_probabilities(graph: Graph, output: Any, F: Tensor) -> Described:
    n = output.classes.size
    if output.link == "softmax" and n > 2:
        return graph.add("Softmax", F, axis=1), graph.dtype, n
    if output.link == "clipped":
        P = graph.add("Clip", graph.add("Mul", graph.add("Add", F, 1.0), 0.5), *map(graph.constant, (0.0, 1.0)))
    else:
        P = graph.add("Sigmoid", F)
    return sum_to_one(graph, P, n), graph.dtype, n


def _calibrated_probabilities(graph: Graph, output: Any, F: Tensor) -> Described:
    n = output.classes.size
    tensor, _, columns = _OUTPUTS[type(output.classifier)](graph, output.classifier, F)["decision"]
    D = graph.add("Unsqueeze", tensor, np.array([1])) if columns is None else tensor
    return calibrated_probabilities(graph, output, D), graph.dtype, n


def _binary_probabilities(graph: Graph, output: Any, F: Tensor) -> Described:
    return class_probabilities(graph, graph.add("Neg", F), output.probA, output.probB, 2), graph.dtype, 2


def _one_vs_one_probabilities(graph: Graph, output: Any, F: Tensor) -> Described:
    n = output.classes.size
    return class_probabilities(graph, F, output.probA, output.probB, n), graph.dtype, n


def _one_vs_rest_probabilities(graph: Graph, output: Any, F: Tensor) -> Described:
    k = output.n_functions
    # Every function is a problem of two classes of its own: one row each.
    scaled = graph.add("Sub", graph.add("Mul", F, output.probA[None, :]), output.probB[None, :])
    rows = graph.add("Reshape", scaled, np.array([-1, 1]))
    pairs = class_probabilities(graph, rows, np.array([-1.0]), np.array([0.0]), 2)
    P = graph.add("Reshape", graph.add("Gather", pairs, np.array([1]), axis=1), np.array([-1, k]))
    is_constant = output.constants != NOT_CONSTANT
    P = graph.add("Where", is_constant[None, :], output.constants[None, :].astype(float), P)
    if k == 1:
        P = graph.add("Concat", graph.add("Sub", 1.0, P), P, axis=1)
    if not output.multilabel:
        sums = graph.add("ReduceSum", P, np.array([1]), keepdims=1)
        P = graph.add("Div", P, graph.add("Where", graph.add("Equal", sums, 0.0), 1.0, sums))
    return P, graph.dtype, 2 if k == 1 else k


def _regression(graph: Graph, output: Any, F: Tensor) -> dict[str, Described]:
    flat = output.flat and output.n_outputs == 1
    return {"prediction": (_column(graph, F) if flat else F, graph.dtype, None if flat else output.n_outputs)}


def _detection(graph: Graph, output: Any, F: Tensor) -> dict[str, Described]:
    decision = _column(graph, F)
    label = graph.add("Where", graph.add("Greater", decision, 0.0), np.array(1), np.array(-1))
    return {"label": (label, np.int64, None), "decision": (decision, graph.dtype, None)}


def _coordinates(graph: Graph, output: Any, F: Tensor) -> dict[str, Described]:
    return {"coordinates": (F, graph.dtype, output.n_components)}


def _votes(graph: Graph, for_first: Tensor, n: int) -> Tensor:
    """How many pairs each class wins: those it wins as first, and those that the first one loses."""
    first, second = _members(n)
    won = graph.cast(for_first, graph.dtype)
    return graph.add("Add", graph.add("MatMul", won, first - second), np.sum(second, axis=0)[None, :])


def _votes_with_confidence(graph: Graph, F: Tensor, n: int) -> Tensor:
    first, second = _members(n)
    confidence = graph.add("MatMul", F, first - second)
    bound = graph.add("Mul", graph.add("Add", graph.add("Abs", confidence), 1.0), 3.0)
    votes = _votes(graph, graph.add("GreaterOrEqual", F, 0.0), n)
    return graph.add("Add", votes, graph.add("Div", confidence, bound))


def _members(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Who is first and who is second in each pair, two matrices of shape (pairs, n)."""
    pairs = np.array(list(combinations(range(n), 2)))
    return np.eye(n)[pairs[:, 0]], np.eye(n)[pairs[:, 1]]


def _first_largest(graph: Graph, scores: Tensor) -> Tensor:
    return graph.add("ArgMax", scores, axis=1, keepdims=0, select_last_index=0)


def _column(graph: Graph, F: Tensor) -> Tensor:
    return graph.add("Squeeze", F, np.array([1]))


def _labels(graph: Graph, classes: np.ndarray, numbers: Tensor) -> Described:
    """The classes with the given numbers: integers where they are whole numbers, strings as strings."""
    kind = classes.dtype.kind
    if kind in "UO":
        return graph.add("Gather", classes, numbers, axis=0), np.dtype(object), None
    if kind in "biu" or np.all(classes == np.round(classes)):
        return graph.add("Gather", classes.astype(np.int64), numbers, axis=0), np.int64, None
    return graph.add("Gather", classes.astype(float), numbers, axis=0), graph.dtype, None


_OUTPUTS: dict[type, Callable[[Graph, Any, Tensor], dict[str, Described]]] = {
    Binary: _binary,
    Calibrated: _calibrated,
    Logistic: _logistic,
    OneVsOne: _one_vs_one,
    OneVsRest: _one_vs_rest,
    Regression: _regression,
    Detection: _detection,
    Coordinates: _coordinates,
}

_PROBABILITIES: dict[type, Callable[[Graph, Any, Tensor], Described]] = {
    Binary: _binary_probabilities,
    Calibrated: _calibrated_probabilities,
    Logistic: _logistic_probabilities,
    OneVsOne: _one_vs_one_probabilities,
    OneVsRest: _one_vs_rest_probabilities,
}
