"""Give test values the distribution of training values, by ranks."""

import numpy as np

from preimage._typing import Array
from preimage.calibration._samples import check_sample


def specify_histogram(train: Array, test: Array) -> Array:
    r"""Relabel test values, in their order, so that they follow the distribution of training values.

    The m-th smallest test value becomes the m-th smallest training value,

    .. math:: \tilde g_m = f_{\mathrm{sorted}}[\operatorname{rank}(g_m)];

    for unequal sizes, the quantile of the training values at the same relative rank, with straight lines between them
    (cubic splines, as in [1]_, overshoot and need not increase). Test values that are equal get equal results: the mean
    of the values that their ranks have. One test value alone becomes the median.

    The whole test set is needed at once, and its classes in the proportions of training: results have those
    proportions whatever the truth.

    Parameters
    ----------
    train : array of shape (n,)
    test : array of shape (m,)

    Returns
    -------
    array of shape (m,)

    References
    ----------
    .. [1] T. J. Abrahamsen, L. K. Hansen, "A Cure for Variance Inflation in High Dimensional Kernel Principal Component
       Analysis", JMLR 12, 2011.

    Examples
    --------
    >>> from preimage.calibration._histogram import specify_histogram
    >>> specify_histogram([-3.0, 0.0, 3.0], [0.2, 0.1, 0.3])
    array([ 0., -3.,  3.])
    """
    train = check_sample("specify_histogram", "train", train, least=1)
    test = check_sample("specify_histogram", "test", test)
    n, m = train.size, test.size
    position = np.linspace(0, n - 1, m) if m > 1 else np.full(m, (n - 1) / 2)
    quantiles = np.interp(position, np.arange(n), np.sort(train))
    _, group, sizes = np.unique(test, return_inverse=True, return_counts=True)
    if m == 0:
        return quantiles
    first = np.cumsum(sizes) - sizes
    # Means as a start plus a mean excess: those of equal values are then exact.
    excess = np.add.reduceat(quantiles - np.repeat(quantiles[first], sizes), first)
    return (quantiles[first] + excess / sizes)[group]


def renormalize(train: Array, test: Array) -> Array:
    """Histogram specification, coordinate by coordinate.

    Parameters
    ----------
    train : array of shape (n, q)
    test : array of shape (m, q)

    Returns
    -------
    array of shape (m, q)

    Examples
    --------
    >>> from preimage.calibration import renormalize
    >>> renormalize([[0.0, 5.0], [1.0, 7.0]], [[0.4, 0.0], [0.3, 0.1]])
    array([[1., 5.],
           [0., 7.]])
    """
    train, test = np.asarray(train), np.asarray(test)
    if train.ndim != 2 or test.ndim != 2 or train.shape[1] != test.shape[1]:
        raise ValueError(
            "renormalize needs two tables with the same columns; `train` has shape "
            f"{train.shape}, `test` has shape {test.shape}."
        )
    columns = [specify_histogram(train[:, k], test[:, k]) for k in range(train.shape[1])]
    return np.stack(columns, axis=1) if columns else np.empty(test.shape)


def histogram_overlap(first: Array, second: Array) -> float:
    """Common area of the histograms of two samples, with the same bins: 1 for the same, 0 for nothing in common.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.calibration._histogram import histogram_overlap
    >>> histogram_overlap(np.arange(10), np.arange(10)), histogram_overlap(np.arange(10), np.arange(10) + 100)
    (1.0, 0.0)
    """
    low, high = min(first.min(), second.min()), max(first.max(), second.max())
    if not high > low:
        return 1.0
    bins = np.linspace(low, high, max(5, round(np.sqrt(len(first)))) + 1)
    count = lambda values: np.histogram(values, bins)[0] / len(values)
    return float(np.minimum(count(first), count(second)).sum())
