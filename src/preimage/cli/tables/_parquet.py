"""Tables in Parquet files, whose columns have types."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from preimage._engine.typing import Array
from preimage.cli._errors import DataError
from preimage.cli._options import TableOptions
from preimage.cli.tables._columns import INDEX_NAMES, Columns, counts_rows
from preimage.cli.tables._kinds import Kind, kind_of
from preimage.cli.tables._numbers import NumberFormat
from preimage.cli.tables._paths import need
from preimage.cli.tables._source import CHUNK_ROWS, Source, after, matrix_of, row_number

# Pages of Parquet are read through a buffer of this size, so that a file with one large row group needs no more memory.
PARQUET_BUFFER = 2**20


def parquet_source(path: Path, options: TableOptions, label: str | None) -> Source:
    file = open_parquet(path)
    schema, names = file.schema_arrow, list(file.schema_arrow.names)
    if len(set(names)) < len(names):
        raise DataError(
            f"has two columns called {next(name for name in names if names.count(name) > 1)!r}. Rename one."
        )
    first = _first_rows(file, max(1, min(CHUNK_ROWS, PARQUET_BUFFER // len(names))))
    kinds = [_kind_of_values(name, first.column(name), schema.field(name).type) for name in names]
    index = _parquet_index(path, schema, names) if options.index is None else []
    words = {place: "words" for place, name in enumerate(names) if not _holds_numbers(schema.field(name).type)}
    found = Columns(names, kinds, (), index[0] if index else None, words, tuple(index[1:]))
    layout = found.layout(options, label)
    sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    firsts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)  # first row of every group, and the number of rows
    picked = [names[place] for place in layout.taken]

    def blocks(start: int, rows: int) -> Iterator[Array]:
        group = int(np.searchsorted(firsts, start, side="right")) - 1
        skip = start - int(firsts[group])
        if start >= firsts[-1]:
            return
        batches = open_parquet(path).iter_batches(rows, row_groups=list(range(group, len(sizes))), columns=picked)
        first = int(firsts[group])
        for batch in batches:
            columns = [batch.column(name) for name in picked]
            yield matrix_of(layout, columns, partial(after, row_number, first))[skip:]
            skip, first = max(0, skip - batch.num_rows), first + batch.num_rows

    def read(places: list[int]) -> Iterator[list[Any]]:
        for batch in open_parquet(path).iter_batches(CHUNK_ROWS, columns=[names[place] for place in places]):
            yield [batch.column(names[place]) for place in places]

    return Source(path, layout, np.dtype(np.float64), int(firsts[-1]), blocks, read, schema=schema)


def _first_rows(file: Any, count: int) -> Any:
    """About so many rows at the beginning of a Parquet file, however small its groups of rows are."""
    batches, rows = [], 0
    for batch in file.iter_batches(count):
        batches.append(batch)
        rows += batch.num_rows
        if rows >= count:
            break
    return need("pyarrow").Table.from_batches(batches, file.schema_arrow)


def _holds_numbers(kind: Any) -> bool:
    known = need("pyarrow").types
    tests = (known.is_integer, known.is_floating, known.is_decimal, known.is_boolean, known.is_null)
    return any(test(kind) for test in tests)


def _kind_of_values(name: str, values: Any, kind: Any) -> Kind:
    """What a column of some type of pyarrow holds, as its first values say."""
    known = need("pyarrow").types
    if known.is_boolean(kind):
        return Kind.TRUTH
    if known.is_temporal(kind):
        return Kind.DATE
    if known.is_null(kind) or values.null_count == len(values):
        return Kind.EMPTY if known.is_null(kind) or not _holds_numbers(kind) else Kind.MEASUREMENT
    if known.is_dictionary(kind):
        return Kind.CATEGORY
    if known.is_string(kind) or known.is_large_string(kind):
        kind_of_texts = kind_of(name, [text or "" for text in values.to_pylist()], NumberFormat())
        return kind_of_texts if kind_of_texts in (Kind.CODE, Kind.CATEGORY, Kind.DATE) else Kind.TEXT
    if known.is_integer(kind):
        return kind_of(name, ["" if value is None else str(value) for value in values.to_pylist()], NumberFormat())
    return Kind.MEASUREMENT if _holds_numbers(kind) else Kind.TEXT


def _parquet_index(path: Path, schema: Any, names: list[str]) -> list[int]:
    """Columns that pandas says are the index, or a first one that has the name of one and counts rows."""
    about = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    found = [name for name in about.get("index_columns", []) if isinstance(name, str) and name in names]
    if found:
        return [names.index(name) for name in found]
    if len(names) > 1 and INDEX_NAMES.fullmatch(names[0]):
        batch = next(open_parquet(path).iter_batches(CHUNK_ROWS, columns=names[:1]), None)
        return [0] if batch is not None and counts_rows([str(value) for value in batch.column(0).to_pylist()]) else []
    return []


def compression_of_parquet(path: Path) -> str:
    """How the columns of a Parquet file are compressed."""
    about = open_parquet(path).metadata
    is_known = about.num_row_groups and about.num_columns
    found = about.row_group(0).column(0).compression.lower() if is_known else "snappy"
    return {"uncompressed": "none"}.get(found, found)


def open_parquet(path: Path) -> Any:
    return need("pyarrow.parquet", "Parquet files").ParquetFile(path, buffer_size=PARQUET_BUFFER, pre_buffer=False)
