"""CSV files in chunks."""

import csv
import re

import numpy as np

from preimage.cli._console import FileError
from preimage.cli.tables._files import is_number, need
from preimage.cli.tables._source_parquet import check_numeric, matrix_of

# Bytes that are parsed together, and from the first of which types and the number of rows are guessed.
BLOCK = 2**20


def csv_layout(path, choose):
    """What `Source` needs to know of a CSV file; a first line of numbers alone is data."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        first = next(csv.reader(file), [])
    if not first:
        raise FileError(f"{path} is empty, or its first line is.")
    has_names = not all(is_number(cell) for cell in first)
    labels = [cell.strip() for cell in first] if has_names else [str(number + 1) for number in range(len(first))]
    picked = choose(labels)
    labels = [labels[place] for place in picked]
    names = [first[place] for place in picked] if has_names else [f"f{place}" for place in picked]
    types = _types(path, names, labels, has_names)

    def blocks(start, rows):
        try:
            for batch in _reader(path, has_names, types):
                skip = min(start, batch.num_rows)
                start -= skip
                if skip < batch.num_rows:
                    yield matrix_of(batch, names)[skip:]
        except ValueError as error:  # ArrowInvalid is one
            raise FileError(f"{path} cannot be read: {_explained(str(error), first, has_names)}") from error

    return {
        "names": labels if has_names else None,
        "labels": labels,
        "dtype": np.dtype(np.float64),
        "n_rows": _estimated_rows(path, has_names),
        "blocks": blocks,
    }


def _types(path, names, labels, has_names):
    """Types of columns to read: numbers, whatever the first block looks like; or truth values."""
    pa = need("pyarrow", "CSV files")
    try:
        schema = _reader(path, has_names, None).schema
    except ValueError as error:
        raise FileError(f"{path} cannot be read: {_explained(str(error), labels, has_names)}") from error
    kinds = pa.types
    usable = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_null)
    found = {name: schema.field(name).type for name in names}
    check_numeric(path, [label for label, name in zip(labels, names) if not any(test(found[name]) for test in usable)])
    return {name: pa.bool_() if kinds.is_boolean(found[name]) else pa.float64() for name in names}


def _reader(path, has_names, types):
    arrow = need("pyarrow.csv", "CSV files")
    # One thread: several read ahead without bound, and do not know row numbers.
    options = arrow.ReadOptions(block_size=BLOCK, use_threads=False, autogenerate_column_names=not has_names)
    convert = arrow.ConvertOptions(column_types=types, include_columns=None if types is None else list(types))
    return arrow.open_csv(path, read_options=options, convert_options=convert)


def _estimated_rows(path, has_names):
    with open(path, "rb") as file:
        start = file.read(BLOCK)
    lines = max(1, start.count(b"\n") + (not start.endswith(b"\n")))
    size = path.stat().st_size
    return max(0, (lines if size <= BLOCK else round(size * lines / len(start))) - has_names)


def _explained(message, header, has_names):
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
