"""A sample of rows that come in chunks, without replacement, and the same whatever the chunks."""

from typing import Any

import numpy as np

from preimage._engine.typing import Array


class RowSample:
    """At most `size` rows of all that are added, any set of them equally likely, in the order in which they came.

    Every row draws a number, and those with the smallest are the sample: it depends on the rows and the seed, not on
    where chunks end.

    Parameters
    ----------
    size : int
    n_columns : int
    dtype : dtype
    seed : int

    Attributes
    ----------
    rows : array of shape (min(size, n_seen), n_columns)
        The sample.
    n_seen : int
        Number of rows that were added.
    """

    def __init__(self, size: int, n_columns: int, dtype: Any, seed: int) -> None:
        self.size = size
        self.rows, self.n_seen = np.empty((0, n_columns), dtype), 0
        # What each row of the sample drew.
        self._draws, self._rng = np.empty(0), np.random.default_rng(seed)

    def add(self, chunk: Array) -> None:
        """Further rows, an array of shape (q, n_columns)."""
        drawn, n_known = self._rng.random(len(chunk)), len(self.rows)
        self.n_seen += len(chunk)
        # Most rows of a long file draw more than the largest that is kept: they are neither sorted nor copied.
        new = np.flatnonzero(drawn < (self._draws.max(initial=0.0) if n_known == self.size else np.inf))
        if len(new):
            draws = np.concatenate([self._draws, drawn[new]])
            best = np.sort(np.argsort(draws, kind="stable")[: self.size])
            kept, come = best[best < n_known], best[best >= n_known] - n_known
            self.rows, self._draws = np.concatenate([self.rows[kept], chunk[new[come]]]), draws[best]
