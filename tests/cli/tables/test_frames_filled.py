"""Tables come back with numbers in their gaps and with everything else as it was written."""

from decimal import Decimal

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="tables need pyarrow")

import pyarrow as arrow
import pyarrow.parquet as parquet
from hypothesis import given, settings
from hypothesis import strategies as st

from preimage.cli._options import TableOptions
from preimage.cli.tables._frames import Frame, write_frame
from preimage.cli.tables._sources import coded, open_source

GERMAN = 'id;name;age;"w ""x""";ok;full\n1;Anna;34;1.234,50;True;7\n2;Bo;NA;;False;8\n3;"C;d";51;2,5;;9\n'


def filled(source, number=0.25, rows=2):
    """The frame and the matrices of a table whose gaps all get one number."""
    X = np.concatenate(list(source.chunks(100, with_missing=True)))
    gaps = [int(column) for column in np.flatnonzero(np.isnan(X).any(axis=0))]
    X = np.where(np.isnan(X), number, X)
    return iter([X[first : first + rows] for first in range(0, len(X), rows)]), Frame.of_filled(source, gaps)


def written(path, output, categories=(), **options):
    source = coded(open_source(path), dict.fromkeys(categories, ()))
    matrices, frame = filled(source, **options)
    kind = {".tsv": ".csv"}.get(output.suffix, output.suffix)
    write_frame(output, matrices, frame, kind)
    return output


def test_text_keeps_every_letter_that_is_there(tmp_path):
    (tmp_path / "in.csv").write_text(GERMAN)
    found = written(tmp_path / "in.csv", tmp_path / "out.csv", ["ok"], number=0.75).read_text()
    # As many digits as the columns have: whole years, and money with decimals and groups.
    assert found == GERMAN.replace(";NA;;", ";1;0,75;").replace(";2,5;;", ";2,5;True;")


def test_text_in_another_notation_has_one_notation(tmp_path):
    (tmp_path / "in.csv").write_text(GERMAN)
    lines = written(tmp_path / "in.csv", tmp_path / "out.tsv", ["ok"], number=0.75).read_text().splitlines()
    assert [line.split("\t")[2:] for line in lines[1:]] == [
        ["34", "1234.5", "True", "7"],
        ["1", "0.75", "False", "8"],
        ["51", "2.5", "True", "9"],
    ]


def test_results_may_have_more_columns_than_their_table(tmp_path):
    (tmp_path / "in.csv").write_text("name,a\nx,1.5\ny,2.25\n")
    source, names = open_source(tmp_path / "in.csv", TableOptions(keep=("name",))), [f"c{k}" for k in range(9)]
    write_frame(tmp_path / "out.csv", iter([np.arange(18.0).reshape(2, 9)]), Frame.next_to_kept(source, names), ".csv")
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == ",".join(["name", *names]) and lines[2].startswith("y,9,10")


@pytest.mark.parametrize("words", [("true", "false"), ("TRUE", "FALSE"), ("True", "False")])
def test_truth_values_are_written_as_others_are(tmp_path, words):
    yes, no = words
    (tmp_path / "in.csv").write_text(f"a,ok\n1.5,{yes}\n2.5,{no}\n3.5,\n")
    texts = [
        written(tmp_path / "in.csv", tmp_path / f"{number}.csv", ["ok"], number=number).read_text()
        for number in (0.25, 0.75)
    ]
    assert [text.splitlines()[-1] for text in texts] == [f"3.5,{no}", f"3.5,{yes}"]


def test_parquet_keeps_schema_and_values(tmp_path):
    words = arrow.array(["a", None, "c"]).dictionary_encode()
    table = arrow.table(
        {
            "count": arrow.array([1, None, 3], arrow.int32()),
            "full": arrow.array([4, 5, 6], arrow.int16()),
            "float": arrow.array([1.1, float("nan"), None], arrow.float32()),
            "money": arrow.array([Decimal("1.50"), None, Decimal("2.25")], arrow.decimal128(8, 2)),
            "ok": arrow.array([True, None, False]),
            "word": words,
            "day": arrow.array([1, None, 3], arrow.date32()),
        }
    ).replace_schema_metadata({"made by": "hand"})
    parquet.write_table(table, tmp_path / "in.parquet", compression="zstd")
    output = written(tmp_path / "in.parquet", tmp_path / "out.parquet", ["ok", "word"], number=0.75)
    found = parquet.read_table(output)
    assert found.schema.equals(parquet.read_table(tmp_path / "in.parquet").schema, check_metadata=True)
    assert parquet.ParquetFile(output).metadata.row_group(0).column(0).compression == "ZSTD"
    assert found["count"].to_pylist() == [1, 1, 3] and found["ok"].to_pylist() == [True, True, False]
    assert found["float"].to_pylist() == [table["float"][0].as_py(), 0.75, 0.75]
    assert found["money"].to_pylist() == [Decimal("1.50"), Decimal("0.75"), Decimal("2.25")]
    assert found["word"].to_pylist() == ["a", "c", "c"] and found["day"].to_pylist() == table["day"].to_pylist()


def test_categories_of_parquet_keep_their_order(tmp_path):
    grades = arrow.DictionaryArray.from_arrays(
        arrow.array([2, None, 0], arrow.int8()), ["low", "mid", "high", "unused"], ordered=True
    )
    parquet.write_table(arrow.table({"x": [1.0, 2.0, 3.0], "grade": grades}), tmp_path / "in.parquet")
    found = parquet.read_table(written(tmp_path / "in.parquet", tmp_path / "out.parquet", ["grade"], number=0))
    assert found["grade"].to_pylist() == ["high", "high", "low"] and found["grade"].type == grades.type
    assert found["grade"].chunk(0).dictionary.to_pylist() == ["low", "mid", "high", "unused"]


def test_from_text_to_parquet_and_excel(tmp_path):
    (tmp_path / "in.csv").write_text(GERMAN)
    found = parquet.read_table(written(tmp_path / "in.csv", tmp_path / "out.parquet", number=0.75)).to_pydict()
    assert found["age"] == [34, 1, 51] and found["full"] == [7, 8, 9] and found["ok"] == ["True", "False", ""]
    pytest.importorskip("openpyxl")
    back = open_source(written(tmp_path / "in.csv", tmp_path / "out.xlsx", number=0.75))
    assert np.concatenate(list(back.chunks(10)))[:, 0].tolist() == [34, 1, 51]


AROUND = st.sampled_from(
    [
        (",", "\n", '"', "utf-8"),
        (";", "\r\n", '"', "cp1252"),
        ("\t", "\r", '"', "utf-16"),
        ("|", "\n", "'", "utf-8-sig"),
        (";", "\n", '"', "utf-16-be"),
    ]
)
WORDS_THERE = ["x", "y,z", "Größe", " padded ", "two\nlines", "semi;colon", "t\tab", "7 a|b"]


@settings(max_examples=60, deadline=None)
@given(
    AROUND,
    st.lists(st.tuples(st.integers(-99, 99), st.sampled_from(WORDS_THERE), st.booleans(), st.booleans()), min_size=4),
    st.sampled_from(["", "NA", "nan"]),
    st.booleans(),
)
def test_bytes_of_other_cells_do_not_change(tmp_path_factory, around, rows, mark, has_end):
    """Any delimiter, line ends, quotes and encoding: the file with other texts in the gaps, and no other byte."""
    (delimiter, end, quote, encoding), folder = around, tmp_path_factory.mktemp("bytes")
    always = lambda text: quote + text.replace(quote, 2 * quote) + quote
    text_of = lambda number, is_quoted: always(number) if is_quoted else number

    def content(filling):
        lines = ["title of it all", "", delimiter.join(["number", always("a name"), "more"])]
        for row, (value, word, is_gap, is_quoted) in enumerate([(7, "x", False, True), (8, "y", False, False), *rows]):
            number = filling if is_gap else f"{value}.5"
            lines.append(delimiter.join([text_of(number, is_quoted), always(word), f"{row}.25"]))
        return (end.join(lines) + (end if has_end else "")).encode(encoding)

    (folder / "in.csv").write_bytes(content(mark))
    source = open_source(folder / "in.csv", TableOptions(delimiter=delimiter))
    matrices, frame = filled(source)
    write_frame(folder / "out.csv", matrices, frame, ".csv")
    assert (folder / "out.csv").read_bytes() == content("0.2")


NUMBERS = st.one_of(
    st.floats(-1e9, 1e9).map(repr),
    st.integers(-(10**6), 10**6).map(str),
    st.sampled_from(["1.50", "-0.0", "+3", " 7", "1e3", "2."]),
    st.sampled_from(["", "NA", "nan", "NULL"]),
)


@settings(max_examples=40)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.sampled_from(["x", "y,z", 'q"'])), min_size=4, max_size=12))
def test_only_gaps_change(tmp_path_factory, rows):
    """Any table of text: cell by cell the same text, or a number where there was none."""
    folder = tmp_path_factory.mktemp("filled")
    quote = lambda text: '"' + text.replace('"', '""') + '"' if set(text) & set(',"') else text
    lines = [",".join([f"{number}.5", *map(quote, row)]) for number, row in enumerate(rows)]
    (folder / "in.csv").write_text("\n".join(["a,b,c,d", *lines]) + "\n")
    source = open_source(folder / "in.csv")
    taken = [source.layout.labels[place] for place in source.layout.taken]
    found = written(folder / "in.csv", folder / "out.csv").read_text().splitlines()
    is_gap = lambda name, text: name in taken and text.strip() in ("", "NA", "nan", "NULL")
    for number, row in enumerate(rows):
        cells = found[number + 1].split(",", 3)
        for name, text, new in zip("bcd", row, cells[1:]):
            if is_gap(name, text):
                assert 0 <= float(new) <= 0.3
            else:
                assert new == quote(text)


def test_numbers_have_the_decimals_that_begin_far_below(tmp_path):
    path, output = tmp_path / "x.csv", tmp_path / "y.csv"
    path.write_text("t,v\n" + "x,0.0\n" * 40_000 + "x,0.00123\n")
    source = open_source(path)
    write_frame(output, source.chunks(10_000), Frame.of_whole(source), ".csv")
    assert output.read_bytes() == path.read_bytes()
