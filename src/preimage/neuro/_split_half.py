"""Prediction and reproducibility by split halves (NPAIRS), for each value of a parameter, and tests of both."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np

from preimage._engine.finite import gives_finite_numbers
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import generator
from preimage.estimators._penalized_discriminant import PenalizedDiscriminant
from preimage.neuro._halves import Candidates, Design, resampled
from preimage.neuro._maps import fdr_threshold

# Ridges as multiples of the mean variance of a direction of the data, two per decade: at either end the models hardly
# change any more, being nearly unpenalised or nearly proportional to the difference of class means.
RIDGES = tuple(10.0 ** (np.arange(-8, 9) / 2))


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
        """The smallest significant :math:`|Z|` of `map` at a false discovery rate of `level`; infinite if none is."""
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


@gives_finite_numbers()
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
        Scans in rows, voxels in columns. Standardise within runs, with nothing of other runs. Tensors of a device are
        moved to the host, where all of the work is done.
    y : array of shape (n,)
        Labels or targets.
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
        Prediction, reproducibility and the map that both halves share; its attributes are listed below.

    See Also
    --------
    pr_curve : The same for each value of a parameter.
    split_half_null : What chance gives.
    split_half_denoising : Reproducibility of denoised rows, without labels.
    preimage.PenalizedDiscriminant : A classifier made for this.
    preimage.neuro.SplitHalfDisplay : Draws prediction against reproducibility.

    References
    ----------
    .. [1] S. C. Strother et al., "The quantitative evaluation of functional neuroimaging experiments: the NPAIRS data
       analysis framework", NeuroImage 15, 2002.
    .. [2] P. M. Rasmussen et al., "Nonlinear denoising and analysis of neuroimages with kernel principal component
       analysis and pre-image estimation", NeuroImage 60, 2012. Their object recognition shares the basis.

    Examples
    --------
    >>> from preimage import PenalizedDiscriminant
    >>> from preimage.neuro import make_scans
    >>> from preimage.neuro import split_half
    >>> scans = make_scans(n_runs=6, n_times=30, size=12, random_state=0)
    >>> result = split_half(PenalizedDiscriminant(10.0), scans.X, scans.y, scans.run)
    >>> len(result.prediction), result.map.shape, bool(result.prediction.mean() > 0.9)
    (10, (144,), True)
    """
    options = (denoiser, shared_basis, n_splits, maps, reference, scoring, random_state)
    design = Design.of(Candidates(estimator), X, y, groups, *options)
    p, r, by_map, z = resampled(design, [design.y], n_jobs, verbose)
    found = (p[0, :, 0], r[0, :, 0], by_map[0, :, 0], z[0, 0])
    return SplitHalf(*found, design.groups, design.halves, bool(shared_basis))


@dataclass(frozen=True)
class SplitHalfCurve:
    """Prediction and reproducibility for each value of a parameter.

    Attributes
    ----------
    param_name : str
    param_values : array of shape (m,)
    prediction, reproducibility : arrays of shape (n_splits, m)
        p and r, see `SplitHalf`.
    map_reproducibility : array of shape (n_splits, m, n_maps)
        NaN for maps that other values of the parameter have and this one has not.
    maps : array of shape (m, n_maps, d)
        rSPI(Z), mean over splits; NaN likewise.
    groups, halves, shared_basis
        As in `SplitHalf`.
    """

    param_name: str
    param_values: Array
    prediction: Array = field(repr=False)
    reproducibility: Array = field(repr=False)
    map_reproducibility: Array = field(repr=False)
    maps: Array = field(repr=False)
    groups: Array = field(repr=False)
    halves: Array = field(repr=False)
    shared_basis: bool = False

    @property
    def distance(self) -> Array:
        """Distance of (p, r) to (1, 1), shape (n_splits, m)."""
        return distance_to_perfect(self.prediction, self.reproducibility)

    @property
    def nearest_distance(self) -> Array:
        """Distance of the nearest point of each split's curve to (1, 1), shape (n_splits,).

        Its mean is the figure of merit of the papers. The value of the parameter is chosen by what it is judged by: the
        distance is somewhat too small, for all pipelines alike.
        """
        return self.distance.min(axis=1)

    @property
    def nearest_points(self) -> Array:
        """(p, r) of the nearest point of each split's curve to (1, 1), shape (n_splits, 2)."""
        rows, columns = np.arange(len(self.distance)), self.distance.argmin(axis=1)
        return np.column_stack([self.prediction[rows, columns], self.reproducibility[rows, columns]])

    @property
    def best_index(self) -> int:
        """The value of the parameter with the smallest mean distance, by its number."""
        return int(self.distance.mean(axis=0).argmin())

    @property
    def best(self) -> SplitHalf:
        """The `SplitHalf` of that value."""
        return self.at(self.best_index)

    def at(self, index: int) -> SplitHalf:
        """The `SplitHalf` of the value with this number."""
        return SplitHalf(
            self.prediction[:, index],
            self.reproducibility[:, index],
            self.map_reproducibility[:, index],
            self.maps[index],
            self.groups,
            self.halves,
            self.shared_basis,
        )

    def __str__(self) -> str:
        value = self.param_values[self.best_index]
        value = f"{value:.4g}" if isinstance(value, Real) else value
        return f"{self.param_name} = {value}: {self.best}; nearest points {self.nearest_distance.mean():.3f}"


@gives_finite_numbers("maps", "map_reproducibility")
def pr_curve(
    estimator: Any,
    X: Rows,
    y: Targets,
    groups: Targets,
    param_name: str = "alpha",
    param_range: Sequence[Any] | None = None,
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
) -> SplitHalfCurve:
    """Prediction and reproducibility by split halves, for each value of a parameter such as a penalty.

    `PenalizedDiscriminant` needs one singular value decomposition per half for all of its ridges; other estimators are
    fitted anew for each value.

    Parameters
    ----------
    estimator, X, y, groups
        As in `split_half`.
    param_name : str, default="alpha"
        Also of a part: "svc__C".
    param_range : sequence, optional
        Its values; for the ridge of `PenalizedDiscriminant` by default 17 from 1e-4 to 1e4 times the mean variance of
        the data along their principal axes.
    denoiser, shared_basis, n_splits, maps, reference, scoring, n_jobs, verbose, random_state
        As in `split_half`. A denoiser is fitted once per half, for all values.

    Returns
    -------
    SplitHalfCurve
        Prediction and reproducibility of every split and value; its attributes are listed below.

    See Also
    --------
    split_half : One point of the curve.
    preimage.neuro.SplitHalfDisplay : Draws curves.
    preimage.PenalizedDiscriminant.fit_path : All ridges at the price of one.

    Examples
    --------
    >>> from preimage import PenalizedDiscriminant
    >>> from preimage.neuro import make_scans
    >>> from preimage.neuro import pr_curve
    >>> scans = make_scans(n_runs=6, n_times=30, size=12, snr=0.7, random_state=0)
    >>> curve = pr_curve(PenalizedDiscriminant(), scans.X, scans.y, scans.run)
    >>> curve.prediction.shape, bool(curve.nearest_distance.mean() <= curve.best.distance.mean())
    ((10, 17), True)
    """
    options = (denoiser, shared_basis, n_splits, maps, reference, scoring, random_state)
    design = Design.of(Candidates(estimator), X, y, groups, *options)
    values = _values(estimator, param_name, param_range, design.X)
    design = replace(design, candidates=Candidates(estimator, param_name, values))
    p, r, by_map, z = (each[0] for each in resampled(design, [design.y], n_jobs, verbose))
    about = (design.groups, design.halves, bool(shared_basis))
    return SplitHalfCurve(param_name, _as_array(values), p, r, by_map, z, *about)


def _as_array(values: list[Any]) -> Array:
    """An array of numbers or of words; anything else as an array of objects."""
    if all(isinstance(value, Real) for value in values) or all(isinstance(value, str) for value in values):
        return np.asarray(values)
    found = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        found[place] = value
    return found


def _values(estimator: Any, param_name: str, param_range: Sequence[Any] | None, X: Array) -> list[Any]:
    if param_range is not None:
        values = list(param_range)
        if not values:
            raise ValueError("pr_curve needs at least one value in `param_range`.")
        return values
    if not isinstance(estimator, PenalizedDiscriminant) or param_name != "alpha":
        raise ValueError(
            f"pr_curve needs `param_range`, the values of {param_name!r} of {type(estimator).__name__}; it has "
            "defaults for the alpha of PenalizedDiscriminant only."
        )
    variance = float(X.var(axis=0).sum()) / max(1, min(X.shape[0] - 1, X.shape[1]))
    return [ridge * (variance or 1.0) for ridge in RIDGES]


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


@gives_finite_numbers()
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
        How often labels are permuted.
    blocks : array of shape (n,), optional
        Block of each row, with one label each: whole blocks exchange labels then, as is right for consecutive scans.
        None exchanges labels of rows.
    denoiser, shared_basis, n_splits, maps, reference, scoring, n_jobs, verbose, random_state
        As in `split_half`; the same `random_state` gives the same splits.

    Returns
    -------
    SplitHalfNull
        Values for permuted labels, and `p_values`; its attributes are listed below.

    See Also
    --------
    split_half : The values that are observed.
    scipy.stats.permutation_test : Compares two pipelines, with ``permutation_type="samples"``.

    Examples
    --------
    >>> from preimage import PenalizedDiscriminant
    >>> from preimage.neuro import make_scans
    >>> from preimage.neuro import split_half, split_half_null
    >>> scans = make_scans(n_runs=6, n_times=30, size=12, random_state=0)
    >>> model = PenalizedDiscriminant(10.0)
    >>> observed = split_half(model, scans.X, scans.y, scans.run)
    >>> null = split_half_null(model, scans.X, scans.y, scans.run, n_permutations=19)
    >>> null.p_values(observed)
    {'prediction': 0.05, 'reproducibility': 0.05, 'distance': 0.05}
    """
    options = (denoiser, shared_basis, n_splits, maps, reference, scoring, random_state)
    design = Design.of(Candidates(estimator), X, y, groups, *options)
    if n_permutations < 1:
        raise ValueError(f"split_half_null needs n_permutations of 1 or more; got {n_permutations!r}.")
    rng = generator(random_state)
    labels = [permuted_labels(design.y, design.codes, rng, blocks) for _ in range(n_permutations)]
    description = "Split halves of permuted labels"
    scores = resampled(design, labels, n_jobs, verbose, with_maps=False, description=description)
    p, r = scores.prediction[:, :, 0], scores.reproducibility[:, :, 0]
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
