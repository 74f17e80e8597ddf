"""From rows in a NumPy file to the format that was asked for, in chunks."""

import os

import numpy as np

from preimage.cli.tables._files import need, replacing

# Rows that are converted together, and that make a row group of a Parquet file.
ROWS = 2**15


def export(part, output, kind, names):
    """Give the rows of the NumPy file `part` the name `output`, in the format `kind`; `names` are the columns."""
    if kind == ".npy":
        os.replace(part, output)
        return
    write = {".csv": _write_csv, ".parquet": _write_parquet}[kind]
    with replacing(output) as temporary:
        write(temporary, _matrices(part), names)


def _matrices(part):
    n = len(np.lib.format.open_memmap(part, mode="r"))
    for first in range(0, n, ROWS):
        # A map of its own each time: pages of a map that stays open count as memory of this process.
        rows = np.array(np.lib.format.open_memmap(part, mode="r")[first : first + ROWS])
        yield rows.reshape(len(rows), -1)


def _write_csv(path, matrices, names):
    arrow, csv = need("pyarrow", "CSV files"), need("pyarrow.csv", "CSV files")
    with open(path, "wb") as file:
        for number, rows in enumerate(matrices):
            batch = _batch(arrow, rows, names)
            csv.write_csv(batch, file, csv.WriteOptions(include_header=number == 0 and names is not None))


def _write_parquet(path, matrices, names):
    arrow, parquet = need("pyarrow", "Parquet files"), need("pyarrow.parquet", "Parquet files")
    writer = None
    try:
        for rows in matrices:
            batch = _batch(arrow, rows, names)
            writer = writer or parquet.ParquetWriter(path, batch.schema)
            writer.write_batch(batch)
    finally:
        if writer is not None:
            writer.close()


def _batch(arrow, rows, names):
    names = names or [f"x{number}" for number in range(rows.shape[1])]
    return arrow.RecordBatch.from_arrays([arrow.array(column.copy()) for column in rows.T], names=names)
