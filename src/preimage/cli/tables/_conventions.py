"""One convention of numbers for a file: what separates decimals and thousands, guessed from all columns."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from preimage.cli._errors import FileError
from preimage.cli._options import TableOptions
from preimage.cli.tables._kinds import are_codes, are_dates
from preimage.cli.tables._numbers import (
    BLANKS,
    GROUP,
    MISSING,
    THOUSANDS,
    WRITTEN,
    NumberFormat,
    ask_group,
    body_of,
    make_numbers,
)

# The simplest first: of several in which all numbers are the same, it is taken.
_CONVENTIONS = [
    *(NumberFormat("."), NumberFormat(",")),
    *(NumberFormat(decimal, group) for decimal in (".", ",") for group in THOUSANDS if group != decimal),
    NumberFormat(".", ",", is_lakh=True),
]

Rows = Sequence[Sequence[str]]


def convention_of(rows: Rows, options: TableOptions) -> NumberFormat:
    """The convention of some rows, guessed or given by the user."""
    decimal, thousands = options.decimal, options.thousands
    if decimal not in (None, ".", ",") or (decimal is not None and decimal == thousands):
        raise FileError("--decimal is . or , and differs from --thousands.")
    if thousands is not None and thousands not in ("", *THOUSANDS):
        raise FileError(f"--thousands {thousands} is none of . , ' and blanks.")
    return _guessed(list(zip(*rows)), (*MISSING, *(options.missing or ())), decimal, thousands)


def with_first(below: NumberFormat, rows: Rows, options: TableOptions) -> NumberFormat:
    """The convention `below` the first row, or, if there are groups of digits in the first row alone, that of both."""
    cells = [part for cell in rows[0] if (part := WRITTEN.fullmatch(cell.strip()))]
    if not below.thousands and not all(below.is_number(body_of(part)) for part in cells):
        with suppress(FileError):
            both = convention_of(rows, options)
            return both if both.decimal == below.decimal else below
    return below


def _guessed(
    columns: Rows, missing: tuple[str, ...] = MISSING, decimal: str | None = None, thousands: str | None = None
) -> NumberFormat:
    """The one convention in which all columns of numbers can be read.

    Where there are two, in which numbers differ, or none, the user is asked. Dates and codes have a say in neither.
    """
    known = [each for each in _CONVENTIONS if decimal in (None, each.decimal) and thousands in (None, each.thousands)]
    found = {place: numbers for place, column in enumerate(columns) if (numbers := _bare_numbers(column, missing))}
    telling = {place: [text for text in set(texts) if not text.isdecimal()] for place, texts in found.items()}
    fitting = {place: [each for each in known if all(map(each.is_number, texts))] for place, texts in telling.items()}
    fitting = {place: conventions for place, conventions in fitting.items() if conventions}
    votes = Counter(each for conventions in fitting.values() for each in conventions)
    best = max(known, key=lambda each: votes[each])
    if votes[best] < len(fitting) and decimal is None:
        raise _contradiction(found, fitting, best)
    texts = [text for place, conventions in fitting.items() if best in conventions for text in found[place]]
    grouped = [text for text in texts if re.fullmatch(GROUP, text)]
    for other in known:
        # Numbers differ where a mark separates decimals in one convention and thousands in the other.
        if votes[other] < votes[best] or (other.decimal == best.decimal and other.thousands not in (",", ".")):
            continue
        differs = lambda text, other=other: other.is_number(text) and best.value(text) != other.value(text)
        if doubtful := next(filter(differs, grouped), None):
            raise FileError(ask_group(doubtful))
    is_open = any(votes[other] == votes[best] and other.thousands == best.decimal for other in known)
    return replace(best, missing=missing, is_open=is_open)


def _bare_numbers(column: Sequence[str], missing: tuple[str, ...]) -> list[str]:
    """The numbers of a column without what is written around them; none where it is no column of numbers."""
    found = [text for cell in column if (text := cell.strip()) not in missing]
    matched = [WRITTEN.fullmatch(text) for text in found]
    parts = [part for part in matched if part is not None]
    others = [text for text, part in zip(found, matched) if part is None]
    if not make_numbers(len(parts), others) or are_dates("", found) or are_codes("", found):
        return []
    return list(map(body_of, parts))


def _contradiction(
    found: dict[int, list[str]], fitting: dict[int, list[NumberFormat]], best: NumberFormat
) -> FileError:
    """What to say where columns have different conventions: read the best one, without the columns of others."""
    others = [place for place, conventions in fitting.items() if best not in conventions]
    own = next(place for place, conventions in fitting.items() if best in conventions)
    telling = lambda place: max(found[place], key=lambda text: sum(mark in text for mark in ".,"))
    thousands = f" --thousands {_option_word(best.thousands)}" if best.thousands else ""
    return FileError(
        f"{telling(own)!r} and {telling(others[0])!r} have different separators of decimals or thousands. Leave out "
        f"the columns that are not like the others: --decimal {best.decimal}{thousands} "
        f"--exclude {','.join(str(place + 1) for place in others)}"
    )


def remedy(text: str, numbers: NumberFormat) -> str:
    """What to say of a text that is a number in another convention than that of the first rows; nothing of others."""
    part = WRITTEN.fullmatch(text.strip())
    body = "" if part is None else body_of(part)
    if numbers.is_open and re.fullmatch(GROUP, body):
        return ask_group(text)
    is_like = lambda each: each.decimal == numbers.decimal and numbers.thousands in ("", each.thousands)
    others = [each for each in _CONVENTIONS if each.is_number(body) and (numbers.is_open or is_like(each))]
    if not others or replace(numbers, prefix="", suffix="").is_number(body):
        return ""
    thousands = f" --thousands {_option_word(others[0].thousands)}" if others[0].thousands else ""
    return (
        f"{text!r} is a number with other separators than those of the first rows. Say --decimal {others[0].decimal}"
        f"{thousands}"
    )


def check_convention(texts: Iterable[str], numbers: NumberFormat) -> None:
    """Refuse texts of which one is a number in another convention alone."""
    if found := next(filter(None, (remedy(text, numbers) for text in texts)), ""):
        raise FileError(found)


def _option_word(mark: str) -> str:
    """A separator as it is typed in a shell."""
    return f'"{mark}"' if mark in f"{BLANKS}'" else mark
