"""Selectors of landmarks: each only proposes the next rows; what they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator

from preimage._engine.arrays import array_namespace, is_lazy, is_objects, itemsize, on_device, take_rows, to_numpy
from preimage._engine.finite import training_inputs
from preimage._engine.progress import stage
from preimage._engine.typing import Array, Rows, Seed
from preimage._engine.validation import Interval, check_parameters, generator
from preimage._engine.warnings import unwarned, warn_user
from preimage.exceptions import RankWarning, UnsupportedKernelError
from preimage.feature_space import GrowingSpan, Proposal
from preimage.feature_space._growing_span import FIRST_CAPACITY
from preimage.kernels import Kernel
from preimage.landmarks._landmarks import JUDGES, Landmarks, View, stored_points

ENOUGH = "number of landmarks reached"
TOLERANCE = "residual below tolerance"
EXHAUSTED = "no independent candidate left"
# What a selection leaves is rounding up to so many times the rounding errors of k(x, x), averaged over the candidates.
# The farthest rows leave up to four times these where they end; ten times more would call 1e-13 of a kernel nothing.
NOTHING_LEFT = 10
# Fractions of the trace, by bytes per kernel value, of which nobody need hear who asked for a number of landmarks:
# components with ten times as much are the last that kernel values of this precision determine.
LITTLE = {8: 1e-9, 4: 1e-6}


COMMON_CONSTRAINTS: dict[str, list] = {
    "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
    "tol": [Interval(Real, 0, 1, closed="left"), None],
    "sample_size": [Interval(Integral, 1, None, closed="left"), None],
    "random_state": ["random_state"],
}


class LandmarkSelector(BaseEstimator, ABC):
    """Chooses landmarks; a subclass implements `propose`.

    All selectors have `n_landmarks`, `tol`, `sample_size` and `random_state`. Landmarks are chosen among `sample_size`
    rows where that saves work: the data must have 2,000 rows more. At most `n_landmarks` are chosen (at most as many as
    there are rows), fewer when the residual trace is at most `tol` times the trace of the kernel, and fewer when every
    other candidate depends, up to rounding, on those chosen: then their number is the rank. `Landmarks.reason` says
    which. How much rounding hides depends on the landmarks themselves: where they lie close together and more is left
    than rounding, the later half of them is given up for the farthest rows, then three quarters, and so on. A
    `RankWarning` says what fraction of the trace is left where neither number nor tolerance are met then.

    See Also
    --------
    AutoLandmarks : What a number of landmarks means.
    Landmarks : What `select` returns.
    preimage.testing.check_selector : Whether a new selector keeps the contract.

    Examples
    --------
    Every estimator with landmarks takes a selector:

    >>> import numpy as np
    >>> from preimage import KernelPCA
    >>> from preimage.landmarks import LandmarkSelector, Uniform
    >>> isinstance(Uniform(20), LandmarkSelector)
    True
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> len(KernelPCA(2, landmarks=Uniform(20)).fit(X).landmarks_)
    20
    """

    _parameter_constraints: dict = COMMON_CONSTRAINTS

    #: Smallest number of candidates per landmark in a sample. Rows that were not drawn are expressed by their
    #: neighbours in the sample: with five per landmark, 400 landmarks left thirty times more of a wide kernel on 30,000
    #: rows than with ten, which left as much as a choice among all rows.
    _rows_per_landmark = 10

    def __init__(
        self,
        n_landmarks: int | None = 100,
        tol: float | None = None,
        sample_size: int | None = 5_000,
        random_state: Seed = 0,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.sample_size = sample_size
        self.random_state = random_state

    @abstractmethod
    def propose(self, span: GrowingSpan, limit: int, rng: np.random.Generator) -> np.ndarray | Proposal:
        """Rows that should become landmarks next.

        Parameters
        ----------
        span : GrowingSpan
            The span of the landmarks so far. ``span.open_rows()`` has the numbers of the rows to choose from and their
            squared residuals.
        limit : int
            Largest number of landmarks that are still to be chosen.
        rng : numpy.random.Generator

        Returns
        -------
        integer array of shape (b,), or Proposal
            Numbers of open rows. They become landmarks in this order, without those that depend on the ones before. A
            `Proposal` can also give the rule that chooses among them.
        """

    @unwarned()
    def select(
        self,
        kernel: Kernel,
        X: Rows,
        *,
        with_factor: bool = False,
        judged: bool = True,
        rng: np.random.Generator | None = None,
        device: str | None = None,
    ) -> Landmarks:
        """Choose landmarks among the rows of X.

        Parameters
        ----------
        kernel : Kernel
            Positive semidefinite, with all parameters resolved.
        X : array or CSR matrix of shape (n, d)
            For precomputed kernels the matrix K, or what ``kernel.inputs(K)`` gives.
        with_factor : bool, default=False
            Whether to return G with K̃ = GGᵀ, which takes n × m numbers; the residual trace is exact then.
        judged : bool, default=True
            Whether rows that are no candidates estimate the residual. Without them a selection is cheaper, and its
            residual trace is estimated too small, or NaN where landmarks are no rows.
        rng : numpy.random.Generator, optional
            Used instead of `random_state`.
        device : str, optional
            Where the work on NumPy data is done, such as "cuda", unless the factor is wanted; the result is in NumPy.

        Returns
        -------
        Landmarks
        """
        self._check(kernel)
        X = _in_range(self, kernel, X)
        rng = generator(self.random_state) if rng is None else rng
        view = View.of(kernel, X, self._size_of_sample(X.shape[0]), rng, judged or self.tol is not None)
        moves = device is not None and isinstance(view.rows, np.ndarray)
        moves = moves and not (kernel.points_are_row_numbers or with_factor)
        span, view = self._span(kernel, replace(view, rows=on_device(view.rows, str(device))) if moves else view, rng)
        if len(span) == 0 and not kernel.is_positive_semidefinite:
            raise UnsupportedKernelError(
                f"{type(self).__name__} finds no landmark: {kernel!r} has no positive k(x, x) on these data. Landmarks "
                "need a positive semidefinite kernel that does not vanish. Use another kernel, or landmarks=None."
            )
        chosen = self._result(span, view, X, with_factor)
        return replace(chosen, points=to_numpy(chosen.points)) if moves else chosen

    @unwarned()
    def select_more(self, kernel: Kernel, X: Rows, points: Array, *, rng: np.random.Generator | None = None) -> Array:
        """Rows of X to add to the landmarks `points`, as `propose` chooses them.

        At most `n_landmarks` rows are added, none when what is left of X is at most `tol` times its trace. Both are
        measured on the candidates alone, at most `sample_size` rows of X.

        Parameters
        ----------
        kernel : Kernel
        X : array of shape (n, d)
        points : array of shape (m, d)
        rng : numpy.random.Generator, optional
            Used instead of `random_state`.

        Returns
        -------
        array of shape (at most n_landmarks, d)
        """
        self._check(kernel)
        X = _in_range(self, kernel, X)
        rng = generator(self.random_state) if rng is None else rng
        view = View.of(kernel, X, self.sample_size, rng, judged=False)
        view = replace(view, weights=np.ones(view.rows.shape[0]))
        start = GrowingSpan.of(kernel, points)
        span = view.span(kernel, self._capacity(view), start)
        self._grow(span, len(start) + self._limit(view), self._goal(float(span.diagonal.sum())), rng)
        return take_rows(view.rows, span.pivots[len(start) :])

    def _span(self, kernel: Kernel, view: View, rng: np.random.Generator) -> tuple[GrowingSpan, View]:
        """The span of the landmarks, and the view whose candidates they are: here rows, elsewhere means of rows."""
        span = view.span(kernel, self._capacity(view))
        self._grow(span, self._limit(view), self._goal(view.trace), rng)
        return self._regrown(span, view), view

    def _regrown(self, span: GrowingSpan, view: View) -> GrowingSpan:
        """The span, or one with other candidates of the view in place of late landmarks where these hide much.

        Landmarks that lie close together make rounding errors of the residuals of all other rows large (G18), so that
        none of these may join although their residuals are not rounding. With fewer of them, and the farthest rows in
        their place, more rows can; with none of them the result is that of `PivotedCholesky`.
        """
        limit, goal = self._limit(view), self._goal(view.trace)
        is_done = lambda span: len(span) >= limit or span.residual_trace <= goal
        kept, best = len(span), span
        while kept and not is_done(best) and not _is_exhausted(best):
            kept //= 2
            again = view.span(span.kernel, self._capacity(view))
            again.add_in_order(span.pivots[:kept])
            while not is_done(again) and again.open_rows()[0].size:
                again.extend(again.farthest(), limit - len(again), goal)
            if is_done(again) or _left_of_candidates(again) < _left_of_candidates(best):
                best = again
        return best

    def _grow(self, span: GrowingSpan, limit: int, goal: float, rng: np.random.Generator) -> None:
        """Let rows join that `propose` names, until there are enough, little is left, or all others depend on them."""
        with stage("Selecting landmarks", limit, len(span)) as advance:
            while len(span) < limit and span.residual_trace > goal:
                # Rows whose residual may be rounding are closed, so the loop ends when all remaining rows depend on the
                # span.
                open_rows = span.open_rows()[0]
                if not open_rows.size:
                    break
                proposal = self.propose(span, limit - len(span), rng)
                if not isinstance(proposal, Proposal):
                    proposal = Proposal(np.asarray(proposal))
                    if not np.isin(proposal.numbers, open_rows).any():
                        raise ValueError(
                            f"{type(self).__name__}.propose must name at least one open row; it returned "
                            f"{proposal.numbers!r}. `span.open_rows()` has those to choose from."
                        )
                before = len(span)
                span.extend(proposal, limit - before, goal)
                advance(len(span) - before)

    def _wants_all(self, span: GrowingSpan, limit: int) -> bool:
        """Whether all open rows are wanted. Their order is free then; farthest first keeps rounding errors small."""
        return self.tol is None and span.open_rows()[0].size <= limit

    def _limit(self, view: View) -> int:
        return min(view.n_candidates, self.n_landmarks or view.n_candidates)

    def _capacity(self, view: View) -> int:
        return min(self.n_landmarks or FIRST_CAPACITY, view.n_candidates)

    def _goal(self, trace: float) -> float:
        return -np.inf if self.tol is None else self.tol * trace

    def _size_of_sample(self, n: int) -> int | None:
        size = self.sample_size
        if size is not None and self.n_landmarks is not None:
            size = max(size, self._rows_per_landmark * self.n_landmarks)
        # With the rows that judge it, a sample would be as large as the data.
        return None if size is not None and n <= size + JUDGES else size

    def _check(self, kernel: Kernel) -> None:
        check_parameters(self)
        name = type(self).__name__
        if self.n_landmarks is None and self.tol is None:
            raise ValueError(
                f"{name} needs `n_landmarks`, `tol` or both; got neither. "
                "Give a number of landmarks such as 100, or the fraction of the trace that may be left such as 1e-3."
            )
        if not kernel.is_resolved:
            raise ValueError(
                f"{name} needs a kernel with all parameters resolved; got {kernel!r}. Call "
                "`kernel.resolve(X)` and pass what it returns."
            )

    def _warn_of_rest(self, span: GrowingSpan, left: float) -> None:
        """Say which fraction of the trace is left by landmarks to which no row can be added."""
        if left > (LITTLE[itemsize(span.kernel.value_type(span.rows))] if self.tol is None else self.tol):
            asked = f"{self.n_landmarks} landmarks" if self.n_landmarks else ""
            asked += f"{' or ' if asked and self.tol is not None else ''}"
            asked += "" if self.tol is None else f"at most {self.tol:.2g} of the trace left"
            why = "Rounding errors of kernel values hide whether other rows depend on these. A narrower kernel, or "
            why += "values in double precision, allow more landmarks."
            if len(span) == 0:
                why = "Rounding errors of squared distances are larger than the width of the kernel: a wider one, or "
                why += "rows nearer to the origin, allow landmarks."
            if span.weights.max() > 1 and _is_exhausted(span):
                why = f"The {span.n_candidates} rows among which they were chosen depend on them, other rows do not; a "
                why += f"larger sample_size than {self.sample_size} has more."
            warn_user(
                f"{type(self).__name__} was asked for {asked}; it chose {len(span)}, which leave {left:.2g} of the "
                f"trace of the kernel. {why}",
                RankWarning,
            )

    def _result(self, span: GrowingSpan, view: View, X: Array, with_factor: bool) -> Landmarks:
        reason = EXHAUSTED
        if span.residual_trace <= self._goal(view.trace):
            reason = TOLERANCE
        elif len(span) >= (self.n_landmarks or np.inf):
            reason = ENOUGH
        points, numbers = take_rows(view.rows, span.pivots), view.numbers[span.pivots]
        if with_factor and (not view.is_complete or view.rows is not X):
            n = X.shape[0]
            view = View(X, np.arange(n), n, np.ones(n), view.trace, view.largest)
            span = view.span(span.kernel, 1, start=span)
        error, deviation = view.uncertainty(span.residuals)
        residual = span.residual_trace if view.weights.any() else np.nan  # no row estimates it
        if reason == EXHAUSTED:
            self._warn_of_rest(span, residual / view.trace if view.trace > 0 else 0.0)
        return Landmarks(
            points=points,
            indices=None if np.any(numbers < 0) else numbers,
            residual_trace=residual,
            trace=view.trace,
            factor=_in_type_of(span, X) if with_factor else None,
            residuals_path=span.path,
            standard_error=error,
            residual_bound=residual + deviation,
            reason=reason,
        )


def _left_of_candidates(span: GrowingSpan) -> float:
    return float(span.residuals[: span.n_candidates].sum())


def _is_exhausted(span: GrowingSpan) -> bool:
    """Whether candidates leave nothing but rounding; rows that judge may, where they are far from all candidates."""
    return _left_of_candidates(span) <= NOTHING_LEFT * float(span.floor[: span.n_candidates].sum())


def _in_range(selector: LandmarkSelector, kernel: Kernel, X: Rows) -> Rows:
    """What the kernel stores of the rows, of which squares are numbers."""
    X = stored_points(kernel, X)
    if kernel.points_are_row_numbers or is_lazy(X) or is_objects(X):
        return X
    return training_inputs(type(selector).__name__, X)


def _in_type_of(span: GrowingSpan, X: Array) -> Array:
    """G in the precision of kernel values on X, shape (n, m)."""
    G = span.axes.T
    return array_namespace(G).astype(G, span.kernel.value_type(X), copy=False)
