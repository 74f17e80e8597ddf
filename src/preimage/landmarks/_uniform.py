"""Landmarks drawn with equal probability."""

import numpy as np

from preimage._engine.typing import Seed
from preimage.feature_space import GrowingSpan, Proposal
from preimage.feature_space._growing_span import by_largest
from preimage.landmarks._selector import LandmarkSelector

# Rows drawn together: enough for products of matrices, few enough that elimination inside the block stays cheap.
BLOCK = 128


class Uniform(LandmarkSelector):
    """Rows drawn at random, all with the same probability.

    A row that depends on those drawn before it (a duplicate, or any row beyond the rank of the kernel) is passed over,
    so the landmarks are always independent.

    Parameters
    ----------
    n_landmarks : int or None, default=100
        Largest number of landmarks; None leaves it to `tol`.
    tol : float or None, default=None
        Stop when the residual trace is at most this fraction of the trace of the kernel.
    sample_size : int or None, default=2000
        With more rows than this, landmarks are drawn from a sample of so many (at least twice `n_landmarks`), and the
        residual trace is estimated from others. None looks at all rows.
    random_state : int, RandomState or None, default=0
        Seed of the draws.

    See Also
    --------
    KMeans : Cluster centres, which represent more of a smooth kernel.
    RandomlyPivotedCholesky : Rows far from those drawn before are drawn more often.
    sklearn.kernel_approximation.Nystroem : Features from uniform landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Linear
    >>> from preimage.landmarks import Uniform
    >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]])
    >>> landmarks = Uniform(4).select(Linear(), X)
    >>> len(landmarks), landmarks.reason
    (2, 'no independent candidate left')
    """

    _rows_per_landmark = 2

    def __init__(
        self,
        n_landmarks: int | None = 100,
        tol: float | None = None,
        sample_size: int | None = 2_000,
        random_state: Seed = 0,
    ) -> None:
        super().__init__(n_landmarks, tol, sample_size, random_state)

    def propose(self, span: GrowingSpan, limit: int, rng: np.random.Generator) -> Proposal:
        if self._wants_all(span, limit):
            return span.farthest()
        numbers, _ = span.open_rows()
        drawn = rng.choice(numbers, min(BLOCK, limit, numbers.size), replace=False)
        # The order inside a block is free; large residuals first keep rounding errors small.
        return Proposal(drawn, by_largest())
