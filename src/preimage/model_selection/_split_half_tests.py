"""Whether split halves say more than chance, and whether one pipeline does better than another."""

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from preimage._typing import Array, Rows, Seed, Targets
from preimage._validation import generator
from preimage.model_selection._split_half import SplitHalf, distance_to_perfect
from preimage.model_selection._split_half_passes import Candidates, Design, resampled


@dataclass(frozen=True)
class SplitHalfNull:
    """Split halves for permuted labels, each a mean over the same splits.

    Attributes
    ----------
    prediction, reproducibility, distance : arrays of shape (n_permutations,)
    """

    prediction: Array = field(repr=False)
    reproducibility: Array = field(repr=False)
    distance: Array = field(repr=False)

    def p_values(self, observed: SplitHalf) -> dict[str, float]:
        """How often permuted labels do as well as a `SplitHalf` of the true ones, itself counted among them.

        Parameters
        ----------
        observed : SplitHalf
            With the same estimator, data, denoiser and splits.

        Returns
        -------
        dict of str to float
            For "prediction", "reproducibility" and "distance".
        """
        fraction = lambda as_good: float((1 + np.sum(as_good)) / (1 + len(self.prediction)))
        return {
            "prediction": fraction(self.prediction >= observed.prediction.mean()),
            "reproducibility": fraction(self.reproducibility >= observed.reproducibility.mean()),
            "distance": fraction(self.distance <= observed.distance.mean()),
        }

    def __str__(self) -> str:
        p, r = np.mean(self.prediction), np.mean(self.reproducibility)
        return f"p = {p:.3f}, r = {r:.3f} on average over {len(self.prediction)} permutations of labels"


def split_half_null(
    estimator: Any,
    X: Rows,
    y: Targets,
    groups: Targets,
    *,
    n_permutations: int = 100,
    blocks: Targets = None,
    denoiser: Any = None,
    shared_basis: bool = False,
    n_splits: int | str = 20,
    maps: Any = "auto",
    reference: Array | None = None,
    scoring: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    random_state: Seed = 0,
) -> SplitHalfNull:
    """Prediction and reproducibility by split halves for permuted labels.

    Maps of few components leave little room to disagree: r has no natural zero, and should be compared with its value
    for permuted labels. Labels are permuted within groups, so each keeps its classes; denoised data, and the
    decompositions of `PenalizedDiscriminant`, are shared by all permutations.

    Parameters
    ----------
    estimator, X, y, groups
        As in `split_half`.
    n_permutations : int, default=100
    blocks : array of shape (n,), optional
        Block of each row, with one label each: whole blocks exchange labels then, as is right for consecutive scans.
        None exchanges labels of rows.
    denoiser, shared_basis, n_splits, maps, reference, scoring, n_jobs, verbose, random_state
        As in `split_half`; the same `random_state` gives the same splits.

    Returns
    -------
    SplitHalfNull

    Examples
    --------
    >>> from preimage import PenalizedDiscriminant
    >>> from preimage.datasets import make_scans
    >>> from preimage.model_selection import split_half, split_half_null
    >>> scans = make_scans(n_runs=6, n_times=30, size=12, random_state=0)
    >>> model = PenalizedDiscriminant(10.0)
    >>> observed = split_half(model, scans.X, scans.y, scans.run)
    >>> null = split_half_null(model, scans.X, scans.y, scans.run, n_permutations=19)
    >>> null.p_values(observed)
    {'prediction': 0.05, 'reproducibility': 0.05, 'distance': 0.05}
    """
    design = Design.of(
        estimator,
        X,
        y,
        groups,
        denoiser=denoiser,
        shared_basis=shared_basis,
        n_splits=n_splits,
        maps=maps,
        reference=reference,
        scoring=scoring,
        random_state=random_state,
    )
    if n_permutations < 1:
        raise ValueError(f"split_half_null needs n_permutations of 1 or more; got {n_permutations!r}.")
    rng = generator(random_state)
    labels = [permuted_labels(design.y, design.codes, rng, blocks) for _ in range(n_permutations)]
    scores = resampled(
        design,
        Candidates(estimator),
        labels,
        n_jobs=n_jobs,
        verbose=verbose,
        with_maps=False,
        description="Split halves of permuted labels",
    )
    p, r = (values[:, :, 0] for values in scores.stacked()[:2])
    return SplitHalfNull(p.mean(axis=1), r.mean(axis=1), distance_to_perfect(p, r).mean(axis=1))


def permuted_labels(y: Array, groups: Array, rng: np.random.Generator, blocks: Targets = None) -> Array:
    """Labels exchanged between rows of a group, or between blocks of a group."""
    y = np.asarray(y)
    if blocks is None:
        blocks = np.arange(y.size)
    _, first, codes = np.unique(blocks, return_index=True, return_inverse=True)
    if codes.size != y.size:
        raise ValueError(f"There are {y.size} labels and {codes.size} rows of `blocks`; each row needs one.")
    if np.any(y != y[first][codes]) or np.any(groups != np.asarray(groups)[first][codes]):
        raise ValueError("A block needs one label and belongs to one group; number blocks through all groups.")
    labels, owners = y[first], np.asarray(groups)[first]
    for group in np.unique(owners):
        members = np.flatnonzero(owners == group)
        labels[members] = labels[rng.permutation(members)]
    return labels[codes]


def paired_permutation_test(
    first: Array, second: Array, *, n_permutations: int = 9999, random_state: Seed = 0
) -> tuple[float, float]:
    """Whether two pipelines differ on the same units: signs of the differences are flipped at random.

    Parameters
    ----------
    first, second : arrays of shape (n,)
        Distances, or other figures, of two pipelines on the same subjects, divisions of runs, or splits. Splits of the
        same groups overlap: their differences are not independent, and p-values over splits are too small. Prefer means
        of subjects or of divisions into training and test runs.
    n_permutations : int, default=9999
        Where there are no more sign patterns than this, all are taken and the p-value is exact.
    random_state : int, RandomState, Generator or None, default=0

    Returns
    -------
    difference : float
        Mean of `first` − `second`.
    p_value : float
        Two-sided.

    Examples
    --------
    >>> from preimage.model_selection import paired_permutation_test
    >>> difference, p = paired_permutation_test([0.5, 0.6, 0.7, 0.6, 0.5], [0.4, 0.5, 0.5, 0.5, 0.4])
    >>> round(difference, 3), p
    (0.12, 0.0625)
    """
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if first.shape != second.shape or first.ndim != 1 or first.size == 0:
        raise ValueError(f"Pairs are needed, in two vectors of one length; got shapes {first.shape}, {second.shape}.")
    differences = first - second
    if not np.isfinite(differences).all():
        raise ValueError("paired_permutation_test needs finite values.")
    observed = abs(differences.mean())
    # Sums of the same numbers in another order differ by rounding, far less than one part in 10¹², and count as equal.
    slack = observed * (1 - 1e-12)
    if 2**differences.size <= n_permutations + 1:
        signs = np.array(list(product([1.0, -1.0], repeat=differences.size)))
        p = float(np.mean(np.abs(signs @ differences) / differences.size >= slack))
    else:
        signs = generator(random_state).choice([-1.0, 1.0], size=(n_permutations, differences.size))
        p = float((1 + np.sum(np.abs(signs @ differences) / differences.size >= slack)) / (1 + n_permutations))
    return float(differences.mean()), p
