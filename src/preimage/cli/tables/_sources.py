"""Tables in files of any size, read in chunks of rows: NumPy, CSV and Parquet."""

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from preimage._typing import Array
from preimage.cli._errors import DataError, FileError
from preimage.cli.tables._files import check_columns, format_of, is_number, need

SOURCE_FORMATS = "CSV (.csv), NumPy (.npy) or Parquet (.parquet)"
# A chunk is a few megabytes, and no more rows than this, so that bars move and little is lost in an interruption.
CHUNK_ROWS, CHUNK_BYTES = 2**15, 2**23
# Fewest rows of a chunk, however long they are: products of matrices with fewer rows are slow.
FEWEST_CHUNK_ROWS = 64
# Bytes of a CSV file that are parsed together, and from the first of which types and the number of rows are guessed.
CSV_BLOCK = 2**20
# Pages of Parquet are read through a buffer of this size, so that a file with one large row group needs no more memory.
PARQUET_BUFFER = 2**20

# From the labels of all columns to the places of those to read.
ChooseColumns: TypeAlias = Callable[[list[str]], list[int]]


@dataclass(frozen=True)
class Source:
    """A table in a file, of which only a few chunks are in memory at a time.

    Attributes
    ----------
    path : Path
    names : list of str or None
        Header of the chosen columns; None for files without names.
    labels : list of str
        What to call the chosen columns in messages: names or, without, numbers from 1.
    dtype : dtype
        float32 for such NumPy files, else float64.
    n_rows : int
        Rows of the file; an estimate if it is a CSV file, which only reading counts.
    blocks : callable
        ``blocks(start, rows)`` yields matrices of any number of rows, from row `start` on.
    row_shape : tuple of int or None
        Shape of a row in an array of more than two dimensions.
    """

    path: Path
    names: list[str] | None
    labels: list[str]
    dtype: np.dtype
    n_rows: int
    blocks: Callable[[int, int], Iterator[Array]]
    row_shape: tuple[int, ...] | None = None

    @property
    def n_columns(self) -> int:
        return len(self.labels)

    @property
    def chunk_rows(self) -> int:
        """Rows of a chunk where the user gives no number."""
        return max(FEWEST_CHUNK_ROWS, min(CHUNK_ROWS, CHUNK_BYTES // (self.n_columns * self.dtype.itemsize)))

    def chunks(self, rows: int, start: int = 0) -> Iterator[Array]:
        """Matrices of `rows` rows each from row `start` on, the last one shorter; finite, or a `FileError`."""
        try:
            for chunk in regrouped(self.blocks(start, rows), rows):
                self._check_finite(chunk, start)
                yield chunk
                start += len(chunk)
        except (OSError, ValueError) as error:
            raise FileError(f"{self.path} cannot be read: {error}") from error

    def identity(self) -> dict[str, Any]:
        """What tells this file from another one, or from itself after a change."""
        return identity_of(self.path)

    def _check_finite(self, chunk: Array, start: int) -> None:
        if np.isfinite(chunk).all():
            return
        row, column = np.argwhere(~np.isfinite(chunk))[0]
        raise DataError(
            f"{self.path} has a missing or infinite value in row {start + row + 1}, column {self.labels[column]!r}. "
            "Remove such rows or fill them in."
        )


def open_source(path: Path, columns: list[str] | None = None, exclude: list[str] | None = None) -> Source:
    """A file as a `Source`; what can be known without reading all of it is checked.

    Parameters
    ----------
    path : Path
    columns, exclude : list of str or None
        Which columns to take, in this order, and which not; names, or numbers from 1 where there are none.
    """
    if not path.exists():
        raise FileError(f"{path} does not exist.")
    openers = {".csv": _csv_source, ".npy": _npy_source, ".parquet": _parquet_source}
    kind = format_of(path)
    if kind not in openers:
        what = {"folder": "a folder of pictures", ".npz": "an NPZ archive", ".nii": "a NIfTI scan"}[kind]
        raise FileError(f"{path}: {what} cannot be read in chunks. Use {SOURCE_FORMATS}.")
    choose = lambda labels: _places(path, labels, columns, exclude)
    try:
        source = openers[kind](path, choose)
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read: {error}") from error
    if source.n_columns == 0 or source.n_rows == 0:
        raise DataError(f"{path} has {source.n_rows} rows and {source.n_columns} columns to read; some are needed.")
    return source


def identity_of(path: Path) -> dict[str, Any]:
    """What tells a file from another one, or from itself after a change."""
    status = path.stat()
    return {"path": str(path.resolve()), "size": status.st_size, "modified": status.st_mtime_ns}


def exceeds(path: Path, n_bytes: int) -> bool:
    """Whether the rows of a file that `open_source` can read would take more memory than this."""
    kind = path.suffix.lower()
    if kind not in (".csv", ".npy", ".parquet") or not path.is_file():
        return False
    try:
        return path.stat().st_size > n_bytes or (kind == ".parquet" and _parquet_bytes(path) > n_bytes)
    except (OSError, ValueError):  # reading it will report what is wrong
        return False


def regrouped(blocks: Iterator[Array], rows: int) -> Iterator[Array]:
    """The rows of `blocks`, `rows` at a time."""
    held: list[Array] = []
    count = 0  # rows in `held`, fewer than `rows`
    for block in blocks:
        while len(block):
            held.append(block[: rows - count])
            count += len(held[-1])
            block = block[len(held[-1]) :]
            if count == rows:
                yield held[0] if len(held) == 1 else np.concatenate(held)
                held, count = [], 0
    if held:
        yield np.concatenate(held)


def _places(path: Path, labels: list[str], columns: list[str] | None, exclude: list[str] | None) -> list[int]:
    """Places of the columns to read."""
    for name in [*(columns or []), *(exclude or [])]:
        if name not in labels:
            known = ", ".join(labels[:12]) + (", ..." if len(labels) > 12 else "")
            raise DataError(f"{path} has no column {name!r}; it has {known}.")
    doubled = sorted({name for name in columns or labels if (columns or labels).count(name) > 1})
    if doubled:
        raise DataError(f"{path}: column {doubled[0]!r} occurs twice.")
    return [labels.index(name) for name in columns or labels if name not in (exclude or [])]


def _npy_source(path: Path, choose: ChooseColumns) -> Source:
    array = np.lib.format.open_memmap(path, mode="r")
    if array.ndim < 2:
        raise DataError(f"{path} holds an array of shape {array.shape}; a matrix with rows and columns is needed.")
    if array.dtype.kind not in "fiub":
        raise DataError(f"{path} holds values of the type {array.dtype}, which are not numeric.")
    dtype = np.dtype(np.float32 if array.dtype == np.float32 else np.float64)
    n_rows, width, row_shape = len(array), int(np.prod(array.shape[1:])), array.shape[1:]
    labels = [str(number + 1) for number in range(width)]
    picked = choose(labels)

    def blocks(start: int, rows: int) -> Iterator[Array]:
        for first in range(start, n_rows, rows):
            # A map of its own each time: pages of a map that stays open count as memory of this process.
            part = np.lib.format.open_memmap(path, mode="r")[first : first + rows].reshape(-1, width)
            part = part if picked == list(range(width)) else part[:, picked]
            yield np.array(part, dtype=dtype, order="C")

    whole = len(row_shape) > 1 and picked == list(range(width))
    labels = [labels[place] for place in picked]
    return Source(path, None, labels, dtype, n_rows, blocks, row_shape if whole else None)


def _csv_source(path: Path, choose: ChooseColumns) -> Source:
    """A CSV file; a first line of numbers alone is data."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        first = next(csv.reader(file), [])
    if not first:
        raise FileError(f"{path} is empty, or its first line is.")
    has_names = not all(is_number(cell) for cell in first)
    labels = [cell.strip() for cell in first] if has_names else [str(number + 1) for number in range(len(first))]
    picked = choose(labels)
    labels = [labels[place] for place in picked]
    names = [first[place] for place in picked] if has_names else [f"f{place}" for place in picked]
    types = _csv_types(path, names, labels, has_names)

    def blocks(start: int, rows: int) -> Iterator[Array]:
        try:
            for batch in _csv_reader(path, has_names, types):
                skip = min(start, batch.num_rows)
                start -= skip
                if skip < batch.num_rows:
                    yield _matrix_of(batch, names)[skip:]
        except ValueError as error:  # ArrowInvalid is one
            raise FileError(f"{path} cannot be read: {_csv_error(str(error), first, has_names)}") from error

    n_rows = _estimated_csv_rows(path, has_names)
    return Source(path, labels if has_names else None, labels, np.dtype(np.float64), n_rows, blocks)


def _csv_types(path: Path, names: list[str], labels: list[str], has_names: bool) -> dict[str, Any]:
    """Types of columns to read: numbers, whatever the first block looks like; or truth values."""
    pa = need("pyarrow", "CSV files")
    try:
        schema = _csv_reader(path, has_names, None).schema
    except ValueError as error:
        raise FileError(f"{path} cannot be read: {_csv_error(str(error), labels, has_names)}") from error
    found = [schema.field(name).type for name in names]
    check_columns(path, labels, found)
    return {name: pa.bool_() if pa.types.is_boolean(kind) else pa.float64() for name, kind in zip(names, found)}


def _csv_reader(path: Path, has_names: bool, types: dict[str, Any] | None) -> Any:
    arrow = need("pyarrow.csv", "CSV files")
    # One thread: several read ahead without bound, and do not know row numbers.
    options = arrow.ReadOptions(block_size=CSV_BLOCK, use_threads=False, autogenerate_column_names=not has_names)
    convert = arrow.ConvertOptions(column_types=types, include_columns=None if types is None else list(types))
    return arrow.open_csv(path, read_options=options, convert_options=convert)


def _estimated_csv_rows(path: Path, has_names: bool) -> int:
    with open(path, "rb") as file:
        start = file.read(CSV_BLOCK)
    lines = max(1, start.count(b"\n") + (not start.endswith(b"\n")))
    size = path.stat().st_size
    return max(0, (lines if size <= CSV_BLOCK else round(size * lines / len(start))) - has_names)


def _csv_error(message: str, header: list[str], has_names: bool) -> str:
    """pyarrow's message about a line, in our words."""
    odd = re.match(
        r"In CSV column #(\d+): Row #(\d+): CSV conversion error to \w+: invalid value '(.*)'", message, re.S
    )
    if odd:
        column = header[int(odd[1])] if has_names else int(odd[1]) + 1
        return f"line {odd[2]}, column {column!r}: {odd[3]!r} is not a number."
    ragged = re.match(r"CSV parse error: Row #(\d+): Expected (\d+) columns, got (\d+)", message)
    if ragged:
        return f"line {ragged[1]} has {ragged[3]} values; {ragged[2]} are needed."
    return " ".join(message.split())


def _parquet_source(path: Path, choose: ChooseColumns) -> Source:
    file = _open_parquet(path)
    schema, names = file.schema_arrow, list(file.schema_arrow.names)
    picked = [names[place] for place in choose(names)]
    check_columns(path, picked, [schema.field(name).type for name in picked])
    sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    firsts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)  # first row of every group, and the number of rows

    def blocks(start: int, rows: int) -> Iterator[Array]:
        group = int(np.searchsorted(firsts, start, side="right")) - 1
        skip = start - int(firsts[group])
        if start >= firsts[-1]:
            return
        batches = _open_parquet(path).iter_batches(rows, row_groups=list(range(group, len(sizes))), columns=picked)
        for batch in batches:
            yield _matrix_of(batch, picked)[skip:]
            skip = max(0, skip - batch.num_rows)

    return Source(path, picked, picked, np.dtype(np.float64), int(firsts[-1]), blocks)


def _matrix_of(batch: Any, names: list[str]) -> Array:
    """Columns of a pyarrow batch as a matrix; missing values become NaN."""
    columns = [batch.column(name).to_numpy(zero_copy_only=False).astype(float) for name in names]
    return np.column_stack(columns)


def _open_parquet(path: Path) -> Any:
    return need("pyarrow.parquet", "Parquet files").ParquetFile(path, buffer_size=PARQUET_BUFFER, pre_buffer=False)


def _parquet_bytes(path: Path) -> int:
    """Memory that all numbers of a Parquet file take together."""
    about = _open_parquet(path).metadata
    return 8 * about.num_rows * about.num_columns
