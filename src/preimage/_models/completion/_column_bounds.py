"""Whether filled entries stay within the range of their column: where known entries say so that were hidden."""

import numpy as np

# How far bounds lie beyond the range of a column where its range is no bound, as a fraction of the range: entries of
# new rows lie beyond it by a tenth or two, and a trend that goes astray stays near.
WIDENED = 0.5


def wide_columns(
    values: np.ndarray,
    known: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    truth: np.ndarray,
    restored: np.ndarray,
) -> np.ndarray:
    """Columns in which entries are restored better when they may lie beyond the range of other known entries.

    A column is judged by its own entries; where these are the same with bounds and without, by those of all columns.

    Parameters
    ----------
    values : array of shape (n, d)
        Missing entries are not read.
    known : boolean array of shape (n, d)
    rows, columns : integer arrays of shape (m,)
        Places of entries that were hidden.
    truth, restored : arrays of shape (m,)

    Returns
    -------
    boolean array of shape (d,)
    """
    low, high = (_range_of_others(sign * values, known, rows, columns) * sign for sign in (-1.0, 1.0))
    inside = np.clip(restored, np.minimum(low, high), np.maximum(low, high))
    harm = (inside - truth) ** 2 - (restored - truth) ** 2
    per_column = np.bincount(columns, weights=harm, minlength=values.shape[1])
    return np.where(per_column != 0, per_column > 0, harm.sum() > 0)


def _range_of_others(values: np.ndarray, known: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The largest known value of each entry's column in other rows; the entry's own where there are none."""
    present = np.where(known, values, -np.inf)
    largest = present.argmax(axis=0)
    best = present.max(axis=0)
    second = np.where(np.arange(len(values))[:, None] == largest, -np.inf, present).max(axis=0)
    found = np.where(rows == largest[columns], second[columns], best[columns])
    return np.where(np.isfinite(found), found, best[columns])


def widened(low: np.ndarray, high: np.ndarray, wide: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of columns, beyond their ranges in the columns that are `wide`."""
    margin = np.where(wide, WIDENED * (high - low), 0.0)
    return low - margin, high + margin
