"""What a number of landmarks means: centres of clusters where they represent inputs, rows elsewhere."""

import numpy as np

from preimage._engine.arrays import (
    concat_rows,
    in_double,
    is_sparse,
    take_rows,
    to_numpy,
)
from preimage._engine.typing import Array
from preimage.feature_space import GrowingSpan, Proposal
from preimage.kernels import (
    Kernel,
    Normalized,
    Power,
    Product,
    Scaled,
    ScaledInputs,
    ShiftedInputs,
    Sum,
    is_profile,
)
from preimage.kernels._profile import is_euclidean_profile
from preimage.landmarks._kmeans import KMeans
from preimage.landmarks._landmarks import View
from preimage.landmarks._selector import LandmarkSelector
from preimage.landmarks._sparse_greedy import SparseGreedy

# Fresh candidates per landmark where rows are chosen: ten leave nearly what 59 leave, for a fraction of the time.
CANDIDATES = 10
# Pairs of rows on which smoothness of the kernel is tested, and rows on which means are compared with rows: medians and
# sums over this number are stable, and cost little compared with a selection.
PAIRS, ROWS = 16, 500
# Differences of this size, relative to all of the kernel, decide nothing: any landmark represents so wide a kernel.
ROUNDING = 1e-9
# Squared feature distances grow four times when a short step doubles, twice where the kernel has a kink; this lies
# between both.
SMOOTH = 3.0
# Lengths of the two steps, relative to the distance of the rows: short against any structure, long against rounding.
STEPS = (0.02, 0.01)
# Squared distances below this fraction of k(x, x) have fewer than six digits, too few for a ratio.
LOST = 1e-10


class AutoLandmarks(LandmarkSelector):
    """What ``landmarks=m`` means: `KMeans` where inputs can be averaged, `SparseGreedy` with ten candidates otherwise.

    Centres of clusters represent more of the leading components than rows, for smooth kernels of distances or inner
    products of any width (`docs/results/landmarks.md` has the comparison). Rows are chosen where a mean of inputs is
    not an input or does not represent them: for precomputed kernels and callables; for kernels with a kink, such as
    `Laplacian`; for sparse input, whose means would be dense; where most rows are repeated, as codes of categories are;
    and where the kernel is narrower than the clusters, so that random rows represent more than the means do.

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
        Seed of samples, clusters and candidates.

    See Also
    --------
    KMeans : Centres of clusters.
    SparseGreedy : Rows, each the best of a few candidates.
    RandomlyPivotedCholesky : Rows, when the residual of the kernel matters more than leading components.
    preimage.KernelPCA : ``KernelPCA(landmarks=500)`` uses this selector.

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

    _rows_per_landmark = 5  # means need fewer rows than a choice of rows

    def propose(self, span: GrowingSpan, limit: int, rng: np.random.Generator) -> Proposal:
        if self._wants_all(span, limit):
            return span.farthest()
        return SparseGreedy(**self.get_params(deep=False), n_candidates=CANDIDATES).propose(span, limit, rng)

    def _span(self, kernel: Kernel, view: View, rng: np.random.Generator) -> tuple[GrowingSpan, View]:
        candidates = take_rows(view.rows, np.arange(view.n_candidates))
        if self._limit(view) < view.n_candidates and takes_means(kernel, candidates):
            span, centers = KMeans(**self.get_params(deep=False))._span(kernel, view, rng)
            means = take_rows(centers.rows, span.pivots)
            # Where fewer centres than asked for are independent, they span nearly all that the kernel has. Rows may
            # have been added to them.
            is_wide = len(span) < self._limit(view) or bool((centers.numbers[span.pivots] >= 0).any())
            if is_wide or hold_more(kernel, means, candidates, view.n_rows, rng):
                return span, centers
        return super()._span(kernel, view, rng)


def takes_means(kernel: Kernel, rows: Array) -> bool:
    """Whether means of inputs are inputs, whose images represent those of the inputs near them.

    They are inputs for functions of inner products and Euclidean distances, and for what is made of such kernels. For
    other kernels that is unknown: a callable may take objects coded as numbers. They do not represent others where the
    kernel has a kink (Manhattan distances, Matérn with ν = 1/2), where rows repeat (codes of categories), or for sparse
    rows, whose means are dense. `hold_more` considers the width.
    """
    return _knows_means(kernel) and not is_sparse(rows) and _is_smooth(kernel, rows) and _mostly_differ(rows)


def hold_more(kernel: Kernel, means: Array, rows: Array, n: int, rng: np.random.Generator) -> bool:
    """Whether the nearest of some means holds more of the images of rows than the nearest of as many random rows.

    Of φ(x), a landmark p holds k(x, p)²/k(p, p). Where the kernel is so narrow that the mean of a cluster is far from
    all its rows it holds nothing, and a row at least itself.

    Parameters
    ----------
    kernel : Kernel
    means : array of shape (m, d)
    rows : array of shape (s, d)
        A sample of the data.
    n : int
        Rows of the data.
    rng : numpy.random.Generator
    """
    m, s = means.shape[0], rows.shape[0]
    order = rng.permutation(s)
    chosen, judges = take_rows(rows, order[:m]), take_rows(rows, order[m : m + ROWS])
    if judges.shape[0] == 0:
        return False  # every row is a landmark
    total = float(np.sum(_diagonal(kernel, judges)))
    by_means, by_rows = _held(kernel, means, judges), _held(kernel, chosen, judges)
    # m of the n rows would be landmarks themselves, which hold themselves entirely; the judges are not among them.
    return by_means > by_rows + m / n * (total - by_rows) - ROUNDING * total


def _held(kernel: Kernel, points: Array, rows: Array) -> float:
    """Sum over rows of what the best of some points holds of each image."""
    diagonal = _diagonal(kernel, points)
    along = to_numpy(kernel(rows, points)).astype(float) / np.sqrt(np.where(diagonal > 0, diagonal, np.inf))
    return float(np.sum(np.max(along**2, axis=1)))


def _diagonal(kernel: Kernel, rows: Array) -> np.ndarray:
    return to_numpy(kernel.diagonal(rows)).astype(float)


def _knows_means(kernel: Kernel) -> bool:
    if is_profile(kernel):
        return is_euclidean_profile(kernel)
    parts = [part for part in kernel.get_params(deep=False).values() if isinstance(part, Kernel)]
    made_of_parts = isinstance(kernel, (Normalized, Power, Product, Scaled, ScaledInputs, ShiftedInputs, Sum))
    return made_of_parts and all(_knows_means(part) for part in parts)


def _is_smooth(kernel: Kernel, rows: Array) -> bool:
    """Whether ‖φ(x + h(y − x)) − φ(x)‖² grows like h² for short steps h from one row x towards another y."""
    some = in_double(take_rows(rows, np.linspace(0, rows.shape[0] - 1, 2 * PAIRS).astype(int)))
    x, y = some[:PAIRS, :], some[PAIRS:, :]
    longer, shorter = (_feature_distances(kernel, x, x + h * (y - x)) for h in STEPS)
    is_told = shorter > LOST * to_numpy(kernel.diagonal(x))  # otherwise the differences are rounding
    return not is_told.any() or bool(np.median(longer[is_told] / shorter[is_told]) > SMOOTH)


def _feature_distances(kernel: Kernel, x: Array, z: Array) -> np.ndarray:
    """‖φ(xᵢ) − φ(zᵢ)‖² for pairs of rows."""
    both = to_numpy(kernel(concat_rows(x, z))).astype(float)
    diagonal, n = np.diagonal(both), x.shape[0]
    return diagonal[:n] + diagonal[n:] - 2 * np.diagonal(both[:n, n:])


def _mostly_differ(rows: Array) -> bool:
    n = rows.shape[0]
    some = to_numpy(take_rows(rows, np.linspace(0, n - 1, min(ROWS, n)).astype(int)))
    return np.unique(some, axis=0).shape[0] > some.shape[0] // 2
