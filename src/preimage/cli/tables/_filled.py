"""Columns of a table with numbers in their gaps, and all else as it was written."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._engine.typing import Array
from preimage.cli.tables._numbers import TRUTHS, Kind, NumberFormat
from preimage.cli.tables._optional import need
from preimage.cli.tables._texts import Numbers

# A number in the gap of a column of truth values is the fraction of similar rows in which it is true.
TRUE_FROM = 0.5


@dataclass(frozen=True)
class Filled:
    """Some rows of a column of a table, and numbers for its gaps.

    Attributes
    ----------
    there : pyarrow array
        The column as it is in the table: texts, or values of some type.
    numbers : array of shape (rows,)
        Those of the table, and others in its gaps.
    kind : Kind
    format : NumberFormat
        How texts are written.
    has_gaps : bool
        Whether the column, in these rows or in others, has gaps.
    rounded : bool
        Whether numbers in the gaps of columns of whole numbers are whole.
    truth : str
        The first truth value of the column, if it is one of texts.
    """

    there: Any
    numbers: Array
    kind: Kind
    format: NumberFormat
    has_gaps: bool
    rounded: bool
    truth: str = "true"

    @property
    def is_text(self) -> bool:
        return need("pyarrow", "Tables").types.is_string(self.there.type)

    def gaps(self) -> Any:
        """Where the table has no value, as a pyarrow array."""
        arrow, compute = need("pyarrow", "Tables"), need("pyarrow.compute", "Tables")
        if self.is_text:
            return arrow.array(np.isnan(Numbers(self.format, self.kind)(self.there)))
        return compute.is_null(self.there, nan_is_null=True)

    def typed(self) -> Any:
        """All rows with one type: that of the table where it holds the numbers, else double precision."""
        arrow, compute = need("pyarrow", "Tables"), need("pyarrow.compute", "Tables")
        if self.kind is Kind.TRUTH:
            return arrow.array(self.numbers >= TRUE_FROM)
        if not self.has_gaps and not self.is_text:
            return self.there
        numbers = arrow.array(np.ascontiguousarray(self.numbers, dtype=float))
        known = self.there.type
        if self.is_text or not (arrow.types.is_floating(known) or (self.rounded and arrow.types.is_integer(known))):
            return numbers
        new = compute.cast(compute.if_else(self.gaps(), numbers, None), known, safe=False)
        return compute.if_else(self.gaps(), new, self.there)

    def words(self) -> Any:
        """Texts for the gaps of a column of truth values, written as those that it has."""
        change = next((f for f in (str.lower, str.upper) if f(self.truth) == self.truth), str.capitalize)
        words = [change("true" if value >= TRUE_FROM else "false") for value in self.numbers]
        return need("pyarrow", "Tables").array(words)


def first_truth(batches: Iterator[list[Any]]) -> str:
    """The first truth value of batches of one column of texts, or "true"."""
    for (column,) in batches:
        for text in column.to_pylist():
            if isinstance(text, str) and text.strip().lower() in TRUTHS:
                return text.strip()
    return "true"
