"""Landmarks as centres of clusters."""

import warnings
from numbers import Integral

import numpy as np
from sklearn.cluster import KMeans as LloydKMeans
from sklearn.exceptions import ConvergenceWarning

from preimage._arrays import from_numpy, is_sparse, take_rows, to_numpy
from preimage._validation import Interval
from preimage.exceptions import UnsupportedKernelError
from preimage.landmarks._pivoted_cholesky import add_farthest
from preimage.landmarks._selector import COMMON_CONSTRAINTS, LandmarkSelector

FIRST_NUMBER = 32


class KMeans(LandmarkSelector):
    """Means of the clusters that k-means finds in input space.

    For Gaussian kernels that are wide against the clusters, k(x, ·) hardly changes inside one, so its mean stands for
    all its points. The kernel is not asked; centres are no rows of the data, so `Landmarks.indices` is None. The
    clustering is scikit-learn's, on the host.

    Parameters
    ----------
    n_landmarks : int or None, default=100
        Largest number of landmarks; None leaves it to `tolerance`.
    tolerance : float or None, default=None
        Stop when the residual trace is at most this share of the trace of the kernel. Without `n_landmarks`, the
        number of clusters is doubled until that is so.
    max_iter : int, default=10
        Iterations of Lloyd's algorithm, started from random rows. The residual trace is settled long before the
        clusters are.
    sample_size : int or None, default=5000
        With more rows than this, a sample of so many (at least five times `n_landmarks`) is clustered, and the residual
        trace is estimated. None clusters all rows.
    random_state : int, RandomState or None, default=0

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Gaussian
    >>> from preimage.landmarks import KMeans
    >>> X = np.array([[0.0], [0.2], [5.0], [5.4]])
    >>> np.sort(KMeans(2, random_state=1).select(Gaussian(0.1), X).points, axis=0)
    array([[0.1],
           [5.2]])
    """

    _parameter_constraints = {**COMMON_CONSTRAINTS, "max_iter": [Interval(Integral, 1, None, closed="left")]}

    def __init__(self, n_landmarks=100, tolerance=None, max_iter=10, sample_size=5_000, random_state=0):
        self.n_landmarks = n_landmarks
        self.tolerance = tolerance
        self.max_iter = max_iter
        self.sample_size = sample_size
        self.random_state = random_state

    def _factorize(self, kernel, view, rng):
        if "int" in str(view.rows.dtype):
            raise UnsupportedKernelError(
                f"KMeans needs inputs to average; {kernel!r} knows points by number only. "
                "RandomlyPivotedCholesky works with kernel values alone."
            )
        largest = self._limit(view)
        number = largest if self.n_landmarks else min(FIRST_NUMBER, largest)
        while True:
            centers = _centers(take_rows(view.rows, np.arange(view.n_candidates)), number, self.max_iter, rng)
            factor = self._grown(kernel, view.with_candidates(centers), add_farthest)
            if number == largest or factor.residual_trace <= self._goal(view):
                return factor
            number = min(2 * number, largest)


def _centers(rows, number, max_iter, rng):
    X = rows if is_sparse(rows) else to_numpy(rows)
    # Equal starts make empty clusters, and of those anything can come.
    start = _distinct(to_numpy(X[rng.permutation(X.shape[0])[:number]]))
    model = LloydKMeans(start.shape[0], init=start, n_init=1, max_iter=max_iter, tol=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # clusters that merge; the factor passes over equal centres
        centers = model.fit(X).cluster_centers_
    return type(rows)(centers.astype(rows.dtype)) if is_sparse(rows) else from_numpy(centers, rows)


def _distinct(rows):
    _, first = np.unique(rows, axis=0, return_index=True)
    return rows[np.sort(first)]
