"""Probabilities as ONNX nodes, in double precision: Platt's with their coupling, and calibrated ones."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from preimage.interop.onnx._graph import Graph, Tensor, element_type, onnx
from preimage.machines.outputs._classes import MARGIN, MOST_SWEEPS, STOPPING_GAP
from preimage.machines.outputs._probabilistic import Calibrated


def class_probabilities(graph: Graph, F: Tensor, probA: np.ndarray, probB: np.ndarray, n_classes: int) -> Tensor:
    """P(class t) from values of functions that separate pairs; the iteration of `_platt.couple`, as a loop.

    Double precision whatever the graph: where the iteration stops depends on a threshold.
    """
    wide = graph.cast(F, "float64")
    exponent = graph.add("Add", graph.add("Mul", wide, graph.double(probA)), graph.double(probB))
    wins = graph.add("Clip", graph.add("Sigmoid", graph.add("Neg", exponent)), *map(graph.double, (MARGIN, 1 - MARGIN)))
    return graph.cast(_couple(graph, wins, n_classes), graph.dtype)


def _couple(graph: Graph, wins: Tensor, n: int) -> Tensor:
    Q, curvature = _quadratic_form(graph, wins, n)
    start = graph.add("Expand", graph.double(1 / n), graph.add("Shape", curvature))
    return graph.add("Loop", np.array(max(MOST_SWEEPS, n)), np.array(True), start, body=_body(graph, Q, curvature, n))


def _quadratic_form(graph: Graph, wins: Tensor, n: int) -> tuple[Tensor, Tensor]:
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


def _body(outer: Graph, Q: Tensor, curvature: Tensor, n: int) -> Any:
    """One sweep over the classes, for the rows that have not converged."""
    graph, helper = Graph(np.float64, outer=outer), onnx().helper
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


def calibrated_probabilities(graph: Graph, output: Calibrated, D: Tensor) -> Tensor:
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


def sum_to_one(graph: Graph, P: Tensor, n: int, constant: Callable[[np.ndarray], Tensor] | None = None) -> Tensor:
    """Probabilities of n classes from those of each against the rest; a single column is the second of two classes."""
    constant = graph.constant if constant is None else constant
    one = constant(np.array(1.0))
    if n == 2:
        return graph.add("Concat", graph.add("Sub", one, P), P, axis=1)
    sums = graph.add("ReduceSum", P, np.array([1]), keepdims=1)
    nothing = graph.add("Equal", sums, constant(np.array(0.0)))
    fractions = graph.add("Div", P, graph.add("Where", nothing, one, sums))
    return graph.add("Where", nothing, constant(np.array(1.0 / n)), fractions)


def _broken_line(graph: Graph, D: Tensor, number: int, knots: np.ndarray, levels: np.ndarray) -> Tensor:
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
