"""Neighbours by coordinates along landmarks, with bounds that say which answers are certain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from preimage._engine.arrays import epsilon, itemsize, take_rows, to_numpy
from preimage._engine.progress import stage
from preimage._engine.rows import cut, map_rows
from preimage._engine.typing import Array
from preimage._engine.warnings import unwarned
from preimage._models.neighbors._measures import NEGATIVE, ROUNDING, FeatureMeasure, doubled
from preimage._models.neighbors._search import (
    BlockSearch,
    Found,
    Search,
    in_order,
    over_blocks,
    ranked,
    ranked_together,
    smallest,
)
from preimage.feature_space import Expansion, Subspace

# Coordinates along leading directions that rows are compared by: with 64 of them in single precision a comparison costs
# as much as a kernel value of 20 columns, and on tables of a few latent variables they hold 90 % of the variance.
MOST_COORDINATES = 64
# Rows per landmark from which the leading directions are found: those of ten rows for each number of a covariance
# matrix are known well enough, since every orthonormal frame gives valid bounds.
ROWS_PER_LANDMARK = 10
# Cells per square root of the number of rows: as many cells as rows of one cell, times this. Comparing with centres
# and comparing with rows of the nearest cells then take the same order of time.
CELLS_PER_ROOT = 1.5
# Rows per cell from which centres are found.
ROWS_PER_CELL = 50
# Relative slack of bounds for rounding errors, by bytes per kernel value. Values of a precomputed matrix in single
# precision also move squared distances by this fraction of k(x, x).
SLACK = {8: 1e-5, 4: 1e-3}
# Errors of (y, r) in units of the last place of single precision, and of squared distances made of them. Coordinates
# are rounded once; lengths of what they leave are roots of differences with errors of 1e-16 of k(x, x), 1e-8 of its
# root. With rows of very different lengths, that is all that their distances tell.
ROUNDINGS = 8
# Candidates of several queries for which kernel values are computed together, each query with all of them: a call takes
# as long as 500 values, and ten times more candidates would mostly be compared with the wrong queries.
CANDIDATES_TOGETHER = 256
# Queries of a block where memory allows more: the more there are, the more of them look at each cell.
MOST_QUERIES = 512
# Bytes per query and row of all cells that are looked at: bounds, their partition, and room for work.
BYTES_PER_BOUND = 24


@dataclass(frozen=True)
class Settings:
    """How far a search by coordinates looks: at the rows of `n_cells` cells, and at the kernel of `n_candidates`."""

    n_cells: int
    n_candidates: int


@dataclass(frozen=True)
class Chart:
    """(y, r) of rows: coordinates of φ(x) − μ along an orthonormal frame, and the length of what they leave of it.

    Parameters
    ----------
    vectors : Expansion of m + 1 vectors
        The frame, and the mean μ after it.
    offset : array of shape (m,)
        Coordinates of μ.
    squared_norm : float
        ‖μ‖².
    scale : float
        Unit of length, such that numbers have the size of one: single precision ends at 1e38.
    """

    vectors: Expansion
    offset: np.ndarray
    squared_norm: float
    scale: float

    @classmethod
    def leading(cls, measure: FeatureMeasure, span: Subspace, rng: np.random.Generator) -> Chart:
        """The directions of largest variance in a span, and the mean in it, from some of the rows."""
        n, wanted = measure.points.shape[0], ROWS_PER_LANDMARK * len(span)
        some = np.sort(rng.choice(n, wanted, replace=False)) if wanted < n else np.arange(n)
        Y = to_numpy(span.coordinates(doubled(span.frame.kernel, take_rows(measure.points, some))))
        mean = Y.mean(axis=0)
        directions = np.linalg.svd(Y - mean, full_matrices=False)[2][:MOST_COORDINATES].T
        vectors = span.frame @ np.column_stack([directions, mean])
        scale = float(np.sqrt(np.max(measure.diagonal))) or 1.0
        return cls(vectors, mean @ directions, float(mean @ mean), scale)

    def check_fields(self) -> None:
        """Raise ValueError if the fields, which may come from a file, do not belong together."""
        if self.offset.shape != (len(self.vectors) - 1,) or not self.scale > 0:
            raise ValueError(f"A chart of {len(self.vectors)} vectors needs as many offsets but one, and a scale.")

    @unwarned()
    def __call__(self, X: Array) -> np.ndarray:
        """(y, r) in units of `scale` and in single precision, shape (n, m + 1)."""
        X = doubled(self.vectors.kernel, X)
        values = to_numpy(self.vectors(X)).astype(np.float64)
        Y = values[:, :-1] - self.offset
        lengths = to_numpy(self.vectors.kernel.diagonal(X)) - 2 * values[:, -1] + self.squared_norm
        left = np.sqrt(np.maximum(lengths - np.sum(Y * Y, axis=1), 0.0))
        return (np.column_stack([Y, left]) / self.scale).astype(np.float32)


@dataclass(frozen=True)
class LandmarkSearch(Search):
    r"""Candidates by coordinates in the span of landmarks, and exact distances for the best of them.

    With the coordinates y of φ(x) along an orthonormal frame and the length r of what they leave of it,

    .. math:: \|y - y'\|^2 + (r - r')^2 \le \|\varphi(x) - \varphi(x')\|^2 \le \|y - y'\|^2 + (r + r')^2 .

    The lower bound is the squared distance of the points (y, r) of a Euclidean space, where rows are sorted into cells.
    A query looks at the rows of the nearest cells, and computes the kernel for those with the smallest lower bounds.
    Its answer is certain if all other rows have a lower bound above the distance that was found, those of other cells
    by the radius of the cell.

    Parameters
    ----------
    measure : FeatureMeasure
    chart : Chart
        Gives (y, r).
    signatures : array of shape (n, m + 1)
        (y, r) of the rows in single precision, in the order of cells.
    order : integer array of shape (n,)
        Row numbers in this order.
    starts : integer array of shape (c + 1,)
        Where cells begin in this order.
    centers : array of shape (c, m + 1)
    radii : array of shape (c,)
        Largest distance of a row of the cell from its centre.
    settings : Settings
    """

    measure: FeatureMeasure
    chart: Chart
    signatures: np.ndarray
    order: np.ndarray
    starts: np.ndarray
    centers: np.ndarray
    radii: np.ndarray
    settings: Settings

    @classmethod
    def of(cls, measure: FeatureMeasure, span: Subspace, rng: np.random.Generator) -> LandmarkSearch:
        """Coordinates along the directions of largest variance within the span, and cells; it looks at everything."""
        chart = Chart.leading(measure, span, rng)
        with stage("Coordinates along landmarks", 1) as advance:
            signatures = map_rows(chart, measure.points)
            advance()
        centers, cells = _cells(signatures, rng)
        order = np.argsort(cells, kind="stable")
        counts = np.bincount(cells, minlength=centers.shape[0])
        signatures = signatures[order]
        shifts = signatures - np.repeat(centers, counts, axis=0)
        starts = np.concatenate([[0], np.cumsum(counts)])
        radii = np.sqrt(np.maximum.reduceat(np.sum(shifts * shifts, axis=1, dtype=np.float64), starts[:-1]))
        everything = Settings(centers.shape[0], order.size)
        return cls(measure, chart, signatures, order, starts, centers, radii, everything)

    def check_fields(self) -> None:
        """Raise ValueError if the fields, which may come from a file, do not belong together."""
        n, size, c = self.measure.points.shape[0], len(self.chart.vectors), self.centers.shape[0]
        starts = self.starts
        shapes = self.signatures.shape, self.centers.shape, self.radii.shape
        fits: Any = shapes == ((n, size), (c, size), (c,))
        fits = fits and starts.shape == (c + 1,) and starts[0] == 0 and starts[-1] == n and np.all(np.diff(starts) > 0)
        fits = fits and np.array_equal(np.sort(self.order), np.arange(n))
        if not (fits and 1 <= self.settings.n_cells <= c and self.settings.n_candidates >= 1):
            raise ValueError("Cells of neighbours need all rows once, and numbers for each row and each cell.")

    def nearest(self, Z: Array, diagonal: np.ndarray, k: int) -> Found:
        found = Found.room(Z.shape[0], k)
        widest = int(np.sort(np.diff(self.starts))[-self.settings.n_cells :].sum())

        def fill(rows: slice) -> None:
            signatures, distances = self._located(Z[rows])
            candidates, rest = self._candidates(signatures, distances, k)
            for part in cut(len(candidates), max(1, CANDIDATES_TOGETHER // self.settings.n_candidates)):
                here = slice(rows.start + part.start, rows.start + part.stop)
                best = ranked_together(self.measure, Z[here], diagonal[here], candidates[part])
                for query, (keys, numbers) in zip(range(here.start, here.stop), best, strict=True):
                    found.keys[query], found.numbers[query] = keys[:k], numbers[:k]
            last = found.keys[rows, -1]
            found.certain[rows] = last <= self._surely(rest, diagonal[rows] + last, self._errors(signatures))

        over_blocks(fill, Z, BYTES_PER_BOUND * widest, MOST_QUERIES)
        return found

    def within(self, Z: Array, diagonal: np.ndarray, radius: float) -> list[tuple[np.ndarray, np.ndarray]]:
        found: list[Any] = [None] * Z.shape[0]

        def fill(rows: slice) -> None:
            signatures, distances = self._located(Z[rows])
            for query in range(rows.start, rows.stop):
                here = slice(query, query + 1)
                candidates = self._not_beyond(
                    signatures[query - rows.start], distances[query - rows.start], diagonal[query], radius
                )
                keys, numbers = ranked(self.measure, Z[here], diagonal[here], candidates)
                is_near = self.measure.distances(keys) <= radius
                found[query] = keys[is_near], numbers[is_near]

        over_blocks(fill, Z, BYTES_PER_BOUND * self.order.size, MOST_QUERIES)
        return found

    def ranks(self, Z: Array, true: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far one has to look to find the given rows of each query.

        Parameters
        ----------
        Z : array of shape (q, d)
        true : integer array of shape (q, k)

        Returns
        -------
        cells, rows : integer arrays of shape (q, k)
            How many cells are nearer than that of the row, and how many rows have a smaller lower bound.
        """
        signatures, distances = self._located(Z)
        place = np.empty(self.order.size, dtype=int)
        place[self.order] = np.arange(self.order.size)
        places = place[true]
        cells = np.searchsorted(self.starts, places, side="right") - 1
        by_cell = np.sum(distances[:, None, :] < np.take_along_axis(distances, cells, axis=1)[:, :, None], axis=2)
        by_row = np.empty_like(places)
        for query, signature in enumerate(signatures):
            bounds = _squared_to(self.signatures, signature)
            by_row[query] = np.searchsorted(np.sort(bounds), bounds[places[query]])
        return by_cell, by_row

    def looking_at(self, settings: Settings) -> LandmarkSearch:
        """The same search with other settings, as far as there are cells."""
        return replace(self, settings=replace(settings, n_cells=min(settings.n_cells, self.centers.shape[0])))

    @property
    def fraction_looked_at(self) -> float:
        """Fraction of the rows in the cells that a query looks at, on average over cells of equal size."""
        return self.settings.n_cells / self.centers.shape[0]

    def _located(self, Z: Array) -> tuple[np.ndarray, np.ndarray]:
        """(y, r) of queries, and their squared distances from the centres of all cells."""
        signatures = self.chart(Z)
        found, centers = signatures.astype(np.float64), self.centers.astype(np.float64)
        distances = np.sum(centers * centers, axis=1) - 2 * found @ centers.T + np.sum(found * found, axis=1)[:, None]
        return signatures, np.maximum(distances, 0)

    def _errors(self, signatures: np.ndarray) -> np.ndarray:
        """Largest errors of distances from (y, r) of queries, by rounding of both ends, shape (q,).

        They depend on the lengths of φ(x), not only of φ(x) − μ. A row near to the query is about as long.
        """
        lengths = np.sqrt(np.sum(signatures.astype(np.float64) ** 2, axis=1))
        return ROUNDINGS * epsilon(np.float32) * (lengths + self.chart.squared_norm**0.5 / self.chart.scale)

    def _candidates(self, signatures: np.ndarray, distances: np.ndarray, k: int) -> tuple[list[np.ndarray], np.ndarray]:
        """The candidates of every query, and lower bounds of squared distances for all other rows."""
        q, p = signatures.shape[0], self.settings.n_cells
        cells = smallest(distances, p)
        sizes = np.diff(self.starts)[cells]
        ends = np.cumsum(sizes, axis=1)
        bounds = self._bounds(signatures, cells, ends - sizes, int(ends[:, -1].max()))
        rest = self._outside(distances, cells)
        wanted, found = max(self.settings.n_candidates, k), []
        for query in range(q):
            total = ends[query, -1]
            if total < k:  # the nearest cells have fewer rows than are wanted
                found.append(self.order)
                rest[query] = np.inf
                continue
            places = np.arange(total)
            if total > wanted:
                row = bounds[query, :total]
                places = np.argpartition(row, wanted)
                rest[query] = min(row[places[wanted]], rest[query])
                places = places[:wanted]
            which = np.searchsorted(ends[query], places, side="right")
            inside = places - (ends[query] - sizes[query])[which]
            found.append(self.order[self.starts[cells[query, which]] + inside])
        return found, rest

    def _bounds(self, signatures: np.ndarray, cells: np.ndarray, offsets: np.ndarray, width: int) -> np.ndarray:
        """Lower bounds of squared distances from the rows of some cells of each query, side by side, (q, width)."""
        q, p = cells.shape
        bounds = np.full((q, width), np.inf, dtype=np.float32)
        pairs = np.argsort(cells, axis=None, kind="stable")
        visited, first = np.unique(cells.ravel()[pairs], return_index=True)
        for cell, here in zip(visited, np.split(pairs, first[1:]), strict=True):
            queries = here // p
            rows = self.signatures[self.starts[cell] : self.starts[cell + 1]]
            # About the centre of the cell, so that single precision has digits left for rows near to it.
            shifted, moved = rows - self.centers[cell], signatures[queries] - self.centers[cell]
            found = moved @ (-2 * shifted.T)
            rounding = np.float32(1 - ROUNDINGS * epsilon(np.float32))
            found += rounding * np.einsum("ij,ij->i", shifted, shifted)
            found += rounding * np.einsum("ij,ij->i", moved, moved)[:, None]
            columns = offsets.ravel()[here, None] + np.arange(rows.shape[0])
            bounds[queries[:, None], columns] = found
        return bounds

    def _outside(self, distances: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Lower bounds of squared distances from all rows of the cells that are not looked at."""
        bounds = np.maximum(np.sqrt(distances) - self.radii, 0.0) ** 2
        np.put_along_axis(bounds, cells, np.inf, axis=1)
        return np.min(bounds, axis=1)

    def _not_beyond(self, signature: np.ndarray, distances: np.ndarray, diagonal: float, radius: float) -> np.ndarray:
        """Rows that may be at distances of at most `radius` from a query."""
        limit = self._possibly(radius**2, diagonal, float(self._errors(signature[None, :])[0]))
        near = np.flatnonzero(np.maximum(np.sqrt(distances) - self.radii, 0.0) ** 2 <= limit)
        places = [np.arange(self.starts[cell], self.starts[cell + 1]) for cell in near]
        chosen = np.concatenate([np.empty(0, dtype=int), *places])
        return np.sort(self.order[chosen[_squared_to(self.signatures[chosen], signature) <= limit]])

    @property
    def _slack(self) -> float:
        kernel = self.measure.kernel  # evaluated on rows in double precision, or precomputed
        return SLACK[itemsize(kernel.value_type(self.measure.points)) if kernel.points_are_row_numbers else 8]

    @property
    def _rounding(self) -> float:
        """Errors of squared distances relative to k(x, x)."""
        return self._slack if self._slack > SLACK[8] else ROUNDING * epsilon(np.float64)

    def _surely(self, bound: np.ndarray, size: np.ndarray, errors: np.ndarray) -> np.ndarray:
        """The squared distance that a row with a lower bound has at least, whatever rounding errors are."""
        least = np.maximum(np.sqrt(np.maximum(bound, 0.0)) - errors, 0.0) * self.chart.scale
        return least**2 * (1 - self._slack) - self._rounding * size

    def _possibly(self, squared: float, size: float, error: float) -> float:
        """The lower bound that a row at a squared distance has at most: the inverse of `_surely`."""
        most = np.sqrt((squared + self._rounding * (size + squared)) / (1 - self._slack)) / self.chart.scale
        return float(most + error) ** 2 * (1 + self._slack)


def _cells(signatures: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Centres of cells, none of them empty, and the cell of each row."""
    n = signatures.shape[0]
    count = max(1, min(n // 2, int(CELLS_PER_ROOT * n**0.5)))
    some = signatures if n <= ROWS_PER_CELL * count else signatures[rng.choice(n, ROWS_PER_CELL * count, replace=False)]
    seed = int(rng.integers(2**31))
    means = MiniBatchKMeans(count, batch_size=4096, n_init=1, max_iter=20, random_state=seed).fit(some)
    cells = means.predict(signatures)
    used, cells = np.unique(cells, return_inverse=True)
    return means.cluster_centers_[used], cells.reshape(-1)


def _squared_to(signatures: np.ndarray, signature: np.ndarray) -> np.ndarray:
    shifts = signatures - signature
    return np.einsum("ij,ij->i", shifts, shifts)


def settings_for(
    search: LandmarkSearch, Z: Array, true: np.ndarray, recall: float, n_candidates: int | None
) -> Settings:
    """The settings with which the given neighbours of queries would be found but for a fraction 1 − `recall`.

    Half of what may be missed may be missed, a quarter for lack of cells and a quarter for lack of candidates; the rest
    is for queries that are not among these.
    """
    cells, rows = search.ranks(Z, true)
    level = 1 - (1 - recall) / 4
    upper = lambda ranks: int(np.quantile(ranks, level, method="higher")) + 1
    candidates = max(upper(rows), 2 * true.shape[1]) if n_candidates is None else n_candidates
    return Settings(min(upper(cells), search.centers.shape[0]), candidates)


def fraction_found(found: Found, true: Found) -> float:
    """Recall: which fraction of the true neighbours, or of rows as near as the last of them, was found."""
    limits = true.keys[:, -1:] * (1 + NEGATIVE[8])
    return float(np.mean(found.keys <= limits))


def exact_neighbors(measure: FeatureMeasure, Z: Array, diagonal: np.ndarray, own: np.ndarray, k: int) -> Found:
    """The k nearest rows of rows other than themselves, by blocks of all pairs."""
    return without_own(BlockSearch(measure).nearest(Z, diagonal, k + 1), own)


def without_own(found: Found, own: np.ndarray) -> Found:
    """Neighbours of rows without the rows themselves, one fewer for each."""
    is_own = found.numbers == own[:, None]
    is_own[~is_own.any(axis=1), -1] = True
    shape = found.keys.shape[0], found.keys.shape[1] - 1
    keys, numbers = found.keys[~is_own].reshape(shape), found.numbers[~is_own].reshape(shape)
    return Found(*in_order(keys, numbers), found.certain)
