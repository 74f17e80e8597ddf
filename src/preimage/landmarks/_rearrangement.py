"""Landmarks in the order of their gains, once all of them are known."""

from collections.abc import Callable

import numpy as np

from preimage._arrays import from_numpy, to_numpy
from preimage.feature_space import GrowingSpan

# A point of which less than this fraction of its squared length is left may consist of rounding errors, by which gains
# must not be divided: it keeps its place after those of which more is left. Far above the square root of rounding,
# since residuals here are updated by subtraction; a hundred times larger would also hold back points that matter.
LEFT = 1e-10


def order_by_gain(span: GrowingSpan) -> np.ndarray:
    r"""Positions of the pivots of a span, each next the one with the largest gain (G5) over all rows of the span.

    All happens inside the span, without further kernel values: pivot i has the coordinates :math:`p_i` and its residual
    column is :math:`G r_i` with :math:`r_i` what earlier pivots leave of :math:`p_i`, so the trace falls by
    :math:`r_i^\top M r_i / r_i^\top r_i` with :math:`M = \sum_x w_x g_x g_x^\top` (G19). That takes O(nm²) operations.
    """
    G = span.axes / span.largest**0.5  # (m, n); squares of huge kernel values would overflow
    M = to_numpy((G * from_numpy(span.weights, G)) @ G.T).astype(np.float64)
    P = to_numpy(G).astype(np.float64)[:, span.pivots].T  # row i: coordinates of pivot i
    lengths = np.sum(P * P, axis=1)
    left = lengths.copy()
    order: list[int] = []
    is_open = np.ones(len(P), dtype=bool)
    while is_open.any():
        sure = is_open & (left > LEFT * lengths)
        if not sure.any():  # the rest in the order that it had
            return np.array([*order, *np.flatnonzero(is_open)], dtype=np.intp)
        gains = np.where(sure, np.sum((P @ M) * P, axis=1) / np.where(sure, left, 1.0), -np.inf)
        best = int(np.argmax(gains))
        axis = P[best] / np.sqrt(left[best])
        P = P - np.outer(P @ axis, axis)
        left = np.sum(P * P, axis=1)
        is_open[best] = False
        order.append(best)
    return np.array(order, dtype=np.intp)


def rearranged(span: GrowingSpan, fresh: Callable[[], GrowingSpan], goal: float = -np.inf) -> GrowingSpan:
    """The pivots of a span in the order of their gains, those after the one that reaches `goal` left out.

    Parameters
    ----------
    span : GrowingSpan
        It is returned as it was where rounding would lose a pivot in the new order.
    fresh : callable
        Makes an empty span of the same rows.
    goal : float
        Residual trace that is small enough.
    """
    numbers = span.pivots[order_by_gain(span)]
    ordered = fresh()
    ordered.add_in_order(numbers)
    if len(ordered) < len(span):
        return span
    enough = np.flatnonzero(ordered.path <= goal)
    if enough.size and enough[0] + 1 < len(ordered):
        ordered = fresh()
        ordered.add_in_order(numbers[: enough[0] + 1])
    return ordered
