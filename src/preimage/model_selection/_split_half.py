"""Prediction and reproducibility by split halves: NPAIRS."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from preimage._typing import Array, Rows, Seed, Targets
from preimage.model_selection._reproducible_map import fdr_threshold
from preimage.model_selection._split_half_passes import Candidates, Design, resampled


def distance_to_perfect(prediction: Array, reproducibility: Array) -> Array:
    """Euclidean distance of (p, r) to (1, 1)."""
    return np.hypot(1 - np.asarray(prediction), 1 - np.asarray(reproducibility))


@dataclass(frozen=True)
class SplitHalf:
    """How well halves of the data predict each other, and how alike their maps are.

    Attributes
    ----------
    prediction : array of shape (n_splits,)
        p, the mean score of the models of the two halves, each on the other half.
    reproducibility : array of shape (n_splits,)
        r, the correlation of the maps of the two halves: of the first canonical variate, or on average over maps that
        belong to classes.
    map_reproducibility : array of shape (n_splits, n_maps)
        r of each map.
    maps : array of shape (n_maps, d)
        rSPI(Z), mean over splits: see `reproducible_map`.
    groups : array of shape (m,)
        The units that were split.
    halves : boolean array of shape (n_splits, m)
        Which of them were in the first half.
    shared_basis : bool
        Whether both halves were denoised with one basis, which raises r by construction.
    """

    prediction: Array
    reproducibility: Array
    map_reproducibility: Array
    maps: Array = field(repr=False)
    groups: Array = field(repr=False)
    halves: Array = field(repr=False)
    shared_basis: bool = False

    @property
    def distance(self) -> Array:
        """Distance of (p, r) to (1, 1) in each split, shape (n_splits,)."""
        return distance_to_perfect(self.prediction, self.reproducibility)

    @property
    def map(self) -> Array:
        """The first of the maps, shape (d,)."""
        return self.maps[0]

    def threshold(self, level: float = 0.05) -> float:
        """The smallest significant |Z| of `map` at a false discovery rate of `level`; infinite if there is none."""
        return fdr_threshold(self.map, level)

    def significant(self, level: float = 0.05) -> Array:
        """Which variables are significant, shape (d,)."""
        return np.abs(self.map) >= self.threshold(level)

    def __str__(self) -> str:
        p, r, distance = (np.mean(values) for values in (self.prediction, self.reproducibility, self.distance))
        basis = ", basis shared by the halves" if self.shared_basis else ""
        return (
            f"p = {p:.3f}, r = {r:.3f}, distance to (1, 1) = {distance:.3f} "
            f"({len(self.prediction)} splits of {len(self.groups)} groups{basis})"
        )


def split_half(
    estimator: Any,
    X: Rows,
    y: Targets,
    groups: Targets,
    *,
    denoiser: Any = None,
    shared_basis: bool = False,
    n_splits: int | str = 20,
    maps: Any = "auto",
    reference: Array | None = None,
    scoring: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    random_state: Seed = 0,
) -> SplitHalf:
    r"""Prediction and reproducibility of an estimator by split-half resampling (NPAIRS).

    Groups are split into halves; a model of each half predicts the other, and the maps of weights of the two models are
    compared. Good pipelines come near (p, r) = (1, 1): a model can predict well with maps that no other data show,
    and a constant map is perfectly reproducible.

    Parameters
    ----------
    estimator : classifier or regressor
        With a map of weights: see `maps`. Never fitted itself.
    X : array of shape (n, d)
        Scans in rows, voxels in columns. Standardise within runs, with nothing of other runs.
    y : array of shape (n,)
    groups : array of shape (n,)
        Run or subject of each row. Splitting rows would leak by their autocorrelation.
    denoiser : estimator or callable, optional
        Applied before the estimator: an estimator with `denoise`, such as `KernelPCA`, or with `transform` and
        `inverse_transform`, such as PCA; or a function (training rows, rows) → denoised rows. It never sees labels.
    shared_basis : bool, default=False
        False fits the denoiser on each half alone. True fits it once on all rows, as is sometimes published: both
        halves are then projected on one subspace, and their maps agree more even for meaningless labels. To denoise
        each subject by itself, which shares nothing, do so beforehand.
    n_splits : int or "all", default=20
        Distinct splits, drawn at random; all of them where there are not more.
    maps : {"auto", "coef", "scalings", "importances", "sensitivity"} or callable, default="auto"
        What is compared, see `weight_maps`.
    reference : array of shape (k, d), optional
        Maps whose order and signs those of the halves take (`align_maps`). By default canonical variates of more than
        two classes are aligned with those of a model of all rows, and other maps are taken as they are.
    scoring : str, callable or None, default=None
        As in scikit-learn; None is the score of the estimator, the accuracy of a classifier.
    n_jobs : int or None, default=None
        Splits at a time.
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState, Generator or None, default=0
        For the draw of splits.

    Returns
    -------
    SplitHalf

    References
    ----------
    .. [1] S. C. Strother et al., "The quantitative evaluation of functional neuroimaging experiments: the NPAIRS data
       analysis framework", NeuroImage 15, 2002.
    .. [2] P. M. Rasmussen et al., "Nonlinear denoising and analysis of neuroimages with kernel principal component
       analysis and pre-image estimation", NeuroImage 60, 2012. Their object recognition shares the basis.

    Examples
    --------
    >>> from preimage import PenalizedDiscriminant
    >>> from preimage.datasets import make_scans
    >>> from preimage.model_selection import split_half
    >>> scans = make_scans(n_runs=6, n_times=30, size=12, random_state=0)
    >>> result = split_half(PenalizedDiscriminant(10.0), scans.X, scans.y, scans.run)
    >>> len(result.prediction), result.map.shape, bool(result.prediction.mean() > 0.9)
    (10, (144,), True)
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
    scores = resampled(design, Candidates(estimator), [design.y], n_jobs=n_jobs, verbose=verbose, with_maps=True)
    p, r, by_map, z = scores.stacked()
    assert z is not None  # maps were asked for
    return SplitHalf(p[0, :, 0], r[0, :, 0], by_map[0, :, 0], z[0, 0], design.groups, design.halves, design.is_shared)
