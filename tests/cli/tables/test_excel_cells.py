"""Some cells of a workbook change, and everything else in its file stays byte for byte."""

import datetime as dt
import io
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from preimage.cli._errors import FileError
from preimage.cli.tables import _excel_cells
from preimage.cli.tables._excel import read_sheet
from preimage.cli.tables._excel_cells import write_cells

openpyxl = pytest.importorskip("openpyxl", reason="the books of these tests")

ROWS, COLUMNS = 8, 6
SHEET = "xl/worksheets/sheet2.xml"
# Parts that say when and in which order formulas are computed.
OF_CALCULATION = {"xl/workbook.xml", "xl/_rels/workbook.xml.rels", "[Content_Types].xml", "xl/calcChain.xml"}
CHAIN = b'<calcChain xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><c r="F2" i="2"/></calcChain>'


def picture():
    image = pytest.importorskip("PIL.Image", reason="pictures within the books of these tests")
    file = io.BytesIO()
    image.new("RGB", (4, 4), "red").save(file, "png")
    file.seek(0)
    return openpyxl.drawing.image.Image(file)


def rich_book(path, formulas=True):
    """A book with nearly everything that may be in one; formulas have values, as in a book that Excel has saved."""
    book = openpyxl.Workbook()
    book.active.title, book.active["A1"] = "Notes", "a note"
    sheet = book.create_sheet("Data")
    book.create_sheet("Further").append(["=1+1"] if formulas else [2])
    sheet.append(["day", "code", "x", "y", "ok", "sum"])
    for number in range(1, ROWS):
        gap = None if number % 3 == 0 else number / 7
        day = dt.datetime(2024, 1, number)
        sheet.append([day, f"00{number}", number, gap, bool(number % 2), number + 0.5])
        sheet.cell(number + 1, 1).number_format = "dd.mm.yyyy"
        sheet.cell(number + 1, 3).number_format = "0.00%"
        if gap is not None:
            sheet.cell(number + 1, 4).font = openpyxl.styles.Font(bold=True, color="FF0000")
    sheet.column_dimensions["B"].width, sheet.row_dimensions[3].height, sheet.freeze_panes = 33, 44, "A2"
    sheet["H1"], sheet["C2"].comment = "Title", openpyxl.comments.Comment("why?", "me")
    sheet.merge_cells("H1:J1")
    chart = openpyxl.chart.LineChart()
    chart.add_data(openpyxl.chart.Reference(sheet, min_col=3, min_row=1, max_row=ROWS), titles_from_data=True)
    sheet.add_chart(chart, "L2")
    sheet.add_image(picture(), "L20")
    validation = openpyxl.worksheet.datavalidation.DataValidation(type="list", formula1='"001,002"')
    sheet.add_data_validation(validation)
    validation.add("B2:B9")
    rule = openpyxl.formatting.rule.CellIsRule(operator="lessThan", formula=["0.5"])
    sheet.conditional_formatting.add("C2:D9", rule)
    sheet.auto_filter.ref = "A1:F8"
    book.defined_names["all"] = openpyxl.workbook.defined_name.DefinedName("all", attr_text="Data!$A$1:$F$8")
    book.save(path)
    if formulas:
        replace_parts(path, SHEET, lambda xml: with_formulas(xml))
        add_chain(path)
    return path


def with_formulas(xml):
    """Formulas in the last column: one for all rows but the first, which has its own."""
    for row in range(2, ROWS + 1):
        old = f'<c r="F{row}"'.encode()
        start = xml.index(b"<v>", xml.index(old))
        shared = b'<f t="shared" ref="F3:F8" si="0">C3+$A$1&amp;"&lt;"</f>' if row == 3 else b'<f t="shared" si="0"/>'
        xml = xml[:start] + (b"<f>C2+1</f>" if row == 2 else shared) + xml[start:]
    return xml


def replace_parts(path, name, change):
    contents = parts_of(path)
    contents[name] = change(contents[name])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in contents.items():
            archive.writestr(each, content)


def add_chain(path):
    relation = b'<Relationship Id="rIdChain" Type="http://x/relationships/calcChain" Target="calcChain.xml"/>'
    replace_parts(path, "xl/_rels/workbook.xml.rels", lambda xml: xml.replace(b"</Rel", relation + b"</Rel"))
    override = b'<Override PartName="/xl/calcChain.xml" ContentType="application/x"></Override>'
    replace_parts(path, "[Content_Types].xml", lambda xml: xml.replace(b"</Types", override + b"</Types"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("xl/calcChain.xml", CHAIN)


def parts_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def cells_of(path, data_only=False):
    """Everything about every cell of every sheet."""
    book = openpyxl.load_workbook(path, data_only=data_only)
    return {
        (sheet.title, cell.row - 1, cell.column - 1): (cell.value, cell.data_type, cell.style_id, cell.comment is None)
        for sheet in book
        for row in sheet.iter_rows()
        for cell in row
        if cell.value is not None or cell.has_style
    }


def written(path, changes, sheet=None):
    out = path.with_name("out.xlsx")
    write_cells(path, out, read_sheet(path, sheet), changes)
    return out


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=5)
VALUES = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.booleans(), WORDS)
PLACES = st.tuples(st.integers(0, ROWS - 1), st.integers(1, COLUMNS - 1))  # numbers among dates would be dates


@pytest.mark.parametrize("formulas", [False, True])
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(changes=st.dictionaries(PLACES, VALUES))
def test_only_the_changed_cells_differ(formulas, changes, tmp_path):
    path = tmp_path / "x.xlsx"
    if not path.exists():
        rich_book(path, formulas)
    out = written(path, [(*place, changes[place]) for place in sorted(changes)], "Data")
    before, after = parts_of(path), parts_of(out)
    kept = set(before) - {SHEET} - (OF_CALCULATION if formulas else set())
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert set(after) == set(before) - {"xl/calcChain.xml"}
    old, new = cells_of(path), cells_of(out)
    places = {("Data", *place) for place in changes}
    assert {place: new.get(place) for place in old if place not in places} == {
        place: old[place] for place in old if place not in places
    }
    assert set(new) == set(old) | places
    for (row, column), value in changes.items():
        found, data_type, style, _ = new["Data", row, column]
        assert (found, data_type) == (value, {float: "n", bool: "b", str: "s"}[type(value)])
        if ("Data", row, column) in old:
            assert style == old["Data", row, column][2]


def test_nothing_changes_where_no_cell_does(tmp_path):
    path = rich_book(tmp_path / "x.xlsx", formulas=False)
    assert parts_of(written(path, [], "Data")) == parts_of(path)


def test_gaps_get_the_format_of_the_numbers_of_their_column(tmp_path):
    path = rich_book(tmp_path / "x.xlsx")
    assert ("Data", 3, 3) not in cells_of(path)
    new = cells_of(written(path, [(3, 3, 5.0), (6, 3, 0.25)], "Data"))
    assert new["Data", 3, 3][:3] == (5, "n", new["Data", 2, 3][2])
    assert parts_of(tmp_path / "out.xlsx")[SHEET].count(b'r="D4"') == 1


def test_formulas_are_computed_when_the_book_is_opened(tmp_path):
    path = rich_book(tmp_path / "x.xlsx")
    out = written(path, [(2, 2, 5.0)], "Data")
    assert openpyxl.load_workbook(out).calculation.fullCalcOnLoad
    assert "xl/calcChain.xml" not in parts_of(out)
    assert b"calcChain" not in b"".join(parts_of(out)[name] for name in OF_CALCULATION - {"xl/calcChain.xml"})


def test_books_without_formulas_are_not_computed(tmp_path):
    path = rich_book(tmp_path / "x.xlsx", formulas=False)
    assert parts_of(written(path, [(2, 2, 5.0)], "Data"))["xl/workbook.xml"] == parts_of(path)["xl/workbook.xml"]


@pytest.mark.parametrize("content", [b"<calcPr/>", b"<calcPr calcId='1' fullCalcOnLoad='0'></calcPr>", b""])
def test_the_wish_to_compute_stands_where_it_belongs(content, tmp_path):
    path = rich_book(tmp_path / "x.xlsx")
    xml = parts_of(path)["xl/workbook.xml"]
    start = xml.index(b"<calcPr")
    xml = xml[:start] + content + xml[xml.index(b"/>", start) + 2 :].replace(b"</workbook", b"<oleSize/></workbook")
    replace_parts(path, "xl/workbook.xml", lambda old: xml)
    new = parts_of(written(path, [(2, 2, 5.0)], "Data"))["xl/workbook.xml"]
    assert new.count(b"calcPr") == 1 and new.count(b'fullCalcOnLoad="1"') == 1
    assert new.index(b"</definedNames>") < new.index(b"calcPr") < new.index(b"oleSize")


def test_formulas_that_cells_share_survive_the_first_of_them(tmp_path):
    path = rich_book(tmp_path / "x.xlsx")
    out = written(path, [(2, 5, 9.0), (4, 5, 8.0)], "Data")
    cells = openpyxl.load_workbook(out)["Data"]
    texts = ["=C2+1", 9, '=C4+$A$1&"<"', 8, '=C6+$A$1&"<"', '=C7+$A$1&"<"', '=C8+$A$1&"<"']
    assert [cells.cell(row, 6).value for row in range(2, ROWS + 1)] == texts
    values = openpyxl.load_workbook(out, data_only=True)["Data"]
    assert [values.cell(row, 6).value for row in range(2, 6)] == [1.5, 9, 3.5, 8]
    assert b"shared" not in parts_of(out)[SHEET]


def test_formulas_that_cells_share_stay_as_they_are_where_the_first_stays(tmp_path):
    path = rich_book(tmp_path / "x.xlsx")
    xml = parts_of(written(path, [(4, 5, 8.0)], "Data"))[SHEET]
    assert xml.count(b'<f t="shared" si="0"/>') == 4


def made_book(path, xml):
    """A book whose sheet has this XML."""
    openpyxl.Workbook().save(path)
    replace_parts(path, "xl/worksheets/sheet1.xml", lambda old: xml.encode())
    return path


SPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


@pytest.mark.parametrize("block", [1, 7, 2**20])
@pytest.mark.parametrize("prefix", ["", "x:"])
def test_any_way_of_writing_a_sheet_is_kept(prefix, block, tmp_path, monkeypatch):
    """Prefixes, comments, places that are left out, cells and rows without content, and blocks of any size."""
    name = f"xmlns:{prefix[:-1]}" if prefix else "xmlns"
    xml = (
        "\ufeff<?xml version='1.0' encoding='UTF-8' standalone=\"yes\"?>\n<!-- <c r='A1'> -->\n"
        f"<pworksheet {name}='{SPACE}'>"
        f"\n <pdimension ref='A1:C5'/><psheetData >\n <prow spans='1:1' a='>'>\n  <pc><pv>1</pv></pc>\n  <pc/>"
        "<pc t='str' ><pv >é</pv ></pc >\n </prow>\n<prow r='3' ><pc r='B3' s='0'/></prow ><prow/><prow r='5'>"
        "<pc r='C5' t='inlineStr'><pis><pt>w</pt></pis></pc></prow></psheetData><pextLst><row><c/></row></pextLst>"
        "</pworksheet>"
    )
    for left in ("<", "</"):
        for tag in ("worksheet", "dimension", "sheetData", "row", "c", "v", "is", "t", "extLst"):
            xml = xml.replace(f"{left}p{tag}", f"{left}{prefix}{tag}")
    path = made_book(tmp_path / "x.xlsx", xml)
    monkeypatch.setattr(_excel_cells, "BLOCK", block)
    changes = [(0, 1, True), (1, 0, 2.5), (2, 1, 3), (2, 2, "<é&"), (3, 1, 1e-30), (4, 0, -4.0), (4, 2, float("inf"))]
    new = parts_of(written(path, changes))["xl/worksheets/sheet1.xml"].decode()
    c, v, row = f"{prefix}c", f"{prefix}v", f"{prefix}row"
    expected = (
        xml.replace(" spans='1:1'", "")
        .replace(f"<{c}/><{c} t='str'", f'<{c} r="B1" t="b"><{v}>1</{v}></{c}><{c} t=\'str\'')
        .replace(f"<{row} r='3'", f'<{row} r="2"><{c} r="A2"><{v}>2.5</{v}></{c}></{row}><{row} r=\'3\'')
        .replace(
            f"<{c} r='B3' s='0'/>",
            f'<{c} r="B3" s="0"><{v}>3</{v}></{c}><{c} r="C3" t="inlineStr"><{prefix}is>'
            f'<{prefix}t xml:space="preserve">&lt;&#233;&amp;</{prefix}t></{prefix}is></{c}>',
        )
        .replace(f"<{row}/>", f'<{row}><{c} r="B4"><{v}>1e-30</{v}></{c}></{row}>')
        .replace(
            f"<{c} r='C5' t='inlineStr'><{prefix}is><{prefix}t>w</{prefix}t></{prefix}is></{c}>",
            f'<{c} r="A5"><{v}>-4</{v}></{c}><{c} r="C5" t="e"><{v}>#NUM!</{v}></{c}>',
        )
    )
    assert new == expected
    rows = [["2.5", "", ""], ["", "3", "<é&"], ["", "1e-30", ""], ["-4", "", "#NUM!"]]
    assert read_sheet(tmp_path / "out.xlsx").rows[1:] == rows


def test_rows_below_the_last_are_added_at_the_end(tmp_path):
    rows = '<row r="1"><c r="A1"><v>1</v></c></row><row r="3"><c r="B3"><v>1</v></c></row>'
    path = made_book(tmp_path / "x.xlsx", f'<worksheet xmlns="{SPACE}"><sheetData>{rows}</sheetData></worksheet>')
    sheet = read_sheet(path)
    short = rows.partition("</row>")[0] + "</row>"
    made_book(path, f'<worksheet xmlns="{SPACE}"><sheetData>{short}</sheetData></worksheet>')
    write_cells(path, tmp_path / "out.xlsx", sheet, [(1, 1, 7.0), (2, 0, 8.0)])
    assert read_sheet(tmp_path / "out.xlsx").rows == [["1", ""], ["", "7"], ["8", ""]]


@pytest.mark.parametrize("text", ["a\x00b", "_x0041_", "\r\n\t", "\x1b", "<>&\"'", " both ends ", "日本"])
def test_any_text_comes_back(text, tmp_path):
    path = rich_book(tmp_path / "x.xlsx")
    assert read_sheet(written(path, [(2, 2, text)], "Data"), "Data").rows[2][2] == text


@pytest.mark.parametrize("place", [(1, 2), (2, 2), (1, 3)])
def test_no_single_cell_of_an_array_formula_changes(place, tmp_path):
    cells = '<c r="C2"><f t="array" ref="C2:D3">A1:B2</f><v>1</v></c><c r="D2"><v>2</v></c>'
    rows = f'<row r="2">{cells}</row><row r="3"><c r="D3"><v>2</v></c></row>'
    path = made_book(tmp_path / "x.xlsx", f'<worksheet xmlns="{SPACE}"><sheetData>{rows}</sheetData></worksheet>')
    with pytest.raises(FileError, match=r"its cell [CD][23] belongs to the formula of C2:D3"):
        written(path, [(*place, 5.0)])


def test_an_array_formula_of_one_cell_is_one_of_that_cell(tmp_path):
    rows = '<row r="2"><c r="C2"><f t="array" ref="C2">SUM(A1:B2)</f><v>1</v></c></row>'
    path = made_book(tmp_path / "x.xlsx", f'<worksheet xmlns="{SPACE}"><sheetData>{rows}</sheetData></worksheet>')
    assert read_sheet(written(path, [(1, 2, 5.0)])).rows[1] == ["", "", "5"]


@pytest.mark.parametrize("place", [(ROWS, 0), (0, 10)])
def test_cells_outside_the_sheet_are_none_of_it(place, tmp_path):
    path = rich_book(tmp_path / "x.xlsx")
    with pytest.raises(ValueError, match="8 rows and 8 columns"):
        written(path, [(*place, 1.0)], "Data")


def test_xml_of_two_bytes_per_letter_is_refused(tmp_path):
    sheet = f'<worksheet xmlns="{SPACE}"><sheetData><row><c><v>1</v></c></row></sheetData></worksheet>'
    xml = f'<?xml version="1.0" encoding="UTF-16"?>{sheet}'
    path = made_book(tmp_path / "x.xlsx", "")
    replace_parts(path, "xl/worksheets/sheet1.xml", lambda old: xml.encode("utf-16"))
    with pytest.raises(FileError, match="UTF-16"):
        written(path, [(0, 0, 1.0)])
