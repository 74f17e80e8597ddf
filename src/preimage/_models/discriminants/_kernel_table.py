"""The points of a Fisher problem, its kernel values for all folds, and the accuracy on rows that are held out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from sklearn.model_selection import StratifiedKFold

from preimage._engine.arrays import (
    as_points,
    from_numpy,
    in_double,
    is_chunked,
    is_foreign,
    is_lazy,
    is_objects,
    own_copy,
    to_dense,
)
from preimage._engine.finite import current_method
from preimage._engine.memory import memory_budget
from preimage._engine.threads import run_parallel, run_several
from preimage._engine.typing import Array, Folds
from preimage._engine.validation import require_in_memory
from preimage._models.discriminants._class_scatters import ClassScatters, tangent_moment
from preimage._models.discriminants._gram_fisher import GramFisher
from preimage._models.discriminants._problem import (
    FisherOptions,
    FisherProblem,
    FittedDiscriminants,
    LabelledData,
    fit_discriminants,
    gram_matrix,
)
from preimage._models.discriminants._scatter_fisher import PointCoordinates, ScatterFisher
from preimage.feature_space import ClassMoments
from preimage.landmarks import Landmarks, LandmarkSelector

# Matrices of the size of the Gram matrix that a fit on all points holds: itself, centred, a factor, and temporaries.
GRAM_COPIES = 3.5


def select_points(
    data: LabelledData,
    chosen: LandmarkSelector | Array | None,
    rng: np.random.Generator | None = None,
) -> tuple[Array, Landmarks | None]:
    """The points that discriminants are expansions on, and the `Landmarks`, if a selector chose them.

    Parameters
    ----------
    data : LabelledData
    chosen : None, LandmarkSelector or array of shape (m, d)
        None is all rows of the data.
    rng : Generator, optional
        For selectors without a seed.
    """
    X = data.X
    if chosen is None:
        advice = "Give landmarks=500, say, to fit a Dask array, or pass X.compute()."
        require_in_memory(X, "Discriminants on all points need all rows", advice)
        return X, None
    if isinstance(chosen, LandmarkSelector):
        # In double precision: the same rows are chosen whatever the type of the data.
        rows = X if is_lazy(X) or data.kernel.points_are_row_numbers else in_double(X)
        landmarks = chosen.select(data.kernel, rows, rng=rng).required()
        if data.kept is not None and landmarks.indices is not None:
            landmarks = replace(landmarks, indices=data.kept[landmarks.indices])
        return landmarks.points, replace(landmarks, factor=None)
    if is_objects(X):
        return data.kernel.rows(chosen), None
    points = own_copy(as_points(chosen if is_foreign(chosen) else np.asarray(to_dense(chosen))), chosen)
    if data.kernel.points_are_row_numbers or points.ndim != 2 or points.shape[1] != X.shape[1]:
        raise ValueError(
            f"Points as landmarks of discriminants are an array of shape (m, {X.shape[-1]}), for a kernel that is not "
            f"precomputed; got shape {tuple(points.shape)} and {data.kernel!r}."
        )
    return from_numpy(points, X) if not is_chunked(X) and not is_foreign(points) else points, None


def fisher_problem(data: LabelledData, points: Array, options: FisherOptions) -> FisherProblem:
    """The problem whose solutions are the discriminants: on all points, or from one pass over the data."""
    if points is data.X:
        return KernelTable.of(data, points, options).problem()
    return ClassScatters.of(data, points, options).problem(data, options)


@dataclass(frozen=True)
class KernelTable:
    """Kernel values of labelled rows with the points, computed once for a kernel and used by all folds.

    Attributes
    ----------
    data : LabelledData
    points : array of shape (m, d)
    options : FisherOptions
    values : array of shape (n, m)
        k(x, z).
    gram : array of shape (m, m) or None
        k(z, z′); None when the points are the rows that a problem is about.
    landmarks : Landmarks or None
        Where a selector chose the points.
    """

    data: LabelledData
    points: Array
    options: FisherOptions
    values: Array
    gram: Array | None
    landmarks: Landmarks | None = None

    @classmethod
    def of(
        cls, data: LabelledData, points: Array, options: FisherOptions, landmarks: Landmarks | None = None
    ) -> "KernelTable":
        if points is data.X:
            _require_memory(data.X, options.max_memory)
            return cls(data, points, options, gram_matrix(data.kernel, points), None)
        values, gram = gram_matrix(data.kernel, data.X, points), gram_matrix(data.kernel, points)
        return cls(data, points, options, values, gram, landmarks)

    def problem(self, rows: Array | None = None, n_ridges: int = 1) -> FisherProblem:
        """The Fisher problem on all rows, or on some of them."""
        data, options = self.data, self.options
        codes, weights = data.labels_of(rows)
        values = self.values if rows is None else self.values_with(rows, rows)
        if self.gram is None and options.solves_by_gram:
            return GramFisher(
                values, codes, data.n_classes, weights, is_relative=options.is_relative, n_ridges=n_ridges
            )
        # With given points the coordinates do not depend on the rows of a fold; on all points the fold's rows are the
        # points.
        coordinates = self._coordinates or PointCoordinates(values, options.regularizer, weights)
        return ScatterFisher(
            ClassMoments.of(coordinates.of(values), codes, data.n_classes, weights),
            coordinates,
            is_relative=options.is_relative,
            tangent=self._tangent(coordinates, rows, weights),
            values_of=lambda A: values @ A,
            codes=codes,
            weights=weights,
            n_ridges=n_ridges,
        )

    def values_with(self, rows: Array, fitted: Array) -> Array:
        """Kernel values of some rows with the points of a problem on others."""
        some = self.values.take(rows, axis=0)
        # One axis after the other: a quarter of the time of both together.
        return some if self.gram is not None else some.take(fitted, axis=1)

    def prepared(self) -> "KernelTable":
        """This, with all that problems on some rows share at hand: for work in several threads."""
        _ = self._coordinates, self._mean_tangent
        return self

    def problems_at_once(self, n_tables: int = 1) -> int:
        """How many problems may be worked on at a time next to so many tables like this one, at least one."""
        left = memory_budget(self.options.max_memory, self.values) - n_tables * self.n_bytes
        return max(1, int(left // self._n_problem_bytes))

    @property
    def n_bytes(self) -> int:
        return self.values.nbytes + (0 if self.gram is None else self.gram.nbytes)

    @property
    def _n_problem_bytes(self) -> float:
        """What a problem on all rows takes, and its solution."""
        n, m = self.values.shape
        if self.gram is None and self.options.solves_by_gram:
            return GRAM_COPIES * 8 * n * n
        # Kernel values and coordinates of the rows; the scatter of each class, their sum, and factors of it.
        return 8 * (2 * n * m + (self.data.n_classes + GRAM_COPIES) * m * m)

    @cached_property
    def _coordinates(self) -> PointCoordinates | None:
        """Of given points, the same for all rows."""
        return None if self.gram is None else PointCoordinates(self.gram, self.options.regularizer)

    @cached_property
    def _mean_tangent(self) -> Array | None:
        """λT on the points, with the mean over all rows: transformations do not depend on the fold."""
        total = None if self.options.invariances is None else tangent_moment(self.data, self.points, self.options)
        return None if total is None else total / self.data.count

    def _tangent(self, coordinates: PointCoordinates, rows: Array | None, weights: Array | None) -> Array | None:
        """λℓT in the coordinates of a problem; for some rows, with the mean T over all of them."""
        if rows is None:
            return tangent_moment(self.data, self.points, self.options, coordinates)
        if (mean := self._mean_tangent) is None:
            return None
        mean = mean if self.gram is not None else mean[np.ix_(rows, rows)]
        count = len(rows) if weights is None else weights.sum()
        return count * (coordinates.basis.T @ mean @ coordinates.basis)


def fits_in_memory(X: Array, max_memory: int | str | None, n_more: int = 0) -> bool:
    """Whether a fit on all rows, and `n_more` further matrices of the size of the Gram matrix, fit in the budget."""
    return (GRAM_COPIES + n_more) * 8 * X.shape[0] ** 2 <= memory_budget(max_memory, X)


def _require_memory(X: Array, max_memory: int | str | None) -> None:
    """Refuse a Gram matrix, and the factor of it, that do not fit."""
    if not fits_in_memory(X, max_memory):
        n, budget = X.shape[0], memory_budget(max_memory, X)
        raise MemoryError(
            f"Discriminants on all {n} points need {GRAM_COPIES * 8 * n * n / 1e9:.1f} GB; max_memory allows "
            f"{budget / 1e9:.1f} GB. Give landmarks=1000, say: discriminants on a few points need little memory."
        )


def cross_validated_scores(
    tables: Sequence[KernelTable],
    folds: Folds,
    ridges: Sequence[float],
    judge: Callable[[KernelTable, FittedDiscriminants, Array, Array], float] | None = None,
) -> Array:
    """Accuracies weighted like the rows, shape (n_tables, n_ridges, n_folds).

    A fold has one problem for all ridges: kernel values and scatters are computed once, and so are eigenvectors where
    there are more ridges than those cost. Folds of all tables are fitted in parallel, as many as memory allows.

    Parameters
    ----------
    tables : list of KernelTables
        Of the same rows and options.
    folds : list of pairs of integer arrays
        Rows to fit on and rows to score.
    ridges : array of shape (n_ridges,)
    judge : callable, optional
        Gives the score in place of the accuracy, of: a table, discriminants, the numbers of the rows that they were
        fitted to, and of those held out.
    """
    shape = (len(tables), len(folds))

    def scores_of(part: tuple[int, ...]) -> Sequence[float]:
        table, fold = tables[part[0]], folds[part[1]]
        results = fit_discriminants(table.problem(fold[0], n_ridges=len(ridges)), ridges, table.options)
        if judge is not None:
            return [judge(table, each, *fold) for each in results]
        return _fold_accuracies(table, fold, results)

    tables = run_parallel(lambda table: table.prepared(), tables)
    scores = run_several(scores_of, list(np.ndindex(*shape)), tables[0].problems_at_once(len(tables)))
    return np.swapaxes(np.array(scores).reshape(*shape, len(ridges)), 1, 2)


def _fold_accuracies(
    table: KernelTable, fold: tuple[Array, Array], results: Sequence[FittedDiscriminants]
) -> list[float]:
    """Accuracies on the held-out rows of a fold."""
    fitted, held_out = fold
    codes, weights = table.data.labels_of(held_out)
    # The decisions of all ridges by one product.
    functions = np.concatenate([each.coefficients @ each.rule.weights for each in results], axis=1)
    values = np.split(table.values_with(held_out, fitted) @ functions, len(results), axis=1)
    chosen = [each.rule.chosen(part + each.rule.intercept) for each, part in zip(results, values, strict=True)]
    return np.average(np.stack(chosen) == codes, axis=1, weights=weights).tolist()


def leave_one_out_scores(tables: Sequence[KernelTable], ridges: Array) -> Array:
    """Accuracies of least squares on targets ±1, each row left out in turn, shape (n_tables, n_ridges, 1); see (F5)."""

    def scores_of(table: KernelTable) -> Sequence[float]:
        data, problem = table.data, cast(GramFisher, table.problem())
        targets = 2.0 * np.eye(data.n_classes)[data.codes] - 1
        decisions = np.stack([problem.leave_one_out(ridge, targets) for ridge in ridges])
        return np.average(np.argmax(decisions, axis=2) == data.codes, axis=1, weights=data.weights).tolist()

    return np.array(run_several(scores_of, tables, tables[0].problems_at_once(len(tables))))[:, :, None]


def stratified_folds(codes: Array, n_folds: int) -> Folds:
    """At most `n_folds` folds; fewer where the smallest class has fewer rows."""
    counts = np.bincount(codes)
    if counts.max() < 2:
        raise ValueError(
            f"{current_method()} chooses by cross-validation: some rows of a class judge, others are fitted to; "
            f"none of the {counts.size} classes has more than one row. Give more rows, or parameters as numbers."
        )
    folds = StratifiedKFold(int(min(n_folds, max(2, counts.min()))))
    return list(folds.split(np.zeros((len(codes), 1)), codes))
