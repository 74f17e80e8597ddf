"""Landmarks by Cholesky factorisation with the largest residual as pivot."""

from functools import partial
from numbers import Integral

import numpy as np

from preimage._validation import Interval
from preimage.landmarks._elimination import by_largest, diagonal
from preimage.landmarks._selector import COMMON_CONSTRAINTS, LandmarkSelector


class PivotedCholesky(LandmarkSelector):
    r"""The row farthest from the span of those chosen, again and again.

    The next landmark is :math:`\arg\max_i R_{ii}` (G8), the first such row when there are several: a lower bound of
    the decrease of the trace, so the choice is greedy but not one-step optimal. No randomness, and it bounds the
    largest residual; on data with outliers it collects those first, and `RandomlyPivotedCholesky` leaves a smaller
    trace.

    Residuals only fall. A row whose residual, after elimination among the `block_size` largest, is still above all
    others is therefore the next pivot of the plain algorithm: blocks change the speed, not the pivots.

    Parameters
    ----------
    n_landmarks : int or None, default=100
        Largest number of landmarks; None leaves it to `tolerance`.
    tolerance : float or None, default=None
        Stop when the residual trace is at most this share of the trace of the kernel.
    block_size : int, default=64
        Rows with large residuals that are looked at together.
    sample_size : int or None, default=5000
        With more rows than this, landmarks are chosen in a sample of so many (at least ten times `n_landmarks`), and
        the residual trace is estimated from others. None looks at all rows.
    random_state : int, RandomState or None, default=0
        Draws the sample; not used otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Gaussian
    >>> from preimage.landmarks import PivotedCholesky
    >>> X = np.array([[0.0], [0.1], [5.0], [0.2]])
    >>> PivotedCholesky(2).select(Gaussian(1.0), X).indices
    array([0, 2])
    """

    _parameter_constraints = {**COMMON_CONSTRAINTS, "block_size": [Interval(Integral, 1, None, closed="left")]}

    def __init__(self, n_landmarks=100, tolerance=None, block_size=64, sample_size=5_000, random_state=0):
        self.n_landmarks = n_landmarks
        self.tolerance = tolerance
        self.block_size = block_size
        self.sample_size = sample_size
        self.random_state = random_state

    def _factorize(self, kernel, view, rng):
        return self._grown(kernel, view, partial(add_farthest, block_size=self.block_size))


def add_farthest(factor, limit, goal, block_size=64):
    """Add the candidates with the largest residuals, as many as can be told from the `block_size` largest."""
    numbers, residuals = factor.open_candidates()
    order = np.argsort(-residuals, kind="stable")
    largest = numbers[order[:block_size]]
    next_largest = residuals[order[block_size]] if order.size > block_size else 0.0
    rule = by_largest(diagonal, at_least=next_largest)
    factor.extend(largest, rule, limit, goal)
