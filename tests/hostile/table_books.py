"""Parquet files and Excel workbooks of the same truths: types, formats, other sheets and metadata stay."""

import json
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import openpyxl
import pyarrow
from openpyxl.styles import Font
from pyarrow import parquet
from table_core import Refused, denoise, impute
from table_dialects import TOOLS, Case, Recipe
from table_judge import Outcome, Wrong, check_kinds, read_with_cures, with_changed
from table_truths import drawn_truth

START = datetime(2020, 2, 27, 6, 30)
# Formats of Excel's cells by the decimals of a column; what is stored is a number, whatever it looks like.
FORMATS = {
    0: ("0", "#,##0", "General"),
    1: ("0.0", "#,##0.0"),
    2: ("0.00", '#,##0.00 "€"', "#,##0.00;[Red](#,##0.00)"),
    3: ("0.000",),
    None: ("General", "0.00E+00"),
}


def drawn_case(seed):
    """A truth as pandas would hold it in memory."""
    rng = np.random.default_rng([seed, 7])
    fields = {
        "encoding": "utf-8",
        "end": "\n",
        "quoting": "minimal",
        "gap": "",
        "header": "one",
        "above": str(rng.choice(["", "", "titles"])),
    }
    rest = {"footer": "", "suffix": ".csv", "compression": "", "has_final_end": True, "is_grouped": False}
    recipe = Recipe("pandas", "en-US", ",", index=str(rng.choice(["", "pandas"])), **fields, **rest)
    assert recipe.tool_name in TOOLS
    columns = drawn_truth(rng, recipe, recipe.locale)
    return Case(
        recipe, tuple(replace(column, notation=replace(column.notation, before="", after="")) for column in columns)
    ), rng


def judged(case, path, write, check, rng):
    """Write a case, read it, write it as two commands would, and compare."""
    kind, rounds = "misread", []
    try:
        write(path)
        found, options, rounds = read_with_cures(case, path)
        check_kinds(case, found)
        expected = [place for place, kind in enumerate(found.kinds) if kind == "measurement" and place != found.index]
        if options.columns is not None:
            expected = [place for place, column in enumerate(case.columns) if column.kind == "measurement"]
        if list(found.taken) != expected:
            raise Wrong(f"values from columns {list(found.taken)} for {expected}")
        true = np.array([case.columns[place].values() for place in expected]).reshape(len(expected), -1).T
        if not np.array_equal(found.values, true, equal_nan=True):
            raise Wrong("other values than those that were written")
        kind = "damaged"
        for what, changed, output in written(case, found, expected, rng, path):
            try:
                check(output, changed)
            except Wrong as error:
                raise Wrong(f"{what}: {error}") from error
    except Wrong as error:
        return Outcome(kind, str(error))
    except Refused as error:
        return Outcome("stuck", str(error).replace(str(path), "FILE"))
    except Exception as error:
        return Outcome("crash", f"{type(error).__name__}: {error}")
    finally:
        path.unlink(missing_ok=True)
    return Outcome("refused" if rounds else "exact", rounds[0] if rounds else "", tuple(rounds))


def written(case, found, taken, rng, path):
    """Outputs of both commands, each with the numbers that were meant, by row and place."""
    columns = [case.columns[place] for place in taken]
    pools = [[cell for cell in column.cells if cell is not None] for column in columns]
    meant = {(row, place): str(rng.choice(pool)) for place, pool in zip(taken, pools) for row in range(case.n_rows)}
    gaps = {(row, place): plain for (row, place), plain in meant.items() if case.columns[place].cells[row] is None}
    output = path.with_name("out_" + path.name)
    for what, changed in (("impute", gaps), ("denoise", meant)):
        if not changed:
            continue
        matrix = with_changed(case, taken, changed)
        if what == "impute":
            impute(found, matrix, sorted({taken.index(place) for _, place in gaps}), output)
        else:
            denoise(found, matrix, output)
        try:
            yield what, changed, output
        finally:
            output.unlink(missing_ok=True)


# Parquet.


def typed(column, rng):
    """A column of pyarrow in one of the types that hold it."""
    cells = column.cells
    if column.kind == "measurement":
        if column.decimals == 0:
            return pyarrow.array([None if cell is None else int(cell) for cell in cells], pyarrow.int64())
        if column.decimals is not None and rng.random() < 0.2:
            return pyarrow.array(
                [None if cell is None else Decimal(cell) for cell in cells], pyarrow.decimal128(28, column.decimals)
            )
        return pyarrow.array([None if cell is None else float(cell) for cell in cells], pyarrow.float64())
    if column.kind == "code" and all(cell.isdecimal() and not cell.startswith("0") for cell in cells):
        return pyarrow.array([int(cell) for cell in cells], pyarrow.int64())
    if column.kind == "category":
        if set(cells) <= {"True", "False", None}:
            return pyarrow.array([None if cell is None else cell == "True" for cell in cells], pyarrow.bool_())
        return (
            pyarrow.array(cells, pyarrow.string()).dictionary_encode() if rng.random() < 0.6 else pyarrow.array(cells)
        )
    if column.kind == "date" and column.name != "year":
        moments = [None if cell is None else START + timedelta(hours=7 * row) for row, cell in enumerate(cells)]
        if rng.random() < 0.5:
            return pyarrow.array(moments, pyarrow.timestamp("us"))
        return pyarrow.array([moment and moment.date() for moment in moments], pyarrow.date32())
    if column.kind == "date":
        return pyarrow.array([int(cell) for cell in cells], pyarrow.int32())
    if column.kind == "empty":
        # A column of the type of numbers holds measurements, although there are none yet.
        return pyarrow.nulls(len(cells), [pyarrow.null(), pyarrow.string()][rng.integers(2)])
    return pyarrow.array(cells, [pyarrow.string(), pyarrow.large_string()][rng.integers(2)])


def run_parquet(seed, folder):
    """A case as Parquet, and what became of it."""
    case, rng = drawn_case(seed)
    arrays = [typed(column, rng) for column in case.columns]
    index = [column.name or "__index_level_0__" for column in case.columns if column.is_index]
    case = replace(case, columns=tuple(replace(c, name=c.name or "__index_level_0__") for c in case.columns))
    metadata = {b"origin": b"the net", b"pandas": json.dumps({"index_columns": index, "columns": []}).encode()}
    fields = [
        pyarrow.field(column.name, array.type, metadata={b"unit": column.unit.encode()})
        for column, array in zip(case.columns, arrays)
    ]
    table = pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(fields, metadata=metadata))

    def check(output, changed):
        again = parquet.read_table(output)
        if not again.schema.equals(table.schema, check_metadata=False):
            raise Wrong(f"types {again.schema.types} for {table.schema.types}")
        lost = set(metadata) - set(again.schema.metadata or {})
        lost |= {
            name for name, field in zip(table.column_names, again.schema) if (field.metadata or {}).get(b"unit") is None
        }
        if lost:
            raise Wrong(f"metadata lost: {sorted(map(str, lost))}")
        for place, column in enumerate(case.columns):
            new, old = again.column(place).to_pylist(), table.column(place).to_pylist()
            for row, value in enumerate(new):
                plain = changed.get((row, place))
                if value != old[row] if plain is None else float(value) != float(plain):
                    raise Wrong(
                        f"{column.kind} {value!r} for {plain or old[row]!r} in {table.schema.field(place).type}"
                    )

    rows = int(rng.integers(3, 200))
    return case, judged(
        case, folder / "table.parquet", lambda path: parquet.write_table(table, path, row_group_size=rows), check, rng
    )


# Excel.


@dataclass(frozen=True)
class Cell:
    """What a cell of a sheet has."""

    value: object
    number_format: str
    is_bold: bool


def of_excel(column):
    """Numbers of 15 digits: Excel has no more."""
    if column.kind != "measurement" or column.decimals is not None:
        return column
    return replace(column, cells=tuple(cell and f"{float(cell):.15g}" for cell in column.cells))


def stored(column, row):
    """A cell as Excel stores it."""
    cell = column.cells[row]
    if cell is None:
        return None
    if column.kind == "measurement":
        return int(cell) if column.decimals == 0 else float(cell)
    if column.kind == "code" and cell.isdecimal() and not cell.startswith("0") and len(cell) < 16:
        return int(cell)
    if column.kind == "category" and cell in ("True", "False"):
        return cell == "True"
    if column.kind == "date" and column.name == "year":
        return int(cell)
    return START + timedelta(days=row) if column.kind == "date" else cell


def run_book(seed, folder):
    """A case as an Excel workbook with a further sheet, and what became of it."""
    case, rng = drawn_case(seed)
    case = replace(case, columns=tuple(map(of_excel, case.columns)))
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Messung"
    # Above one column a title may be its name.
    titles = [["Quarterly report"], []] if case.recipe.above and len(case.columns) > 1 else []
    for line in titles:
        sheet.append(line)
    sheet.append([column.name or None for column in case.columns])
    above = sheet.max_row if titles else 1
    for cell in sheet[above]:
        cell.font = Font(bold=True)
    formats = [
        str(rng.choice(FORMATS.get(column.decimals, FORMATS[None]))) if column.kind == "measurement" else None
        for column in case.columns
    ]
    for row in range(case.n_rows):
        for place, column in enumerate(case.columns, 1):
            cell = sheet.cell(above + 1 + row, place, stored(column, row))
            if isinstance(cell.value, str):
                cell.data_type = "s"  # "=A1+B2" is a text here
            if formats[place - 1]:
                cell.number_format = formats[place - 1]
    sheet.column_dimensions["A"].width = 23
    sheet.freeze_panes = "B2"
    other = book.create_sheet("Notes")
    other.append(["checked on", date(2021, 5, 3)])
    other["B2"] = "=SUM(1,2)"
    before = {}

    def write(path):
        book.save(path)
        before.update(cells_of(path))

    def check(output, changed):
        after = cells_of(output)
        places = {("Messung", above + 1 + row, place + 1): plain for (row, place), plain in changed.items()}
        for key in before.keys() | after.keys():
            old, new, plain = before.get(key), after.get(key), places.get(key)
            if plain is not None and new is not None:
                if (
                    new.value is None
                    or float(new.value) != float(plain)
                    or new.number_format != getattr(old, "number_format", "General")
                ):
                    raise Wrong(f"{new} for {plain} in {old}")
            elif old != new:
                raise Wrong(f"{key}: {new} for {old}")

    path = folder / "table.xlsx"
    return case, judged(case, path, write, check, rng)


def cells_of(path):
    """All that a workbook has: cells of every sheet, widths of columns and frozen panes."""
    book = openpyxl.load_workbook(path)
    found = {}
    for sheet in book.worksheets:
        found[sheet.title, "frozen"] = sheet.freeze_panes
        found.update({(sheet.title, "width", letter): about.width for letter, about in sheet.column_dimensions.items()})
        for row in sheet.iter_rows():
            for cell in row:
                if cell.value is not None or cell.number_format != "General":
                    found[sheet.title, cell.row, cell.column] = Cell(cell.value, cell.number_format, bool(cell.font.b))
    return found
