"""Tables come back with numbers in their gaps and with everything else as it was written."""

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="tables need pyarrow")

import pyarrow as arrow
import pyarrow.parquet as parquet
from hypothesis import given, settings
from hypothesis import strategies as st

from preimage.cli.tables._frames import Frame, write_frame
from preimage.cli.tables._sources import open_source

GERMAN = 'id;name;age;"w ""x""";ok;full\n1;Anna;34;1.234,50;True;7\n2;Bo;NA;;False;8\n3;"C;d";51;2,5;;9\n'


def filled(source, number=0.25, rounded=False, rows=2):
    """The frame and the matrices of a table whose gaps all get one number."""
    X = np.concatenate(list(source.chunks(100, with_missing=True)))
    gaps = [int(column) for column in np.flatnonzero(np.isnan(X).any(axis=0))]
    X = np.where(np.isnan(X), number, X)
    return iter([X[first : first + rows] for first in range(0, len(X), rows)]), Frame.of_filled(source, gaps, rounded)


def written(path, output, **options):
    matrices, frame = filled(open_source(path), **options)
    kind = {".tsv": ".csv"}.get(output.suffix, output.suffix)
    write_frame(output, matrices, frame, kind)
    return output


def test_text_keeps_every_letter_that_is_there(tmp_path):
    (tmp_path / "in.csv").write_text(GERMAN)
    found = written(tmp_path / "in.csv", tmp_path / "out.csv").read_text()
    assert found == GERMAN.replace(";NA;;", ";0,25;0,25;").replace(";2,5;;", ";2,5;False;")


def test_text_in_another_notation_has_one_notation(tmp_path):
    (tmp_path / "in.csv").write_text(GERMAN)
    lines = written(tmp_path / "in.csv", tmp_path / "out.tsv").read_text().splitlines()
    assert [line.split("\t")[2:] for line in lines[1:]] == [
        ["34", "1234.5", "True", "7"],
        ["0.25", "0.25", "False", "8"],
        ["51", "2.5", "False", "9"],
    ]


@pytest.mark.parametrize("words", [("true", "false"), ("TRUE", "FALSE"), ("True", "False")])
def test_truth_values_are_written_as_others_are(tmp_path, words):
    yes, no = words
    (tmp_path / "in.csv").write_text(f"a,ok\n1.5,{yes}\n2.5,{no}\n3.5,\n")
    assert written(tmp_path / "in.csv", tmp_path / "no.csv").read_text().endswith(f"3.5,{no}\n")
    assert written(tmp_path / "in.csv", tmp_path / "yes.csv", number=0.75).read_text().endswith(f"3.5,{yes}\n")


def test_parquet_keeps_types_and_values(tmp_path):
    table = arrow.table(
        {
            "count": arrow.array([1, None, 3], arrow.int32()),
            "full": arrow.array([4, 5, 6], arrow.int16()),
            "float": arrow.array([1.1, float("nan"), None], arrow.float32()),
            "ok": arrow.array([True, None, False]),
            "word": arrow.array(["a", None, "c"]),
        }
    )
    parquet.write_table(table, tmp_path / "in.parquet")
    found = parquet.read_table(written(tmp_path / "in.parquet", tmp_path / "out.parquet"))
    assert found.schema.types == [arrow.float64(), arrow.int16(), arrow.float32(), arrow.bool_(), arrow.string()]
    assert found["count"].to_pylist() == [1, 0.25, 3] and found["word"].to_pylist() == ["a", None, "c"]
    assert found["float"].to_pylist() == [table["float"][0].as_py(), 0.25, 0.25]
    whole = parquet.read_table(written(tmp_path / "in.parquet", tmp_path / "o.parquet", number=2.0, rounded=True))
    assert whole.schema.types[0] == arrow.int32() and whole["count"].to_pylist() == [1, 2, 3]


def test_from_text_to_parquet_and_excel(tmp_path):
    (tmp_path / "in.csv").write_text(GERMAN)
    found = parquet.read_table(written(tmp_path / "in.csv", tmp_path / "out.parquet")).to_pydict()
    assert found["age"] == [34, 0.25, 51] and found["full"] == [7, 8, 9] and found["ok"] == [True, False, False]
    pytest.importorskip("openpyxl")
    back = open_source(written(tmp_path / "in.csv", tmp_path / "out.xlsx"))
    assert np.concatenate(list(back.chunks(10)))[:, 0].tolist() == [34, 0.25, 51]


NUMBERS = st.one_of(
    st.floats(-1e9, 1e9).map(repr),
    st.integers(-(10**6), 10**6).map(str),
    st.sampled_from(["1.50", "-0.0", "+3", " 7", "1e3", "00.5", "2."]),
    st.sampled_from(["", "NA", "nan", "NULL"]),
)


@settings(max_examples=40)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.sampled_from(["x", "y,z", 'q"'])), min_size=4, max_size=12))
def test_only_gaps_change(tmp_path_factory, rows):
    """Any table of text: cell by cell the same text, or 0.25 where there was none."""
    folder = tmp_path_factory.mktemp("filled")
    quote = lambda text: '"' + text.replace('"', '""') + '"' if set(text) & set(',"') else text
    lines = [",".join([f"{number}.5", *map(quote, row)]) for number, row in enumerate(rows)]
    (folder / "in.csv").write_text("\n".join(["a,b,c,d", *lines]) + "\n")
    source = open_source(folder / "in.csv")
    taken = [source.layout.labels[place] for place in source.layout.taken]
    found = written(folder / "in.csv", folder / "out.csv").read_text().splitlines()
    is_gap = lambda name, text: name in taken and text.strip() in ("", "NA", "nan", "NULL")
    for number, row in enumerate(rows):
        cells = [("b", row[0]), ("c", row[1]), ("d", row[2])]
        expected = ["0.25" if is_gap(name, text) else quote(text) for name, text in cells]
        assert found[number + 1] == ",".join([f"{number}.5", *expected])
