"""Do coordinates depend on each other? Mutual information of pairs, and its distribution under permutations."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import xlogy

from preimage._engine.typing import Array


@dataclass(frozen=True, repr=False)
class DependenceTest:
    """Mutual information of all pairs of columns, and how often chance gives as much.

    Attributes
    ----------
    information : array of shape (q, q)
        Mutual information in nats, from histograms; NaN on the diagonal.
    p_values : array of shape (q, q)
        Fraction of permutations with at least as much; NaN on the diagonal.
    level : float
    n_pairs, n_rejected : int
        Pairs, and those whose p-value is at most `level`.
    """

    information: Array
    p_values: Array
    level: float

    @property
    def n_pairs(self) -> int:
        return len(self.p_values) * (len(self.p_values) - 1) // 2

    @property
    def n_rejected(self) -> int:
        return int((self.p_values[np.triu_indices(len(self.p_values), 1)] <= self.level).sum())

    def __repr__(self) -> str:
        return f"DependenceTest({self.n_rejected} of {self.n_pairs} pairs rejected at level {self.level:g})"


def dependence_test(
    scores: Array,
    n_permutations: int = 1000,
    *,
    level: float = 0.05,
    bins: int | None = None,
    rng: np.random.Generator | int | None = None,
) -> DependenceTest:
    r"""Test every pair of columns for independence, which correction coordinate by coordinate assumes.

    The statistic is the mutual information :math:`\sum p_{ab} \log \frac{p_{ab}}{p_a p_b}` of the joint histogram with
    bins of equal width; under independence the order of one column does not matter, so p-values come from random
    permutations, (1 + #{permuted ≥ observed}) / (1 + n_permutations).

    Parameters
    ----------
    scores : array of shape (n, q)
        Coordinates, one column per component.
    n_permutations : int, default=1000
        Number of random permutations.
    level : float, default=0.05
        Pairs with a p-value of at most this count as dependent.
    bins : int or None, default=None
        Bins per column; None is √(n/5), at least 2.
    rng : Generator, int or None, default=None
        Seed of the permutations.

    Returns
    -------
    DependenceTest
        p-values of all pairs; its attributes are listed below.

    See Also
    --------
    preimage.inflation_report : Runs this test for transformers.
    renormalize : A correction that takes columns one by one.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.inflation._dependence import dependence_test
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> test = dependence_test(np.column_stack([x, x**2]), 200, rng=0)
    >>> bool(test.p_values[0, 1] < 0.01)
    True
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2 or len(scores) < 2:
        raise ValueError(f"dependence_test needs scores of shape (n, q) with 2 rows at least; got {scores.shape}.")
    if not np.isfinite(scores).all():
        raise ValueError("dependence_test needs finite scores; got NaN or infinity.")
    if n_permutations < 1 or (bins is not None and bins < 2):
        raise ValueError(
            f"dependence_test needs 1 permutation and 2 bins at least; got n_permutations={n_permutations!r} and "
            f"bins={bins!r}."
        )
    rng = np.random.default_rng(rng)
    n, q = scores.shape
    bins = max(2, round(np.sqrt(n / 5))) if bins is None else bins
    codes = np.stack([_equal_width_codes(column, bins) for column in scores.T]) if q else np.empty((0, n), int)
    orders = rng.permuted(np.tile(np.arange(n), (n_permutations, 1)), axis=1)
    information, p_values = np.full((q, q), np.nan), np.full((q, q), np.nan)
    for i, j in combinations(range(q), 2):
        observed = _joint_term(codes[i], codes[j][None], bins)[0]
        permuted = _joint_term(codes[i], codes[j][orders], bins)
        # Sums of equal terms in another order differ by rounding, a few thousand ε at most.
        exceeding = int((permuted >= observed - 1e-12 * (1 + abs(observed))).sum())
        p_values[i, j] = p_values[j, i] = (1 + exceeding) / (1 + n_permutations)
        counts = np.concatenate([np.bincount(code) for code in (codes[i], codes[j])])
        margins = float(xlogy(counts, counts).sum())
        information[i, j] = information[j, i] = max((observed - margins) / n + np.log(n), 0.0)
    return DependenceTest(information, p_values, level)


def _equal_width_codes(column: Array, bins: int) -> Array:
    """The bin of each value, bins of equal width from the smallest to the largest."""
    column = column / 4 if np.abs(column).max() > np.finfo(float).max / 4 else column  # their span would overflow
    low, span = column.min(), np.ptp(column)
    if not span > 0:
        return np.zeros(len(column), dtype=np.intp)
    return np.minimum((bins * ((column - low) / span)).astype(np.intp), bins - 1)


def _joint_term(a: Array, B: Array, bins: int) -> Array:
    """Σ c log c over the joint counts c of a with every row of B: what permutations change of the information."""
    cells = bins * bins
    offsets = cells * np.arange(len(B))[:, None]
    counts = np.bincount((offsets + a * bins + B).ravel(), minlength=cells * len(B))
    # Counts are integers up to n, so c log c is looked up in a table instead of being computed for every cell.
    logs = xlogy(np.arange(len(a) + 1), np.arange(len(a) + 1))
    return logs[counts].reshape(len(B), cells).sum(axis=1)
