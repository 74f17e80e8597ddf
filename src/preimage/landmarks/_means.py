"""Where means of inputs make good landmarks."""

import numpy as np

from preimage._arrays import concat_rows, in_double, is_sparse, take_rows, to_numpy
from preimage.kernels import (
    InnerProduct,
    Kernel,
    Normalized,
    Power,
    Product,
    ProfileKernel,
    Scaled,
    ScaledInputs,
    ShiftedInputs,
    SquaredDistance,
    Sum,
)

# Pairs of rows between which the kernel is looked at, and rows among which repetitions are counted.
PAIRS, ROWS = 16, 500
# Differences of this size, relative to what there is, decide nothing: any landmark holds all of so wide a kernel.
ROUNDING = 1e-9
# Squared feature distances grow four times when a short step doubles, twice at a kink.
SMOOTH = 3.0


def takes_means(kernel, rows):
    """Whether means of inputs are inputs, whose images stand for those of the inputs near them.

    They are for functions of inner products and Euclidean distances, and for what is made of such kernels. Of other
    kernels nobody knows: a callable may take objects coded as numbers. They do not stand for others where the kernel
    has a kink (Manhattan distances, Matérn with ν = 1/2), where rows repeat (codes of categories), or for sparse rows,
    whose means are dense. `hold_more` looks at the width.
    """
    return _knows_means(kernel) and not is_sparse(rows) and _is_smooth(kernel, rows) and _mostly_differ(rows)


def hold_more(kernel, means, rows, n, rng):
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
    by_means, by_rows, all_of_it = _held(kernel, means, judges), _held(kernel, chosen, judges), _sizes(kernel, judges)
    return by_means > by_rows + m / n * (all_of_it - by_rows) - ROUNDING * all_of_it


def _held(kernel, points, rows):
    values, own = to_numpy(kernel(rows, points)).astype(float), to_numpy(kernel.diagonal(points)).astype(float)
    along = values / np.sqrt(np.where(own > 0, own, np.inf))
    return float(np.sum(np.max(along**2, axis=1)))


def _sizes(kernel, rows):
    return float(np.sum(to_numpy(kernel.diagonal(rows)).astype(float)))


def _knows_means(kernel):
    if isinstance(kernel, ProfileKernel):
        return kernel.pairwise in (InnerProduct(), SquaredDistance())
    parts = [part for part in kernel.get_params(deep=False).values() if isinstance(part, Kernel)]
    made_of_parts = isinstance(kernel, (Normalized, Power, Product, Scaled, ScaledInputs, ShiftedInputs, Sum))
    return made_of_parts and all(_knows_means(part) for part in parts)


def _is_smooth(kernel, rows):
    """Whether ‖φ(x + h(y − x)) − φ(x)‖² grows like h² at the beginning of the way from a row to another."""
    some = in_double(take_rows(rows, np.linspace(0, rows.shape[0] - 1, 2 * PAIRS).astype(int)))
    x, y = some[:PAIRS, :], some[PAIRS:, :]
    longer, shorter = (_feature_distances(kernel, x, x + h * (y - x)) for h in (0.02, 0.01))
    told = shorter > 1e-10 * to_numpy(kernel.diagonal(x))  # otherwise the differences are rounding
    return not told.any() or bool(np.median(longer[told] / shorter[told]) > SMOOTH)


def _feature_distances(kernel, x, z):
    both = to_numpy(kernel(concat_rows(x, z))).astype(float)
    own, n = np.diagonal(both), x.shape[0]
    return own[:n] + own[n:] - 2 * np.diagonal(both[:n, n:])


def _mostly_differ(rows):
    n = rows.shape[0]
    some = to_numpy(take_rows(rows, np.linspace(0, n - 1, min(ROWS, n)).astype(int)))
    return np.unique(some, axis=0).shape[0] > some.shape[0] // 2
