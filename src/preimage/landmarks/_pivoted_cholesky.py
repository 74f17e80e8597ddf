"""Landmarks by Cholesky factorisation with the largest residual as pivot."""

from numbers import Integral

import numpy as np

from preimage._typing import Seed
from preimage._validation import Interval
from preimage.feature_space import GrowingSpan, Proposal
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
        Largest number of landmarks; None leaves it to `tol`.
    tol : float or None, default=None
        Stop when the residual trace is at most this fraction of the trace of the kernel.
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

    def __init__(
        self,
        n_landmarks: int | None = 100,
        tol: float | None = None,
        block_size: int = 64,
        sample_size: int | None = 5_000,
        random_state: Seed = 0,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.block_size = block_size
        self.sample_size = sample_size
        self.random_state = random_state

    def propose(self, span: GrowingSpan, limit: int, rng: np.random.Generator) -> Proposal:
        return span.farthest(self.block_size)
