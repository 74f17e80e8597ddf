"""The work of split-half resampling: denoise each half, fit all candidates, compare their maps."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.metrics import check_scoring
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from preimage._progress import progress_bar, stage
from preimage._validation import generator
from preimage.estimators._penalized_discriminant import PenalizedDiscriminant
from preimage.model_selection._alignment import align_maps
from preimage.model_selection._halves import half_splits
from preimage.model_selection._reproducible_map import map_correlation, reproducible_map
from preimage.model_selection._weight_maps import weight_maps


@dataclass(frozen=True)
class Candidates:
    """An estimator with one parameter at several values, or as it is.

    Attributes
    ----------
    estimator : estimator
    name : str or None
    values : sequence
    """

    estimator: Any
    name: Any = None
    values: Any = (None,)

    def fitter(self, X):
        """A function from labels to fitted models, one a value; what does not depend on labels is done once."""
        if type(self.estimator) is PenalizedDiscriminant and self.name in (None, "alpha"):
            alphas = [self.estimator.alpha] if self.name is None else self.values
            model = clone(self.estimator)
            decomposition = model.decompose(X)
            return lambda y: model.fit_path(X, y, alphas, decomposition=decomposition)
        return lambda y: [self._fitted(value, X, y) for value in self.values]

    def _fitted(self, value, X, y):
        model = clone(self.estimator)
        return (model if self.name is None else model.set_params(**{self.name: value})).fit(X, y)


@dataclass(frozen=True)
class Design:
    """Checked data, splits, and how maps are taken; the same for all labels.

    Attributes
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
    groups : array of shape (m,)
        Names of the units.
    codes : integer array of shape (n,)
        Of the unit of each row.
    halves : boolean array of shape (n_splits, m)
    denoise : callable
        From training rows and rows to denoised rows.
    is_shared : bool
        Whether the basis of the denoiser is that of all rows.
    maps, reference, scoring
        As in `split_half`.
    """

    X: Any
    y: Any
    groups: Any
    codes: Any
    halves: Any
    denoise: Any
    is_shared: bool
    maps: Any
    reference: Any
    scoring: Any

    @classmethod
    def of(cls, estimator, X, y, groups, *, denoiser, shared_basis, n_splits, maps, reference, scoring, random_state):
        """Check what was given to `split_half`."""
        if groups is None:
            raise ValueError(
                "Split halves need `groups`, the run or subject of each row: rows of one run are alike, and halves "
                "that share runs predict each other too well. For independent samples pass np.arange(len(X))."
            )
        X = check_array(X, dtype=[np.float64, np.float32])
        y, groups = column_or_1d(y), check_array(groups, ensure_2d=False, dtype=None, input_name="groups")
        groups = column_or_1d(groups)
        check_consistent_length(X, y, groups)
        if n_splits != "all" and not (isinstance(n_splits, Integral) and n_splits >= 1):
            raise ValueError(f"`n_splits` is a number from 1 on, or 'all'; got {n_splits!r}.")
        labels = None if is_regressor(estimator) or not _is_discrete(y) else y
        names, codes, halves = half_splits(groups, labels, n_splits, generator(random_state))
        denoise = _denoising(denoiser)
        if shared_basis and denoiser is not None:
            X, denoise = denoise(X, X), _denoising(None)
        return cls(X, y, names, codes, halves, denoise, bool(shared_basis), maps, reference, scoring)

    def references(self, candidates, labels):
        """Maps of models of all rows, one a candidate and labelling, where variates need an order; else None."""
        if self.reference is not None:
            return [[np.atleast_2d(self.reference)] * len(candidates.values)] * len(labels)
        none = [[None] * len(candidates.values)] * len(labels)
        oriented = type(candidates.estimator) is PenalizedDiscriminant and np.unique(self.y).size == 2
        if callable(self.maps) or self.maps not in ("auto", "scalings") or oriented:
            return none
        X = self.denoise(self.X, self.X)
        fit = candidates.fitter(X)
        found = []
        for y in labels:
            found.append([weight_maps(model, X, self.maps) for model in fit(y)])
            if not any(maps.are_components for maps in found[0]):  # nor are those of other labels
                return none
        return [[maps.values if maps.are_components else None for maps in row] for row in found]


def resampled(design, candidates, labels, *, n_jobs, verbose, with_maps, description="Split halves"):
    """Prediction and reproducibility of all splits, labellings and candidates.

    Parameters
    ----------
    design : Design
    candidates : Candidates
    labels : list of arrays of shape (n,)
    n_jobs : int or None
    verbose : bool
    with_maps : bool
        Whether mean maps are wanted.

    Returns
    -------
    prediction : array of shape (n_labels, n_splits, n_candidates)
    reproducibility : array of shape (n_labels, n_splits, n_candidates)
    by_map : array of shape (n_labels, n_splits, n_candidates, n_maps)
    maps : array of shape (n_labels, n_candidates, n_maps, d), or None
        rSPI(Z), mean over splits.
    """
    references = design.references(candidates, labels)
    run = Parallel(n_jobs=n_jobs, return_as="generator")
    prediction, reproducibility, by_map, total = [], [], [], None
    with progress_bar(verbose), stage(description, len(design.halves)) as advance:
        for found in run(
            delayed(_one_split)(design, candidates, labels, references, half, with_maps) for half in design.halves
        ):
            prediction.append(found[0])
            reproducibility.append(found[1])
            by_map.append(found[2])
            if with_maps:
                total = found[3] if total is None else total + found[3]
            advance()
    stack = lambda parts: np.stack(parts, axis=1)
    maps = None if total is None else total / len(design.halves)
    return stack(prediction), stack(reproducibility), stack(by_map), maps


def _one_split(design, candidates, labels, references, half, with_maps):
    first = half[design.codes]
    scorer = check_scoring(candidates.estimator, design.scoring)
    sides = []
    for rows in (first, ~first):
        data = design.denoise(design.X[rows], design.X)
        sides.append((rows, data, candidates.fitter(data[rows])))
    prediction, reproducibility, by_map, maps = [], [], [], []
    for y, reference in zip(labels, references):
        models = [fit(y[rows]) for rows, _, fit in sides]
        scores = [_scores(scorer, models[i], sides[i], y) for i in range(2)]
        prediction.append((scores[0] + scores[1]) / 2)
        pairs = [
            _compared(design, [models[i][j] for i in range(2)], sides, reference[j], with_maps)
            for j in range(len(candidates.values))
        ]
        reproducibility.append([pair[0] for pair in pairs])
        by_map.append(_stacked([pair[1] for pair in pairs]))
        maps.append(_stacked([pair[2] for pair in pairs]) if with_maps else None)
    return np.array(prediction), np.array(reproducibility), np.array(by_map), np.array(maps) if with_maps else None


def _stacked(parts):
    """Arrays side by side, of the length of the longest: NaN where a candidate has fewer maps than another."""
    longest = max(len(part) for part in parts)
    missing = [np.full((longest - len(part), *np.shape(part)[1:]), np.nan) for part in parts]
    return np.stack([np.concatenate(pair) for pair in zip(parts, missing)])


def _scores(scorer, models, side, y):
    """Of the models of one half on the other half, as that one's basis shows it."""
    rows, data, _ = side
    others, labels = data[~rows], y[~rows]
    return np.array([scorer(model, others, labels) for model in models])


def _compared(design, models, sides, reference, with_maps):
    found = [weight_maps(model, data[rows], design.maps) for model, (rows, data, _) in zip(models, sides)]
    values = [maps.values if reference is None else align_maps(maps.values, reference) for maps in found]
    if values[0].shape != values[1].shape:
        raise ValueError(
            f"The two halves have maps of shapes {values[0].shape} and {values[1].shape}, which cannot be compared. "
            "`maps` must give as many for each half, or `reference` says which are wanted."
        )
    by_map = [map_correlation(first, second) for first, second in zip(*values)]
    # Variates come in the order of what they tell, and the first is judged; maps of classes are judged alike.
    overall = by_map[0] if found[0].are_components or reference is not None else float(np.mean(by_map))
    z = np.stack([reproducible_map(first, second) for first, second in zip(*values)]) if with_maps else None
    return overall, by_map, z


def _denoising(denoiser):
    """A function from training rows and rows to denoised rows."""
    if denoiser is None:
        return lambda train, X: X
    if hasattr(denoiser, "fit"):
        return lambda train, X: _same_shape(_denoised(clone(denoiser).fit(train), X), X, denoiser)
    if callable(denoiser):
        return lambda train, X: _same_shape(denoiser(train, X), X, denoiser)
    raise TypeError(
        f"`denoiser` is an estimator with `denoise`, or `transform` and `inverse_transform`, or a function "
        f"(training rows, rows) → denoised rows; got {denoiser!r}."
    )


def _denoised(model, X):
    if hasattr(model, "denoise"):
        return model.denoise(X)
    coordinates = model.transform(X)
    return model.inverse_transform(coordinates) if hasattr(model, "inverse_transform") else coordinates


def _same_shape(found, X, denoiser):
    found = np.asarray(found)
    if found.shape != X.shape:
        raise ValueError(
            f"Denoised data must have the shape {X.shape} of the data; {denoiser!r} gave {found.shape}. Features that "
            "are no longer variables have no map: put such a transformer into a pipeline with the estimator."
        )
    return found


def _is_discrete(y):
    return y.dtype.kind != "f" or bool(np.all(y == np.round(y)))
