"""A table from a workbook comes back in the same workbook, cell for cell and type for type."""

import datetime as dt

import numpy as np
import pytest

from preimage.cli._errors import CommandError
from preimage.cli._options import TableOptions
from preimage.cli.tables._frames import Frame, write_frame
from preimage.cli.tables._kinds import Kind
from preimage.cli.tables._sources import coded, open_source

openpyxl = pytest.importorskip("openpyxl", reason="the books of these tests")
pytest.importorskip("pyarrow", reason="tables need pyarrow")

HEADER = ["when", "zip", "x", "y", "ok", "note"]
ROWS = [
    [dt.datetime(2024, 1, day), f"0{day}7", day / 4, None if day % 3 == 0 else 10 * day, day % 2 == 0, "two\nlines"]
    for day in range(1, 9)
]


def book_of(path, *above):
    book = openpyxl.Workbook()
    for row in (*above, HEADER, *ROWS):
        book.active.append(row)
    book.active.title = "Data"
    book.create_sheet("Further")["B2"] = "=1+1"
    book.save(path)
    return path


def values_of(path, sheet="Data"):
    return [[cell.value for cell in row] for row in openpyxl.load_workbook(path)[sheet].iter_rows()]


def filled(source, output, number):
    """The table with a number in all gaps."""
    X = np.concatenate(list(source.chunks(100, with_missing=True)))
    gaps = [int(column) for column in np.flatnonzero(np.isnan(X).any(axis=0))]
    X = np.where(np.isnan(X), number, X)
    write_frame(output, iter([X[:3], X[3:]]), Frame.of_filled(source, gaps), output.suffix)
    return output


def test_columns_are_what_their_cells_are(tmp_path):
    source = open_source(book_of(tmp_path / "x.xlsx"))
    kinds = [Kind.DATE, Kind.CODE, Kind.MEASUREMENT, Kind.MEASUREMENT, Kind.TRUTH, Kind.CATEGORY]
    assert list(source.layout.kinds) == kinds and source.labels == ["x", "y"]
    assert "x.xlsx: sheet 'Data', 8 rows" in source.described()


@pytest.mark.parametrize("texts", [["12", "7", "12", "8"], ["1.5", "2.5", "1.5", None]])
def test_numbers_in_cells_of_text_are_codes_until_they_are_asked_for(texts, tmp_path):
    book = openpyxl.Workbook()
    for row in (["a", "b"], *([text, number] for number, text in enumerate(texts))):
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    assert open_source(tmp_path / "x.xlsx").labels == ["b"]
    source = open_source(tmp_path / "x.xlsx", TableOptions(columns=("a",)))
    back = values_of(filled(source, tmp_path / "out.xlsx", 3.5), "Sheet")
    assert [row[0] for row in back[1:]] == [text or "3.5" for text in texts]


ABOVE = [
    pytest.param([], id="nothing"),
    pytest.param([["Report 2024"], []], id="a title"),
    pytest.param([["Report"], ["Author", "me"], [], []], id="a title and lines about it"),
]


@pytest.mark.parametrize("above", ABOVE)
def test_gaps_are_filled_and_nothing_else_changes(above, tmp_path):
    path = book_of(tmp_path / "x.xlsx", *above)
    source = open_source(path)
    assert list(source.layout.names) == HEADER and source.n_rows == len(ROWS)
    back = values_of(filled(source, tmp_path / "out.xlsx", 33.0), "Data")
    places = {(row, column) for row, cells in enumerate(values_of(path)) for column, cell in enumerate(cells)}
    start = len(above) + 1
    gaps = {(start + row, 3) for row in range(len(ROWS)) if ROWS[row][3] is None}
    before = values_of(path)
    assert {place for place in places if back[place[0]][place[1]] != before[place[0]][place[1]]} == gaps
    assert {back[row][column] for row, column in gaps} == {33} and values_of(tmp_path / "out.xlsx", "Further")


def test_cells_keep_their_types(tmp_path):
    path = book_of(tmp_path / "x.xlsx")
    book = openpyxl.load_workbook(path)
    book["Data"]["E3"].value = book["Data"]["F4"].value = None
    book["Data"]["F5"].value = "one line"
    book.save(path)
    source = coded(open_source(path), {"ok": (), "note": ()})
    back = values_of(filled(source, tmp_path / "out.xlsx", 0.75))
    assert back[2][4] is True and back[3][5] == "two\nlines" and back[3][3] == 1


def test_denoised_columns_keep_what_stands_between_them(tmp_path):
    path = book_of(tmp_path / "x.xlsx")
    source = open_source(path, TableOptions(columns=("x",)))
    write_frame(tmp_path / "out.xlsx", iter([np.full((8, 1), 0.5)]), Frame.of_whole(source), ".xlsx")
    before, after = values_of(path), values_of(tmp_path / "out.xlsx")
    assert [row[2] for row in after] == ["x", *[0.5] * 8]
    assert [row[:2] + row[3:] for row in after] == [row[:2] + row[3:] for row in before]


@pytest.mark.parametrize(("area", "is_refused"), [("A1:F1", False), ("B3:B4", False), ("D3:D4", True)])
def test_merged_cells_of_values_are_refused(area, is_refused, tmp_path):
    path = book_of(tmp_path / "x.xlsx", ["Title"])
    book = openpyxl.load_workbook(path)
    book["Data"].merge_cells(area)
    book.save(path)
    if not is_refused:
        assert open_source(path).labels == ["x", "y"]
        return
    with pytest.raises(CommandError, match=r"x.xlsx cannot be read: its cells D3:D4 are merged.*--exclude y"):
        open_source(path)
    assert open_source(path, TableOptions(exclude=("y",))).labels == ["x"]


def test_other_formats_get_the_whole_text(tmp_path):
    source = open_source(book_of(tmp_path / "x.xlsx"))
    lines = filled(source, tmp_path / "out.csv", 1.0).read_text()
    assert '2024-01-03,037,0.75,1,False,"two\nlines"' in lines


def test_units_that_formats_show_are_told(tmp_path):
    path = book_of(tmp_path / "x.xlsx")
    book = openpyxl.load_workbook(path)
    for row in range(2, 10):
        book["Data"].cell(row, 3).number_format = "0%"
    book.save(path)
    layout = open_source(path).layout
    assert [layout.unit(place) for place in (2, 3)] == ["%", ""]


def small_book(path, *rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(list(row))
    book.save(path)
    return book, path


def test_texts_among_numbers_stay_texts(tmp_path):
    _, path = small_book(tmp_path / "x.xlsx", ("t", "a"), ("1.5", 1.5), (2.25, 2.5), ("3.5", 3.5))
    source = open_source(path)
    assert source.labels == ["t", "a"]
    new = np.array([[4.25, 1.0], [5.25, 2.0], [6.25, 3.0]])
    write_frame(tmp_path / "y.xlsx", iter([new[:2], new[2:]]), Frame.of_whole(source), ".xlsx")
    assert [row[0] for row in values_of(tmp_path / "y.xlsx", "Sheet")] == ["t", "4.25", 5.25, "6.25"]


def test_notes_next_to_a_table_stay_and_take_no_row_from_it(tmp_path):
    book, path = small_book(tmp_path / "x.xlsx", ("a", "b"), (1, 2), (None, 3), (4, 5), (6, 8))
    book.active["D3"] = 9
    book.save(path)
    source = open_source(path)
    assert source.labels == ["a", "b"] and source.n_rows == 4
    again = filled(source, tmp_path / "y.xlsx", 7)
    rows = values_of(again, "Sheet")
    assert [row[:2] for row in rows] == [["a", "b"], [1, 2], [7, 3], [4, 5], [6, 8]]
    assert [row[3] for row in rows] == [None, None, 9, None, None]
    source = open_source(again)
    assert source.labels == ["a", "b"] and source.n_rows == 4


@pytest.mark.parametrize("between", [(), ((),)])
def test_notes_below_a_table_are_left_out_with_the_option_that_is_named(between, tmp_path):
    rows = (("a", "b"), (1, 2), (None, 3), (4, 5), (6, 7), (), ("Source: me",), *between, ("and others",))
    _, path = small_book(tmp_path / "x.xlsx", *rows)
    with pytest.raises(CommandError, match=r"--skip-footer 2$"):
        open_source(path)
    source = open_source(path, TableOptions(skip_footer=2))
    assert source.n_rows == 4
    written = values_of(filled(source, tmp_path / "y.xlsx", 3), "Sheet")
    assert [row[0] for row in written] == ["a", 1, 3, 4, 6, None, "Source: me", *([None] * len(between)), "and others"]


def test_codes_that_a_format_fills_with_zeros_keep_them(tmp_path):
    book, path = small_book(tmp_path / "x.xlsx", ("v", "a"), (1067, 1.5), (10115, None), (1067, 3.5))
    for cell in book.active["A"][1:]:
        cell.number_format = "00000"
    book.save(path)
    source = open_source(path)
    assert source.layout.kinds[0] is Kind.CODE
    write_frame(tmp_path / "y.csv", iter([np.array([[1.5], [2.5], [3.5]])]), Frame.of_whole(source), ".csv")
    assert (tmp_path / "y.csv").read_text() == "v,a\n01067,1.5\n10115,2.5\n01067,3.5\n"
