"""What two maps of the same thing have in common: matched components, correlation, the reproducible map, FDR."""

import numpy as np
from scipy.stats import norm

from preimage._engine.arguments import names_its_arguments
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.linalg import match, matched
from preimage._engine.typing import Array

# Below this standard deviation the difference of two standardised maps is rounding.
SMALLEST_NOISE = float(np.sqrt(np.finfo(float).eps))


@gives_finite_numbers()
def map_correlation(first: Array, second: Array) -> float:
    """Pearson's correlation of two maps; zero where one of them is constant, and has nothing to reproduce.

    Parameters
    ----------
    first, second : arrays of shape (d,)

    Returns
    -------
    float in [−1, 1]
    """
    first, second = _standardized(first), _standardized(second)
    # Of standardised maps: exactly one for equal ones, and no cancellation near it.
    if not (first.any() and second.any()):
        return 0.0
    return float(np.clip(1 - np.mean((first - second) ** 2) / 2, -1, 1))


@gives_finite_numbers()
def reproducible_map(first: Array, second: Array) -> Array:
    r"""The pattern that two maps share, in units of the noise in which they differ: rSPI(Z).

    Each map is divided by its standard deviation; with :math:`s = (w_1 + w_2)/\sqrt2` and :math:`n = (w_1 - w_2)
    /\sqrt2` the map is :math:`s / \operatorname{std}(n)`. As var(s) = 1 + r and var(n) = 1 − r for the correlation r of
    the maps, its standard deviation is :math:`\sqrt{(1 + r)/(1 - r)}` whatever the data: only the pattern carries
    information. Under Gaussian noise values are read as those of N(0, 1) where nothing is reproducible (see
    `fdr_threshold`).

    Parameters
    ----------
    first, second : arrays of shape (d,)
        Maps from independent halves of the data, of any positive scale, of the same orientation.

    Returns
    -------
    array of shape (d,)
        Zero where one of the maps is constant. Finite where they agree: their noise is then taken for 1.5e-8.

    See Also
    --------
    fdr_threshold : Which values of the map count.
    split_half : Makes the two maps, over many splits.
    preimage.plotting.MapDisplay : Draws maps.

    References
    ----------
    .. [1] S. C. Strother et al., "The quantitative evaluation of functional neuroimaging experiments: the NPAIRS data
       analysis framework", NeuroImage 15, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.model_selection import map_correlation, reproducible_map
    >>> rng = np.random.default_rng(0)
    >>> truth = np.zeros(1000)
    >>> truth[:20] = 5
    >>> first, second = truth + rng.normal(size=(2, 1000))
    >>> r = map_correlation(first, second)
    >>> z = reproducible_map(first, second)
    >>> bool(np.isclose(z.std(), np.sqrt((1 + r) / (1 - r)))), bool(z[:20].mean() > 4)
    (True, True)
    """
    first, second = _as_map(first), _as_map(second)
    deviations = first.std(), second.std()
    if _is_constant(first) or _is_constant(second):
        return np.zeros_like(first)
    first, second = first / deviations[0], second / deviations[1]
    noise = max(float((first - second).std()) / np.sqrt(2), SMALLEST_NOISE)
    return (first + second) / np.sqrt(2) / noise


@names_its_arguments
def fdr_threshold(z: Array, level: float = 0.05) -> float:
    """The smallest :math:`|Z|` that counts at a false discovery rate of `level`, after Benjamini and Hochberg.

    Parameters
    ----------
    z : array of any shape
        Standard normal where there is nothing; both signs count.
    level : float in (0, 1), default=0.05
        The fraction of false discoveries that is accepted.

    Returns
    -------
    float
        Infinite where nothing counts.

    See Also
    --------
    reproducible_map : A map whose values are read like this.
    preimage.plotting.MapDisplay : Draws maps, also with a threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.model_selection import fdr_threshold
    >>> fdr_threshold(np.array([0.1, -0.5, 4.0, -6.0, 0.3]))
    4.0
    """
    if not 0 < level < 1:
        raise ValueError(f"fdr_threshold accepts a fraction of false discoveries between 0 and 1; got level={level!r}.")
    sizes = np.sort(np.abs(np.ravel(z)))[::-1]
    if sizes.size == 0 or np.isnan(sizes).any():
        raise ValueError(f"fdr_threshold needs values that are numbers; got {sizes.size} values, some of them NaN.")
    p = 2 * norm.sf(sizes)
    counts = np.flatnonzero(p <= level * np.arange(1, sizes.size + 1) / sizes.size)
    return float(sizes[counts[-1]]) if counts.size else float("inf")


def _as_map(values: Array) -> Array:
    """A finite vector with a largest modulus of one, so that squares neither overflow nor vanish; or zeros."""
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise ValueError(f"A map is a vector of finite values, one per variable; got an array of shape {values.shape}.")
    return values / (np.abs(values).max() or 1.0)


def _is_constant(values: Array) -> bool:
    return values.std() <= 8 * np.finfo(float).eps * np.abs(values).max()


def _standardized(values: Array) -> Array:
    values = _as_map(values)
    if _is_constant(values):
        return np.zeros_like(values)
    values = values - values.mean()
    return values / values.std()


@gives_finite_numbers()
def align_maps(maps: Array, reference: Array) -> Array:
    """Permute and flip maps to match those of a reference.

    Components of two halves of the data come in any order and with any sign. The assignment with the largest sum of
    absolute correlations, each map to one of the reference, is the best permutation; pairs matched greedily are not.

    Parameters
    ----------
    maps : array of shape (k, d)
        Maps in any order and with any sign.
    reference : array of shape (m, d)
        Maps in the order that is wanted.

    Returns
    -------
    array of shape (m, d)
        Row i is the map that belongs to row i of the reference, with a positive correlation; zero where there are fewer
        maps than in the reference.

    See Also
    --------
    reproducible_map : What two aligned maps have in common.
    split_half : Aligns maps of halves by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.model_selection import align_maps
    >>> reference = np.array([[1.0, 2.0, 0.0, 0.0], [0.0, 1.0, 0.0, 3.0]])
    >>> np.array_equal(align_maps(-2 * reference[::-1], reference), 2 * reference)
    True
    """
    maps, reference = (np.atleast_2d(np.asarray(values, dtype=np.float64)) for values in (maps, reference))
    if not (np.isfinite(maps).all() and np.isfinite(reference).all()):
        raise ValueError("align_maps needs maps of finite values; got NaN or infinity.")
    if maps.shape[1] != reference.shape[1]:
        raise ValueError(
            f"align_maps compares maps of the same variables; got {maps.shape[1]} and {reference.shape[1]} columns."
        )
    return matched(maps.T, *match(_unit_rows(maps) @ _unit_rows(reference).T)).T


def _unit_rows(maps: Array) -> Array:
    sizes = np.abs(maps).max(axis=1, keepdims=True, initial=0.0)
    maps = maps / np.where(sizes > 0, sizes, 1.0)  # squares of the largest and smallest numbers would not be finite
    centered = maps - maps.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(centered, axis=1, keepdims=True)
    return np.divide(centered, lengths, out=np.zeros_like(centered), where=lengths > 0)
