"""The columns of a table: their names, kinds and units, and what each column is for."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from preimage.cli._errors import DataError, FileError, UsageError
from preimage.cli._options import NONE, TableOptions
from preimage.cli.tables._kinds import Kind
from preimage.cli.tables._numbers import NumberFormat, Words

# Names of a first column that is an index where it counts rows; pandas gives the one with a number.
INDEX_NAMES = re.compile(
    r"unnamed: \d+(?:\.\d+)?|__index_level_\d+__|#|(?:row|sample|record|case|obs)?[ _.]?"
    r"(?:id|index|idx|no|nr|num|number|names?)|row|obs",
    re.I,
)
# Rows of a table without a header from which on a first column is known to count them.
FEWEST_TO_COUNT = 5
# Names of columns that a message shows, and columns that are described one by one.
SHOWN, DESCRIBED = 8, 12
# A unit at the end of a name: "length (cm)", "T [K]".
_UNIT = re.compile(r".*\S\s*[(\[]([^()\[\]]{1,12})[)\]]\s*")
_UNCOUNTED = (Kind.TRUTH, Kind.TEXT, Kind.EMPTY, Kind.MIXED)


def is_whole(text: str) -> bool:
    """Whether a number is written without a decimal separator or exponent."""
    return text.strip().lstrip("+-").isdecimal()


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
        if kinds[0] is Kind.MEASUREMENT and not all(map(is_whole, column)) and len(set(column)) < len(column):
            raise FileError(
                "its first column has no name, and numbers that repeat. Say --index 1 if it names rows, or "
                "--index none if it holds values."
            )
        return 0
    return 0 if INDEX_NAMES.fullmatch(names[0].strip()) and counts_on(column) else None


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
    formats : tuple of NumberFormat or Words
        How the numbers of each column are written.
    taken : tuple of int
        Places of the columns with the values, in the order in which they are taken.
    kept : tuple of int
        Places of columns that go to the output as they are.
    index : int or None
        Place of the column that names rows.
    passed_over : tuple of int
        Places of columns that would be values if their kind were measurement.
    units : tuple of str or None
        The line below the header.
    shown_units : mapping of int to str
        Units that the formats of spreadsheets show, which are not in their cells.
    """

    labels: tuple[str, ...]
    names: tuple[str, ...] | None
    kinds: tuple[Kind, ...]
    formats: tuple[NumberFormat | Words, ...]
    taken: tuple[int, ...]
    kept: tuple[int, ...] = ()
    index: int | None = None
    passed_over: tuple[int, ...] = ()
    units: tuple[str, ...] | None = None
    shown_units: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def plain(cls, width: int) -> "Layout":
        """Columns without names, all of which are taken."""
        places = tuple(range(width))
        labels = tuple(str(place + 1) for place in places)
        return cls(labels, None, (Kind.MEASUREMENT,) * width, (NumberFormat(),) * width, places)

    @property
    def copied(self) -> tuple[int, ...]:
        """Places of the index and of kept columns, which `embed` writes first."""
        return (*(() if self.index is None else (self.index,)), *self.kept)

    @property
    def untouched(self) -> tuple[int, ...]:
        """Places of all columns that `denoise` writes back as they were."""
        return tuple(place for place in range(len(self.labels)) if not self.has_values(place))

    @cached_property
    def _taken(self) -> frozenset[int]:
        return frozenset(self.taken)

    def has_values(self, place: int) -> bool:
        """Whether a column is taken; asking `taken` itself takes long in wide tables."""
        return place in self._taken

    @property
    def empty(self) -> tuple[int, ...]:
        """Places of columns without any value that were not asked for."""
        return self.of_kind(Kind.EMPTY)

    def of_kind(self, *kinds: Kind) -> tuple[int, ...]:
        """Places of the columns of some kinds that are passed over."""
        return tuple(place for place in self.passed_over if self.kinds[place] in kinds)

    def called(self, places: Iterable[int]) -> list[str]:
        """What to call the columns at some places."""
        return [self.labels[place] for place in places]

    def find(self, name: str) -> int:
        """The place of a column by its name or, if there is no such name, its number from 1."""
        return _place(name, self.labels, self.names is not None)

    def unit(self, place: int) -> str:
        """What a column is measured in, as its numbers, the line below the header or its name say; empty if none do."""
        found = _UNIT.fullmatch(self.labels[place]) if self.names is not None else None
        of_line = "" if self.units is None else self.units[place].strip().strip("()[]")
        of_name = found[1].strip() if found else ""
        return self.formats[place].unit or of_line or self.shown_units.get(place, "") or of_name

    def use(self, place: int) -> str:
        """What a column is for."""
        if self.has_values(place):
            return "values" if self.kinds[place] is not Kind.MIXED else "values, with --missing"
        if place == self.index:
            return "names rows"
        return "kept" if place in self.kept else "not used"

    def about(self, most: int | None = None) -> list[dict[str, str]]:
        """What every column is, or the first ones."""
        return [
            {"name": label, "kind": self.kinds[place].value, "unit": self.unit(place), "use": self.use(place)}
            for place, label in enumerate(self.labels[:most])
        ]

    def described(self, most: int = DESCRIBED) -> list[str]:
        """A line for each of the first columns, and how many of which kind there are of the others."""
        rows = [tuple(column.values()) for column in self.about(most)]
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in rows]
        others = Counter(self.kinds[most:])
        counts = ", ".join(_several(kind, count) for kind, count in others.items())
        return [*lines, *([f"… and {sum(others.values())} more: {counts}"] if others else [])]


@dataclass(frozen=True)
class Columns:
    """All columns of a table before it is decided what they are for.

    Attributes
    ----------
    names : sequence of str or None
        The header.
    kinds : sequence of Kind
    formats : sequence of NumberFormat or Words, optional
    index : int or None
        The place of the index that was found.
    odd : dict of int to str
        For columns with something that is no number, the first of it.
    counters : tuple of int
        Places of further columns that count rows and have pandas' name of such.
    notes : dict of int to int
        For columns whose first odd value stands alone in its row, as all below do, the number of these rows.
    """

    names: Sequence[str] | None
    kinds: Sequence[Kind]
    formats: Sequence[NumberFormat | Words] = ()
    index: int | None = None
    odd: dict[int, str] = field(default_factory=dict)
    counters: tuple[int, ...] = ()
    notes: dict[int, int] = field(default_factory=dict)

    def layout(self, options: TableOptions, label: str | None = None, **fields: Any) -> Layout:
        """What every column is for, by its kind and what the user said; `label` holds classes, and no values."""
        labels = self._labels()
        known = {name: place for place, name in reversed(list(enumerate(labels)))}
        find = lambda name: known[name] if name in known else _place(name, labels, self.names is not None)
        index = self.index if options.index is None else None if options.index == NONE else find(options.index)
        kept = tuple(find(name) for name in options.keep or () if find(name) != index)
        left_out = {find(name) for name in (*(options.exclude or ()), *(() if label is None else (label,)))}
        passed_over: tuple[int, ...] = ()
        if options.columns is not None:
            taken = tuple(place for place in map(find, options.columns) if place not in left_out)
            index = None if index in taken else index
            words = [labels[p] for p in taken if p in self.odd and self.kinds[p] not in (Kind.MIXED, Kind.TRUTH)]
            if words:
                raise DataError(f"has columns that are not numeric: {listed(words)}. Leave them out of --columns.")
        else:
            others = {*left_out, index, *kept, *self.counters}
            free = [place for place in range(len(labels)) if place not in others]
            are_values = lambda place: self.kinds[place] in (Kind.MEASUREMENT, Kind.MIXED)
            taken = tuple(place for place in free if are_values(place))
            passed_over = tuple(place for place in free if not are_values(place) and labels[place])
        self._check(labels, taken, kept, options.columns_only)
        names = None if self.names is None else tuple(self.names)
        formats = list(self.formats or (NumberFormat(),) * len(labels))
        for place in taken:
            form = formats[place]
            if self.kinds[place] is not Kind.MEASUREMENT and isinstance(form, NumberFormat):
                formats[place] = replace(form, is_code=True)
        of_columns = (tuple(labels), names, tuple(self.kinds), tuple(formats))
        return Layout(*of_columns, taken, kept, index, passed_over, **fields)

    def _labels(self) -> list[str]:
        if self.names is None:
            return [str(number + 1) for number in range(len(self.kinds))]
        unnamed = lambda place: "row names" if place == self.index else f"column {place + 1}"
        return [name or unnamed(place) for place, name in enumerate(self.names)]

    def _check(self, labels: list[str], taken: tuple[int, ...], kept: tuple[int, ...], columns_only: bool) -> None:
        """Refuse columns whose names are not clear, or whose values."""
        by_name = Counter(labels)
        if doubled := [labels[place] for place in (*taken, *kept) if by_name[labels[place]] > 1]:
            raise DataError(f"column {doubled[0]!r} occurs twice. Rename one, or read it with --skip 1 --no-header.")
        for option, places in (("--columns", taken), ("--keep", kept)):
            if len(set(places)) < len(places):
                again = next(place for place, count in Counter(places).items() if count > 1)
                raise UsageError(f"{option} names the column {labels[again]!r} twice. Name it once.")
        for place in taken:
            name, odd = labels[place], self.odd.get(place, "")
            if self.kinds[place] is Kind.MIXED and not columns_only:
                advice = f"If that is a missing value, add --missing {odd!r}; or leave the column out: --exclude {name}"
                if place in self.notes:
                    advice = f"If the table ends above that, leave out what is below: --skip-footer {self.notes[place]}"
                raise DataError(f"column {name!r} has numbers, and also {odd!r}. {advice}")


def _place(name: str, labels: Sequence[str], has_names: bool) -> int:
    if name in labels:
        return labels.index(name)
    if has_names and name.isdecimal() and 0 < int(name) <= len(labels):
        return int(name) - 1
    folded = [label.casefold() for label in labels]
    near = get_close_matches(name.casefold(), folded, 1)
    hint = f". Did you mean {labels[folded.index(near[0])]!r}? It" if near else "; it"
    raise DataError(f"has no column {name!r}{hint} has {listed(labels)}.")


def _several(kind: Kind, count: int) -> str:
    """So many columns of a kind."""
    word = kind.value
    if count == 1 or kind in _UNCOUNTED:
        return f"{count} {word}"
    return f"{count} {word.removesuffix('y')}{'ies' if word.endswith('y') else 's'}"


def listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
