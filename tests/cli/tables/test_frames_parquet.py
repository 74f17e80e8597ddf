"""Parquet files come back with the schema, the metadata and the compression that they had."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from preimage.cli._errors import CommandError
from preimage.cli._options import TableOptions
from preimage.cli.tables._frames import Frame, write_frame
from preimage.cli.tables._sources import open_source

arrow = pytest.importorskip("pyarrow", reason="tables need pyarrow")
parquet = pytest.importorskip("pyarrow.parquet", reason="tables need pyarrow")

N_ROWS = 7
NUMBERS = {
    "single": arrow.array([0.5, None, 2.5, 1.0, 3.0, 4.0, 5.0], arrow.float32()),
    "double": arrow.array([0.1, 0.2, None, 0.4, 0.5, 0.6, 0.7], arrow.float64()),
    "count": arrow.array([5, 3, 5, 3, 7, None, 9], arrow.int16()),
    "money": arrow.array([Decimal("1.50"), None, *[Decimal("2.25")] * 5], arrow.decimal128(12, 2)),
}
OTHERS = {
    "group": arrow.array(["a", "b", None, "a", "b", "a", "b"]).dictionary_encode(),
    "at": arrow.array([1, 2, None, 4, 5, 6, 7], arrow.timestamp("ms", tz="Europe/Berlin")),
    "day": arrow.array([1, 2, 3, 4, 5, 6, None], arrow.date32()),
    "took": arrow.array([1, 2, 3, 4, 5, 6, 7], arrow.duration("s")),
    "zip": arrow.array(["007", "012", "007", "", None, "1", "2"], arrow.large_string()),
    "blob": arrow.array([b"\0", b"1", None, b"3", b"4", b"5", b"6"], arrow.binary()),
    "list": arrow.array([[1], [], None, [4], [5], [6], [7]], arrow.list_(arrow.int8())),
    "nothing": arrow.nulls(N_ROWS),
}


def table_of(path, compression):
    """A table of nearly all types, with metadata of its fields and of pandas."""
    columns = {**OTHERS, **NUMBERS}
    fields = [arrow.field(name, column.type, metadata={"says": name}) for name, column in columns.items()]
    about = {"made by": "hand", **(arrow.Schema.from_pandas(pd.DataFrame({"double": [1.0]})).metadata or {})}
    table = arrow.table(list(columns.values()), schema=arrow.schema(fields, metadata=about))
    parquet.write_table(table, path, compression=compression)
    return open_source(path, TableOptions(columns=tuple(NUMBERS)))


def check_alike(path, output, compression):
    before, after = parquet.ParquetFile(path), parquet.ParquetFile(output)
    assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
    groups = [after.metadata.row_group(group) for group in range(after.num_row_groups)]
    assert {group.column(place).compression for group in groups for place in range(12)} == {compression}
    old, new = before.read(), after.read()
    assert all(new[name].to_pylist() == old[name].to_pylist() for name in OTHERS)
    return old, new


@pytest.mark.parametrize("compression", ["snappy", "zstd", "gzip", "none"])
def test_filled_gaps_have_the_types_of_their_columns(compression, tmp_path):
    source = table_of(tmp_path / "x.parquet", compression)
    X = np.concatenate(list(source.chunks(3, with_missing=True)))
    gaps = [int(column) for column in np.flatnonzero(np.isnan(X).any(axis=0))]
    X = np.where(np.isnan(X), 6.375, X)
    write_frame(tmp_path / "out.parquet", iter([X[:3], X[3:]]), Frame.of_filled(source, gaps), ".parquet")
    names = {"none": "UNCOMPRESSED"}
    old, new = check_alike(
        tmp_path / "x.parquet", tmp_path / "out.parquet", names.get(compression, compression.upper())
    )
    filled = {"single": 6.375, "double": 6.375, "count": 6, "money": Decimal("6.38")}
    for name, value in filled.items():
        assert new[name].to_pylist() == [value if there is None else there for there in old[name].to_pylist()]


def test_denoised_numbers_have_the_types_of_their_columns(tmp_path):
    source = table_of(tmp_path / "x.parquet", "zstd")
    X = np.full((N_ROWS, 4), 2.6)
    write_frame(tmp_path / "out.parquet", iter([X]), Frame.of_whole(source), ".parquet")
    _, new = check_alike(tmp_path / "x.parquet", tmp_path / "out.parquet", "ZSTD")
    assert new["count"].to_pylist() == [3] * N_ROWS and new["money"].to_pylist() == [Decimal("2.60")] * N_ROWS
    assert new["single"].to_numpy().dtype == np.float32 and np.allclose(new["double"].to_numpy(), 2.6)


def test_frames_of_pandas_come_back_with_their_index(tmp_path):
    index = pd.Index(["a", "b", "c", "d"], name="who")
    frame = pd.DataFrame({"x": [1.5, np.nan, 2.5, 3.5], "day": pd.date_range("2024-01-01", periods=4)}, index=index)
    frame["kind"] = pd.Categorical(["u", "v", "u", None], categories=["v", "u"], ordered=True)
    frame.to_parquet(tmp_path / "x.parquet")
    source = open_source(tmp_path / "x.parquet")
    X = np.array([[1.5], [7.0], [2.5], [3.5]])
    write_frame(tmp_path / "out.parquet", iter([X]), Frame.of_filled(source, [0]), ".parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out.parquet"), frame.fillna({"x": 7.0}))


def test_columns_of_one_name_are_refused(tmp_path):
    table = arrow.Table.from_arrays([arrow.array([1.5, 2.5]), arrow.array(["x", "y"])], names=["a", "a"])
    parquet.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(CommandError, match="two columns called 'a'"):
        open_source(tmp_path / "x.parquet")
