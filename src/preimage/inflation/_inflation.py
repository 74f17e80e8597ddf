"""Ratios of standard deviations of training values to those of left-out values, and the moments of weighted samples."""

import numpy as np

from preimage._engine.finite import gives_finite_numbers
from preimage._engine.typing import Array

# Inflation counts from this factor on, and beyond this many of its standard errors: one in forty components without
# inflation would pass the second test alone.
SMALLEST_INFLATION = 1.1
STANDARD_ERRORS = 2.0
# Ratios that differ from the mean of this many neighbours on either side by no more than this many standard errors are
# replaced by that mean. Standard errors take points as independent, which left-out values are not: hence more than the
# usual two.
N_NEIGHBORS = 4
STEADY_ERRORS = 3.0
# Left-out values that vary by no more than this fraction of the largest training value are rounding errors of sums over
# a hundred points.
ROUNDING = 100 * float(np.finfo(float).eps)


def check_sample(caller: str, name: str, values: Array, least: int = 0) -> Array:
    """Values as a float64 array of one dimension: finite, and at least `least` of them."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"{caller} needs `{name}` of shape (n,); got shape {values.shape}.")
    if values.size < least:
        raise ValueError(f"{caller} needs at least {least} value(s) in `{name}`; got {values.size}.")
    if not np.isfinite(values).all():
        count = int((~np.isfinite(values)).sum())
        raise ValueError(f"{caller} needs finite numbers; {count} of {values.size} in `{name}` are NaN or infinite.")
    return values


def check_table(caller: str, name: str, values: Array, least: int = 1) -> Array:
    """Values as a float64 array of two dimensions: finite, with at least `least` rows."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or len(values) < least:
        raise ValueError(
            f"{caller} needs `{name}` of shape (n, q) with {least} row(s) at least; got shape {values.shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{caller} needs finite numbers; `{name}` has NaN or infinity.")
    return values


def check_masses(caller: str, weights: Array | None, n: int) -> Array | None:
    """Weights of n values, or None: finite, none of them negative, not all zero."""
    if weights is None:
        return None
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError(
            f"{caller} needs {n} weights, one per value: finite, none negative, not all zero; got an array of shape "
            f"{weights.shape}."
        )
    return weights


def mean(values: Array, weights: Array | None = None) -> Array:
    """Means of columns, shape (q,), or of a sample."""
    return np.mean(values, axis=0) if weights is None else weights @ values / weights.sum()


def deviation(values: Array, weights: Array | None = None) -> Array:
    """Standard deviations of columns, shape (q,), or of a sample."""
    if weights is None:
        return np.std(values, axis=0)
    return np.sqrt(weights @ (values - mean(values, weights)) ** 2 / weights.sum())


def count(values: Array, weights: Array | None = None) -> float:
    """How many values there are."""
    return len(values) if weights is None else float(weights.sum())


def matched_by_rank(reference: Array, values: Array, weights: Array | None = None) -> Array:
    r"""The reference value that each value corresponds to by rank, for two samples with the same weights.

    The mean of the quantile function of `reference` over the ranks of the value; equal values share their ranks.
    """
    weights = np.ones(len(values)) if weights is None else weights
    by_size = np.argsort(reference, kind="stable")
    edges = np.concatenate([[0.0], np.cumsum(weights[by_size])])
    # The integral of the quantile function, which is a step function: piecewise linear.
    integral = np.concatenate([[0.0], np.cumsum(weights[by_size] * reference[by_size])])
    _, group = np.unique(values, return_inverse=True)
    ends = np.cumsum(np.bincount(group, weights))
    ends[-1] = edges[-1]
    starts = np.concatenate([[0.0], ends[:-1]])
    means = (np.interp(ends, edges, integral) - np.interp(starts, edges, integral)) / (ends - starts)
    return np.clip(means, reference.min(), reference.max())[group]


@gives_finite_numbers()
def inflation(train: Array, left_out: Array, weights: Array | None = None) -> Array:
    """Standard deviations of training values over those of left-out values, one per column; 1 for constant columns.

    Left-out values that vary by rounding errors only, or not at all, count as if they varied by these: ratios are at
    most about 1e13.

    Parameters
    ----------
    train, left_out : arrays of shape (n, q)
        Values of the same rows, in a model of all rows and in models without them.
    weights : array of shape (n,), optional
        Weight 2 counts as two equal rows, here and below.

    Returns
    -------
    array of shape (q,)
        The ratios; 1 is right.

    See Also
    --------
    leave_one_out : The left-out values of kernel PCA.
    preimage.inflation_report : The ratio with its uncertainty, and what to do.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.inflation import inflation
    >>> values = np.array([[-1.0], [1.0]])
    >>> inflation(3 * values, values)
    array([3.])
    """
    train, left_out = check_table("inflation", "train", train), check_table("inflation", "left_out", left_out)
    if train.shape != left_out.shape:
        raise ValueError(
            f"inflation compares the same values in two models; `train` has shape {train.shape}, `left_out` has shape "
            f"{left_out.shape}."
        )
    weights = check_masses("inflation", weights, len(train))
    spread, left_spread = deviation(train, weights), deviation(left_out, weights)
    varies = spread > 0
    rounding = ROUNDING * np.max(np.abs(train), axis=0, initial=0.0)
    return np.where(varies, spread, 1.0) / np.where(varies, np.maximum(left_spread, rounding), 1.0)


def is_inflated(train: Array, left_out: Array, weights: Array | None = None) -> Array:
    """Which columns have training values that vary too much, beyond doubt: shape (q,).

    Where the logarithm of the ratio of standard deviations exceeds log 1.1, and twice its own standard error.

    Parameters
    ----------
    train, left_out : arrays of shape (n, q)
    """
    varies, log_ratio, error = _log_ratios(train, left_out, weights)
    large = log_ratio > np.maximum(np.log(SMALLEST_INFLATION), STANDARD_ERRORS * error)
    return np.where(varies, large, deviation(train, weights) > deviation(left_out, weights))


def inflation_interval(train: Array, left_out: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """Ratios of standard deviations, two standard errors below and above: two arrays of shape (q,).

    Parameters
    ----------
    train, left_out : arrays of shape (n, q)

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.inflation._inflation import inflation_interval
    >>> values, noise = np.random.default_rng(0).normal(size=(2, 200, 1))
    >>> low, high = inflation_interval(3 * values, values + 0.1 * noise)
    >>> bool(low < 3 < high < 3.2)
    True
    """
    varies, log_ratio, error = _log_ratios(train, left_out, weights)
    ratio = inflation(train, left_out, weights)
    low, high = np.exp(log_ratio - STANDARD_ERRORS * error), np.exp(log_ratio + STANDARD_ERRORS * error)
    return np.where(varies, low, ratio), np.where(varies, high, ratio)


def is_resolved(train: Array, left_out: Array) -> Array:
    """Which columns have left-out values that vary by more than rounding errors of training values: shape (q,).

    Other columns say nothing about scales: a correction that made them as large as training values would enlarge
    rounding errors.

    Parameters
    ----------
    train, left_out : arrays of shape (n, q) or (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.inflation._inflation import is_resolved
    >>> values = np.array([-1.0, 1.0])
    >>> bool(is_resolved(values, 1e-9 * values)), bool(is_resolved(values, 1e-17 * values))
    (True, False)
    """
    return np.std(left_out, axis=0) > ROUNDING * np.max(np.abs(train), axis=0, initial=0.0)


def steady_left_out(train: Array, left_out: Array, weights: Array | None = None) -> Array:
    r"""Left-out values with standard deviations that profit from those of neighbouring components.

    Components of similar eigenvalues shrink by similar factors, and the factor of a single one, measured on a few dozen
    points, is uncertain by 10 to 20 %. The logarithm r of each ratio of standard deviations moves towards the mean m of
    its neighbours (four to either side), :math:`m + (r - m)(1 - (3s)^2 / (r - m)^2)_+` with its standard error s:
    completely where their difference may be chance, hardly at all where it is beyond doubt (James and Stein's rule).

    Parameters
    ----------
    train, left_out : arrays of shape (n, q)
        In the order of the components.

    Returns
    -------
    array of shape (n, q)
        Left-out values, stretched about their means.
    """
    varies, log_ratio, error = _log_ratios(train, left_out, weights)
    steady = log_ratio.copy()
    if varies.sum() > 1:
        ratio = log_ratio[varies]
        difference = ratio - _neighborhood_means(ratio)
        # The rule of James and Stein: the fraction of the difference that is kept is zero within `STEADY_ERRORS`
        # standard errors, and tends to one beyond.
        doubt = (STEADY_ERRORS * error[varies]) ** 2
        kept = np.clip(1 - doubt / np.maximum(difference**2, np.finfo(float).tiny), 0, None)
        steady[varies] = ratio - difference * (1 - kept)
    means = mean(left_out, weights)
    return means + (left_out - means) * np.exp(log_ratio - steady)


def _log_ratios(train: Array, left_out: Array, weights: Array | None = None) -> tuple[Array, Array, Array]:
    """Columns with two deviations, the logarithms of their ratios (0 for others), and the standard errors of these."""
    spread, left_spread = deviation(train, weights), deviation(left_out, weights)
    varies = (spread > 0) & (left_spread > 0)
    log_ratio = np.log(np.where(varies, spread, 1)) - np.log(np.where(varies, left_spread, 1))
    squares = lambda values, size: ((values - mean(values, weights)) / np.where(varies, size, 1)) ** 2
    # Both are measured on the same points: what counts is the spread of differences of squares.
    difference = squares(train, spread) - squares(left_out, left_spread)
    return varies, log_ratio, deviation(difference, weights) / (2 * np.sqrt(count(train, weights)))


def _neighborhood_means(values: Array) -> Array:
    """Mean of each value and its neighbours to either side, mirrored at the ends."""
    reach = min(N_NEIGHBORS, len(values) - 1)
    padded = np.pad(values, reach, mode="reflect")
    return np.convolve(padded, np.full(2 * reach + 1, 1 / (2 * reach + 1)), "valid")
