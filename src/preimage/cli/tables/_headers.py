"""Which lines of a table are names, and which column is an index."""

import re
from collections.abc import Sequence

import numpy as np

from preimage.cli._errors import FileError
from preimage.cli.tables._numbers import Kind, NumberFormat, counts_on, counts_rows, is_whole

# Names of a first column that is an index where it counts rows; pandas gives the one with a number.
INDEX_NAMES = re.compile(
    r"unnamed: \d+(?:\.\d+)?|__index_level_\d+__|#|(?:row|sample|record|case|obs)?[ _.]?"
    r"(?:id|index|idx|no|nr|num|number|names?)|row|obs",
    re.I,
)
# Names of columns that may well name what rows are about, wherever they are.
ID_NAMES = re.compile(r"(?:.+[ _.-])?(?i:id|index|idx|no|nr|number)|.*[a-z]I[dD]")
# Rows of a table without a header from which on a first column is known to count them.
FEWEST_TO_COUNT = 5
# So many numbers increase by chance in one of 720 rows.
FEW_CHANCES = 6

Rows = Sequence[Sequence[str]]


def is_header(first: Sequence[str], rows: Rows, numbers: NumberFormat) -> bool | None:
    """Whether `first` has the names of the columns of `rows`; None if that cannot be told."""
    if not rows:
        return not all(numbers.is_number(cell) for cell in first)
    columns = list(zip(*rows))
    kinds = [numbers.kind(column) for column in columns]
    if first[0].strip() == "" and all(cell.strip() for cell in first[1:]) and _can_name_rows(columns[0]):
        return True
    if _are_numbers_above_words(first, kinds, numbers):
        return True
    judged = [place for place, kind in enumerate(kinds) if kind in (Kind.NUMBER, Kind.TRUTH, Kind.MIXED)]
    if not judged:
        return True
    cells = [first[place] for place in judged]
    figures = [place for place in judged if numbers.is_number(first[place])]
    words = [cell for cell in cells if not numbers.is_number(cell) and not numbers.is_missing(cell)]
    if all(cell.strip().lower() in ("true", "false") for cell in words) and words:
        truths = [place for place in judged if kinds[place] is Kind.TRUTH]
        return None if len(words) > len(truths) else False
    if words and not figures:
        return True
    if not words and len(figures) < len(judged):
        return False  # a row with missing values
    answer = _numbers_are_names(figures, first, columns, numbers)
    if words and answer is False:
        # Some names and some numbers: a header with years, or a row with a slip of the pen.
        return True if 2 * len(words) >= len(judged) else None
    return answer


def _are_numbers_above_words(first: Sequence[str], kinds: Sequence[Kind], numbers: NumberFormat) -> bool:
    """Whether there are distinct numbers in the first line, some of them above columns of words."""
    cells = [cell.strip() for cell in first if cell.strip()]
    above_words = [cell for cell, kind in zip(first, kinds) if kind in (Kind.TEXT, Kind.TRUTH)]
    are_numbers = all(map(numbers.is_number, cells)) and any(map(numbers.is_number, above_words))
    return are_numbers and len(set(cells)) == len(cells)


def _can_name_rows(column: Sequence[str]) -> bool:
    return all(cell.strip() for cell in column) and len(set(column)) == len(column)


def _numbers_are_names(
    places: list[int], first: Sequence[str], columns: list[tuple[str, ...]], numbers: NumberFormat
) -> bool | None:
    """Whether numbers in the first line are names, such as 0, 1, 2, ... or wavelengths."""
    names = np.array([numbers.value(first[place]) for place in places])
    values = np.array([[_value(cell, numbers) for cell in columns[place]] for place in places]).T
    increases = bool(np.all(np.diff(names) > 0))
    if len(names) == 1 and len(first) == 1:
        return None if names[0] == 0 else False  # pandas calls a column without a name 0
    if len(np.unique(names)) < len(names) or np.any(np.all(values == names, axis=1)):
        return False  # names are distinct, and no row repeats them
    has_other_type = [is_whole(first[place]) and not any(is_whole(cell) for cell in columns[place]) for place in places]
    with np.errstate(all="ignore"):
        low, high = np.nanmin(values, axis=0, initial=np.inf), np.nanmax(values, axis=0, initial=-np.inf)
        is_far = (names < 2 * low - high) | (names > 2 * high - low)
    # Of two rows nobody knows the range.
    far = float(np.mean(is_far)) if len(values) > 2 else 0.0
    if not increases:
        return None if all(has_other_type) and far > 0.5 else False
    if len(names) == 1:
        return None if all(has_other_type) and names[0] in (0, 1) else False
    rows_increase = float(np.mean(np.all(np.diff(values, axis=1) > 0, axis=1)))
    counts = bool(np.array_equal(names - names[0], np.arange(len(names)))) and names[0] in (0, 1)
    return _increasing_are_names(names, counts, has_other_type, far, rows_increase)


def _increasing_are_names(
    names: np.ndarray, counts: bool, has_other_type: list[bool], far: float, rows_increase: float
) -> bool | None:
    steps = np.diff(names)
    is_even = bool(np.allclose(steps, steps[0], rtol=1e-6))
    if counts:
        is_rare = far > 0.5 or len(names) > FEW_CHANCES  # a row of values is 0, 1, 2, ... hardly ever
        return True if any(has_other_type) or (is_rare and rows_increase < 0.5) else None
    if rows_increase >= 0.5:
        return None if far > 0.5 else False
    if far > 0.5:
        return True if len(names) > 2 else None
    if all(has_other_type):
        return True if is_even and len(names) > 3 else None
    return None if (is_even and len(names) > 4) or len(names) >= FEW_CHANCES else False


def _value(cell: str, numbers: NumberFormat) -> float:
    return numbers.value(cell) if numbers.is_number(cell) else np.nan


def has_units(first: Sequence[str], rows: Rows, numbers: NumberFormat) -> bool:
    """Whether the line after the names has words where all lines after it have numbers: units, say."""
    if len(rows) < 3:
        return False
    kinds = [numbers.kind(column) for column in zip(*rows[1:])]
    judged = [place for place, kind in enumerate(kinds) if kind is Kind.NUMBER]
    words = [not numbers.is_number(rows[0][place]) for place in judged]
    is_text = any(not numbers.is_missing(rows[0][place]) for place in judged)
    return bool(judged) and all(words) and is_text and not any(numbers.is_number(first[place]) for place in judged)


def index_place(names: Sequence[str] | None, rows: Rows, kinds: Sequence[Kind]) -> int | None:
    """The place of the column that counts or names rows, which is the first one, or None."""
    if len(kinds) < 2 or not rows:
        return None
    column = [row[0] for row in rows]
    if names is None:
        return 0 if len(rows) >= FEWEST_TO_COUNT and counts_rows(column) else None
    if names[0].strip() == "" and kinds[0] is not Kind.EMPTY:
        if kinds[0] is Kind.NUMBER and not all(map(is_whole, column)) and len(set(column)) < len(column):
            raise FileError(
                "its first column has no name, and numbers that repeat. Say --index 1 if it names rows, or "
                "--index none if it holds values."
            )
        return 0
    return 0 if INDEX_NAMES.fullmatch(names[0].strip()) and counts_on(column) else None


def may_name_rows(name: str, column: Sequence[str]) -> bool:
    """Whether a column of numbers has the name of an index, and other whole numbers in every row."""
    return ID_NAMES.fullmatch(name) is not None and all(map(is_whole, column)) and len(set(column)) == len(column) > 2
