"""Platt's probabilities and their coupling as ONNX nodes, in double precision."""

from itertools import combinations

import numpy as np

from preimage.interop.onnx._graph import Graph, element_type, onnx
from preimage.machines.outputs._platt import MARGIN


def class_probabilities(graph, F, probA, probB, n_classes):
    """P(class t) from values of functions that separate pairs; the iteration of `_platt.couple`, as a loop.

    Double precision whatever the graph: where the iteration stops depends on a threshold.
    """
    wide = graph.cast(F, "float64")
    exponent = graph.add("Add", graph.add("Mul", wide, graph.double(probA)), graph.double(probB))
    wins = graph.add("Clip", graph.add("Sigmoid", graph.add("Neg", exponent)), *map(graph.double, (MARGIN, 1 - MARGIN)))
    return graph.cast(_couple(graph, wins, n_classes), graph.dtype)


def _couple(graph, wins, n):
    Q, curvature = _quadratic_form(graph, wins, n)
    start = graph.add("Expand", graph.double(1 / n), graph.add("Shape", curvature))
    return graph.add("Loop", np.array(max(100, n)), np.array(True), start, body=_body(graph, Q, curvature, n))


def _quadratic_form(graph, wins, n):
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


def _body(outer, Q, curvature, n):
    """One sweep over the classes, for the rows that have not converged."""
    graph, helper = Graph(np.float64, outer=outer), onnx().helper
    start = graph.name("p")
    Qp = graph.add("Squeeze", graph.add("MatMul", Q, graph.add("Unsqueeze", start, np.array([2]))), np.array([2]))
    pQp = graph.add("ReduceSum", graph.add("Mul", start, Qp), np.array([1]), keepdims=1)
    gap = graph.add("ReduceMax", graph.add("Abs", graph.add("Sub", Qp, pQp)), np.array([1]), keepdims=1)
    unfinished = graph.add("GreaterOrEqual", gap, 0.005 / n)
    p = start
    for t in range(n):
        bend, slope = (graph.add("Gather", each, np.array([t]), axis=1) for each in (curvature, Qp))
        step = graph.add("Div", graph.add("Sub", pQp, slope), bend)
        scale = graph.add("Add", step, 1.0)
        change = graph.add("Add", graph.add("Mul", step, bend), graph.add("Mul", slope, 2.0))
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
