"""Cells of Excel's sheets are read as they are stored, and text stays text."""

import datetime as dt
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from preimage.cli._errors import FileError
from preimage.cli._options import TableOptions
from preimage.cli.tables._excel import area_of, column_of, letters_of, read_sheet
from preimage.cli.tables._sources import open_source

openpyxl = pytest.importorskip("openpyxl", reason="the books of these tests")

LETTERS = st.text(st.characters(exclude_categories=["C"]), max_size=6)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(-1e300, 1e300).map(lambda number: float(f"{number:.15g}")),  # as openpyxl rounds
    st.datetimes(dt.datetime(1901, 1, 1), dt.datetime(2200, 1, 1)).map(lambda date: date.replace(microsecond=0)),
    LETTERS.filter(lambda text: not text.startswith("=") and not text.startswith("#")),
)


def book_of(path, *rows, name="Sheet"):
    """A book with one sheet of these rows."""
    book = openpyxl.Workbook()
    book.active.title = name
    for row in rows:
        book.active.append(list(row))
    book.save(path)
    return path


def with_parts(path, **parts):
    """The same book with some parts of its archive replaced, by the last words of their names."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            new = parts.get(name.rpartition("/")[2])
            archive.writestr(name, content if new is None else new.encode() if isinstance(new, str) else new)
    return path


def sheet_of(tmp_path, xml):
    """What is read of a sheet with this XML."""
    path = book_of(tmp_path / "made.xlsx", ["a"])
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    sheet = xml if "worksheet" in xml else f"<worksheet {space}><sheetData>{xml}</sheetData></worksheet>"
    return read_sheet(with_parts(path, **{"sheet1.xml": sheet}))


def as_text(value):
    if value is None:
        return ""
    if isinstance(value, dt.datetime):
        return str(value).removesuffix(" 00:00:00")
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return f"{value:.0f}"  # also -0
    return repr(value) if isinstance(value, int | float) else value


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=st.lists(st.lists(VALUES, min_size=3, max_size=3), min_size=1, max_size=5))
def test_cells_are_those_that_openpyxl_wrote(rows, tmp_path):
    path = book_of(tmp_path / "x.xlsx", ["a", "b", "c"], *rows)
    texts = [[as_text(value) for value in row] for row in rows]
    while texts and not any(text.strip() for text in texts[-1]):
        texts.pop()
    assert read_sheet(path).rows == [["a", "b", "c"], *texts]


def test_text_stays_text_and_says_so(tmp_path):
    day = dt.datetime(2024, 2, 29)
    path = book_of(tmp_path / "x.xlsx", ["zip", "n", "ok", "when"], ["007", 7, True, day], ["12", 1.5, False, None])
    sheet = read_sheet(path)
    assert sheet.rows[1:] == [["007", "7", "True", "2024-02-29"], ["12", "1.5", "False", ""]]
    assert list(sheet.of_table(1).columns) == [{"s"}, {"n"}, {"b"}, {"d"}]
    assert sheet.kinds[0] == "ssss" and sheet.kinds[2] == "snb "


def test_line_breaks_and_escaped_letters_within_texts_are_kept(tmp_path):
    assert read_sheet(book_of(tmp_path / "x.xlsx", ["two\nlines"])).rows == [["two\nlines"]]
    texts = '<row><c t="inlineStr"><is><t>_x005F_x0041_</t></is></c><c t="str"><v>and_x000D_\n.</v></c></row>'
    assert sheet_of(tmp_path, texts).rows == [["_x0041_", "and\r\n."]]


def test_parts_of_a_text_belong_together_but_how_it_is_pronounced_does_not(tmp_path):
    rich = "<r><t>東</t></r><r><rPr><b/></rPr><t xml:space='preserve'> 京</t></r><rPh sb='0'><t>トウ</t></rPh>"
    assert sheet_of(tmp_path, f'<row><c t="inlineStr"><is>{rich}</is></c></row>').rows == [["東 京"]]


def test_texts_may_be_shared(tmp_path):
    path = book_of(tmp_path / "x.xlsx", ["a"])
    texts = '<Relationship Id="s" Type="http://x/sharedStrings" Target="/xl/texts.xml"/>'
    with zipfile.ZipFile(path) as archive:
        relations = archive.read("xl/_rels/workbook.xml.rels").decode().replace("</Rel", texts + "</Rel", 1)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("xl/texts.xml", "<sst><si><t>one</t></si><si><t>a\nb</t></si><si/></sst>")
    cells = "".join(f'<c t="s"><v>{number}</v></c>' for number in (1, 0, 1, 2))
    sheet = f"<worksheet><sheetData><row>{cells}</row></sheetData></worksheet>"
    sheet = read_sheet(with_parts(path, **{"workbook.xml.rels": relations, "sheet1.xml": sheet}))
    assert sheet.rows == [["a\nb", "one", "a\nb"]]


@pytest.mark.parametrize("prefix", ["", "x:"])
def test_places_may_be_left_out_and_names_have_any_prefix(prefix, tmp_path):
    space = f'xmlns{":x" if prefix else ""}="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    xml = (
        f"<worksheet {space}>\n <sheetData>\n  <row>\n   <c><v>1</v></c>\n  <c/> <c t='str'><v> y </v></c>\n  </row>"
        '<row r="3"><c r="B3"><v>2.50</v></c><c t="b"><v>1</v></c></row><row/><row><c t="e"><v>#N/A</v></c></row>'
        "</sheetData><extLst><ext><row><col>1</col></row></ext></extLst></worksheet>"
    )
    for tag in ("worksheet", "sheetData", "row", "c", "v"):
        for left in ("<", "</"):
            for right in (" ", ">", "/"):
                xml = xml.replace(f"{left}{tag}{right}", f"{left}{prefix}{tag}{right}")
    sheet = sheet_of(tmp_path, xml)
    assert sheet.rows == [["1", "", " y "], [""] * 3, ["", "2.5", "True"], [""] * 3, ["#N/A", "", ""]]
    assert sheet.kinds == ["n s", "   ", " nb", "   ", "e  "]


def test_formulas_have_the_values_that_were_computed_last(tmp_path):
    computed = '<row><c><f>1+1</f><v>2</v></c><c t="str"><f>"a"</f><v>a</v></c><c t="str"><f>""</f><v></v></c></row>'
    assert sheet_of(tmp_path, computed).rows == [["2", "a"]]


def test_columns_of_formulas_are_no_values_unless_they_are_asked_for(tmp_path):
    """What is computed is no measurement: where a number is missing, a product is zero; results would overwrite it."""
    path = book_of(tmp_path / "x.xlsx", ["n", "price", "all"], *([row, 1.5, 1.5 * row] for row in range(9)))
    with zipfile.ZipFile(path) as archive:
        xml = archive.read("xl/worksheets/sheet1.xml").decode()
    for row in range(2, 10):  # the last one is a number
        xml = xml.replace(f'<c r="C{row}" t="n"><v>', f'<c r="C{row}"><f>A{row}*B{row}</f><v>')
    with_parts(path, **{"sheet1.xml": xml})
    layout = open_source(path).layout
    assert [kind.value for kind in layout.kinds] == ["measurement", "measurement", "formula"]
    assert layout.called(layout.taken) == ["n", "price"]
    assert open_source(path, TableOptions(columns=("all",))).labels == ["all"]


@pytest.mark.parametrize(
    ("count", "named"), [(1, "in 1 cell: B2. Open"), (2, "2 cells: B2, B3. O"), (9, "9 cells: B2, B3, B4, B5, B6, ...")]
)
def test_formulas_without_values_are_named(count, named, tmp_path):
    path = book_of(tmp_path / "x.xlsx", ["a", "b"], *([1, f"=A{row + 2}+1"] for row in range(count)), name="Data")
    with pytest.raises(FileError, match=rf"sheet 'Data' has formulas that no program has computed yet, .*{named}"):
        read_sheet(path)


@pytest.mark.parametrize("epoch", ["1900", "1904"])
def test_dates_of_both_systems_are_the_same_days(epoch, tmp_path):
    book = openpyxl.Workbook()
    book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904 if epoch == "1904" else book.epoch
    day = dt.date(2024, 2, 29)
    for moment in (day, dt.datetime(2024, 2, 29, 13, 5, 9), dt.time(6, 30), dt.timedelta(hours=26, minutes=1)):
        book.active.append([moment])
    book.save(tmp_path / "x.xlsx")
    sheet = read_sheet(tmp_path / "x.xlsx")
    assert [row[0] for row in sheet.rows] == ["2024-02-29", "2024-02-29 13:05:09", "06:30:00", "26:01:00"]
    assert set(sheet.kinds) == {"d"}


@pytest.mark.parametrize(("serial", "text"), [(1, "1900-01-01"), (59, "1900-02-28"), (61, "1900-03-01"), (-1, "-1")])
def test_the_day_that_has_not_been_is_not_counted(serial, text, tmp_path):
    book = openpyxl.Workbook()
    book.active["A1"] = serial
    book.active["A1"].number_format = "d.m.yy;@"
    book.save(tmp_path / "x.xlsx")
    assert read_sheet(tmp_path / "x.xlsx").rows == [[text]]


@pytest.mark.parametrize(
    ("code", "unit"),
    [
        ("0.0%", "%"),
        ("#,##0.00\\ [$€-407]", "€"),
        ("[$$-409]#,##0", "$"),
        ('_("£"* #,##0_);_("£"* (#,##0)', "£"),
        ('0.0" kg"', "kg"),
        ("[Red]0.00", ""),
        ("#,##0.00", ""),
        ("General", ""),
        ('_(* #,##0_);_(* "-"??_)', ""),
    ],
)
def test_units_are_those_that_all_numbers_of_a_column_show(code, unit, tmp_path):
    book = openpyxl.Workbook()
    for row in (["share", "other"], [0.25, 1], [0.5, 2]):
        book.active.append(row)
    for row in (2, 3):
        book.active.cell(row, 1).number_format = code
    book.active["B2"].number_format = code
    book.save(tmp_path / "x.xlsx")
    sheet = read_sheet(tmp_path / "x.xlsx")
    assert sheet.rows[1:] == [["0.25", "1"], ["0.5", "2"]] and sheet.of_table(1).columns[0] == {"n"}
    assert sheet.units == ({0: unit} if unit else {})


def test_merged_cells_and_what_is_hidden_are_read(tmp_path):
    book = openpyxl.Workbook()
    for row in (["Title", None, None], ["a", "b", "c"], [1, 2, 3], [4, 5, 6]):
        book.active.append(row)
    book.active.merge_cells("A1:C1")
    book.active.merge_cells("B3:B4")
    book.active.row_dimensions[4].hidden = book.active.column_dimensions["C"].hidden = True
    book.save(tmp_path / "x.xlsx")
    sheet = read_sheet(tmp_path / "x.xlsx")
    assert sheet.rows == [["Title", "", ""], ["a", "b", "c"], ["1", "2", "3"], ["4", "", "6"]]
    assert sheet.merged == [(0, 0, 0, 2), (2, 1, 3, 1)]


def test_sheets_have_names_and_numbers(tmp_path):
    book = openpyxl.Workbook()
    book.active.title, book.active["A1"], book.active.sheet_state = "Lists", "hidden", "hidden"
    book.create_chartsheet("Chart", 0)
    for name in ("Data", "7"):
        book.create_sheet(name)["A1"] = name
    book.active = 2
    book.save(tmp_path / "x.xlsx")
    wanted = {None: "Data", "Data": "Data", "1": "Data", "2": "7", "7": "7", "Lists": "hidden", "3": "hidden"}
    assert {key: read_sheet(tmp_path / "x.xlsx", key).rows[0][0] for key in wanted} == wanted
    assert read_sheet(tmp_path / "x.xlsx").others == ("7", "Lists")
    for wrong in ("Chart", "0", "4", "-1"):
        with pytest.raises(FileError, match=f"no sheet '{wrong}', but Data, 7, Lists"):
            read_sheet(tmp_path / "x.xlsx", wrong)


@pytest.mark.parametrize(
    "xml",
    [
        '<row r="2"/><row r="1"/>',
        '<row><c r="B1"><v>1</v></c><c r="A1"><v>1</v></c></row>',
        '<row><c r="XFE1"><v>1</v></c></row>',
        "<row><c><v>one</v></c></row>",
        '<row><c t="s"><v>5</v></c></row>',
        "<row><c>",
    ],
)
def test_damaged_sheets_are_refused(xml, tmp_path):
    with pytest.raises(FileError, match=r"no Excel file .* or damaged: "):
        sheet_of(tmp_path, xml)


def test_entities_are_refused(tmp_path):
    with pytest.raises(FileError, match="entities"):
        sheet_of(tmp_path, '<!DOCTYPE worksheet [<!ENTITY a "aaaa">]><worksheet><sheetData/></worksheet>')


def test_columns_are_counted_in_letters():
    assert [column_of(letters) for letters in ("A", "Z", "AA", "XFD")] == [0, 25, 26, 2**14 - 1]
    assert all(column_of(letters_of(column)) == column for column in range(2**14))
    assert area_of("$B$3:AA10") == (2, 1, 9, 26) and area_of("B3") == (2, 1, 2, 1)
