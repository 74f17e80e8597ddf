"""Whether the first lines of a table have the names and units of its columns."""

from collections.abc import Sequence

import numpy as np

from preimage.cli.tables._columns import counts_on, counts_rows, is_whole
from preimage.cli.tables._kinds import Kind, are_dates, kind_of_numbers
from preimage.cli.tables._numbers import TRUTHS, WRITTEN, NumberFormat

# So many numbers increase by chance in one of 720 rows.
FEW_CHANCES = 6

Rows = Sequence[Sequence[str]]


def is_header(first: Sequence[str], rows: Rows, numbers: NumberFormat) -> bool | None:
    """Whether `first` has the names of the columns of `rows`; None if that cannot be told."""
    if not rows:
        return not all(numbers.is_number(cell) for cell in first)
    days = [place for place, cell in enumerate(first) if are_dates("", [cell])]
    if any(_are_days([row[place] for row in rows], numbers) for place in days):
        return False  # nobody calls a column of days by one of them
    if all(_is_word(cell, numbers) for cell in first):
        return True  # as most tables have it, and quickly: a table may have 20,000 columns
    columns = list(zip(*rows))
    forms = [numbers.of_column(column) for column in columns]
    kinds = [kind_of_numbers(column, form) for column, form in zip(columns, forms)]
    name_rows = all(cell.strip() for cell in columns[0]) and len(set(columns[0])) == len(columns[0])
    are_unnamed = first[0].strip() == "" and all(cell.strip() for cell in first[1:]) and name_rows
    if are_unnamed:
        # Above numbers, words, 0, 1, 2 and 400, 410, 420 are names; others may be a row without its first value.
        above = [first[place].strip() for place in range(1, len(first)) if kinds[place] is Kind.MEASUREMENT]
        are_names = not above or any(_is_word(cell, numbers) for cell in above) or _go_on_evenly(first[1:])
        if are_names or counts_on(columns[0]):
            return True
    if any(_is_amount(*each, numbers) for each in zip(first, columns, forms)):
        return False
    if _are_numbers_above_words(first, columns, kinds, numbers):
        return True
    judged = [place for place, kind in enumerate(kinds) if kind in (Kind.MEASUREMENT, Kind.TRUTH, Kind.MIXED)]
    judged = judged[1:] if are_unnamed and judged[:1] == [0] else judged
    if not judged:
        return True
    figures = [place for place in judged if numbers.is_number(first[place]) or forms[place].is_number(first[place])]
    words = [first[place] for place in judged if place not in figures and not numbers.is_missing(first[place])]
    if all(cell.strip().lower() in ("true", "false") for cell in words) and words:
        truths = [place for place in judged if kinds[place] is Kind.TRUTH]
        return None if len(words) > len(truths) else False
    if words and not figures:
        return True
    if not words and len(figures) < len(judged):
        return False  # a row with missing values
    answer = _numbers_are_names(figures, first, columns, numbers)
    if answer is False and any(kind is Kind.EMPTY and numbers.is_number(cell) for cell, kind in zip(first, kinds)):
        return True if _go_on_evenly(first) else None  # a number in a column that has no other
    if words and answer is False:
        # Some names and some numbers: a header with years, or a row with a slip of the pen.
        return True if 2 * len(words) >= len(judged) else None
    return answer


def _is_amount(cell: str, column: Sequence[str], form: NumberFormat, numbers: NumberFormat) -> bool:
    """Whether a cell is a negative number of a column, written in a way that only this cell shows.

    Numbers in brackets without a unit may be names.
    """
    may_be = form.unit or cell.strip().endswith("-")
    return bool(may_be) and numbers.of_column([cell, *column]).is_number(cell)


def _are_days(texts: Sequence[str], numbers: NumberFormat) -> bool:
    """Whether a column has days or times alone, and some."""
    found = [text.strip() for text in texts if not numbers.is_missing(text)]
    return bool(found) and are_dates("", found)


def _go_on_evenly(cells: Sequence[str]) -> bool:
    """Whether there are whole numbers alone, 0 or 1 and on by one, or three and more at equal distances."""
    steps = np.diff([int(cell) for cell in cells]) if all(map(is_whole, cells)) else np.zeros(0)
    is_even = len(steps) > 1 and bool(np.all(steps == steps[0])) and bool(steps[0] > 0)
    return is_even or counts_rows(cells)


def _are_numbers_above_words(
    first: Sequence[str], columns: Sequence[tuple[str, ...]], kinds: Sequence[Kind], numbers: NumberFormat
) -> bool:
    """Whether there are distinct numbers in the first line, some of them above columns of words."""
    cells = [cell.strip() for cell in first if cell.strip()]
    # Numbers in brackets are text where no other number says that they are negative; the first line may.
    has_numbers = lambda column: any(WRITTEN.fullmatch(cell.strip()) for cell in column)
    above_words = [
        cell
        for cell, column, kind in zip(first, columns, kinds)
        if kind is Kind.TRUTH or (kind is Kind.TEXT and not has_numbers(column))
    ]
    are_numbers = all(map(numbers.is_number, cells)) and any(map(numbers.is_number, above_words))
    return are_numbers and len(set(cells)) == len(cells)


def _numbers_are_names(
    places: list[int], first: Sequence[str], columns: list[tuple[str, ...]], numbers: NumberFormat
) -> bool | None:
    """Whether numbers in the first line are names, such as 0, 1, 2, ... or wavelengths."""
    value = lambda cell: numbers.value(cell) if numbers.is_number(cell) else np.nan
    names = np.array([numbers.value(first[place]) for place in places])
    values = np.array([[value(cell) for cell in columns[place]] for place in places]).T
    if len(names) == 1 and len(first) == 1:
        return None if names[0] == 0 else False  # pandas calls a column without a name 0
    every = [numbers.value(cell) if numbers.is_number(cell) else np.nan for cell in first]  # columns of words too
    is_count = np.array_equal(np.array(every) - every[0], np.arange(len(every))) and every[0] in (0, 1)
    if len(np.unique(names)) < len(names):
        return False
    if np.any(np.all(values == names, axis=1)):  # no row repeats names, but of small numbers some row may be 0, 1
        return None if is_count else False
    has_other_type = [is_whole(first[place]) and not any(is_whole(cell) for cell in columns[place]) for place in places]
    with np.errstate(all="ignore"):
        low, high = np.nanmin(values, axis=0, initial=np.inf), np.nanmax(values, axis=0, initial=-np.inf)
        is_far = (names < 2 * low - high) | (names > 2 * high - low)
    # Of two rows nobody knows the range.
    far = float(np.mean(is_far)) if len(values) > 2 else 0.0
    if not np.all(np.diff(names) > 0):
        return None if all(has_other_type) and far > 0.5 else False
    if len(names) == 1:
        return None if all(has_other_type) and names[0] in (0, 1) else False
    rows_increase = float(np.mean(np.all(np.diff(values, axis=1) > 0, axis=1)))
    steps = np.diff(names)
    is_even = bool(np.allclose(steps, steps[0], rtol=1e-6))
    if is_count:
        is_rare = far > 0.5 or len(names) > FEW_CHANCES  # a row of values is 0, 1, 2, ... hardly ever
        return True if any(has_other_type) or (is_rare and rows_increase < 0.5) else None
    if rows_increase >= 0.5:
        return None if far > 0.5 else False
    if far > 0.5:
        return True if len(names) > 2 else None
    if all(has_other_type):
        return True if is_even and len(names) > 3 else None
    return None if (is_even and len(names) > 3) or len(names) >= FEW_CHANCES else False


def _is_word(cell: str, numbers: NumberFormat) -> bool:
    """Whether a cell is neither empty nor a number of any notation, a truth value or a mark of a missing one."""
    text = cell.strip()
    return WRITTEN.fullmatch(text) is None and not numbers.is_missing(text) and text.lower() not in TRUTHS


def has_units(first: Sequence[str], rows: Rows, numbers: NumberFormat) -> bool:
    """Whether the line after the names has words where all lines after it have numbers: units, say."""
    if len(rows) < 3 or not any(_is_word(cell, numbers) for cell in rows[0]):
        return False
    columns = list(zip(*rows[1:]))
    forms = [numbers.of_column(column) for column in columns]
    kinds = [kind_of_numbers(column, form) for column, form in zip(columns, forms)]
    # A word that occurs again further down stands for a missing value, or is one of several categories.
    is_again = [not numbers.is_missing(cell) and cell in column for cell, column in zip(rows[0], columns)]
    if any(again and kind in (Kind.MIXED, Kind.TEXT) for again, kind in zip(is_again, kinds)):
        return False
    judged = [place for place, kind in enumerate(kinds) if kind in (Kind.MEASUREMENT, Kind.MIXED)]
    is_one = lambda cell, place: forms[place].is_number(cell) or _is_amount(cell, columns[place], forms[place], numbers)
    are_words = not any(is_one(cells[place], place) for place in judged for cells in (first, rows[0]))
    is_text = any(not numbers.is_missing(rows[0][place]) for place in judged)
    is_text = is_text or (not first[0].strip() and _names_index(rows[0], numbers))
    return bool(judged) and are_words and is_text


def are_two_headers(rows: Rows, numbers: NumberFormat) -> bool:
    """Whether the second line has names too: some of the first one occur twice, or are missing where there are such.

    Below several lines of names pandas writes that of the index, in a line of its own.
    """
    first, second, *others = ([cell.strip() for cell in row] for row in rows[:3])
    named = list(filter(None, first))
    are_missing = any(not above and _is_word(below, numbers) for above, below in zip(first[1:], second[1:]))
    is_index = bool(others) and not first[0] and not second[0] and _names_index(others[0], numbers)
    return (are_missing or is_index or len(set(named)) < len(named)) and has_units(first, rows[1:], numbers)


def _names_index(cells: Sequence[str], numbers: NumberFormat) -> bool:
    """Whether a line has one word, in its first cell."""
    return _is_word(cells[0], numbers) and not any(map(str.strip, cells[1:]))
