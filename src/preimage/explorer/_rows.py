"""The rows that a page draws: which ones, their inputs in the units of their user, and what is said about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._engine.arrays import is_chunked, is_sparse, known_rows, take_rows, to_dense, to_numpy, without_frame
from preimage._engine.typing import Rows, Seed
from preimage._engine.validation import count_rows, generator, is_stream
from preimage.explorer._labels import Groups, Measurements, read_columns
from preimage.explorer._precision import deviations, in_single, require_moderate
from preimage.widths._class_gram import stratified_rows

# Bytes of all inputs of a page. Browsers hold ten times more, but people do not wait for it: of images of 40,000
# voxels, one byte each, 400 rows are drawn.
MOST_BYTES = 16_000_000
# Kinds of rows whose values are grey levels: 256 of them are all that one sees.
PICTURES = ("image", "volume")
# Levels within the standard deviation of a typical picture, at least. Fewer show: a single bright pixel, or a bright
# scan, takes nearly all of the 256.
FEWEST_LEVELS = 8


@dataclass(frozen=True)
class DrawnRows:
    """Some rows of a user, in the container that they came in and as numbers.

    Attributes
    ----------
    total : int
        Rows that there are.
    numbers : array of shape (count,)
        Which of them are drawn.
    given : array, sparse matrix or data frame of count rows
    values : array of shape (count, D)
        The same in NumPy and double precision, NaN where entries are missing.
    labels : Groups or None
    columns : list of Groups and Measurements
    reason : str
        Why not all rows are drawn, where that is so.
    """

    total: int
    numbers: np.ndarray
    given: Rows
    values: np.ndarray
    labels: Groups | None
    columns: list[Groups | Measurements]
    reason: str

    @classmethod
    def of(
        cls,
        X: Rows,
        labels: Groups | Measurements | None,
        colors: Any,
        most: int,
        value_bytes: int,
        random_state: Seed,
    ) -> DrawnRows:
        """At most `most` rows of X, labels in proportion; fewer where rows are so long that a page would be huge.

        `value_bytes` is what one value of a row takes on the page.
        """
        total, columns = number_of_rows(X), read_columns(colors, number_of_rows(X))
        groups = labels if isinstance(labels, Groups) else None
        columns = [labels, *columns] if isinstance(labels, Measurements) else columns
        first = as_numbers(rows_of(X, np.arange(1)))
        room = max(1, MOST_BYTES // max(1, value_bytes * first.shape[1]))
        numbers = chosen_rows(total, min(most, room), groups, generator(random_state))
        given = rows_of(X, numbers)
        long = f", because each has {first.shape[1]:,} values" if room < min(most, total) else ""
        return cls(total, numbers, given, as_numbers(given), groups, columns, long)

    @property
    def names(self) -> list[str] | None:
        """Names of columns, where the rows are a data frame that has them."""
        names = getattr(self.given, "columns", None)
        return None if names is None or not all(isinstance(name, str) for name in names) else [*map(str, names)]

    def messages(self) -> list[str]:
        """What the page should say about its rows."""
        count = self.numbers.size
        if count == self.total:
            return []
        proportion = ", labels in proportion" if self.labels is not None else ""
        are_drawn = "is drawn" if count == 1 else "are drawn"
        return [f"{count:,} of {self.total:,} rows {are_drawn}, chosen at random{proportion}{self.reason}."]

    def record(self, inputs: np.ndarray, kind: str) -> dict[str, Any]:
        """The entry of a page, with inputs as imputers have filled them, and which of them those are."""
        gaps = np.isnan(self.values)
        return {
            "total": self.total,
            "count": self.numbers.size,
            "rows": self.numbers.astype(np.int32),
            **input_record(inputs, kind),
            "gaps": gaps.astype(np.uint8) if np.any(gaps) else None,
            "labels": None if self.labels is None else self.labels.at(self.numbers),
            "columns": [column.at(self.numbers) for column in self.columns],
        }


def filled_entries(values: np.ndarray) -> list[str]:
    """What the page should say of entries that imputers have filled."""
    missing = np.isnan(values)
    if not np.any(missing):
        return []
    rows = int(np.sum(np.any(missing, axis=1)))
    entries = int(np.sum(missing))
    said = (
        "a missing entry; it is shown as the model's imputer filled it."
        if entries == 1
        else f"{entries:,} missing entries; they are shown as the model's imputer filled them."
    )
    return [f"{rows:,} of the drawn rows had {said}"]


def number_of_rows(X: Rows) -> int:
    """How many rows X has, wherever they are."""
    if is_stream(X):
        raise TypeError("explore was given an iterator of blocks, which can be read once only. Pass some of the rows.")
    n = int(known_rows(without_frame(X)).shape[0] if is_chunked(X) else count_rows(X))
    if n == 0:
        raise ValueError("explore needs rows to draw; X has none.")
    return n


def chosen_rows(n: int, most: int, groups: Groups | None, rng: np.random.Generator) -> np.ndarray:
    """Numbers of at most `most` rows, ascending; groups in proportion, and two rows at least of rare ones."""
    if n <= most:
        return np.arange(n)
    some = stratified_rows(np.zeros(n, int) if groups is None else groups.codes, most, rng)
    # Proportions are rounded down, and two rows of every group may be too many.
    if some.size > most:
        return np.sort(rng.choice(some, most, replace=False))
    others = np.setdiff1d(np.arange(n), some, assume_unique=True)
    return np.sort(np.concatenate([some, rng.choice(others, most - some.size, replace=False)]))


def rows_of(X: Rows, rows: np.ndarray) -> Rows:
    """Some rows of X in memory; those of a data frame as one, so that models see the names of its columns."""
    if is_chunked(X):
        return take_rows(known_rows(without_frame(X)), rows)
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if isinstance(X, (list, tuple)):
        return np.asarray(X)[rows]
    if hasattr(X, "get_column"):  # Polars
        return X[rows.tolist()]
    some = take_rows(X.tocsr() if is_sparse(X) else X, rows)
    # Scalers of scikit-learn would compute in the precision of their input, and overflow.
    return some.astype(np.float64) if isinstance(some, np.ndarray) and some.dtype.kind == "f" else some


def as_numbers(rows: Rows) -> np.ndarray:
    """Rows in memory as a new NumPy array of double precision, with NaN where entries are missing."""
    if np.iscomplexobj(rows):
        raise ValueError("explore needs rows of real numbers; X has complex ones.")
    if isinstance(rows, np.ma.MaskedArray):
        rows = np.ma.filled(rows.astype(np.float64), np.nan)
    if hasattr(rows, "iloc"):
        rows = rows.to_numpy(na_value=np.nan)  # columns of pandas may have a missing value of their own
    rows = rows.to_numpy() if hasattr(rows, "to_numpy") else to_numpy(to_dense(rows))
    try:
        numbers = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"explore needs rows of numbers in X: {error}.") from error
    if numbers.ndim != 2:
        raise ValueError(f"explore needs X of two dimensions, (rows, columns); got an array of shape {numbers.shape}.")
    require_moderate(numbers, "X")
    return numbers


def input_record(X: np.ndarray, kind: str) -> dict[str, Any]:
    """Inputs of the drawn rows: bytes with `low` and `step` for pictures, in single precision for curves and tables.

    Grey levels of images share one scale. Voxels have scales of their own: they differ more from each other than from
    scan to scan. Pictures of which bytes would show are in single precision, too.
    """
    if kind in PICTURES:
        axis = None if kind == "image" else 0
        low, high = np.min(X, axis=axis), np.max(X, axis=axis)
        step = np.where(high > low, (high - low) / 255, 1.0)
        plain = (lambda value: float(value)) if kind == "image" else (lambda value: value)
        levels = np.rint((X - low) / step)
        if np.median(np.std(levels, axis=1)) >= FEWEST_LEVELS:
            return {"inputs": levels.astype(np.uint8), "low": plain(low), "step": plain(step)}
    return {"inputs": in_single(X, deviations(X))}
