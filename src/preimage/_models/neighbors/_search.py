"""The search for nearest rows, and the two that are exact: blocks of all pairs, and distances of inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from preimage._engine.arrays import is_sparse, take_rows
from preimage._engine.memory import work_memory
from preimage._engine.progress import stage
from preimage._engine.rows import cut, for_blocks
from preimage._engine.threads import available_threads
from preimage._engine.typing import Array
from preimage._engine.warnings import filters_in_use
from preimage._models.neighbors._measures import InputMeasure, Measure, doubled, input_metric

# Arrays of all pairs of a block of queries and all rows that a search holds: kernel values, squared distances, and
# numbers of rows in the order of a partition.
ARRAYS_OF_PAIRS = 4
# Queries of a block where memory allows more: enough for products of matrices to be fast, and few enough for blocks of
# 100,000 rows to stay below 50 MB, beyond which each pass over them waits for memory.
MOST_QUERIES = 64
# Further rows by distances of inputs, among which ties are seen, and in single precision, where rounding errors change
# the order. Rows with more ties than that are looked for in blocks.
FURTHER = 8


@dataclass(frozen=True)
class Found:
    """The nearest rows of some queries.

    Attributes
    ----------
    keys : array of shape (q, k)
        Settled keys of a `Measure`, ascending.
    numbers : integer array of shape (q, k)
        Rows; of equal keys, the first come first.
    certain : bool array of shape (q,)
        Whether no other row can be nearer.
    """

    keys: np.ndarray
    numbers: np.ndarray
    certain: np.ndarray

    @classmethod
    def room(cls, q: int, k: int) -> Found:
        return cls(np.empty((q, k)), np.empty((q, k), dtype=int), np.ones(q, dtype=bool))


class Search(ABC):
    """Nearest rows for queries Z, whose k(z, z) are given where they are known, and zero otherwise."""

    measure: Measure

    @abstractmethod
    def nearest(self, Z: Array, diagonal: np.ndarray, k: int) -> Found:
        """The k nearest rows of each query, at most as many as there are."""

    @abstractmethod
    def within(self, Z: Array, diagonal: np.ndarray, radius: float) -> list[tuple[np.ndarray, np.ndarray]]:
        """Keys and numbers of the rows at distances of at most `radius` from each query, all of them."""


@dataclass(frozen=True)
class BlockSearch(Search):
    """All pairs, in blocks of queries that fit into memory."""

    measure: Measure

    def nearest(self, Z: Array, diagonal: np.ndarray, k: int) -> Found:
        found, n = Found.room(Z.shape[0], k), self.measure.points.shape[0]
        keys, further = self.measure.keys(Z, diagonal), min(n, k + FURTHER)
        is_doubtful = np.zeros(Z.shape[0], dtype=bool)

        def fill(rows: slice) -> None:
            values = keys(rows)
            if self.measure.is_single:
                for query, row, candidates in zip(
                    range(rows.start, rows.stop), values, smallest(values, further), strict=True
                ):
                    here = slice(query, query + 1)
                    best = ranked(self.measure, Z[here], diagonal[here], candidates)
                    found.keys[query], found.numbers[query] = best[0][:k], best[1][:k]
                    # Rows that are no candidates are farther than the last of them, up to rounding errors.
                    rounding = self.measure.rounding(row[candidates], diagonal[query], candidates)
                    is_doubtful[query] = further < n and best[0][k - 1] > np.max(row[candidates]) - rounding
                return
            numbers = smallest(values, k)
            pairs = np.take_along_axis(values, numbers, axis=1), diagonal[rows, None], numbers
            found.keys[rows], found.numbers[rows] = in_order(self.measure.settled(*pairs), numbers)

        self._over_blocks(fill, Z)
        if len(doubtful := np.flatnonzero(is_doubtful)):
            again = self.exact_nearest(take_rows(Z, doubtful), diagonal[doubtful], k)
            found.keys[doubtful], found.numbers[doubtful] = again.keys, again.numbers
        return found

    def exact_nearest(self, Z: Array, diagonal: np.ndarray, k: int) -> Found:
        """`nearest` in double precision, of all pairs."""
        return self._in_double().nearest(doubled(self.measure.kernel, Z), diagonal, k)

    def within(self, Z: Array, diagonal: np.ndarray, radius: float) -> list[tuple[np.ndarray, np.ndarray]]:
        if self.measure.is_single:  # errors of its distances would decide which rows are within the radius
            return self._in_double().within(doubled(self.measure.kernel, Z), diagonal, radius)
        found: list[Any] = [None] * Z.shape[0]
        keys, every = self.measure.keys(Z, diagonal), np.arange(self.measure.points.shape[0])

        def fill(rows: slice) -> None:
            values = self.measure.settled(keys(rows), diagonal[rows, None], every)
            near = self.measure.distances(values) <= radius
            for query, row, is_near in zip(range(rows.start, rows.stop), values, near, strict=True):
                found[query] = row[is_near], np.flatnonzero(is_near)

        self._over_blocks(fill, Z)
        return found

    def _in_double(self) -> BlockSearch:
        if not self.measure.is_single:
            return self
        return BlockSearch(self.measure.taken(np.arange(self.measure.points.shape[0])))

    def _over_blocks(self, fill: Any, Z: Array) -> None:
        over_blocks(fill, Z, 8 * ARRAYS_OF_PAIRS * self.measure.points.shape[0], MOST_QUERIES)


@dataclass(frozen=True)
class InputSearch(Search):
    """Neighbours by distances of inputs, by scikit-learn's trees in few dimensions and its blocks in many."""

    measure: InputMeasure

    @cached_property
    def _inputs(self) -> NearestNeighbors:
        """Made when it is first needed, also after loading: files hold no compiled objects."""
        return NearestNeighbors(metric=input_metric(self.measure.kernel)).fit(self._moved(self.measure.points))

    def __getstate__(self) -> dict[str, Any]:
        return {"measure": self.measure}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    @cached_property
    def _origin(self) -> Any:
        """The mean of the rows: scikit-learn's distances lose digits far from the origin."""
        points = self.measure.points
        return 0.0 if is_sparse(points) else np.mean(points, axis=0, dtype=np.float64).astype(points.dtype)

    def _moved(self, rows: Array) -> Array:
        return rows if is_sparse(rows) else rows - self._origin

    def nearest(self, Z: Array, diagonal: np.ndarray, k: int) -> Found:
        n = self.measure.points.shape[0]
        found, wanted = Found.room(Z.shape[0], k), min(n, k + FURTHER)
        inputs, rows = self._inputs, self._moved(Z)
        with filters_in_use:  # scikit-learn sets warning filters for its threads, and restores them
            candidates = inputs.kneighbors(rows, wanted, return_distance=False)
        has_ties = np.zeros(Z.shape[0], dtype=bool)
        for query, numbers in enumerate(candidates):
            keys, numbers = ranked(self.measure, Z[query : query + 1], diagonal[query : query + 1], numbers)
            has_ties[query] = wanted < n and keys[k - 1] == keys[-1]
            found.keys[query], found.numbers[query] = keys[:k], numbers[:k]
        if len(tied := np.flatnonzero(has_ties)):
            again = BlockSearch(self.measure).exact_nearest(take_rows(Z, tied), diagonal[tied], k)
            found.keys[tied], found.numbers[tied] = again.keys, again.numbers
        return found

    def within(self, Z: Array, diagonal: np.ndarray, radius: float) -> list[tuple[np.ndarray, np.ndarray]]:
        return BlockSearch(self.measure).within(Z, diagonal, radius)


def smallest(keys: np.ndarray, k: int) -> np.ndarray:
    """Numbers of the k smallest keys of each row, in any order; of equal keys at the end, the first."""
    q, n = keys.shape
    if k == n:
        return np.broadcast_to(np.arange(n), (q, n)).copy()
    numbers = np.argpartition(keys, k - 1, axis=1)[:, :k]
    largest = np.max(np.take_along_axis(keys, numbers, axis=1), axis=1)
    for row in np.flatnonzero(np.count_nonzero(keys <= largest[:, None], axis=1) > k):
        equal = np.flatnonzero(keys[row] <= largest[row])
        numbers[row] = equal[np.argsort(keys[row][equal], kind="stable")[:k]]
    return numbers


def in_order(keys: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys of each row ascending, with their numbers, of equal keys the first number first."""
    order = np.lexsort((numbers, keys), axis=-1)
    return np.take_along_axis(keys, order, axis=-1), np.take_along_axis(numbers, order, axis=-1)


def ranked(measure: Measure, z: Array, diagonal: np.ndarray, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys of one query with some rows, ascending, and the numbers of these rows."""
    return ranked_together(measure, z, diagonal, [candidates])[0]


def ranked_together(
    measure: Measure, Z: Array, diagonal: np.ndarray, candidates: list[np.ndarray]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The same for several queries, each with rows of its own."""
    rows = np.unique(np.concatenate(candidates))
    taken = measure.taken(rows)
    keys = taken.keys(doubled(measure.kernel, Z), diagonal)(slice(0, len(candidates)))
    found = []
    for query, own in enumerate(candidates):
        columns = np.searchsorted(rows, own)
        found.append(in_order(taken.settled(keys[query, columns], diagonal[query], columns), own))
    return found


def over_blocks(fill: Any, Z: Array, bytes_per_query: int, most: int) -> None:
    """`fill` of slices of the queries, as many at once as memory for each of them allows on all threads."""
    q = Z.shape[0]
    room = work_memory(Z) // (bytes_per_query * available_threads())
    with stage("Looking for neighbours", q) as advance:

        def counted(rows: slice) -> None:
            fill(rows)
            advance(rows.stop - rows.start)

        for_blocks(counted, cut(q, int(min(max(room, 1), most))), Z)
