"""Outputs of kernel machines as ONNX nodes: from function values to labels, decisions and probabilities."""

from collections.abc import Callable
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from preimage._models.machines import (
    Binary,
    Calibrated,
    Coordinates,
    Detection,
    DistanceDetection,
    Logistic,
    OneVsOne,
    OneVsRest,
    Output,
    Regression,
)
from preimage._models.machines._coupling import MARGIN, MOST_SWEEPS, STOPPING_GAP
from preimage._models.machines._outputs import NOT_CONSTANT
from preimage.calibration._threshold import EQUAL_UNITS
from preimage.interop.onnx._graph import OnnxGraph, element_type, onnx
from preimage.interop.tracing import Tensor

# A tensor, its NumPy type, and its number of columns; None is a vector.
Described: TypeAlias = tuple[Tensor, Any, int | None]


def output_tensors(
    graph: OnnxGraph, output: Output, F: Tensor, dtype: DTypeLike, probabilities: bool = True
) -> dict[str, Described]:
    """The outputs of a graph by name, of which floating numbers will be cast to `dtype`."""
    tensors = _OUTPUTS[type(output)](graph, output, F)
    if probabilities and output.has_probabilities:
        P, kind, n = _PROBABILITIES[type(output)](graph, output, F)
        if isinstance(output, Logistic):
            P = _most_probable(graph, P, _winners(graph, output, F), output.classes.size, np.dtype(dtype))
        tensors["probabilities"] = P, kind, n
    return tensors


def _binary(graph: OnnxGraph, output: Any, F: Tensor) -> dict[str, Described]:
    second = graph.cast(graph.add("GreaterOrEqual", _column(graph, F), 0.0), "int64")
    return {"label": _labels(graph, output.classes, second), "decision": (_column(graph, F), graph.dtype, None)}


def _one_vs_one(graph: OnnxGraph, output: Any, F: Tensor) -> dict[str, Described]:
    n, by_confidence = output.classes.size, output.decision_function_shape == "ovr"
    if output.break_ties and not by_confidence:
        raise ValueError("break_ties must be False when decision_function_shape is 'ovo': such a model cannot predict.")
    scores = _votes_with_confidence(graph, F, n) if by_confidence else F
    ranked = scores if output.break_ties else _votes(graph, graph.add("Greater", F, 0.0), n)
    decision = (scores, graph.dtype, n if by_confidence else n * (n - 1) // 2)
    return {"label": _labels(graph, output.classes, _first_largest(graph, ranked)), "decision": decision}


def _one_vs_rest(graph: OnnxGraph, output: Any, F: Tensor) -> dict[str, Described]:
    k = output.n_functions
    above = graph.cast(graph.add("Greater", F, float(output.threshold)), "int64")
    chosen = _column(graph, above) if k == 1 else _first_largest(graph, F)
    label = (above, np.int64, k) if output.multilabel else _labels(graph, output.classes, chosen)
    return {"label": label, "decision": _decision(graph, F, k)}


def _logistic(graph: OnnxGraph, output: Any, F: Tensor) -> dict[str, Described]:
    return {
        "label": _labels(graph, output.classes, _winners(graph, output, F)),
        "decision": _decision(graph, F, output.n_functions),
    }


def _winners(graph: OnnxGraph, output: Any, F: Tensor) -> Tensor:
    """Positions of the classes with the largest values; of two, whether there is one above zero."""
    if output.n_functions > 1:
        return _first_largest(graph, F)
    return graph.cast(graph.add("Greater", _column(graph, F), 0.0), "int64")


def _calibrated(graph: OnnxGraph, output: Any, F: Tensor) -> dict[str, Described]:
    # There is no decision function: the most probable class is the label, so probabilities are computed in any case.
    P, _, _ = _calibrated_probabilities(graph, output, F)
    return {"label": _labels(graph, output.classes, _first_largest(graph, P))}


def _logistic_probabilities(graph: OnnxGraph, output: Any, F: Tensor) -> Described:
    n = output.classes.size
    F = F if output.temperature == 1 else graph.add("Mul", F, output.temperature)
    if output.link == "softmax" and n > 2:
        return graph.add("Softmax", F, axis=1), graph.dtype, n
    if output.link == "one_vs_rest" and n > 2:  # the softmax of log σ(F) = −log(1 + exp(−F))
        logarithms = graph.add("Neg", graph.add("Softplus", graph.add("Neg", F)))
        return graph.add("Softmax", logarithms, axis=1), graph.dtype, n
    if output.link == "clipped":
        P = graph.add("Clip", graph.add("Mul", graph.add("Add", F, 1.0), 0.5), *map(graph.constant, (0.0, 1.0)))
    else:
        P = graph.add("Sigmoid", F)
    return sum_to_one(graph, P, n), graph.dtype, n


def _most_probable(graph: OnnxGraph, P: Tensor, winners: Tensor, n: int, dtype: np.dtype) -> Tensor:
    """`most_probable` of `preimage.calibration`: ties of probabilities are broken in favour of the winners."""
    eps = float(max(np.finfo(graph.dtype).eps, np.finfo(dtype).eps))
    if dtype != graph.dtype:  # numbers that differ here may be equal in the output
        P = graph.cast(graph.cast(P, dtype), graph.dtype)
    largest = graph.add("ReduceMax", P, np.array([1]), keepdims=1)
    # Runtimes take factors near one for one, and leave them out; so a fraction is added.
    shifted = lambda units: graph.add("Add", largest, graph.add("Mul", largest, units * eps))
    is_equal = graph.add("GreaterOrEqual", P, shifted(-EQUAL_UNITS))
    lost = graph.add("Not", graph.add("Equal", _first_largest(graph, P), winners))
    row = lambda vector: graph.add("Unsqueeze", vector, np.array([1]))
    is_own = graph.add("Equal", row(winners), np.arange(n)[None, :])
    raised = graph.add("And", graph.add("And", is_own, row(lost)), is_equal)
    return graph.add("Where", raised, shifted(1), P)


def _calibrated_probabilities(graph: OnnxGraph, output: Any, F: Tensor) -> Described:
    n = output.classes.size
    tensor, _, columns = _OUTPUTS[type(output.classifier)](graph, output.classifier, F)["decision"]
    D = graph.add("Unsqueeze", tensor, np.array([1])) if columns is None else tensor
    return calibrated_probabilities(graph, output, D), graph.dtype, n


def _pair_probabilities(graph: OnnxGraph, output: Any, F: Tensor) -> Described:
    n = output.classes.size
    F = graph.add("Neg", F) if isinstance(output, Binary) else F
    return class_probabilities(graph, F, output.probA, output.probB, n), graph.dtype, n


def _one_vs_rest_probabilities(graph: OnnxGraph, output: Any, F: Tensor) -> Described:
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


def _regression(graph: OnnxGraph, output: Any, F: Tensor) -> dict[str, Described]:
    if output.flat:
        return {"prediction": _decision(graph, F, output.n_outputs)}
    return {"prediction": (F, graph.dtype, output.n_outputs)}


def _detection(graph: OnnxGraph, output: Any, F: Tensor) -> dict[str, Described]:
    decision = _column(graph, F)
    label = graph.add("Where", graph.add("Greater", decision, 0.0), np.array(1), np.array(-1))
    return {"label": (label, np.int64, None), "decision": (decision, graph.dtype, None)}


def _distance_detection(graph: OnnxGraph, output: Any, F: Tensor) -> dict[str, Described]:
    explained = graph.add("ReduceSumSquare", F, np.array([1]), keepdims=0)
    decision = graph.add("Sub", explained, output.squared_length + output.offset)
    is_inlier = graph.cast(graph.add("GreaterOrEqual", decision, 0.0), "int64")
    return {"label": _labels(graph, np.array([-1, 1]), is_inlier), "decision": (decision, graph.dtype, None)}


def _coordinates(graph: OnnxGraph, output: Any, F: Tensor) -> dict[str, Described]:
    return {"coordinates": (F, graph.dtype, output.n_components)}


def _votes(graph: OnnxGraph, for_first: Tensor, n: int) -> Tensor:
    """How many pairs each class wins: those it wins as first, and those that the first one loses."""
    first, second = _members(n)
    won = graph.cast(for_first, graph.dtype)
    return graph.add("Add", graph.add("MatMul", won, first - second), np.sum(second, axis=0)[None, :])


def _votes_with_confidence(graph: OnnxGraph, F: Tensor, n: int) -> Tensor:
    first, second = _members(n)
    confidence = graph.add("MatMul", F, first - second)
    bound = graph.add("Mul", graph.add("Add", graph.add("Abs", confidence), 1.0), 3.0)
    votes = _votes(graph, graph.add("GreaterOrEqual", F, 0.0), n)
    return graph.add("Add", votes, graph.add("Div", confidence, bound))


def _members(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Who is first and who is second in each pair, two matrices of shape (pairs, n)."""
    pairs = np.array(list(combinations(range(n), 2)))
    return np.eye(n)[pairs[:, 0]], np.eye(n)[pairs[:, 1]]


def _first_largest(graph: OnnxGraph, scores: Tensor) -> Tensor:
    return graph.add("ArgMax", scores, axis=1, keepdims=0, select_last_index=0)


def _column(graph: OnnxGraph, F: Tensor) -> Tensor:
    return graph.add("Squeeze", F, np.array([1]))


def _decision(graph: OnnxGraph, F: Tensor, k: int) -> Described:
    return (_column(graph, F), graph.dtype, None) if k == 1 else (F, graph.dtype, k)


def _labels(graph: OnnxGraph, classes: np.ndarray, numbers: Tensor) -> Described:
    """The classes with the given numbers: integers where they are whole numbers, strings as strings."""
    kind = classes.dtype.kind
    if kind in "UO":
        return graph.add("Gather", classes, numbers, axis=0), np.dtype(object), None
    if kind in "biu" or np.all(classes == np.round(classes)):
        return graph.add("Gather", classes.astype(np.int64), numbers, axis=0), np.int64, None
    return graph.add("Gather", classes.astype(float), numbers, axis=0), graph.dtype, None


_OUTPUTS: dict[type, Callable[[OnnxGraph, Any, Tensor], dict[str, Described]]] = {
    Binary: _binary,
    Calibrated: _calibrated,
    Logistic: _logistic,
    OneVsOne: _one_vs_one,
    OneVsRest: _one_vs_rest,
    Regression: _regression,
    Detection: _detection,
    DistanceDetection: _distance_detection,
    Coordinates: _coordinates,
}

_PROBABILITIES: dict[type, Callable[[OnnxGraph, Any, Tensor], Described]] = {
    Binary: _pair_probabilities,
    Calibrated: _calibrated_probabilities,
    Logistic: _logistic_probabilities,
    OneVsOne: _pair_probabilities,
    OneVsRest: _one_vs_rest_probabilities,
}


def class_probabilities(graph: OnnxGraph, F: Tensor, probA: np.ndarray, probB: np.ndarray, n_classes: int) -> Tensor:
    """P(class t) from values of functions that separate pairs; the iteration of `_platt.couple`, as a loop.

    Double precision whatever the graph: where the iteration stops depends on a threshold.
    """
    wide = graph.cast(F, "float64")
    exponent = graph.add("Add", graph.add("Mul", wide, graph.double(probA)), graph.double(probB))
    wins = graph.add("Clip", graph.add("Sigmoid", graph.add("Neg", exponent)), *map(graph.double, (MARGIN, 1 - MARGIN)))
    return graph.cast(_couple(graph, wins, n_classes), graph.dtype)


def _couple(graph: OnnxGraph, wins: Tensor, n: int) -> Tensor:
    Q, curvature = _quadratic_form(graph, wins, n)
    start = graph.add("Expand", graph.double(1 / n), graph.add("Shape", curvature))
    return graph.add("Loop", np.array(max(MOST_SWEEPS, n)), np.array(True), start, body=_body(graph, Q, curvature, n))


def _quadratic_form(graph: OnnxGraph, wins: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Q of shape (N, n, n) and its diagonal (N, n)."""
    pairs = np.array(list(combinations(range(n), 2)))
    places = np.eye(n * n)
    first, second = places[pairs[:, 0] * n + pairs[:, 1]], places[pairs[:, 1] * n + pairs[:, 0]]
    losses = graph.add("Sub", graph.double(1.0), wins)
    R = graph.add(
        "Add", graph.add("MatMul", wins, graph.double(first)), graph.add("MatMul", losses, graph.double(second))
    )
    R = graph.add("Reshape", R, np.array([-1, n, n]))
    curvature = graph.add("ReduceSum", graph.add("Mul", R, R), np.array([1]), keepdims=0)
    mixed = graph.add("Mul", R, graph.add("Transpose", R, perm=[0, 2, 1]))
    diagonal = graph.add("Mul", graph.add("Unsqueeze", curvature, np.array([1])), graph.double(np.eye(n)[None]))
    return graph.add("Sub", diagonal, mixed), curvature


def _body(outer: OnnxGraph, Q: Tensor, curvature: Tensor, n: int) -> Any:
    """One sweep over the classes, for the rows that have not converged."""
    graph, helper = OnnxGraph(np.float64, outer=outer), onnx().helper
    start = graph.name("p")
    Qp = graph.add("Squeeze", graph.add("MatMul", Q, graph.add("Unsqueeze", start, np.array([2]))), np.array([2]))
    pQp = graph.add("ReduceSum", graph.add("Mul", start, Qp), np.array([1]), keepdims=1)
    gap = graph.add("ReduceMax", graph.add("Abs", graph.add("Sub", Qp, pQp)), np.array([1]), keepdims=1)
    unfinished = graph.add("GreaterOrEqual", gap, STOPPING_GAP / n)
    p = start
    for t in range(n):
        second, first = (graph.add("Gather", each, np.array([t]), axis=1) for each in (curvature, Qp))
        step = graph.add("Div", graph.add("Sub", pQp, first), second)
        scale = graph.add("Add", step, 1.0)
        change = graph.add("Add", graph.add("Mul", step, second), graph.add("Mul", first, 2.0))
        pQp = graph.add("Add", pQp, graph.add("Mul", step, change))
        pQp = graph.add("Div", graph.add("Div", pQp, scale), scale)
        row = graph.add("Squeeze", graph.add("Gather", Q, np.array([t]), axis=1), np.array([1]))
        Qp = graph.add("Div", graph.add("Add", Qp, graph.add("Mul", step, row)), scale)
        p = graph.add("Div", graph.add("Add", p, graph.add("Mul", step, np.eye(n)[t][None])), scale)
    p = graph.add("Where", unfinished, p, start)
    left = graph.add("ReduceMax", graph.cast(unfinished, "int64"), keepdims=0)
    again = graph.add("Greater", left, np.array(0))
    kind = lambda name, dtype, shape: helper.make_tensor_value_info(name, element_type(dtype), shape)
    inputs = [
        kind(graph.name("number"), "int64", []),
        kind(graph.name("going"), "bool", []),
        kind(start, "float64", [None, n]),
    ]
    outputs = [kind(again, "bool", []), kind(p, "float64", [None, n])]
    return helper.make_graph(graph.nodes, "sweep", inputs, outputs, graph.constants)


def calibrated_probabilities(graph: OnnxGraph, output: Calibrated, D: Tensor) -> Tensor:
    """Probabilities of a `Calibrated` output from its decisions D, shape (N, n_classes).

    Double precision whatever the graph: curves of isotonic calibration can be steep.
    """
    n = output.classes.size
    wide = graph.cast(D, "float64")
    if output.method == "temperature":
        both = wide if n > 2 else graph.add("Concat", graph.add("Neg", wide), wide, axis=1)
        return graph.cast(graph.add("Softmax", graph.add("Mul", both, graph.double(output.knots)), axis=1), graph.dtype)
    if output.method == "sigmoid":
        # Values of pairs may be more than classes; scikit-learn calibrates the first ones.
        first = graph.add("Gather", wide, np.arange(output.knots.size), axis=1)
        exponent = graph.add("Add", graph.add("Mul", first, graph.double(output.knots)), graph.double(output.levels))
        P = graph.add("Sigmoid", graph.add("Neg", exponent))
    else:
        lines = [_broken_line(graph, wide, number, *line) for number, line in enumerate(output.lines())]
        P = lines[0] if len(lines) == 1 else graph.add("Concat", *lines, axis=1)
    return graph.cast(sum_to_one(graph, P, n, graph.double), graph.dtype)


def sum_to_one(graph: OnnxGraph, P: Tensor, n: int, constant: Callable[[np.ndarray], Tensor] | None = None) -> Tensor:
    """Probabilities of n classes from those of each against the rest; a single column is the second of two classes."""
    constant = graph.constant if constant is None else constant
    one = constant(np.array(1.0))
    if n == 2:
        return graph.add("Concat", graph.add("Sub", one, P), P, axis=1)
    sums = graph.add("ReduceSum", P, np.array([1]), keepdims=1)
    nothing = graph.add("Equal", sums, constant(np.array(0.0)))
    fractions = graph.add("Div", P, graph.add("Where", nothing, one, sums))
    return graph.add("Where", nothing, constant(np.array(1.0 / n)), fractions)


def _broken_line(graph: OnnxGraph, D: Tensor, number: int, knots: np.ndarray, levels: np.ndarray) -> Tensor:
    r"""The line through (knot, level): :math:`y_0 + \sum_j (y_{j+1} - y_j)\,\mathrm{clip}((d - x_j)/(x_{j+1} - x_j))`.

    Relative positions, not derivatives: knots of a jump are so close that derivatives are huge.
    """
    d = graph.add("Gather", D, np.array([number]), axis=1)
    if knots.size == 1:
        return graph.add("Expand", graph.double(levels[0]), graph.add("Shape", d))
    place = graph.add("Div", graph.add("Sub", d, graph.double(knots[None, :-1])), graph.double(np.diff(knots)[None, :]))
    place = graph.add("Clip", place, graph.double(0.0), graph.double(1.0))
    climbed = graph.add("MatMul", place, graph.double(np.diff(levels)[:, None]))
    return graph.add("Add", climbed, graph.double(levels[0]))
