"""Landmarks by sparse greedy approximation and feature analysis: the best of a few random candidates at each step."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral

import numpy as np

from preimage._engine.arrays import array_namespace, epsilon, from_numpy, to_numpy
from preimage._engine.typing import Array, Seed
from preimage._engine.validation import Interval, StrOptions
from preimage.feature_space import Gram, GrowingSpan, Proposal
from preimage.feature_space._growing_span import (
    MARGIN,
    TIE,
    BlockResiduals,
    Rule,
    by_largest,
    eliminate,
    is_significant,
    longest_of_best,
)
from preimage.kernels import Kernel
from preimage.landmarks._landmarks import View
from preimage.landmarks._selector import COMMON_CONSTRAINTS, LandmarkSelector

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


# A gain is divided by the residual of its candidate, and is trusted where that is so many times its rounding error.
# Where it is for no candidate, the farthest row is taken, which lowers the errors of all others most. With a thousand,
# selections of wide kernels end at 1e-10 of the trace, with this at 1e-12.
SURE = 100_000
# Gains from a sample are uncertain by a few per cent, and too small for long candidates, whose own term is not scaled
# up. Where one direction is left and all candidates are equally good, the shortest would be taken without this.
SAMPLED_TIE = 0.02


class SparseGreedy(LandmarkSelector):
    r"""The candidate that lowers the residual most, of a few drawn at random  [1]_.

    In function space, φ(xᵢ) is projected on the span of the landmarks, and candidate i lowers the trace of the
    residual R by :math:`\|R e_i\|^2 / R_{ii}` (G5). In column space, columns :math:`K_i` of the kernel matrix are
    projected on the columns of the landmarks, and candidate i lowers :math:`\|R\|_F^2` by
    :math:`\sum_j (r_j \cdot r_i)^2 / \|r_i\|^2` (G6). The best of 59 candidates is among the best twentieth of all with
    95 % confidence: 59 draws miss it with probability :math:`0.95^{59} < 0.05`. Both spaces end in the same kind of
    approximation :math:`\tilde K = C W^{-1} C^\top`, whose residual trace is what is reported and what `tol` refers to.

    With ``block_size=1`` the gains are sums over all rows, as in [1]_, at the price of `n_candidates` kernel columns
    per landmark in function space, and of a product with the whole kernel matrix in column space. Larger blocks draw
    ``n_candidates · block_size`` candidates, estimate gains with the candidates themselves as the sample of rows, and
    choose `block_size` landmarks, each the best of all that are left: every step has as many fresh candidates as
    before, at a fraction of the price.

    Parameters
    ----------
    n_landmarks : int or None, default=100
        Largest number of landmarks; None leaves it to `tol`.
    tol : float or None, default=None
        Stop when the residual trace is at most this fraction of the trace of the kernel.
    n_candidates : int, default=59
        Fresh candidates per landmark; the number of rows or more considers all.
    space : {"function", "column"}, default="function"
        The space in which residuals are measured. Column space needs whole kernel columns of all candidates.
    rule : {"gain", "residual", "column"}, default="gain"
        "residual" takes the candidate with the largest :math:`R_{ii}` (G8), or :math:`\|r_i\|^2` (G7) in column space,
        which with all candidates is pivoted Cholesky of K, or its QR factorisation with column pivoting. "column" takes
        the one whose column of the residual is the longest, :math:`\|R e_i\|^2` (G7), in either space.
    block_size : int, default=8
        Landmarks chosen from one set of candidates.
    sample_size : int or None, default=5000
        With more rows than this, landmarks are chosen in a sample of so many (at least ten times `n_landmarks`), and
        the residual trace is estimated from others. None looks at all rows.
    random_state : int, RandomState or None, default=0
        Seed of candidates and samples.
    rearrange : bool, default=False
        Whether the landmarks are put into the order of their gains at the end, when all of them are candidates: late
        random candidates can be far better than those before them. The span, and what it leaves, stay the same; the
        first p of them leave less of the trace for almost every p. With `tol`, those that are no longer needed are
        dropped.

    See Also
    --------
    RandomlyPivotedCholesky : Draws rows by their residuals, without comparing candidates.
    KMeans : Cluster centres, better for leading components of smooth kernels.
    preimage.SparseGreedyRegressor : Chooses points by the error of predictions.

    References
    ----------
    .. [1] A. J. Smola, B. Schölkopf, "Sparse greedy matrix approximation for machine learning",
       ICML 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Polynomial
    >>> from preimage.landmarks import SparseGreedy
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> len(SparseGreedy(50).select(Polynomial(2), X))  # 1, x₁, x₂ and their products: six functions
    6
    """

    _parameter_constraints = {
        **COMMON_CONSTRAINTS,
        "n_candidates": [Interval(Integral, 1, None, closed="left")],
        "space": [StrOptions({"function", "column"})],
        "rule": [StrOptions({"gain", "residual", "column"})],
        "block_size": [Interval(Integral, 1, None, closed="left")],
        "rearrange": ["boolean"],
    }

    def __init__(
        self,
        n_landmarks: int | None = 100,
        tol: float | None = None,
        n_candidates: int = 59,
        space: str = "function",
        rule: str = "gain",
        block_size: int = 8,
        sample_size: int | None = 5_000,
        random_state: Seed = 0,
        rearrange: bool = False,
    ) -> None:
        super().__init__(n_landmarks, tol, sample_size, random_state)
        self.n_candidates = n_candidates
        self.space = space
        self.rule = rule
        self.block_size = block_size
        self.rearrange = rearrange

    def propose(self, span: GrowingSpan, limit: int, rng: np.random.Generator) -> Proposal:
        numbers, _ = span.open_rows()
        count = min(self.n_candidates * self.block_size, numbers.size)
        drawn = numbers if count == numbers.size else rng.choice(numbers, count, replace=False)
        floor = SURE / MARGIN * span.rounding_errors(drawn)
        # Gains divide by residuals; where these are near their rounding errors, the farthest row is the safe choice.
        sure = drawn[is_significant(span.residuals[drawn], floor)]
        if sure.size and self.space == "column":
            proposal = self._by_columns(span, sure, numbers.size)
        elif sure.size and self.block_size == 1 and self.rule != "residual":
            proposal = _by_exact_gain(span, sure, self.rule == "gain")
        elif sure.size:
            proposal = Proposal(drawn, self._choice(numbers.size), floor=floor)
        else:
            proposal = span.farthest()
        return replace(proposal, most=self.block_size)

    def _span(self, kernel: Kernel, view: View, rng: np.random.Generator) -> tuple[GrowingSpan, View]:
        span, view = super()._span(kernel, view, rng)
        if self.rearrange and len(span) > 1:
            span = rearranged(span, lambda: view.span(kernel, len(span)), self._goal(view.trace))
        return span, view

    def _by_columns(self, span: GrowingSpan, candidates: np.ndarray, n_open: int) -> Proposal:
        """The best candidates with columns of the kernel matrix as vectors  (G6)."""
        # Inner products of residual columns play the role that residual kernel values have in function space: they
        # are the Schur complement of K² instead of K.
        columns = span.kernel_columns(candidates) / span.largest
        norms = to_numpy(array_namespace(columns).sum(columns * columns, axis=1)).astype(np.float64)
        floor = (columns.shape[1] * epsilon(columns.dtype)) ** 2 * norms
        basis = span.column_basis()
        for _ in range(2):  # one pass leaves rounding errors of the size of what it removed
            columns = columns - (columns @ basis) @ basis.T
        if self.block_size == 1 and self.rule == "gain":
            return _by_exact_column_gain(span, candidates, columns, floor)
        best, _ = eliminate(to_numpy(columns @ columns.T), floor, self._choice(n_open), self.block_size)
        # Columns can be independent by rounding where the points are not; the points decide.
        return Proposal(candidates[best]) if best else span.farthest()

    def _choice(self, n_open: int) -> Rule:
        if self.rule == "residual" or (self.rule == "column" and self.space == "column"):
            return by_largest()
        if self.rule == "column":
            return by_largest(partial(squared_lengths, represented=n_open))
        is_sampled = n_open > self.n_candidates * self.block_size
        return by_largest(partial(trace_gain, represented=n_open), tie=SAMPLED_TIE if is_sampled else TIE)


def trace_gain(residuals: BlockResiduals, represented: int) -> np.ndarray:
    """Estimated decrease ‖Re_i‖²/R_ii of the trace by each candidate (G5), in units of the largest residual.

    The candidates are a sample of `represented` rows: the term R_ii of the sum that belongs to the candidate itself is
    known, and the others are scaled up.
    """
    diagonal, scale = residuals.diagonal / residuals.unit, _others_scale(residuals, represented)
    return diagonal + scale * (residuals.squares - diagonal * diagonal) / np.where(diagonal > 0, diagonal, np.inf)


def squared_lengths(residuals: BlockResiduals, represented: int) -> np.ndarray:
    """Estimated squared length ‖Re_i‖² of the residual column of each candidate  (G7); units and sample as above."""
    diagonal, scale = residuals.diagonal / residuals.unit, _others_scale(residuals, represented)
    return diagonal * diagonal + scale * (residuals.squares - diagonal * diagonal)


def _others_scale(residuals: BlockResiduals, represented: int) -> float:
    """How many rows each of the other candidates stands for."""
    size = residuals.diagonal.size
    return 1.0 if size < 2 else (represented - 1) / (size - 1)


def _by_exact_gain(span: GrowingSpan, candidates: np.ndarray, is_relative: bool) -> Proposal:
    """The candidate with the largest gain over all rows (G5), or with the longest residual column (G7)."""
    columns = span.residual_columns(candidates)
    # In units of the largest k(x, x), whose square could overflow.
    squares = to_numpy((columns / span.largest) ** 2 @ from_numpy(span.weights, columns))
    diagonal = span.residuals[candidates] / span.largest
    best = longest_of_best(squares / diagonal if is_relative else squares, diagonal)
    chosen = candidates[best : best + 1]
    return Proposal(chosen, block=span.residuals[chosen][:, None], columns=columns[best : best + 1, :])


def _by_exact_column_gain(span: GrowingSpan, candidates: np.ndarray, columns: Array, floor: np.ndarray) -> Proposal:
    """The candidate whose residual column lowers ‖R‖²_F most, of residual columns (b, n) of the candidates  (G6)."""
    # Residual columns are orthogonal to the chosen ones, so that r_j·r_i = K_j·r_i: one product with K has them all.
    xp = array_namespace(columns)
    products = (Gram(span.kernel, span.rows) @ columns.T) / span.largest
    squares = to_numpy(xp.sum(products * products, axis=0)).astype(np.float64)
    norms = to_numpy(xp.sum(columns * columns, axis=1)).astype(np.float64)
    is_open = is_significant(norms, floor)
    if not is_open.any():
        return span.farthest()
    gains = np.where(is_open, squares / np.where(is_open, norms, 1.0), -np.inf)
    best = longest_of_best(gains, np.where(is_open, norms, -np.inf))
    return Proposal(candidates[best : best + 1])


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
        Fresh candidates per landmark, as of `SparseGreedy`; None considers all rows.
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
        super().__init__(n_landmarks, tol, sample_size, random_state)
        self.n_candidates = n_candidates
        self.criterion = criterion
        self.norm = norm
        self.center = center

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
