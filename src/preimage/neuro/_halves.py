"""Split-half resampling: splits of units into halves, models of each half, and the comparison of their maps."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from numbers import Integral
from typing import Any, NamedTuple, TypeAlias

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
from preimage.neuro._maps import align_maps, map_correlation, reproducible_map, weight_maps

# Up to this number of distinct halves all are listed and drawn from, which takes a moment; beyond, random draws rarely
# coincide, so that rejecting repeated ones is cheap.
FEW_HALVES = 20_000
# Most halves for n_splits="all": models of a million splits take days.
MOST_HALVES = 1_000_000
# Draws per wanted split before giving up: enough where one draw in a hundred has all classes on both sides.
TRIES_PER_SPLIT = 200

# From training rows and rows to denoised rows.
Denoise: TypeAlias = Callable[[Array, Array], Array]
# From labels to fitted models, one per candidate.
Fitter: TypeAlias = Callable[[Array], list[Any]]


def half_splits(groups: Array, y: Array | None, n_splits: int | str, random_state: Seed) -> tuple[Array, Array, Array]:
    """Distinct splits of the groups into halves, in each of which all classes occur.

    Parameters
    ----------
    groups : array of shape (n,)
        Run, subject or other unit of each row; units stay whole.
    y : array of shape (n,) or None
        Labels; None accepts any half.
    n_splits : int or "all"
        Where there are no more distinct splits than this, all of them.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    names : array of shape (m,)
        The distinct groups.
    codes : integer array of shape (n,)
        Number of the group of each row.
    halves : boolean array of shape (n_splits, m)
        Which groups are in the first half; of an odd number, the smaller one.
    """
    if n_splits != "all" and not (isinstance(n_splits, Integral) and n_splits >= 1):
        raise ValueError(f"`n_splits` is a number from 1 on, or 'all'; got {n_splits!r}.")
    rng = generator(random_state)
    names, codes = np.unique(groups, return_inverse=True)
    if names.size < 2:
        raise ValueError(
            f"Split halves need two groups or more, such as runs or subjects; got {names.size}. For samples that are "
            "independent of each other pass groups=np.arange(len(X))."
        )
    is_valid = _all_classes_on_both_sides(codes, y, names.size)
    total = comb(names.size, names.size // 2) // (2 if names.size % 2 == 0 else 1)
    if n_splits == "all" and total > MOST_HALVES:
        raise ValueError(f"{names.size} groups have {total:.3g} splits into halves, too many for all; give a number.")
    # Few splits are listed and drawn from; among many, drawing until enough distinct ones are found is faster.
    if isinstance(n_splits, str) or total <= FEW_HALVES:
        halves = [half for half in _all_halves(names.size) if is_valid(half)]
        if not isinstance(n_splits, str) and len(halves) > n_splits:
            halves = [halves[i] for i in np.sort(rng.choice(len(halves), n_splits, replace=False))]
    else:
        halves = _drawn(names.size, n_splits, is_valid, rng)
    if not halves:
        raise ValueError(
            f"No split of the {names.size} groups has all classes in both halves: each class must occur in two groups "
            "at least."
        )
    return names, codes, np.array(halves)


def _all_halves(m: int) -> Iterator[Array]:
    for chosen in combinations(range(m), m // 2):
        if m % 2 == 0 and chosen[0] != 0:  # complements of halves that came before
            return
        yield np.isin(np.arange(m), chosen)


def _drawn(m: int, n_splits: int, is_valid: Callable[[Array], bool], rng: np.random.Generator) -> list[Array]:
    found: dict[bytes, Array] = {}
    for _ in range(TRIES_PER_SPLIT * n_splits):
        half = np.isin(np.arange(m), rng.permutation(m)[: m // 2])
        if m % 2 == 0 and not half[0]:
            half = ~half
        if is_valid(half):
            found.setdefault(half.tobytes(), half)
        if len(found) == n_splits:
            break
    return list(found.values())


def _all_classes_on_both_sides(codes: Array, y: Array | None, m: int) -> Callable[[Array], bool]:
    if y is None:
        return lambda half: True
    classes, labels = np.unique(y, return_inverse=True)
    counts = np.zeros((m, classes.size), dtype=int)
    np.add.at(counts, (codes, labels), 1)
    return lambda half: bool(counts[half].any(axis=0).all() and counts[~half].any(axis=0).all())


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


@dataclass(frozen=True)
class Design:
    """Checked data, splits, candidates and how maps are taken; the same for all labels.

    Attributes
    ----------
    candidates : Candidates
    X : array of shape (n, d)
    y : array of shape (n,)
    groups : array of shape (m,)
        Names of the units.
    codes : integer array of shape (n,)
        Number of the unit of each row.
    halves : boolean array of shape (n_splits, m)
    denoise : callable
        From training rows and rows to denoised rows.
    maps, reference, scoring
        As in `split_half`.
    """

    candidates: Candidates
    X: Array
    y: Array
    groups: Array
    codes: Array
    halves: Array
    denoise: Denoise
    maps: Any
    reference: Any
    scoring: Any

    @classmethod
    def of(
        cls,
        candidates: Candidates,
        X: Rows,
        y: Targets,
        groups: Targets,
        denoiser: Any,
        shared_basis: bool,
        n_splits: int | str,
        maps: Any,
        reference: Any,
        scoring: Any,
        random_state: Seed,
    ) -> "Design":
        """Check the data and options of `split_half`, in the order in which it has them, and draw the splits."""
        X, groups = checked_rows(X, groups)
        y = column_or_1d(y)
        check_consistent_length(X, y)
        labels = None if is_regressor(candidates.estimator) or not is_discrete(y) else y
        names, codes, halves = half_splits(groups, labels, n_splits, random_state)
        denoise = _denoising(denoiser)
        if shared_basis and denoiser is not None:
            X, denoise = denoise(X, X), _denoising(None)
        return cls(candidates, X, y, names, codes, halves, denoise, maps, reference, scoring)

    def references(self, labels: Sequence[Array]) -> list[list[Array | None]]:
        """For each labelling and candidate, maps of a model of all rows where variates need an order; else None."""
        count = len(self.candidates.values)
        if self.reference is not None:
            return [[np.atleast_2d(self.reference)] * count] * len(labels)
        none: list[list[Array | None]] = [[None] * count] * len(labels)
        has_one_variate = type(self.candidates.estimator) is PenalizedDiscriminant and np.unique(self.y).size == 2
        if callable(self.maps) or self.maps not in ("auto", "scalings") or has_one_variate:
            return none
        X = self.denoise(self.X, self.X)
        fit = self.candidates.fitter(X)
        found = []
        for y in labels:
            found.append([weight_maps(model, X, self.maps) for model in fit(y)])
            if not any(maps.are_components for maps in found[0]):  # nor are those of other labels
                return none
        return [[maps.values if maps.are_components else None for maps in row] for row in found]


class SplitScores(NamedTuple):
    """Scores of a split, or of all, for all labellings and candidates.

    Attributes
    ----------
    prediction, reproducibility : arrays of shape (n_labels, n_candidates), or (n_labels, n_splits, n_candidates)
    map_reproducibility : array with one more axis, of the maps
    maps : array of shape (n_labels, n_candidates, n_maps, d), or zero where maps are not wanted
        rSPI(Z), mean over splits.
    """

    prediction: Array
    reproducibility: Array
    map_reproducibility: Array
    maps: Any


def resampled(
    design: Design,
    labels: Sequence[Array],
    n_jobs: int | None,
    verbose: bool,
    *,
    with_maps: bool = True,
    description: str = "Split halves",
) -> SplitScores:
    """Scores of all splits, `n_jobs` at a time, for every labelling and candidate."""
    references = design.references(labels)
    splits = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_scores_of_split)(design, labels, references, half, with_maps) for half in design.halves
    )
    scores, total = [], 0.0
    with progress_bar(verbose), stage(description, len(design.halves)) as advance:
        for *found, maps in splits:
            scores.append(found)
            total = total + maps  # maps of all splits at once would be large
            advance()
    p, r, by_map = (np.stack(each, axis=1) for each in zip(*scores, strict=True))
    return SplitScores(p, r, by_map, total / len(scores))


def _scores_of_split(
    design: Design, labels: Sequence[Array], references: list[list[Array | None]], half: Array, with_maps: bool
) -> SplitScores:
    scorer = check_scoring(design.candidates.estimator, design.scoring)
    first = half[design.codes]
    sides = (first, ~first)
    # Denoising and decompositions do not depend on labels: one per half serves all permutations in `labels`.
    data = [design.denoise(design.X[rows], design.X) for rows in sides]
    fitters = [design.candidates.fitter(X[rows]) for X, rows in zip(data, sides)]
    own = [X[rows] for X, rows in zip(data, sides)]
    prediction, comparisons = [], []
    for y, reference in zip(labels, references):
        models = [fit(y[rows]) for fit, rows in zip(fitters, sides)]
        # Models of each half are judged on the other one, as their own denoiser shows it.
        scores = [[scorer(model, X[~rows], y[~rows]) for model in fits] for X, rows, fits in zip(data, sides, models)]
        prediction.append(np.mean(scores, axis=0))
        comparisons.append(
            [_compared(design.maps, own, pair, maps, with_maps) for *pair, maps in zip(*models, reference, strict=True)]
        )
    overall = np.array([[found[0] for found in row] for row in comparisons])
    by_map, shared = (np.array([_padded([found[k] for found in row]) for row in comparisons]) for k in (1, 2))
    return SplitScores(np.array(prediction), overall, by_map, shared if with_maps else 0.0)


def _padded(parts: Sequence[Any]) -> Array:
    """Arrays stacked, of the length of the longest: NaN where a candidate has fewer maps than another."""
    longest = max(len(part) for part in parts)
    missing = [np.full((longest - len(part), *np.shape(part)[1:]), np.nan) for part in parts]
    return np.stack([np.concatenate(pair) for pair in zip(parts, missing)])


def _compared(
    kind: Any, rows: list[Array], models: list[Any], reference: Array | None, with_maps: bool
) -> tuple[float, Array, Array]:
    """How alike the maps of two models are: overall, map by map, and the patterns that they share (if wanted)."""
    found = [weight_maps(model, X, kind) for model, X in zip(models, rows)]
    values = [maps.values if reference is None else align_maps(maps.values, reference) for maps in found]
    if values[0].shape != values[1].shape:
        raise ValueError(
            f"The two halves have maps of shapes {values[0].shape} and {values[1].shape}, which cannot be compared. "
            "`maps` must give as many for each half, or `reference` says which are wanted."
        )
    by_map = np.array([map_correlation(first, second) for first, second in zip(*values)])
    # Variates are sorted by how much they separate classes, and the first is judged; maps of classes count alike.
    overall = by_map[0] if found[0].are_components or reference is not None else by_map.mean()
    return overall, by_map, np.array([reproducible_map(*pair) for pair in zip(*values)] if with_maps else [])


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
