"""Last lines that sum up those above them, whatever they are called."""

from collections.abc import Sequence
from math import fsum

from preimage.cli._errors import FileError
from preimage.cli.tables._numbers import NumberFormat

# Of fewer rows, one is the sum of the others by chance.
FEWEST_ROWS = 5
# A sum of rounded numbers may differ from the rounded sum by half a unit for each of them, and by no more than this.
MOST_ROUNDED = 1e-3


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
