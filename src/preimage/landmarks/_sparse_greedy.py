"""Landmarks by sparse greedy approximation: the best of a few random candidates at each step."""

from functools import partial
from numbers import Integral

import numpy as np

from preimage._arrays import from_numpy, to_numpy
from preimage._validation import Interval, StrOptions
from preimage.landmarks._column_space import ColumnSpace
from preimage.landmarks._elimination import (
    MARGIN,
    SAMPLED_TIE,
    TIE,
    by_largest,
    diagonal,
    eliminate,
    in_order,
    is_significant,
    longest_of_best,
    trace_gain,
)
from preimage.landmarks._pivoted_cholesky import add_farthest
from preimage.landmarks._selector import COMMON_CONSTRAINTS, LandmarkSelector

# A gain is divided by the residual of its candidate, and is trusted where that is so many times its rounding error.
# Where it is for no candidate, the farthest row is taken, which lowers the errors of all others most. With a thousand,
# selections of wide kernels end at 1e-10 of the trace, with this at 1e-12.
SURE = 100_000


class SparseGreedy(LandmarkSelector):
    r"""The candidate that lowers the residual most, of a few drawn at random  [1]_.

    In function space, φ(xᵢ) is projected on the span of the landmarks, and candidate i lowers the trace of the
    residual R by :math:`\|R e_i\|^2 / R_{ii}` (G5). In column space, columns :math:`K_i` of the kernel matrix are
    projected on the columns of the landmarks, and candidate i lowers :math:`\|R\|_F^2` by
    :math:`\sum_j (r_j \cdot r_i)^2 / \|r_i\|^2` (G6). The best of 59 candidates is among the best twentieth of all with
    95 % confidence, see `candidates_needed`. Both spaces end in the same kind of approximation
    :math:`\tilde K = C W^{-1} C^\top`, whose residual trace is what is reported and what `tolerance` means.

    With ``block_size=1`` the gains are sums over all rows, as in [1]_, at the price of `n_candidates` kernel columns a
    landmark. Larger blocks draw ``n_candidates · block_size`` candidates, estimate gains with the candidates
    themselves as the sample of rows, and choose `block_size` landmarks, each the best of all that are left: every step
    has as many fresh candidates as before, at a fraction of the price.

    Parameters
    ----------
    n_landmarks : int or None, default=100
        Largest number of landmarks; None leaves it to `tolerance`.
    tolerance : float or None, default=None
        Stop when the residual trace is at most this share of the trace of the kernel.
    n_candidates : int, default=59
        Fresh candidates a landmark; the number of rows or more considers all.
    space : {"function", "column"}, default="function"
        Where residuals live. Column space needs whole kernel columns of all candidates.
    rule : {"gain", "residual"}, default="gain"
        "residual" takes the candidate with the largest :math:`R_{ii}` (G8), or :math:`\|r_i\|^2` (G7) in column space,
        which with all candidates is pivoted Cholesky of K, or its QR factorisation with column pivoting.
    block_size : int, default=8
        Landmarks chosen from one set of candidates.
    sample_size : int or None, default=5000
        With more rows than this, landmarks are chosen in a sample of so many (at least ten times `n_landmarks`), and
        the residual trace is estimated from others. None looks at all rows.
    random_state : int, RandomState or None, default=0

    References
    ----------
    .. [1] A. J. Smola, B. Schölkopf, "Sparse greedy matrix approximation for machine learning", ICML 2000.

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
        "rule": [StrOptions({"gain", "residual"})],
        "block_size": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_landmarks=100,
        tolerance=None,
        n_candidates=59,
        space="function",
        rule="gain",
        block_size=8,
        sample_size=5_000,
        random_state=0,
    ):
        self.n_landmarks = n_landmarks
        self.tolerance = tolerance
        self.n_candidates = n_candidates
        self.space = space
        self.rule = rule
        self.block_size = block_size
        self.sample_size = sample_size
        self.random_state = random_state

    def _factorize(self, kernel, view, rng):
        if self.space == "column":
            step = partial(self._column_step, ColumnSpace(), rng)
        elif self.block_size == 1 and self.rule == "gain":
            step = partial(self._exact_step, rng)
        else:
            step = partial(self._sampled_step, rng)
        return self._grown(kernel, view, step)

    def _exact_step(self, rng, factor, limit, goal):
        """One landmark, by gains over all rows  (G5)."""
        candidates, _ = self._draw(factor, rng)
        sure = candidates[is_significant(factor.residuals[candidates], _sure_floor(factor, candidates))]
        if not sure.size:
            add_farthest(factor, 1, goal)
            return
        columns = factor.residual_columns(sure)
        weights = from_numpy(factor.view.weights, columns)
        unit = factor.view.largest  # whose square may have no place in floating numbers
        squares = to_numpy((columns / unit) ** 2 @ weights)
        own = factor.residuals[sure] / unit
        best = longest_of_best(squares / own, own)
        chosen = slice(best, best + 1)
        if not factor.add(sure[chosen], np.sqrt(factor.residuals[sure[chosen], None]), goal, columns[chosen, :]):
            factor.close(candidates)

    def _sampled_step(self, rng, factor, limit, goal):
        """A few landmarks, by gains over the candidates themselves."""
        candidates, n_open = self._draw(factor, rng)
        floor = _sure_floor(factor, candidates)
        limit = min(self.block_size, limit)
        if is_significant(factor.residuals[candidates], floor).any():
            factor.extend(candidates, self._choice(n_open), limit, goal, floor=floor)
        else:
            add_farthest(factor, limit, goal)

    def _column_step(self, columns, rng, factor, limit, goal):
        """The same with columns of the kernel matrix as vectors  (G6)."""
        candidates, n_open = self._draw(factor, rng)
        before, limit = len(factor), min(self.block_size, limit)
        sure = candidates[is_significant(factor.residuals[candidates], _sure_floor(factor, candidates))]
        best = []
        if sure.size:
            residuals, errors = columns.residuals(factor.kernel_columns(sure) / factor.view.largest)
            best, _ = eliminate(to_numpy(residuals @ residuals.T), errors, self._choice(n_open), limit)
        # Columns can be independent by rounding where the points are not; the points decide.
        if best:
            factor.extend(sure[best], in_order, limit, goal)
        else:
            add_farthest(factor, limit, goal)
        columns.add(factor.kernel_columns(factor.pivots[before:]) / factor.view.largest)

    def _draw(self, factor, rng):
        numbers, _ = factor.open_candidates()
        count = min(self.n_candidates * self.block_size, numbers.size)
        drawn = numbers if count == numbers.size else rng.choice(numbers, count, replace=False)
        return drawn, numbers.size

    def _choice(self, n_open):
        if self.rule == "residual":
            return by_largest(diagonal)
        is_sampled = n_open > self.n_candidates * self.block_size
        return by_largest(partial(trace_gain, represented=n_open), tie=SAMPLED_TIE if is_sampled else TIE)


def _sure_floor(factor, candidates):
    """Half the squared residuals from which on gains of candidates can be trusted."""
    return SURE / MARGIN * factor.rounding_errors(candidates)
