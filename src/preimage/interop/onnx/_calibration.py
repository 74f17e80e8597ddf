"""Calibrated probabilities as ONNX nodes, in double precision."""

import numpy as np


def calibrated_probabilities(graph, output, D):
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
        P = [_broken_line(graph, wide, number, *line) for number, line in enumerate(output.lines())]
        P = P[0] if len(P) == 1 else graph.add("Concat", *P, axis=1)
    return graph.cast(sum_to_one(graph, P, n, graph.double), graph.dtype)


def sum_to_one(graph, P, n, constant=None):
    """Probabilities of n classes from those of each against the rest; a single column is the second of two classes."""
    constant = graph.constant if constant is None else constant
    one = constant(np.array(1.0))
    if n == 2:
        return graph.add("Concat", graph.add("Sub", one, P), P, axis=1)
    sums = graph.add("ReduceSum", P, np.array([1]), keepdims=1)
    nothing = graph.add("Equal", sums, constant(np.array(0.0)))
    shares = graph.add("Div", P, graph.add("Where", nothing, one, sums))
    return graph.add("Where", nothing, constant(np.array(1.0 / n)), shares)


def _broken_line(graph, D, number, knots, levels):
    r"""The line through (knot, level): :math:`y_0 + \sum_j (y_{j+1} - y_j)\,\mathrm{clip}((d - x_j)/(x_{j+1} - x_j))`.

    Relative positions, not slopes: knots of a jump lie so close that slopes are huge.
    """
    d = graph.add("Gather", D, np.array([number]), axis=1)
    if knots.size == 1:
        return graph.add("Expand", graph.double(levels[0]), graph.add("Shape", d))
    place = graph.add("Div", graph.add("Sub", d, graph.double(knots[None, :-1])), graph.double(np.diff(knots)[None, :]))
    place = graph.add("Clip", place, graph.double(0.0), graph.double(1.0))
    climbed = graph.add("MatMul", place, graph.double(np.diff(levels)[:, None]))
    return graph.add("Add", climbed, graph.double(levels[0]))
