"""The triangular factor of the kernel among pivots, and what it says about rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage.feature_space._elimination import is_significant


@dataclass(frozen=True)
class Pivots:
    """Some b pivots after the first m.

    Attributes
    ----------
    numbers : integer array of shape (b,)
        Row numbers, -1 for points that are no rows.
    along : array of shape (m, b)
        Their coordinates along the first m axes.
    L : array of shape (b, b)
        Cholesky factor of what these axes leave of the kernel among them.
    coefficients : array of shape (b, m + b)
        Of their axes, on the earlier pivots and on themselves.
    floor : array of shape (b,)
        Rounding errors of k(x, x).
    """

    numbers: np.ndarray
    along: np.ndarray
    L: np.ndarray
    coefficients: np.ndarray
    floor: np.ndarray

    def first(self, count: int) -> Pivots:
        columns = self.along.shape[0] + count
        L, coefficients = self.L[:count, :count], self.coefficients[:count, :columns]
        return Pivots(self.numbers[:count], self.along[:, :count], L, coefficients, self.floor[:count])


class PivotFactor:
    r"""The factor L of the kernel matrix :math:`W = L L^\top` among pivots, and its inverse; both grow by blocks.

    Row r of L has the coordinates of pivot r along the axes, row r of :math:`L^{-1}` the coefficients of axis r on the
    pivots. Both are in NumPy and in double precision.

    Attributes
    ----------
    numbers : integer array of shape (m,)
        Row numbers of the pivots, -1 for those that are no rows.
    floor : array of shape (m,)
        Rounding errors of k(x, x) of the pivots.
    """

    def __init__(self, capacity: int) -> None:
        self.numbers, self.floor = np.zeros(0, dtype=np.int64), np.zeros(0)
        self._L, self._inverse = np.zeros((capacity, capacity)), np.zeros((capacity, capacity))

    def __len__(self) -> int:
        return self.numbers.size

    @property
    def coefficients(self) -> np.ndarray:
        """L⁻¹, shape (m, m)."""
        return self._inverse[: len(self), : len(self)]

    def followed_by(self, numbers: np.ndarray, along: np.ndarray, L: np.ndarray, floor: np.ndarray) -> Pivots:
        """The next pivots, with the coefficients of their axes; parameters are attributes of `Pivots`."""
        inverse = 1 / L if L.shape[0] == 1 else np.linalg.solve(L, np.eye(L.shape[0]))
        coefficients = np.concatenate([-inverse @ (along.T @ self.coefficients), inverse], axis=1)
        return Pivots(numbers, along, L, coefficients, floor)

    def count_sound(self, pivots: Pivots) -> int:
        """How many of the next pivots, from the first on, have residuals beyond rounding.

        The axis of a pivot with coefficients c has length one; rounding moves the square of that by Σ cᵢ²·floorᵢ (G18).
        """
        floor = np.append(self.floor, pivots.floor)
        is_sound = is_significant(1.0, (pivots.coefficients * pivots.coefficients) @ floor)
        return len(is_sound) if is_sound.all() else int(np.argmin(is_sound))

    def append(self, pivots: Pivots) -> None:
        m, stop = len(self), len(self) + len(pivots.numbers)
        self._make_room(stop)
        self._L[m:stop, :m], self._L[m:stop, m:stop] = pivots.along.T, pivots.L
        self._inverse[m:stop, :stop] = pivots.coefficients
        self.numbers, self.floor = np.append(self.numbers, pivots.numbers), np.append(self.floor, pivots.floor)

    def block(self, start: int, stop: int) -> Pivots:
        """Pivots `start` to `stop` as they were appended, as points that are no rows."""
        part = slice(start, min(stop, len(self)))
        L, floor = self._L[part, part], self.floor[part]
        return Pivots(np.full(len(L), -1), self._L[part, :start].T, L, self._inverse[part, : part.stop], floor)

    def _make_room(self, count: int) -> None:
        m, capacity = len(self), self._L.shape[0]
        if count <= capacity:
            return
        capacity = max(2 * capacity, count)
        L, inverse = self._L, self._inverse
        self._L, self._inverse = np.zeros((capacity, capacity)), np.zeros((capacity, capacity))
        self._L[:m, :m], self._inverse[:m, :m] = L[:m, :m], inverse[:m, :m]
