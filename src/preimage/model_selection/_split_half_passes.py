"""The work of split-half resampling: denoise each half, fit all candidates, compare their maps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.metrics import check_scoring
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from preimage._engine.arrays import from_device
from preimage._engine.finite import current_method
from preimage._engine.progress import progress_bar, stage
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import generator
from preimage.estimators._penalized_discriminant import PenalizedDiscriminant
from preimage.model_selection._halves import half_splits
from preimage.model_selection._maps import weight_maps
from preimage.model_selection._reproducible_map import align_maps, map_correlation, reproducible_map

# From training rows and rows to denoised rows.
Denoise: TypeAlias = Callable[[Array, Array], Array]
# From labels to fitted models, one per candidate.
Fitter: TypeAlias = Callable[[Array], list[Any]]


@dataclass(frozen=True)
class Candidates:
    """An estimator with one parameter at several values, or as it is (`name` None)."""

    estimator: Any
    name: str | None = None
    values: Sequence[Any] = (None,)

    def fitter(self, X: Array) -> Fitter:
        """A function from labels to fitted models, one per value; what does not depend on labels is done once."""
        if type(self.estimator) is PenalizedDiscriminant and self.name in (None, "alpha"):
            alphas = [self.estimator.alpha] if self.name is None else self.values
            model = clone(self.estimator)
            decomposition = model.decompose(X)
            return lambda y: model.fit_path(X, y, alphas, decomposition=decomposition)
        return lambda y: [self._fitted(value, X, y) for value in self.values]

    def _fitted(self, value: Any, X: Array, y: Array) -> Any:
        model = clone(self.estimator)
        return (model if self.name is None else model.set_params(**{self.name: value})).fit(X, y)


def checked_rows(X: Rows, groups: Targets) -> tuple[Array, Array]:
    """Rows on the host, where halves are, and the unit of each."""
    if groups is None:
        raise ValueError(
            "Split halves need `groups`, the run or subject of each row: rows of one run are alike, and halves that "
            "share runs predict each other too well. For independent samples pass np.arange(len(X))."
        )
    X = np.asarray(X) if isinstance(X, (list, tuple)) else from_device(X)
    X = check_array(X, dtype=[np.float64, np.float32], estimator=current_method(), input_name="X")
    groups = column_or_1d(check_array(groups, ensure_2d=False, dtype=None, input_name="groups"))
    check_consistent_length(X, groups)
    return X, groups


def drawn_halves(
    groups: Array, labels: Array | None, n_splits: int | str, random_state: Seed
) -> tuple[Array, Array, Array]:
    """`half_splits`, with the number checked."""
    if n_splits != "all" and not (isinstance(n_splits, Integral) and n_splits >= 1):
        raise ValueError(f"`n_splits` is a number from 1 on, or 'all'; got {n_splits!r}.")
    number = n_splits if isinstance(n_splits, str) else int(n_splits)
    return half_splits(groups, labels, number, generator(random_state))


@dataclass(frozen=True)
class Design:
    """Checked data, splits, and how maps are taken; the same for all labels and candidates.

    Attributes
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
    groups : array of shape (m,)
        Names of the units.
    codes : integer array of shape (n,)
        Number of the unit of each row.
    halves : boolean array of shape (n_splits, m)
    denoise : callable
        From training rows and rows to denoised rows.
    is_shared : bool
        Whether the basis of the denoiser is that of all rows.
    maps, reference, scoring
        As in `split_half`.
    """

    X: Array
    y: Array
    groups: Array
    codes: Array
    halves: Array
    denoise: Denoise
    is_shared: bool
    maps: Any
    reference: Any
    scoring: Any

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Rows,
        y: Targets,
        groups: Targets,
        *,
        denoiser: Any = None,
        shared_basis: bool = False,
        n_splits: int | str = 20,
        maps: Any = "auto",
        reference: Any = None,
        scoring: Any = None,
        random_state: Seed = 0,
    ) -> "Design":
        """Check the data and options of `split_half`, and draw the splits."""
        X, groups = checked_rows(X, groups)
        y = column_or_1d(y)
        check_consistent_length(X, y)
        labels = None if is_regressor(estimator) or not is_discrete(y) else y
        names, codes, halves = drawn_halves(groups, labels, n_splits, random_state)
        denoise = _denoising(denoiser)
        if shared_basis and denoiser is not None:
            X, denoise = denoise(X, X), _denoising(None)
        return cls(X, y, names, codes, halves, denoise, bool(shared_basis), maps, reference, scoring)

    def references(self, candidates: Candidates, labels: Sequence[Array]) -> list[list[Array | None]]:
        """For each labelling and candidate, maps of a model of all rows where variates need an order; else None."""
        if self.reference is not None:
            return [[np.atleast_2d(self.reference)] * len(candidates.values)] * len(labels)
        none: list[list[Array | None]] = [[None] * len(candidates.values)] * len(labels)
        has_one_variate = type(candidates.estimator) is PenalizedDiscriminant and np.unique(self.y).size == 2
        if callable(self.maps) or self.maps not in ("auto", "scalings") or has_one_variate:
            return none
        X = self.denoise(self.X, self.X)
        fit = candidates.fitter(X)
        found = []
        for y in labels:
            found.append([weight_maps(model, X, self.maps) for model in fit(y)])
            if not any(maps.are_components for maps in found[0]):  # nor are those of other labels
                return none
        return [[maps.values if maps.are_components else None for maps in row] for row in found]


@dataclass(frozen=True)
class SplitScores:
    """Scores of some splits for all labellings and candidates; `a + b` are the scores of both sets of splits.

    Attributes
    ----------
    prediction, reproducibility : tuples of arrays of shape (n_labels, n_candidates), one per split
    map_reproducibility : tuple of arrays of shape (n_labels, n_candidates, n_maps), one per split
    map_sum : array of shape (n_labels, n_candidates, n_maps, d), or None where maps are not wanted
        rSPI(Z), summed over splits.
    """

    prediction: tuple[Array, ...]
    reproducibility: tuple[Array, ...]
    map_reproducibility: tuple[Array, ...]
    map_sum: Array | None

    def __add__(self, other: "SplitScores") -> "SplitScores":
        return SplitScores(
            self.prediction + other.prediction,
            self.reproducibility + other.reproducibility,
            self.map_reproducibility + other.map_reproducibility,
            None if self.map_sum is None else self.map_sum + other.map_sum,
        )

    def stacked(self) -> tuple[Array, Array, Array, Array | None]:
        """Prediction, reproducibility and that of each map, (n_labels, n_splits, n_candidates, ...); mean maps."""
        p, r, by_map = (
            np.stack(parts, axis=1) for parts in (self.prediction, self.reproducibility, self.map_reproducibility)
        )
        return p, r, by_map, None if self.map_sum is None else self.map_sum / len(self.prediction)


def resampled(
    design: Design,
    candidates: Candidates,
    labels: Sequence[Array],
    *,
    n_jobs: int | None,
    verbose: bool,
    with_maps: bool,
    description: str = "Split halves",
) -> SplitScores:
    """Scores of all splits, `n_jobs` at a time, for every labelling and candidate."""
    references = design.references(candidates, labels)
    splits = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_scores_of_split)(design, candidates, labels, references, half, with_maps) for half in design.halves
    )
    total = None
    with progress_bar(verbose), stage(description, len(design.halves)) as advance:
        for found in splits:
            total = found if total is None else total + found
            advance()
    assert total is not None  # a design has a split
    return total


@dataclass(frozen=True)
class _Side:
    """One half of the data: which rows are its own, all rows as its denoiser shows them, and models of its rows."""

    rows: Array
    data: Array
    fit: Fitter

    @classmethod
    def of(cls, design: Design, candidates: Candidates, rows: Array) -> "_Side":
        data = design.denoise(design.X[rows], design.X)
        return cls(rows, data, candidates.fitter(data[rows]))

    def scores(self, models: list[Any], y: Array, scorer: Any) -> Array:
        """Scores of models of this half on the other half."""
        others, labels = self.data[~self.rows], y[~self.rows]
        return np.array([scorer(model, others, labels) for model in models])


@dataclass(frozen=True)
class _Comparison:
    """How alike the maps of two models are: overall, map by map, and the pattern that they share, or None."""

    overall: float
    by_map: list[float]
    shared: Array | None


def _scores_of_split(
    design: Design,
    candidates: Candidates,
    labels: Sequence[Array],
    references: list[list[Array | None]],
    half: Array,
    with_maps: bool,
) -> SplitScores:
    scorer = check_scoring(candidates.estimator, design.scoring)
    first = half[design.codes]
    # Denoising and decompositions do not depend on labels: one per half serves all permutations in `labels`.
    sides = [_Side.of(design, candidates, rows) for rows in (first, ~first)]
    prediction, comparisons = [], []
    for y, reference in zip(labels, references):
        models = [side.fit(y[side.rows]) for side in sides]
        prediction.append(np.mean([side.scores(fits, y, scorer) for side, fits in zip(sides, models)], axis=0))
        comparisons.append(
            [_compared(design, sides, pair, maps, with_maps) for *pair, maps in zip(*models, reference, strict=True)]
        )
    overall = np.array([[found.overall for found in row] for row in comparisons])
    by_map = np.array([_padded([np.asarray(found.by_map) for found in row]) for row in comparisons])
    shared = np.array([_padded([found.shared for found in row]) for row in comparisons]) if with_maps else None
    return SplitScores((np.array(prediction),), (overall,), (by_map,), shared)


def _padded(parts: Sequence[Any]) -> Array:
    """Arrays stacked, of the length of the longest: NaN where a candidate has fewer maps than another."""
    longest = max(len(part) for part in parts)
    missing = [np.full((longest - len(part), *np.shape(part)[1:]), np.nan) for part in parts]
    return np.stack([np.concatenate(pair) for pair in zip(parts, missing)])


def _compared(
    design: Design, sides: list[_Side], models: list[Any], reference: Array | None, with_maps: bool
) -> _Comparison:
    found = [weight_maps(model, side.data[side.rows], design.maps) for model, side in zip(models, sides)]
    values = [maps.values if reference is None else align_maps(maps.values, reference) for maps in found]
    if values[0].shape != values[1].shape:
        raise ValueError(
            f"The two halves have maps of shapes {values[0].shape} and {values[1].shape}, which cannot be compared. "
            "`maps` must give as many for each half, or `reference` says which are wanted."
        )
    by_map = [map_correlation(first, second) for first, second in zip(*values)]
    # Variates are sorted by how much they separate classes, and the first is judged; maps of classes count alike.
    overall = by_map[0] if found[0].are_components or reference is not None else float(np.mean(by_map))
    shared = np.stack([reproducible_map(first, second) for first, second in zip(*values)]) if with_maps else None
    return _Comparison(overall, by_map, shared)


def _denoising(denoiser: Any) -> Denoise:
    """A function from training rows and rows to denoised rows."""
    if denoiser is None:
        return lambda train, X: X
    if hasattr(denoiser, "fit"):
        return lambda train, X: same_shape(denoised_by(clone(denoiser).fit(train), X), X, denoiser)
    if callable(denoiser):
        return lambda train, X: same_shape(denoiser(train, X), X, denoiser)
    raise TypeError(
        f"`denoiser` is an estimator with `denoise`, or `transform` and `inverse_transform`, or a function "
        f"(training rows, rows) → denoised rows; got {denoiser!r}."
    )


def denoised_by(model: Any, X: Array) -> Array:
    if hasattr(model, "denoise"):
        return model.denoise(X)
    coordinates = model.transform(X)
    return model.inverse_transform(coordinates) if hasattr(model, "inverse_transform") else coordinates


def same_shape(found: Any, X: Array, denoiser: Any) -> Array:
    found = np.asarray(found)
    if found.shape != X.shape:
        raise ValueError(
            f"Denoised data must have the shape {X.shape} of the data; {denoiser!r} gave {found.shape}. Features that "
            "are no longer variables have no map: put such a transformer into a pipeline with the estimator."
        )
    return found


def is_discrete(y: Array) -> bool:
    return y.dtype.kind != "f" or bool(np.all(y == np.round(y)))
