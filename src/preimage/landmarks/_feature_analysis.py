"""Landmarks by sparse kernel feature analysis: the single kernel function with the most variance, again and again."""

from dataclasses import replace
from numbers import Integral

import numpy as np

from preimage._engine.arrays import array_namespace, from_numpy, to_numpy
from preimage._engine.typing import Array, Seed
from preimage._engine.validation import Interval, StrOptions
from preimage.feature_space import GrowingSpan, Proposal
from preimage.feature_space._elimination import MARGIN, is_significant, longest_of_best
from preimage.landmarks._selector import COMMON_CONSTRAINTS, LandmarkSelector
from preimage.landmarks._sparse_greedy import SURE

# Candidates whose functions are evaluated on all rows together: with the 7,000 rows of a sample and its judges their
# values take 14 MB.
BLOCK = 256


class FeatureAnalysis(LandmarkSelector):
    r"""The candidate whose normalised kernel function varies most over the rows, of a few drawn at random  [1]_.

    Kernel PCA maximises the variance of :math:`\langle w, \varphi(x)\rangle` over :math:`\|w\|_2 \le 1`. Over
    :math:`w = \sum_i \alpha_i \varphi(x_i)` with :math:`\|\alpha\|_1 \le 1` the maximum of this convex function is at a
    vertex of the set: a single kernel function :math:`k(x_i, \cdot)`. The next is looked for among what the span P of
    the landmarks so far leaves of the others, each divided by the sum of moduli of its coefficients,

    .. math:: v_i = \frac{\varphi(x_i) - P \varphi(x_i)}{1 + \|T e_i\|_1}, \qquad T = W^{-1} C^\top \quad (G2).

    With the kernel values of a row on all others, one candidate costs what one of `SparseGreedy` does [2]_.

    Parameters
    ----------
    n_landmarks : int or None, default=100
        Largest number of landmarks; None leaves it to `tol`.
    tol : float or None, default=None
        Stop when the residual trace is at most this fraction of the trace of the kernel.
    n_candidates : int or None, default=59
        Fresh candidates per landmark, see `candidates_needed`; None considers all rows.
    criterion : {"variance", "kurtosis"}, default="variance"
        What is largest. "kurtosis" is the criterion of projection pursuit: the modulus of the excess kurtosis, zero for
        normally distributed values, and the same for every multiple of a function.
    norm : {"l1", "l2"}, default="l1"
        "l2" divides by :math:`\|\varphi(x_i) - P \varphi(x_i)\|` instead. Without centring, the choice is then that of
        ``SparseGreedy(block_size=1)``.
    center : bool, default=True
        Whether moments are about the mean of the function over the rows, or about zero.
    sample_size : int or None, default=5000
        With more rows than this, landmarks are chosen in a sample of so many (at least ten times `n_landmarks`), and
        the residual trace is estimated from others. None looks at all rows.
    random_state : int, RandomState or None, default=0
        Seed of candidates and samples.

    See Also
    --------
    preimage.SparseKernelFeatureAnalysis : The functions as features.
    SparseGreedy : The candidate that lowers the residual most.
    candidates_needed : Why 59 candidates.

    References
    ----------
    .. [1] A. J. Smola, O. L. Mangasarian, B. Schölkopf, "Sparse kernel feature analysis", Data Mining Institute
       technical report 99-04, University of Wisconsin, 1999.
    .. [2] A. J. Smola, B. Schölkopf, "Sparse greedy matrix approximation for machine learning",
       ICML 2000.

    Examples
    --------
    Two groups of points: functions on the larger one tell most rows from the others.

    >>> import numpy as np
    >>> from preimage.kernels import Gaussian
    >>> from preimage.landmarks import FeatureAnalysis
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [20.0]])
    >>> FeatureAnalysis(3).select(Gaussian(1.0), X).indices
    array([1, 3, 5])
    """

    _parameter_constraints = {
        **COMMON_CONSTRAINTS,
        "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
        "criterion": [StrOptions({"variance", "kurtosis"})],
        "norm": [StrOptions({"l1", "l2"})],
        "center": ["boolean"],
    }

    def __init__(
        self,
        n_landmarks: int | None = 100,
        tol: float | None = None,
        n_candidates: int | None = 59,
        criterion: str = "variance",
        norm: str = "l1",
        center: bool = True,
        sample_size: int | None = 5_000,
        random_state: Seed = 0,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.n_candidates = n_candidates
        self.criterion = criterion
        self.norm = norm
        self.center = center
        self.sample_size = sample_size
        self.random_state = random_state

    def propose(self, span: GrowingSpan, limit: int, rng: np.random.Generator) -> Proposal:
        numbers, _ = span.open_rows()
        count = min(self.n_candidates or numbers.size, numbers.size)
        drawn = numbers if count == numbers.size else rng.choice(numbers, count, replace=False)
        # Functions that consist of rounding errors have large coefficients and any shape.
        floor = SURE / MARGIN * span.rounding_errors(drawn)
        sure = drawn[is_significant(span.residuals[drawn], floor)]
        if not sure.size:
            return replace(span.farthest(), most=1)
        scores = [self._scores(span, sure[start : start + BLOCK]) for start in range(0, sure.size, BLOCK)]
        best = longest_of_best(np.concatenate(scores), span.residuals[sure])
        chosen = sure[best : best + 1]
        return Proposal(chosen, block=span.residuals[chosen][:, None])

    def _scores(self, span: GrowingSpan, numbers: np.ndarray) -> np.ndarray:
        """The criterion for the functions of some candidates, in units that all candidates share."""
        values = span.residual_columns(numbers) / span.largest  # whose squares could overflow otherwise
        weights = from_numpy(span.weights / span.weights.sum(), values)
        if self.center:
            values = values - (values @ weights)[:, None]
        if self.criterion == "kurtosis":
            return _kurtosis(values, weights)
        variances = to_numpy((values * values) @ weights)
        if self.norm == "l2":
            return variances / (span.residuals[numbers] / span.largest)
        return variances / (1 + np.abs(span.expansion_coefficients(numbers)).sum(axis=0)) ** 2


def _kurtosis(values: Array, weights: Array) -> np.ndarray:
    """|m₄/m₂² − 3| of each row of values; zero for a row of zeros."""
    xp = array_namespace(values)
    # In units of the largest value, so that fourth powers are numbers.
    largest = xp.max(xp.abs(values), axis=1)[:, None]
    squares = (values / xp.where(largest > 0, largest, xp.ones_like(largest))) ** 2
    second, fourth = to_numpy(squares @ weights), to_numpy((squares * squares) @ weights)
    return np.where(second > 0, np.abs(fourth / np.where(second > 0, second, 1.0) ** 2 - 3), 0.0)
