"""How many landmarks a machine needs: left-out losses by their number, and the smallest number that does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

# The first number of landmarks that losses without a path are fitted on, and by which factor the next is larger.
FIRST_NUMBER, GROWTH = 16, 2
# Numbers in a row that are not clearly better than one before them end the search.
MOST_IN_VAIN = 2


@dataclass(frozen=True)
class LeftOutCurve:
    """Mean losses of rows that were left out, by numbers of landmarks.

    Attributes
    ----------
    n_landmarks : integer array of shape (c,)
    loss : array of shape (c,)
        Weighted means over rows, to first order for losses other than the squared one (G22).
    standard_error : array of shape (c,)
        Of these means, over rows.
    """

    n_landmarks: np.ndarray
    loss: np.ndarray
    standard_error: np.ndarray

    @property
    def smallest(self) -> int:
        """The smallest number of landmarks whose loss is within a standard error of the smallest loss."""
        best = int(np.argmin(self.loss))
        return int(self.n_landmarks[np.argmax(self.loss <= self.loss[best] + self.standard_error[best])])

    @classmethod
    def of_sums(
        cls, numbers: np.ndarray, sums: np.ndarray, doubly: np.ndarray, squares: np.ndarray, weights: np.ndarray
    ) -> LeftOutCurve:
        """From Σ we, Σ w²e and Σ w²e² of the losses e of rows, each of shape (c,)."""
        total, mean = weights.sum(), sums / weights.sum()
        spread = squares - 2 * mean * doubly + mean**2 * (weights @ weights)
        return cls(numbers, mean, np.sqrt(np.maximum(spread, 0.0)) / total)

    @classmethod
    def of_rows(cls, numbers: list[int], losses: list[np.ndarray], weights: np.ndarray | None) -> LeftOutCurve:
        """From losses (n,) of rows, one array for every number of landmarks."""
        weights, E = np.ones(losses[0].size) if weights is None else weights, np.stack(losses, axis=1)
        return cls.of_sums(np.array(numbers), weights @ E, weights**2 @ E, weights**2 @ E**2, weights)


def numbers_to_try(most: int) -> Iterator[int]:
    """Sixteen, and twice as many again and again; the last is `most`."""
    number = FIRST_NUMBER
    while number < most:
        yield number
        number *= GROWTH
    yield most


def is_settled(curve: LeftOutCurve) -> bool:
    """Whether larger numbers than the last promise nothing: some before it do as well, up to a standard error."""
    return int(np.sum(curve.n_landmarks > curve.smallest)) >= MOST_IN_VAIN
