"""Lines that sum up those above them: last ones, whatever they are called, and subtotals between others."""

import re
from collections.abc import Iterable, Sequence
from math import fsum

from preimage.cli._errors import FileError
from preimage.cli.tables._numbers import NumberFormat

# Of fewer rows, one is the sum of the others by chance.
FEWEST_ROWS = 5
# A sum of rounded numbers may differ from the rounded sum by half a unit for each of them, and by no more than this.
MOST_ROUNDED = 1e-3

# How lines begin that sum up a group of those above them.
_SUBTOTALS = re.compile(
    r"\s*[\"']?(?:sub-?totale?|sous-total|zwischen(?:summe|ergebnis)|teilergebnis|subtotale|delsumma|mellansumma"
    r"|suma częściowa|промежуточный итог)\b",
    re.I,
)


def check_subtotals(lines: Iterable[str]) -> None:
    """Refuse a table with lines between others that are called subtotals."""
    if found := next(filter(None, map(_SUBTOTALS.match, lines)), None):
        raise FileError(
            f"it has lines that begin with {found[0].strip()} and may sum up others. Leave them out with --comment "
            f"'{found[0].strip()}', or take them as rows with --comment none."
        )


def check_last(rows: Sequence[Sequence[str]], numbers: NumberFormat) -> None:
    """Refuse a table whose last row has the sum of a column."""
    if any(_ends_with_sum(column, numbers) for column in zip(*rows)):
        raise FileError(
            "its last line has the sum of those above. Leave it out with --skip-footer 1, or take it as a row with "
            "--skip-footer 0."
        )


def _ends_with_sum(column: Sequence[str], numbers: NumberFormat) -> bool:
    """Whether the last of at least some numbers, none of them negative, is the sum of the others."""
    form = numbers.of_column(column)
    if not form.is_number(column[-1]):
        return False
    *values, last = [form.value(cell) for cell in column if form.is_number(cell)]
    total = fsum(values)
    # A number of the same kind as the others, of which some add up to it by chance, is hardly ever twice as large.
    if len(values) < FEWEST_ROWS or min(values) < 0 or not 2 * max(values) < last < float("inf"):
        return False
    of_rounding = 0.5 * len(values) * 10.0**-form.digits.decimals
    return abs(last - total) <= min(of_rounding, MOST_ROUNDED * total) + 1e-12 * total
