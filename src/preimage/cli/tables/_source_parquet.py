"""Parquet files in chunks."""

import numpy as np

from preimage.cli._console import FileError
from preimage.cli.tables._files import need

# Pages are read through a buffer of this size, so that a file with one large row group needs no more memory.
BUFFER = 2**20


def parquet_layout(path, choose):
    """What `Source` needs to know of a Parquet file."""
    file = _open(path)
    schema, names = file.schema_arrow, list(file.schema_arrow.names)
    picked = [names[place] for place in choose(names)]
    _check_types(path, schema, picked)
    sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    firsts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)  # first row of every group, and the number of rows

    def blocks(start, rows):
        group = int(np.searchsorted(firsts, start, side="right")) - 1
        skip = start - int(firsts[group])
        if start >= firsts[-1]:
            return
        batches = _open(path).iter_batches(rows, row_groups=list(range(group, len(sizes))), columns=picked)
        for batch in batches:
            yield matrix_of(batch, picked)[skip:]
            skip = max(0, skip - batch.num_rows)

    return {
        "names": picked,
        "labels": picked,
        "dtype": np.dtype(np.float64),
        "n_rows": int(firsts[-1]),
        "blocks": blocks,
    }


def matrix_of(batch, names):
    """Columns of a pyarrow batch as a matrix; missing values become NaN."""
    columns = [batch.column(name).to_numpy(zero_copy_only=False).astype(float) for name in names]
    return np.column_stack(columns)


def check_numeric(path, text):
    """Refuse columns of text, naming the way out."""
    if text:
        raise FileError(
            f"{path} has columns that are not numeric: {', '.join(map(repr, text))}. "
            f"Remove them first; embed can leave them out: --exclude {','.join(text)}"
        )


def _check_types(path, schema, names):
    types = need("pyarrow", "Tables").types
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    check_numeric(path, [name for name in names if not any(test(schema.field(name).type) for test in tests)])
    index = [name for name in names if name.startswith("__index_level_")]
    if index:
        raise FileError(f"{path} has an index among its columns. Write it without: to_parquet(..., index=False).")


def _open(path):
    return need("pyarrow.parquet", "Parquet files").ParquetFile(path, buffer_size=BUFFER, pre_buffer=False)


def parquet_bytes(path):
    """Memory that all numbers of a Parquet file take together."""
    about = _open(path).metadata
    return 8 * about.num_rows * about.num_columns
