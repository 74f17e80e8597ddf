"""Tables whose cells are texts, in text files and in sheets of Excel: what their columns are for."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from preimage.cli._errors import FileError
from preimage.cli._options import TableOptions
from preimage.cli.tables._columns import Columns, Layout, counts_rows, index_place
from preimage.cli.tables._conventions import check_convention
from preimage.cli.tables._dialect import Beginning, read_beginning, understand
from preimage.cli.tables._excel import DATE, TEXT, read_sheet
from preimage.cli.tables._kinds import Kind, kind_of
from preimage.cli.tables._numbers import NumberFormat, Words
from preimage.cli.tables._paths import compression_of, need
from preimage.cli.tables._source import Source, blocks_of, row_number
from preimage.cli.tables._text import TextRows

# Lines of files up to this size are counted, which takes a tenth of a second; of larger ones they are estimated.
COUNTED_BYTES = 2**24
# Bytes of text per byte of a compressed file, about: for bars, and for whether it fits into memory.
COMPRESSION = 4


def text_source(path: Path, options: TableOptions, label: str | None) -> Source:
    beginning = read_beginning(path, options)
    rows = TextRows(path, beginning.dialect, beginning.first_line, beginning.width)
    n_rows, is_estimate = len(beginning.rows), False
    if not beginning.is_whole:
        # A value between quotes may go over several lines.
        is_estimate = any("\n" in cell for row in beginning.rows for cell in row)
        if path.stat().st_size <= COUNTED_BYTES:
            n_rows = sum(block.count(b"\n") for block in rows.lines())
        else:
            row_bytes = sum(len(cell) + 1 for row in beginning.rows for cell in row) / max(1, n_rows)
            n_rows = max(1, round(path.stat().st_size * inflation(path) / max(1.0, row_bytes)))
            is_estimate = True
    layout = _layout_of_texts(beginning, options, label, later=_first_values(beginning, rows))
    blocks = blocks_of(layout, rows.columns, rows.where)
    return Source(path, layout, np.dtype(float), n_rows, blocks, rows.columns, is_estimate=is_estimate, rows=rows)


def _first_values(beginning: Beginning, rows: TextRows) -> dict[int, list[str]]:
    """By place, values of columns that have none in the first rows; columns without a name hold none."""
    numbers, found = beginning.dialect.numbers, dict[int, list[str]]()
    columns = [] if beginning.is_whole else enumerate(zip(*beginning.rows))
    is_named = lambda place: beginning.names is None or beginning.names[place]
    empty = [place for place, texts in columns if is_named(place) and all(map(numbers.is_missing, texts))]
    for batch in rows.columns(empty) if empty else []:
        for place, texts in zip(empty, batch):
            values = [] if place in found else [text for text in distinct(texts) if not numbers.is_missing(text)]
            found |= {place: values} if values else {}
        if len(found) == len(empty):
            break
    return found


def distinct(column: Any) -> list[str]:
    arrow, compute = need("pyarrow"), need("pyarrow.compute")
    texts = compute.unique(compute.cast(column, arrow.string())).to_pylist()
    return [text for text in texts if text is not None]


def inflation(path: Path) -> int:
    """About how many bytes of text a byte of a file is."""
    return 1 if compression_of(path) is None else COMPRESSION


def excel_source(path: Path, options: TableOptions, label: str | None) -> Source:
    """A sheet, which is in memory as a whole; its cells are read as if they were text."""
    arrow = need("pyarrow", "Excel files")
    sheet = read_sheet(path, options.sheet)
    beginning = understand(sheet.lines(), True, replace(options, delimiter="\t", decimal=options.decimal or "."))
    first = beginning.first_line
    rows = sheet.rows[first : first + len(beginning.rows)]
    if [[cell.replace("\n", " ") for cell in row] for row in rows] != beginning.rows:
        raise FileError("cells stand next to its table, or between titles and the table. Delete them, or add --skip N.")
    sheet = sheet.of_table(first)
    by_column = [arrow.array(texts, arrow.string()) for texts in zip(*rows)]
    read = lambda places: iter([[by_column[place] for place in places]] if rows else [])
    told = {frozenset(TEXT): Kind.CODE, frozenset(DATE): Kind.DATE}
    kinds = {place: told[kinds] for place, kinds in enumerate(map(frozenset, sheet.columns)) if kinds in told}
    kinds |= dict.fromkeys(sheet.computed, Kind.FORMULA)
    layout = replace(_layout_of_texts(beginning, options, label, kinds), shown_units=sheet.units)
    sheet.check_merged({place: layout.labels[place] for place in layout.taken})
    blocks = blocks_of(layout, read, row_number)
    return Source(path, layout, np.dtype(float), len(rows), blocks, read, sheet=sheet)


def _layout_of_texts(
    beginning: Beginning,
    options: TableOptions,
    label: str | None,
    told: Mapping[int, Kind] | None = None,
    later: Mapping[int, list[str]] | None = None,
) -> Layout:
    """What the columns are for.

    `told` are the kinds of columns of numbers that the file says to be no measurements, and `later` has values of
    columns that have none in the first rows.
    """
    numbers, names, later = beginning.dialect.numbers, beginning.names, later or {}
    columns = [later.get(place) or [row[place] for row in beginning.rows] for place in range(beginning.width)]
    formats: list[NumberFormat | Words] = []
    kinds, odd, notes, counters = [], dict[int, str](), dict[int, int](), []
    for place, texts in enumerate(columns):
        name = "" if names is None else names[place]
        form = numbers.of_column(texts)
        kind = kind_of(name, texts, form)
        kind = (told or {}).get(place, kind) if kind is Kind.MEASUREMENT else kind
        if place in later and kind in (Kind.TEXT, Kind.MIXED):
            check_convention(texts, numbers)
        filled = [row for row, text in enumerate(texts) if not form.is_missing(text)]
        if place and names is not None and kind is Kind.MEASUREMENT and not name and 2 * len(filled) < len(texts):
            kind = Kind.TEXT  # numbers here and there next to a table are notes
        more_may_come = replace(form, is_beginning=not beginning.is_whole)
        formats.append(Words.of_truths(texts) if kind is Kind.TRUTH else more_may_come)
        kinds.append(kind)
        row = next((row for row in filled if not form.is_number(texts[row])), None)
        if row is not None:
            odd[place] = texts[row]
            below = [cells for cells in beginning.rows[row:] if any(map(str.strip, cells))]
            if beginning.is_whole and all(sum(map(bool, map(str.strip, cells))) == 1 for cells in below):
                notes[place] = len(below)
        if place and name.startswith("Unnamed: ") and counts_rows(texts):
            counters.append(place)
    index = index_place(names, columns, kinds) if options.index is None else None
    units = None if beginning.units is None else tuple(beginning.units)
    return Columns(names, kinds, formats, index, odd, tuple(counters), notes).layout(options, label, units=units)
