"""The rows that a page draws, with all that it says about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._engine.typing import Rows, Seed
from preimage._engine.validation import generator
from preimage.explorer._labels import Groups, Measurements, read_columns
from preimage.explorer._samples import MOST_BYTES, as_numbers, chosen_rows, input_record, number_of_rows, rows_of


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
        """The entry of a page, with inputs as imputers have filled them."""
        return {
            "total": self.total,
            "count": self.numbers.size,
            "rows": self.numbers.astype(np.int32),
            **input_record(inputs, kind),
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
