"""The first pass over a file: how many rows, all finite, and a sample of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

# Rows from which widths are found and landmarks chosen, and bytes that they may take where rows are long.
SAMPLE_ROWS, SAMPLE_BYTES = 10_000, 2**26
# Candidates for every landmark, at least and at most.
FEWEST_CANDIDATES, MOST_CANDIDATES = 5, 10


@dataclass(frozen=True)
class Survey:
    """Number of rows of a file, and a sample of them without replacement, in the order of the file."""

    n_rows: int
    sample: Any


def survey(source, chunk_rows, sample_rows, seed, advance=lambda rows: None):
    """Read a file once.

    Every row draws a number, and those with the smallest are the sample: it depends on the rows and the seed, not on
    chunks or the format of the file.
    """
    rng, n = np.random.default_rng(seed), 0
    rows, draws = np.empty((0, source.n_columns), source.dtype), np.empty(0)
    numbers = np.empty(0, dtype=np.int64)
    for chunk in source.chunks(chunk_rows):
        drawn = rng.random(len(chunk))
        limit = draws.max() if len(draws) and len(draws) == sample_rows else np.inf
        new = np.flatnonzero(drawn < limit)
        if sample_rows and len(new):
            draws, numbers = np.concatenate([draws, drawn[new]]), np.concatenate([numbers, n + new])
            best = np.sort(np.argsort(draws, kind="stable")[:sample_rows])
            kept = best[best < len(rows)]
            rows = np.concatenate([rows[kept], chunk[new[best[len(kept) :] - len(rows)]]])
            draws, numbers = draws[best], numbers[best]
        n += len(chunk)
        advance(len(chunk))
    return Survey(n, rows[np.argsort(numbers)])


def sample_size(source, n_landmarks):
    """Rows of a sample in which to choose so many landmarks."""
    affordable = SAMPLE_BYTES // (source.n_columns * source.dtype.itemsize)
    return max(FEWEST_CANDIDATES * n_landmarks, min(max(SAMPLE_ROWS, MOST_CANDIDATES * n_landmarks), affordable))
