"""How alike rows look after denoising by models of different halves of the data."""

from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from preimage._engine.arrays import to_numpy
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.progress import progress_bar, stage
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage.estimators._kernel_pca import KernelPCA
from preimage.neuro._halves import checked_rows, denoised_by, half_splits, is_discrete, same_shape
from preimage.neuro._maps import map_correlation

# The threshold of the paper on sparse denoising of brain scans.
MIN_CORRELATION = 0.2


@gives_finite_numbers()
def reference_components(
    model: KernelPCA, X: Rows, reference: Targets, *, min_correlation: float = MIN_CORRELATION
) -> Array:
    r"""Numbers of the components whose coordinates are correlated with a reference.

    .. math:: \{ j : |\mathrm{corr}(\beta_j(x_1) \dots \beta_j(x_n),\ r_1 \dots r_n)| > \varrho \}

    The leading components of brain scans are often drifts and movements. Components that follow the on and off of
    the experiment, delayed as blood flow is, contain what the experiment caused [1]_.

    Parameters
    ----------
    model : fitted KernelPCA
        The model whose components are looked at.
    X : array of shape (n, d)
        Rows in the order of the reference; those of the fit, or others.
    reference : array of shape (n,)
        A number for each row: the state, a dose, a time course.
    min_correlation : float in [0, 1), default=0.2
        ρ, the modulus of the correlation that chosen components exceed.

    Returns
    -------
    integer array of shape (k,)
        Numbers of components, the most correlated first, for `KernelPCA.with_components`.

    See Also
    --------
    preimage.KernelPCA.with_components : The model with these components alone.
    split_half_denoising : Chooses them in each half.

    References
    ----------
    .. [1] T. J. Abrahamsen, L. K. Hansen, "Sparse non-linear denoising: generalization performance and pattern
       reproducibility in functional MRI", Pattern Recognition Letters 32, 2011.

    Examples
    --------
    >>> from preimage import KernelPCA
    >>> from preimage.neuro import make_scans
    >>> from preimage.neuro import reference_components
    >>> scans = make_scans(n_runs=4, n_times=30, size=12, random_state=0)
    >>> model = KernelPCA(10).fit(scans.X)
    >>> chosen = reference_components(model, scans.X, scans.y)
    >>> task = model.with_components(chosen)
    >>> task.denoise(scans.X).shape, len(chosen) < 10
    ((120, 144), True)
    """
    if not (isinstance(min_correlation, Real) and 0 <= min_correlation < 1):
        raise ValueError(f"reference_components needs min_correlation from 0 to below 1; got {min_correlation!r}.")
    if not hasattr(model, "with_components"):
        raise TypeError(
            f"reference_components chooses components of a fitted KernelPCA; got {type(model).__name__}. "
            "KernelPCA(kernel='linear') is PCA."
        )
    course = column_or_1d(check_array(reference, ensure_2d=False, dtype=np.float64, input_name="reference"))
    scores = to_numpy(model.transform(X))
    check_consistent_length(scores, course)
    if np.ptp(course) == 0:
        raise ValueError("reference_components needs a reference that varies; all of its values are equal.")
    correlations = np.array([abs(map_correlation(column, course)) for column in scores.T])
    order = np.argsort(-correlations, kind="stable")
    chosen = order[correlations[order] > min_correlation]
    if chosen.size == 0:
        raise ValueError(
            f"No component of {type(model).__name__} has a correlation above {min_correlation} with the reference; the "
            f"largest is {correlations.max():.3g}, of component {order[0]}. Fit more components, or lower "
            "min_correlation."
        )
    return chosen


@dataclass(frozen=True)
class SplitHalfDenoising:
    """How alike the halves of the data denoise the same rows.

    Attributes
    ----------
    correlations : array of shape (n_splits, n)
        For each row, the correlation of its two denoised versions, over the variables; zero where one is constant.
    density : array of shape (n_splits,)
        The fraction of denoised entries that are not zero: one, but for sparse pre-images.
    prediction : array of shape (n_splits,), or None
        The mean score of the two estimators of the halves, each on the other half as its own denoiser shows it.
    error : array of shape (n_splits,), or None
        Mean squared difference of denoised rows to `target`.
    groups : array of shape (m,)
        The units that were split.
    halves : boolean array of shape (n_splits, m)
        Which of them were in the first half.
    """

    correlations: Array = field(repr=False)
    density: Array
    prediction: Array | None
    error: Array | None
    groups: Array = field(repr=False)
    halves: Array = field(repr=False)

    @property
    def reproducibility(self) -> Array:
        """The mean correlation of each split, shape (n_splits,)."""
        return self.correlations.mean(axis=1)

    def reproducibility_of(self, rows: Array) -> Array:
        """The mean correlation of some rows, given by numbers or truth values: active scans alone, for instance."""
        return self.correlations[:, rows].mean(axis=1)

    def __str__(self) -> str:
        parts = [f"r = {self.reproducibility.mean():.3f}", f"density = {self.density.mean():.3f}"]
        parts += [] if self.prediction is None else [f"p = {self.prediction.mean():.3f}"]
        parts += [] if self.error is None else [f"error = {self.error.mean():.3g}"]
        return f"{', '.join(parts)} ({len(self.density)} splits of {len(self.groups)} groups)"


@gives_finite_numbers()
def split_half_denoising(
    denoiser: Any,
    X: Rows,
    groups: Targets,
    *,
    reference: Targets = None,
    min_correlation: float = MIN_CORRELATION,
    estimator: Any = None,
    y: Targets = None,
    scoring: Any = None,
    target: Rows = None,
    n_splits: int | str = 20,
    n_jobs: int | None = None,
    verbose: bool = False,
    random_state: Seed = 0,
) -> SplitHalfDenoising:
    r"""Reproducibility of denoised rows, or of their sparse pre-images, between halves of the data.

    A denoiser is fitted to each half of the groups, and each denoises all rows. For a row x with the two versions z and
    z′ the reproducibility is their correlation over the d variables [1]_,

    .. math:: r(x) = \mathrm{corr}(z_1 \dots z_d,\ z'_1 \dots z'_d).

    Unlike `split_half`, which compares maps of classifiers, it needs no labels, and it says for which rows a denoised
    picture can be trusted.

    Parameters
    ----------
    denoiser : estimator
        With `denoise`, such as `KernelPCA` with any pre-image solver, or with `transform` and `inverse_transform`,
        such as PCA.
    X : array of shape (n, d)
        Rows to denoise.
    groups : array of shape (n,)
        Run or subject of each row, which stays whole.
    reference : array of shape (n,), optional
        Each half keeps the components that follow it (`reference_components`); needs a `KernelPCA`. It is used as
        labels are, so that prediction of the same labels is too good on the half itself, not on the other.
    min_correlation : float in [0, 1), default=0.2
        For `reference`.
    estimator : classifier or regressor, optional
        Fitted to the denoised rows of each half and judged on the other; needs `y`.
    y : array of shape (n,), optional
        Labels. With them, all classes occur in both halves.
    scoring : str, callable or None, default=None
        As in scikit-learn.
    target : array of shape (n, d), optional
        Rows without noise, where they are known.
    n_splits, n_jobs, verbose, random_state
        As in `split_half`.

    Returns
    -------
    SplitHalfDenoising
        Correlations of all rows in all splits; its attributes are listed below.

    See Also
    --------
    split_half : Compares maps of classifiers.
    reference_components : The components that follow a reference.
    preimage.solvers.SparsePath : Sparse pre-images.

    References
    ----------
    .. [1] T. J. Abrahamsen, L. K. Hansen, "Sparse non-linear denoising: generalization performance and pattern
       reproducibility in functional MRI", Pattern Recognition Letters 32, 2011.

    Examples
    --------
    >>> from preimage import KernelPCA
    >>> from preimage.neuro import make_scans
    >>> from preimage.neuro import split_half_denoising
    >>> scans = make_scans(n_runs=4, n_times=24, size=12, random_state=0)
    >>> found = split_half_denoising(KernelPCA(3, gamma=1e-3), scans.X, scans.run)
    >>> found.correlations.shape, bool(found.reproducibility.mean() > 0.5)
    ((3, 96), True)
    """
    X, groups = checked_rows(X, groups)
    if estimator is not None and y is None:
        raise ValueError("split_half_denoising needs labels `y` for its estimator to learn and to be judged by.")
    labels = None if y is None else column_or_1d(y)
    course = None if reference is None else column_or_1d(reference)
    clean = None if target is None else same_shape(check_array(target, dtype=np.float64), X, "target")
    check_consistent_length(X, labels, course)
    discrete = labels if labels is not None and is_discrete(labels) else None
    names, codes, halves = half_splits(groups, discrete, n_splits, random_state)
    study = (denoiser, X, course, min_correlation, estimator, labels, scoring, clean)
    splits = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(_split)(half[codes], *study) for half in halves)
    found = []
    with progress_bar(verbose), stage("Denoising by split halves", len(halves)) as advance:
        for split in splits:
            found.append(split)
            advance()
    correlations, density, prediction, error = (np.array(each) for each in zip(*found))
    optional = lambda values, is_known: values if is_known else None
    known = (optional(prediction, estimator is not None), optional(error, target is not None))
    return SplitHalfDenoising(correlations, density, *known, names, halves)


def _split(
    first: Array,
    denoiser: Any,
    X: Array,
    reference: Array | None,
    min_correlation: float,
    estimator: Any,
    y: Any,
    scoring: Any,
    target: Array | None,
) -> tuple[Array, float, float, float]:
    """Correlations of the rows, density, score and error (NaN if unknown) of one split; `first` marks one half."""
    denoised, scores = [], []
    for rows in (first, ~first):
        model = clone(denoiser).fit(X[rows])
        if reference is not None:
            chosen = reference_components(model, X[rows], reference[rows], min_correlation=min_correlation)
            model = model.with_components(chosen)
        Z = same_shape(denoised_by(model, X), X, denoiser)
        denoised.append(Z)
        if estimator is not None:
            judge = clone(estimator).fit(Z[rows], y[rows])
            scores.append(check_scoring(judge, scoring)(judge, Z[~rows], y[~rows]))
    density = float(np.mean([np.mean(Z != 0) for Z in denoised]))
    error = np.nan if target is None else float(np.mean([np.mean((Z - target) ** 2) for Z in denoised]))
    correlations = np.array([map_correlation(one, other) for one, other in zip(*denoised)])
    return correlations, density, float(np.mean(scores)) if scores else np.nan, error
