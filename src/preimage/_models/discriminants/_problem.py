"""The Fisher problem of labelled data: its points, and its kernel values for all folds."""

from dataclasses import dataclass, field, replace

import numpy as np

from preimage._engine.arrays import (
    as_points,
    from_numpy,
    in_double,
    is_chunked,
    is_foreign,
    is_lazy,
    own_copy,
    to_dense,
)
from preimage._engine.memory import memory_budget
from preimage._engine.typing import Array
from preimage._engine.validation import require_in_memory
from preimage._models.discriminants._class_scatters import ClassScatters, tangent_moment
from preimage._models.discriminants._fit import FisherOptions
from preimage._models.discriminants._gram_fisher import GramFisher
from preimage._models.discriminants._kernel_values import LabelledData, gram_matrix
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
        return landmarks.points, replace(landmarks, factor=None)
    points = own_copy(as_points(chosen if is_foreign(chosen) else np.asarray(to_dense(chosen))), chosen)
    if data.kernel.points_are_row_numbers or points.ndim != 2 or points.shape[1] != X.shape[1]:
        raise ValueError(
            f"Points as landmarks of discriminants are an array of shape (m, {X.shape[-1]}), for a kernel that is not "
            f"precomputed; got shape {tuple(points.shape)} and {data.kernel!r}."
        )
    return from_numpy(points, X) if not is_chunked(X) and not is_foreign(points) else points, None


def fisher_problem(data: LabelledData, points: Array, options: FisherOptions) -> GramFisher | ScatterFisher:
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
    """

    data: LabelledData
    points: Array
    options: FisherOptions
    values: Array
    gram: Array | None
    _known: dict = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, data: LabelledData, points: Array, options: FisherOptions) -> "KernelTable":
        if points is data.X:
            require_memory(data.X, options.max_memory)
            return cls(data, points, options, gram_matrix(data.kernel, points), None)
        values, gram = gram_matrix(data.kernel, data.X, points), gram_matrix(data.kernel, points)
        return cls(data, points, options, values, gram)

    def problem(self, rows: Array | None = None, n_ridges: int = 1) -> GramFisher | ScatterFisher:
        """The Fisher problem on all rows, or on some of them."""
        data, options = self.data, self.options
        if rows is None:
            codes, weights = data.codes, data.weights
        else:
            codes, weights = data.codes[rows], None if data.weights is None else data.weights[rows]
        values = self.values if rows is None else self._kernel_values(rows, rows)
        if self.gram is None and options.solves_by_gram:
            return GramFisher(
                values, codes, data.n_classes, weights, is_relative=options.is_relative, n_ridges=n_ridges
            )
        # With given points the coordinates do not depend on the rows of a fold; on all points the fold's rows are the
        # points.
        coordinates = self._coordinates if self.gram is not None else None
        if coordinates is None:
            coordinates = PointCoordinates(values, options.regularizer, weights)
        return ScatterFisher(
            ClassMoments.of(coordinates.of(values), codes, data.n_classes, weights),
            coordinates,
            is_relative=options.is_relative,
            tangent=self._tangent(coordinates, rows, weights),
            values_of=lambda A: values @ A,
            n_ridges=n_ridges,
        )

    def prepared(self) -> "KernelTable":
        """This, with all that problems on some rows share at hand: for work in several threads."""
        if self.gram is not None:
            _ = self._coordinates
        _ = self._mean_tangent
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

    def held_out_values(self, rows: Array, fitted: Array) -> Array:
        """Kernel values of some rows with the points of a problem on others."""
        return self._kernel_values(rows, fitted)

    def _kernel_values(self, rows: Array, fitted: Array) -> Array:
        return self.values[rows] if self.gram is not None else self.values[np.ix_(rows, fitted)]

    @property
    def _coordinates(self) -> PointCoordinates:
        """Of given points, the same for all rows."""
        if "coordinates" not in self._known:
            self._known["coordinates"] = PointCoordinates(self.gram, self.options.regularizer)
        return self._known["coordinates"]

    @property
    def _mean_tangent(self) -> Array | None:
        """λT on the points, with the mean over all rows: transformations do not depend on the fold."""
        if "tangent" not in self._known:
            total = tangent_moment(self.data, self.points, self.options)
            self._known["tangent"] = None if total is None else total / self.data.count
        return self._known["tangent"]

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


def require_memory(X: Array, max_memory: int | str | None) -> None:
    """Refuse a Gram matrix, and the factor of it, that do not fit."""
    if not fits_in_memory(X, max_memory):
        n, budget = X.shape[0], memory_budget(max_memory, X)
        raise MemoryError(
            f"Discriminants on all {n} points need {GRAM_COPIES * 8 * n * n / 1e9:.1f} GB; max_memory allows "
            f"{budget / 1e9:.1f} GB. Give landmarks=1000, say: discriminants on a few points need little memory."
        )
