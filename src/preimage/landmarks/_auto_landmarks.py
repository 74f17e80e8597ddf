"""Landmarks when only their number is given."""

import numpy as np

from preimage._arrays import take_rows
from preimage.feature_space import GrowingSpan, Proposal
from preimage.kernels import Kernel
from preimage.landmarks._kmeans import KMeans
from preimage.landmarks._means import hold_more, takes_means
from preimage.landmarks._selector import COMMON_CONSTRAINTS, LandmarkSelector
from preimage.landmarks._sparse_greedy import SparseGreedy
from preimage.landmarks._view import View

# Fresh candidates for each landmark where rows are chosen: ten leave nearly what 59 leave, for a fraction of the time.
CANDIDATES = 10


class AutoLandmarks(LandmarkSelector):
    """What ``landmarks=m`` means: `KMeans` where inputs can be averaged, `SparseGreedy` with ten candidates otherwise.

    Centres of clusters hold more of the leading components than rows, for smooth kernels of distances or inner products
    of any width (`docs/results/landmarks.md` has the comparison). Rows are chosen where a mean of inputs is no input or
    says little about them: for precomputed kernels and callables; for kernels with a kink, such as `Laplacian`; for
    sparse input, whose means would be dense; where most rows are repeated, as codes of categories are; and where the
    kernel is so narrow that clusters are wider than it, so that random rows hold more than the means do.

    Parameters
    ----------
    n_landmarks : int or None, default=100
        Largest number of landmarks; None leaves it to `tol`, and rows are chosen then until it is met.
    tol : float or None, default=None
        Stop when the residual trace is at most this fraction of the trace of the kernel.
    sample_size : int or None, default=5000
        With more rows than this, landmarks are chosen in a sample of so many (at least five times `n_landmarks`), and
        the residual trace is estimated from others. None looks at all rows.
    random_state : int, RandomState or None, default=0

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Gaussian, Laplacian
    >>> from preimage.landmarks import AutoLandmarks
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> AutoLandmarks(20).select(Gaussian(0.5), X).indices is None  # centres, no rows
    True
    >>> AutoLandmarks(20).select(Laplacian(0.5), X).indices.shape
    (20,)
    """

    _parameter_constraints = COMMON_CONSTRAINTS
    _rows_per_landmark = 5  # means need fewer rows than a choice of rows

    def __init__(self, n_landmarks=100, tol=None, sample_size=5_000, random_state=0):
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.sample_size = sample_size
        self.random_state = random_state

    def propose(self, span: GrowingSpan, limit: int, rng: np.random.Generator) -> Proposal:
        return self._of_rows.propose(span, limit, rng)

    def _span(self, kernel: Kernel, view: View, rng: np.random.Generator) -> tuple[GrowingSpan, View]:
        candidates = take_rows(view.rows, np.arange(view.n_candidates))
        if self._limit(view) < view.n_candidates and takes_means(kernel, candidates):
            span, centers = KMeans(**self.get_params(deep=False))._span(kernel, view, rng)
            means = take_rows(centers.rows, span.pivots)
            # Fewer than asked for are independent: they span all that the kernel has.
            if len(span) < self._limit(view) or hold_more(kernel, means, candidates, view.n_rows, rng):
                return span, centers
        return super()._span(kernel, view, rng)

    @property
    def _of_rows(self) -> SparseGreedy:
        return SparseGreedy(**self.get_params(deep=False), n_candidates=CANDIDATES)
