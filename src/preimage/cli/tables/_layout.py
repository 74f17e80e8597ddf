"""What the columns of a table are for: values to work on, an index, columns that are kept, and others."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from preimage.cli._errors import DataError
from preimage.cli.tables._dialect import Dialect
from preimage.cli.tables._numbers import Kind
from preimage.cli.tables._table_options import NO_INDEX, TableOptions

# Names of columns that a message shows.
SHOWN = 8


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
    dialect : Dialect or None
        Of a text file.
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
    dialect: Dialect | None = None
    units: tuple[str, ...] | None = None
    doubtful: tuple[int, ...] = ()

    @property
    def taken_labels(self) -> list[str]:
        return [self.labels[place] for place in self.taken]

    @property
    def copied(self) -> tuple[int, ...]:
        """Places of the index and of kept columns, which `embed` writes first."""
        return (*(() if self.index is None else (self.index,)), *self.kept)

    @property
    def untouched(self) -> tuple[int, ...]:
        """Places of all columns that `denoise` writes back as they were."""
        taken = set(self.taken)
        return tuple(place for place in range(len(self.labels)) if place not in taken)

    def find(self, name: str) -> int:
        """The place of a column."""
        return _place(name, list(self.labels), self.names is not None)

    def described(self, rows: str) -> str:
        """One line about what was understood; `rows` says how many there are."""
        taken = self.taken_labels
        shown = taken[0] if len(taken) == 1 else f"{taken[0]} … {taken[-1]}"
        parts = [rows, f"{_number(taken, 'numeric column')} ({shown})", f"header {'yes' if self.names else 'no'}"]
        if self.index is not None:
            parts.append(f"index {self.labels[self.index]!r}" if self._is_named(self.index) else "index without a name")
        if self.kept:
            parts.append(f"kept {listed([self.labels[place] for place in self.kept])}")
        for places, what in ((self.text, "text column"), (self.empty, "empty column")):
            left = [self.labels[place] for place in places if place not in self.kept]
            if left:
                parts.append(f"{_number(left, what)} left out ({listed(left)})")
        for name in [self.labels[place] for place in self.doubtful if place in self.taken]:
            parts.append(f"{name!r} taken as values (--index {name} if it names rows)")
        if self.units is not None:
            parts.append("a line of units below the header")
        return ", ".join(parts) + self._dialect_text()

    def _is_named(self, place: int) -> bool:
        return self.names is not None and self.names[place] != ""

    def _dialect_text(self) -> str:
        """What is not usual about the text of the file."""
        if self.dialect is None:
            return ""
        told, numbers = [], self.dialect.numbers
        if self.dialect.delimiter != ",":
            told.append(f"delimiter {DELIMITER_NAMES.get(self.dialect.delimiter, repr(self.dialect.delimiter))}")
        if numbers.decimal != ".":
            told.append(f"decimal {numbers.decimal!r}")
        if numbers.thousands:
            told.append(f"thousands {numbers.thousands!r}")
        if self.dialect.encoding.partition("-sig")[0] != "utf-8":
            told.append(self.dialect.encoding)
        return f"; {', '.join(told)}" if told else ""


DELIMITER_NAMES = {"\t": "tab", " ": "blanks"}


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
        index = self.index if options.index is None else None if options.index == NO_INDEX else find(options.index)
        kept = tuple(find(name) for name in options.keep or () if find(name) != index)
        left_out = {find(name) for name in options.exclude or ()} | (set() if label is None else {find(label)})
        if options.columns is not None:
            taken = tuple(place for place in map(find, options.columns) if place not in left_out)
            index = None if index in taken else index
            text: tuple[int, ...] = ()
            empty: tuple[int, ...] = ()
            _check_words(labels, taken, self)
        else:
            free = [p for p in range(len(labels)) if p not in left_out and p != index and p not in kept]
            free = [p for p in free if p not in self.counters]
            text = tuple(place for place in free if self.kinds[place] is Kind.TEXT)
            empty = tuple(place for place in free if self.kinds[place] is Kind.EMPTY)
            taken = tuple(place for place in free if self.kinds[place] not in (Kind.TEXT, Kind.EMPTY))
            empty = tuple(place for place in empty if self.names is None or self.names[place])
        self._check_names(labels, (*taken, *kept))
        _check_mixed(labels, taken, self)
        names = None if self.names is None else tuple(self.names)
        return Layout(tuple(labels), names, tuple(self.kinds), taken, kept, index, text, empty, **fields)

    def _labels(self) -> list[str]:
        if self.names is None:
            return [str(number + 1) for number in range(len(self.kinds))]
        names = [name or f"column {number + 1}" for number, name in enumerate(self.names)]
        return [
            "row names" if place == self.index and not self.names[place] else name for place, name in enumerate(names)
        ]

    def _check_names(self, labels: list[str], used: tuple[int, ...]) -> None:
        by_name, by_place = Counter(labels), Counter(used)
        doubled = [labels[place] for place in used if by_name[labels[place]] > 1 or by_place[place] > 1]
        if doubled:
            raise DataError(f"column {doubled[0]!r} occurs twice. Rename one, or read it with --skip 1 --no-header.")


def _place(name: str, labels: list[str], has_names: bool) -> int:
    """The place of a column by its name or, if there is no such name, its number from 1."""
    if name in labels:
        return labels.index(name)
    if has_names and name.isdecimal() and 0 < int(name) <= len(labels):
        return int(name) - 1
    raise DataError(f"has no column {name!r}; it has {listed(labels)}.")


def _check_words(labels: list[str], taken: tuple[int, ...], columns: Columns) -> None:
    words = [labels[place] for place in taken if columns.kinds[place] is Kind.TEXT]
    if words:
        raise DataError(f"has columns that are not numeric: {listed(words)}. Leave them out of --columns.")


def _check_mixed(labels: list[str], taken: tuple[int, ...], columns: Columns) -> None:
    for place in taken:
        name, odd = labels[place], columns.odd.get(place, "")
        if columns.kinds[place] is Kind.MIXED:
            raise DataError(
                f"column {name!r} has numbers, and also {odd!r}. If that is a missing value, add --missing {odd!r}; "
                f"or leave the column out: --exclude {name}"
            )
        if columns.kinds[place] is Kind.SIGNED:
            raise DataError(
                f"column {name!r} has numbers written like {odd!r}. Write plain numbers, or leave the column out: "
                f"--exclude {name}"
            )


def _number(names: Sequence[str], what: str) -> str:
    return f"{len(names)} {what}{'s' if len(names) != 1 else ''}"


def listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
