"""Landmarks by Cholesky factorisation: the largest residual as pivot, or random ones."""

from numbers import Integral

import numpy as np

from preimage._engine.removed import ignores_removed
from preimage._engine.typing import Seed
from preimage._engine.validation import Interval
from preimage.feature_space import GrowingSpan, Proposal
from preimage.feature_space._growing_span import by_rejection
from preimage.landmarks._selector import COMMON_CONSTRAINTS, LandmarkSelector


class PivotedCholesky(LandmarkSelector):
    r"""Repeatedly the row that is farthest from the span of those chosen so far.

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

    See Also
    --------
    RandomlyPivotedCholesky : Draws rows, which is better with outliers.
    SparseGreedy : Looks at what a row does for all others.

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
        super().__init__(n_landmarks, tol, sample_size, random_state)
        self.block_size = block_size

    def propose(self, span: GrowingSpan, limit: int, rng: np.random.Generator) -> Proposal:
        return span.farthest(self.block_size)


class RandomlyPivotedCholesky(LandmarkSelector):
    r"""Rows drawn with probability proportional to their squared distance to the span of those chosen.

    Row i is the next landmark with probability :math:`R_{ii} / \operatorname{tr} R` (G9). One step decreases the trace
    by :math:`\operatorname{tr} R^2 / \operatorname{tr} R` in expectation (G10), and the trace is near that of the best
    subspace after moderately more steps than its dimension [1]_.

    Drawing one at a time is slow. The accelerated form [2]_ proposes a block of rows from the residuals as they are,
    then takes each with probability (residual now) / (residual when proposed), which gives the same distribution with
    products of matrices.

    Parameters
    ----------
    n_landmarks : int or None, default=100
        Largest number of landmarks; None leaves it to `tol`.
    tol : float or None, default=None
        Stop when the residual trace is at most this fraction of the trace of the kernel.
    block_size : int, default=128
        Rows proposed at once; with 1 each is taken.
    sample_size : int or None, default=5000
        With more rows than this, landmarks are chosen in a sample of so many (at least ten times `n_landmarks`), and
        the residual trace is estimated from others. None looks at all rows, and takes n × m numbers of memory.
    random_state : int, RandomState or None, default=0
        Seed of draws and samples.

    See Also
    --------
    PivotedCholesky : Without randomness: always the farthest row.
    KMeans : Cluster centres, better for leading components of smooth kernels.
    SparseGreedy : Looks at what a row does for all others.

    References
    ----------
    .. [1] Y. Chen, E. N. Epperly, J. A. Tropp, R. J. Webber, "Randomly pivoted Cholesky: practical approximation of a
       kernel matrix with few entry evaluations", arXiv:2207.06503.
    .. [2] E. N. Epperly, J. A. Tropp, R. J. Webber, "Embrace rejection: kernel matrix approximation by accelerated
       randomly pivoted Cholesky", arXiv:2410.03969.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Gaussian
    >>> from preimage.landmarks import RandomlyPivotedCholesky
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> landmarks = RandomlyPivotedCholesky(None, tol=1e-3).select(Gaussian(1.0), X)
    >>> len(landmarks) < 6, landmarks.residual_fraction <= 1e-3
    (True, True)
    """

    _parameter_constraints = {
        **COMMON_CONSTRAINTS,
        "block_size": [Interval(Integral, 1, None, closed="left")],
    }

    @ignores_removed
    def __init__(
        self,
        n_landmarks: int | None = 100,
        tol: float | None = None,
        block_size: int = 128,
        sample_size: int | None = 5_000,
        random_state: Seed = 0,
    ) -> None:
        super().__init__(n_landmarks, tol, sample_size, random_state)
        self.block_size = block_size

    def propose(self, span: GrowingSpan, limit: int, rng: np.random.Generator) -> Proposal:
        numbers, residuals = span.open_rows()
        if not numbers.size:
            return Proposal(numbers)  # every row lies in the span
        proposals = numbers[_draw(residuals, self.block_size, rng)]
        # A row can be proposed twice and then has a second chance; equal rows of H make sure that it is chosen once.
        distinct, positions = np.unique(proposals, return_inverse=True)
        H = span.residual_block(distinct)[np.ix_(positions, positions)]
        return Proposal(proposals, by_rejection(H, rng), block=H)


def _draw(weights: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Independent draws with probabilities proportional to the weights."""
    sums = np.cumsum(weights)
    return np.minimum(np.searchsorted(sums, rng.random(count) * sums[-1], side="right"), weights.size - 1)
