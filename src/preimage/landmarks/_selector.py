"""What every selector of landmarks does; its rule for the next pivots is its own."""

from abc import ABC, abstractmethod
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator

from preimage._arrays import take_rows
from preimage._random import generator
from preimage._validation import Interval, check_parameters
from preimage.exceptions import UnsupportedKernelError
from preimage.landmarks._landmarks import ENOUGH, EXHAUSTED, TOLERANCE, Landmarks
from preimage.landmarks._partial_cholesky import PartialCholesky
from preimage.landmarks._view import JUDGES, View, stored_points

COMMON_CONSTRAINTS = {
    "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
    "tolerance": [Interval(Real, 0, 1, closed="left"), None],
    "sample_size": [Interval(Integral, 1, None, closed="left"), None],
    "random_state": ["random_state"],
}

# Room for a factor whose number of columns only the tolerance decides.
FIRST_CAPACITY = 64


class LandmarkSelector(BaseEstimator, ABC):
    """Chooses landmarks: parameters in, a result out.

    All selectors have `n_landmarks`, `tolerance`, `sample_size` and `random_state`. Landmarks are chosen among
    `sample_size` rows where that saves work: the data must have 2,000 rows more. At most `n_landmarks` are chosen
    (at most as many as there are rows), fewer when the residual trace is at most `tolerance` times the trace of the
    kernel, and fewer when no candidate is left that does not depend, up to rounding, on those chosen: then their
    number is the rank. `Landmarks.reason` says which.
    """

    #: Candidates for each landmark that a sample has at least. Rows that were not drawn are expressed by their
    #: neighbours in the sample: with five for each landmark, 400 landmarks left thirty times more of a wide kernel on
    #: 30,000 rows than with ten, which left what all rows leave.
    _rows_a_landmark = 10

    def select(self, kernel, X, *, with_factor=False, judged=True, rng=None):
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
            Whether rows that are no candidates estimate the residual. Without them, a selection is cheaper, and its
            residual trace an estimate that is too small, or NaN where landmarks are no rows.
        rng : numpy.random.Generator, optional
            Takes the place of `random_state`.

        Returns
        -------
        Landmarks
        """
        self._check(kernel)
        X = stored_points(kernel, X)
        rng = generator(self.random_state) if rng is None else rng
        size = self.sample_size
        if size is not None and self.n_landmarks is not None:
            size = max(size, self._rows_a_landmark * self.n_landmarks)
        if size is not None and X.shape[0] <= size + JUDGES:
            size = None  # with its judges, a sample would be as large as the data
        view = View.of(kernel, X, size, rng, judged or self.tolerance is not None)
        factor = self._factorize(kernel, view, rng)
        if len(factor) == 0 and not kernel.is_positive_semidefinite:
            raise UnsupportedKernelError(
                f"{type(self).__name__} finds no landmark: {kernel!r} has no positive k(x, x) on these data. Landmarks "
                "need a positive semidefinite kernel that does not vanish. Use another kernel, or landmarks=None."
            )
        return self._result(factor, X, with_factor)

    @abstractmethod
    def _factorize(self, kernel, view, rng):
        """The factor on the rows of a view, grown by the rule of this selector."""

    def _grown(self, kernel, view, step):
        """Grow a factor by ``step(factor, limit, goal)`` until it is done.

        A step adds at most `limit` pivots, none after the residual trace has come to `goal`, or finds that a candidate
        depends on others.
        """
        factor = PartialCholesky(kernel, view, min(self.n_landmarks or FIRST_CAPACITY, view.n_candidates))
        goal, limit = self._goal(view), self._limit(view)
        while len(factor) < limit and factor.residual_trace > goal and factor.open_candidates()[0].size:
            step(factor, limit - len(factor), goal)
        return factor

    def _limit(self, view):
        return min(view.n_candidates, self.n_landmarks or view.n_candidates)

    def _goal(self, view):
        return -np.inf if self.tolerance is None else self.tolerance * view.trace

    def _check(self, kernel):
        check_parameters(self)
        name = type(self).__name__
        if self.n_landmarks is None and self.tolerance is None:
            raise ValueError(
                f"{name} needs `n_landmarks`, `tolerance` or both; got neither. "
                "Give a number of landmarks such as 100, or the share of the trace that may be left such as 1e-3."
            )
        if not kernel.is_resolved:
            raise ValueError(
                f"{name} needs a kernel with all parameters resolved; got {kernel!r}. Call "
                "`kernel.resolve(X)` and pass what it returns."
            )

    def _result(self, factor, X, with_factor):
        view = factor.view
        reason = EXHAUSTED
        if factor.residual_trace <= self._goal(view):
            reason = TOLERANCE
        elif len(factor) >= (self.n_landmarks or np.inf):
            reason = ENOUGH
        points, numbers = take_rows(view.rows, factor.pivots), view.numbers[factor.pivots]
        if with_factor and (not view.is_complete or view.rows is not X):
            n = X.shape[0]
            factor = factor.continued(View(X, np.arange(n), n, np.ones(n), view.trace, view.largest))
        error, deviation = factor.view.uncertainty(factor.residuals)
        residual = factor.residual_trace if factor.view.weights.any() else np.nan  # no row was there to be judged
        return Landmarks(
            points=points,
            indices=None if np.any(numbers < 0) else numbers,
            residual_trace=residual,
            trace=view.trace,
            factor=factor.in_type_of(X) if with_factor else None,
            residuals_path=factor.path,
            standard_error=error,
            residual_bound=residual + deviation,
            reason=reason,
        )
