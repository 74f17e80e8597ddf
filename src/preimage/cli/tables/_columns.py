"""Columns: their names and kinds, how their numbers are written and read, and what each column is for."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from preimage._engine.typing import Array
from preimage.cli._errors import DataError, FileError
from preimage.cli._options import NONE, TableOptions
from preimage.cli.tables._paths import need

# What pandas, R, Excel, SAS and instruments write where there is no value.
MISSING = (
    *("", "NA", "N/A", "n/a", "na", "<NA>", "NaN", "nan", "NAN", "-nan", "-NaN", "NaT", "NULL", "null", "None"),
    *("?", "-", "--", ".", "#N/A", "#NA", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!"),
)
TRUTHS = {"true": 1.0, "false": 0.0}
# Between groups of three digits.
THOUSANDS = (",", ".", " ", "'", "’", "\u00a0", "\u202f")
# Of these, what stands for a missing class too; "-" and "None" may well be classes.
MISSING_WORDS = frozenset({"", "NA", "N/A", "n/a", "<NA>", "NaN", "nan", "NAN", "NaT", "NULL", "null", "#N/A", "#NA"})
# Numbers that a person would read, and no program without being told how: with a sign of money, percent or degrees,
# with Fortran's exponents, the minus of printers, or between brackets, as accountants write negative ones.
WITH_SIGN = re.compile(
    r"[$€£¥]\s?[-+]?\d[\d.,' ]*|[-+]?\d[\d.,' ]*\s?[%‰°$€£¥]"
    r"|[-+]?\d*\.\d*[dD][-+]?\d+|[−–]\s?\d[\d.,' ]*|\([$€£¥]?\d[\d.,' ]*\)"
)
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
# Names of columns that a message shows.
SHOWN = 8


class Kind(Enum):
    """What a column holds."""

    NUMBER = "numbers"
    TRUTH = "true or false"
    TEXT = "text"
    MIXED = "numbers and other words"
    SIGNED = "numbers with signs of money or percent, or in another notation"
    EMPTY = "nothing"


class NotANumber(Exception):
    """A text that should be a number, and its place in its batch."""

    def __init__(self, row: int, text: str) -> None:
        super().__init__(text)
        self.row = row
        self.text = text


@dataclass(frozen=True)
class NumberFormat:
    """Which texts are numbers: decimal separator, grouping of digits, and marks of missing values.

    Attributes
    ----------
    decimal : str
        "." or ",".
    thousands : str
        What groups three digits; empty for nothing.
    missing : tuple of str
    """

    decimal: str = "."
    thousands: str = ""
    missing: tuple[str, ...] = MISSING

    @cached_property
    def pattern(self) -> str:
        """A regular expression of numbers; a comma without digits after it ends a clause, and no number."""
        decimal, group = re.escape(self.decimal), re.escape(self.thousands)
        digits = rf"(?:\d{{1,3}}(?:{group}\d{{3}})+|\d+)" if self.thousands else r"\d+"
        some = r"\d*" if self.decimal == "." else r"\d+"
        plain = rf"[-+]?(?:{digits}(?:{decimal}{some})?|{decimal}\d+)(?:[eE][-+]?\d+)?"
        return rf"(?:{plain}|[-+]?[iI]nf(?:inity)?)"

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    @cached_property
    def _marks(self) -> frozenset[str]:
        return frozenset(self.missing)

    def is_missing(self, text: str) -> bool:
        return text.strip() in self._marks

    def is_number(self, text: str) -> bool:
        return self._compiled.fullmatch(text.strip()) is not None

    def value(self, text: str) -> float:
        """The number that a text means."""
        text = text.strip()
        if self.thousands:
            text = text.replace(self.thousands, "")
        return float(text.replace(self.decimal, "."))

    def kind(self, texts: Iterable[str]) -> Kind:
        """What a column of these texts holds."""
        found = [text.strip() for text in texts]
        found = [text for text in found if text not in self._marks]
        if not found:
            return Kind.EMPTY
        numbers = sum(self._compiled.fullmatch(text) is not None for text in found)
        if numbers == len(found):
            return Kind.NUMBER
        if all(text.lower() in TRUTHS for text in found):
            return Kind.TRUTH
        if 2 * numbers >= len(found):
            return Kind.MIXED
        signed = sum(WITH_SIGN.fullmatch(text) is not None for text in found)
        return Kind.SIGNED if 2 * (signed + numbers) > len(found) else Kind.TEXT

    def values(self, texts: Any, kind: Kind) -> Array:
        """A pyarrow array of texts of a column of this kind as numbers, with NaN for missing ones; or `NotANumber`."""
        arrow, compute = need("pyarrow"), need("pyarrow.compute")
        cast = lambda texts: np.asarray(
            compute.cast(texts, arrow.float64()).to_numpy(zero_copy_only=False), dtype=float
        )
        if kind is Kind.NUMBER and self.decimal == "." and not self.thousands:
            try:
                return cast(texts)
            except arrow.ArrowInvalid:  # blanks, missing values, or something that is no number
                pass
        texts = compute.utf8_trim_whitespace(texts)
        missing = compute.is_in(texts, value_set=arrow.array(self.missing, arrow.string()))
        texts = compute.if_else(missing, arrow.scalar(None, arrow.string()), texts)
        if kind is Kind.TRUTH:
            lower = compute.utf8_lower(texts)
            is_good = compute.is_in(lower, value_set=arrow.array(list(TRUTHS)))
        else:
            is_good = compute.match_substring_regex(texts, f"^{self.pattern}$")
        bad = compute.and_not(compute.is_valid(texts), compute.fill_null(is_good, True))
        row = compute.index(bad, True).as_py()
        if row >= 0:
            raise NotANumber(row, texts[row].as_py())
        if kind is Kind.TRUTH:
            return cast(compute.equal(lower, "true"))
        if self.thousands:
            texts = compute.replace_substring(texts, self.thousands, "")
        if self.decimal != ".":
            texts = compute.replace_substring(texts, self.decimal, ".")
        return cast(texts)


def is_whole(text: str) -> bool:
    """Whether a number is written without a decimal separator or exponent."""
    return text.strip().lstrip("+-").isdigit()


def counts_on(texts: Sequence[str], starts: Sequence[str] | None = None) -> bool:
    """Whether a column counts rows from any whole number on, or from one of `starts`: 1001, 1002, 1003, ..."""
    texts = [text.strip() for text in texts]
    if not texts or not texts[0].isdecimal() or (starts is not None and texts[0] not in starts):
        return False
    return all(text == str(row) for row, text in enumerate(texts, int(texts[0])))


def counts_rows(texts: Sequence[str]) -> bool:
    """Whether a column counts 0, 1, 2, ... or 1, 2, 3, ..."""
    return counts_on(texts, ("0", "1"))


def index_place(names: Sequence[str] | None, columns: Sequence[Sequence[str]], kinds: Sequence[Kind]) -> int | None:
    """The place of the column that counts or names rows, which is the first one, or None."""
    if len(kinds) < 2 or not columns[0]:
        return None
    column = columns[0]
    if names is None:
        return 0 if len(column) >= FEWEST_TO_COUNT and counts_rows(column) else None
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


@dataclass(frozen=True)
class Layout:
    """The columns of a table and their parts.

    Attributes
    ----------
    labels : tuple of str
        What to call the columns: names or, without, numbers from 1.
    names : tuple of str or None
        The header as it was; a name may be empty.
    kinds : tuple of Kind
    taken : tuple of int
        Places of the columns with the values, in the order in which they are taken.
    kept : tuple of int
        Places of columns that go to the output as they are.
    index : int or None
        Place of the column that names rows.
    text, empty : tuple of int
        Places of columns that were left out since they hold words or nothing.
    units : tuple of str or None
        The line below the header.
    doubtful : tuple of int
        Places of columns that may name rows; they are values unless the user says so.
    """

    labels: tuple[str, ...]
    names: tuple[str, ...] | None
    kinds: tuple[Kind, ...]
    taken: tuple[int, ...]
    kept: tuple[int, ...] = ()
    index: int | None = None
    text: tuple[int, ...] = ()
    empty: tuple[int, ...] = ()
    units: tuple[str, ...] | None = None
    doubtful: tuple[int, ...] = ()

    @classmethod
    def plain(cls, width: int) -> "Layout":
        """Columns without names, all of which are taken."""
        places = tuple(range(width))
        return cls(tuple(str(place + 1) for place in places), None, (Kind.NUMBER,) * width, places)

    @property
    def copied(self) -> tuple[int, ...]:
        """Places of the index and of kept columns, which `embed` writes first."""
        return (*(() if self.index is None else (self.index,)), *self.kept)

    @property
    def untouched(self) -> tuple[int, ...]:
        """Places of all columns that `denoise` writes back as they were."""
        taken = set(self.taken)
        return tuple(place for place in range(len(self.labels)) if place not in taken)

    def called(self, places: Iterable[int]) -> list[str]:
        """What to call the columns at some places."""
        return [self.labels[place] for place in places]

    def find(self, name: str) -> int:
        """The place of a column by its name or, if there is no such name, its number from 1."""
        return _place(name, self.labels, self.names is not None)

    def described(self, rows: str) -> str:
        """One line about what was understood; `rows` says how many there are."""
        taken = self.called(self.taken)
        shown = taken[0] if len(taken) == 1 else f"{taken[0]} … {taken[-1]}"
        parts = [rows, f"{counted(taken, 'numeric column')} ({shown})", f"header {'yes' if self.names else 'no'}"]
        if self.index is not None:
            is_named = self.names is not None and self.names[self.index] != ""
            parts.append(f"index {self.labels[self.index]!r}" if is_named else "index without a name")
        if self.kept:
            parts.append(f"kept {listed(self.called(self.kept))}")
        for places, what in ((self.text, "text column"), (self.empty, "empty column")):
            if left := self.called(place for place in places if place not in self.kept):
                parts.append(f"{counted(left, what)} left out ({listed(left)})")
        for name in self.called(place for place in self.doubtful if place in self.taken):
            parts.append(f"{name!r} taken as values (--index {name} if it names rows)")
        if self.units is not None:
            parts.append("a line of units below the header")
        return ", ".join(parts)


@dataclass(frozen=True)
class Columns:
    """All columns of a table before it is decided what they are for.

    Attributes
    ----------
    names : sequence of str or None
        The header.
    kinds : sequence of Kind
    index : int or None
        The place of the index that was found.
    odd : dict of int to str
        For columns of mixed values, one that is no number.
    counters : tuple of int
        Places of further columns that count rows and have pandas' name of such.
    """

    names: Sequence[str] | None
    kinds: Sequence[Kind]
    index: int | None = None
    odd: dict[int, str] = field(default_factory=dict)
    counters: tuple[int, ...] = ()

    def layout(self, options: TableOptions, label: str | None = None, **fields: Any) -> Layout:
        """What every column is for, by its kind and what the user said; `label` holds classes, and no values."""
        labels = self._labels()
        known = {name: place for place, name in reversed(list(enumerate(labels)))}
        find = lambda name: known[name] if name in known else _place(name, labels, self.names is not None)
        index = self.index if options.index is None else None if options.index == NONE else find(options.index)
        kept = tuple(find(name) for name in options.keep or () if find(name) != index)
        left_out = {find(name) for name in (*(options.exclude or ()), *(() if label is None else (label,)))}
        text: tuple[int, ...] = ()
        empty: tuple[int, ...] = ()
        if options.columns is not None:
            taken = tuple(place for place in map(find, options.columns) if place not in left_out)
            index = None if index in taken else index
            words = [labels[place] for place in taken if self.kinds[place] is Kind.TEXT]
            if words:
                raise DataError(f"has columns that are not numeric: {listed(words)}. Leave them out of --columns.")
        else:
            passed_over = {*left_out, index, *kept, *self.counters}
            free = [place for place in range(len(labels)) if place not in passed_over]
            text = tuple(place for place in free if self.kinds[place] is Kind.TEXT)
            taken = tuple(place for place in free if self.kinds[place] not in (Kind.TEXT, Kind.EMPTY))
            is_named = lambda place: self.names is None or self.names[place]
            empty = tuple(place for place in free if self.kinds[place] is Kind.EMPTY and is_named(place))
        self._check(labels, taken, kept)
        names = None if self.names is None else tuple(self.names)
        return Layout(tuple(labels), names, tuple(self.kinds), taken, kept, index, text, empty, **fields)

    def _labels(self) -> list[str]:
        if self.names is None:
            return [str(number + 1) for number in range(len(self.kinds))]
        unnamed = lambda place: "row names" if place == self.index else f"column {place + 1}"
        return [name or unnamed(place) for place, name in enumerate(self.names)]

    def _check(self, labels: list[str], taken: tuple[int, ...], kept: tuple[int, ...]) -> None:
        """Refuse columns whose names are not clear, or whose values."""
        by_name, by_place = Counter(labels), Counter((*taken, *kept))
        doubled = [labels[place] for place in by_place if by_name[labels[place]] > 1 or by_place[place] > 1]
        if doubled:
            raise DataError(f"column {doubled[0]!r} occurs twice. Rename one, or read it with --skip 1 --no-header.")
        for place in taken:
            name, odd = labels[place], self.odd.get(place, "")
            if self.kinds[place] is Kind.MIXED:
                raise DataError(
                    f"column {name!r} has numbers, and also {odd!r}. If that is a missing value, add --missing {odd!r};"
                    f" or leave the column out: --exclude {name}"
                )
            if self.kinds[place] is Kind.SIGNED:
                raise DataError(
                    f"column {name!r} has numbers written like {odd!r}. Write plain numbers, or leave the column out: "
                    f"--exclude {name}"
                )


def _place(name: str, labels: Sequence[str], has_names: bool) -> int:
    if name in labels:
        return labels.index(name)
    if has_names and name.isdecimal() and 0 < int(name) <= len(labels):
        return int(name) - 1
    raise DataError(f"has no column {name!r}; it has {listed(labels)}.")


def counted(names: Sequence[str], what: str) -> str:
    return f"{len(names)} {what}{'s' if len(names) != 1 else ''}"


def listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
