"""Landmarks drawn with equal probability."""

from preimage.landmarks._elimination import by_largest, diagonal
from preimage.landmarks._selector import COMMON_CONSTRAINTS, LandmarkSelector

BLOCK = 128


class Uniform(LandmarkSelector):
    """Rows drawn at random, all with the same probability.

    A row that depends on those drawn before it (a duplicate, or any row beyond the rank of the kernel) is passed over,
    so the landmarks are always independent.

    Parameters
    ----------
    n_landmarks : int or None, default=100
        Largest number of landmarks; None leaves it to `tolerance`.
    tolerance : float or None, default=None
        Stop when the residual trace is at most this share of the trace of the kernel.
    sample_size : int or None, default=2000
        With more rows than this, landmarks are drawn from a sample of so many (at least twice `n_landmarks`), and the
        residual trace is estimated from others. None looks at all rows.
    random_state : int, RandomState or None, default=0

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

    _parameter_constraints = COMMON_CONSTRAINTS
    _rows_a_landmark = 2

    def __init__(self, n_landmarks=100, tolerance=None, sample_size=2_000, random_state=0):
        self.n_landmarks = n_landmarks
        self.tolerance = tolerance
        self.sample_size = sample_size
        self.random_state = random_state

    def _factorize(self, kernel, view, rng):
        def step(factor, limit, goal):
            numbers, _ = factor.open_candidates()
            drawn = rng.choice(numbers, min(BLOCK, limit, numbers.size), replace=False)
            # The order of a block is free; large residuals first keep rounding errors small.
            factor.extend(drawn, by_largest(diagonal), limit, goal)

        return self._grown(kernel, view, step)
