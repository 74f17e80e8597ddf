"""Random table files are read exactly, or refused with the option that makes them exact; writing changes no more."""

import csv
import re
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("pyarrow", reason="tables need pyarrow")
pytest.importorskip("openpyxl", reason="workbooks need openpyxl")

import table_files
from table_dialects import (
    LOCALES,
    MARKS,
    TOOLS,
    Case,
    bytes_of,
    drawn_case,
    encoded,
    header_lines,
    lines_above,
    pieces_of,
)
from table_files import MOST_REFUSED, OTHERS, run_file, shrunk
from table_judge import Outcome, Wrong, check_cells, judged
from table_truths import Column, Notation
from table_twins import drawn_twins, recipe

# About 15 files of each tool; `table_files.py` itself tries 20,000 in `make fuzz`.
COUNT, PARTS = 300, 3


@pytest.mark.parametrize("part", range(PARTS))
def test_random_table_files_obey_the_law(part, tmp_path):
    outcomes = {seed: run_file(seed, tmp_path)[1] for seed in range(part, COUNT, PARTS)}
    assert not {seed: outcome for seed, outcome in outcomes.items() if not outcome.is_lawful}
    refused = sum(outcome.kind == "refused" for outcome in outcomes.values())
    assert refused <= 2 * MOST_REFUSED * len(outcomes)  # of so few files a chance excess is no finding


@pytest.mark.parametrize("tool", OTHERS)
def test_parquet_files_workbooks_and_long_tables_obey_the_law(tool, tmp_path):
    outcomes = {seed: OTHERS[tool](seed, tmp_path)[1] for seed in range(40)}
    assert not {seed: outcome for seed, outcome in outcomes.items() if not outcome.is_lawful}


@pytest.mark.parametrize("part", range(3))
def test_files_of_two_truths_are_refused_with_an_option_for_each(part, tmp_path):
    for seed in range(part, 60, 3):
        kinds = [judged(case, tmp_path, seed) for case in drawn_twins(seed)]
        assert [outcome.kind for outcome in kinds] == ["refused", "refused"], f"{seed}: {kinds}"


def test_every_tool_and_country_is_drawn():
    recipes = [drawn_case(seed).recipe for seed in range(COUNT)]
    assert {recipe.tool_name for recipe in recipes} == set(TOOLS)
    assert {recipe.locale_name for recipe in recipes} == set(LOCALES)


@pytest.mark.parametrize("plain", ["0", "-1234.50", "1234567", "0.5", "-0.001", "-1.5e-07", "999.9"])
@pytest.mark.parametrize("locale", LOCALES)
def test_notations_give_back_what_they_write(locale, plain):
    locale = LOCALES[locale]
    for before, after, inside in locale.money:
        for minus in (locale.minus, "()"):
            notation = Notation(locale.decimal, locale.thousands, minus, before, after, inside and minus != "()")
            assert notation.plain(notation.text(plain)) == plain


# The instrument itself.


def changes(seed=1):
    """A case with numbers, one cell that is meant to change, and the number that it is meant to get."""
    case, place = next(
        (case, place)
        for case in map(drawn_case, range(seed, 1000))
        for place, column in enumerate(case.columns)
        if case.recipe.quoting == "minimal" and case.n_rows > 5 and column.decimals == 2
    )
    row = next(row for row, cell in enumerate(case.columns[place].cells) if cell is not None)
    return case, (row, place), "77.25"


def test_names_below_those_of_groups_may_be_read_with_other_letters(tmp_path):
    """Code pages cannot be told from each other: the bytes are right, and the letters may not be."""
    numbers = ("1.5", "2.25", "-3.5", "0.75", "1.25")
    columns = tuple(Column("measurement", name, numbers, Notation(",")) for name in ("масса", "Temp", "CO2"))
    case = Case(recipe("LibreOffice", "ru-RU", "\t", header="two", encoding="cp1251"), columns)
    for rows in range(3, 6):  # groups of one, two and three columns
        smaller = replace(case, columns=tuple(column.taken(range(rows)) for column in columns))
        assert judged(smaller, tmp_path).is_lawful


def test_files_hold_their_truth():
    """Whoever knows how a file is written reads its truth by the csv module of Python alone."""
    for seed in range(150):
        case = drawn_case(seed)
        recipe, above = case.recipe, lines_above(case)
        text = bytes_of(case).decode(recipe.encoding)
        lines = text.split(recipe.end)[len(above) :] if recipe.end == "\r" else text.splitlines(keepends=True)
        lines = lines if recipe.end == "\r" else lines[len(above) :]
        lines = [re.sub(" +", " ", line.strip(" ")) if recipe.delimiter == "aligned" else line for line in lines]
        delimiter = " " if recipe.delimiter == "aligned" else recipe.delimiter
        rows = list(csv.reader(lines, delimiter=delimiter, quotechar=recipe.quote))
        first = len(header_lines(case))
        for number, column in enumerate(case.columns):
            for row in range(case.n_rows):
                cell = rows[first + row][number].replace("\r\n", "\n")
                expected = column.text(row)
                assert cell == (recipe.gap if expected is None else expected), f"{seed}: {cell!r} for {expected!r}"
                if column.kind == "measurement" and expected is not None:
                    assert float(column.notation.plain(cell)) == float(column.cells[row])


def test_an_instrument_that_sees_a_changed_byte_anywhere():
    case, cell, plain = changes()
    pieces = pieces_of(case)
    new = case.columns[cell[1]].notation.text(plain)
    text = "".join(new if place == cell else piece for piece, place in pieces)
    good = MARKS.get(case.recipe.encoding, b"") + encoded(text, case.recipe.encoding)
    check_cells(case, good, {cell: plain}, "test")
    rng = np.random.default_rng(0)
    seen = 0
    for place in rng.integers(len(good), size=200):
        bad = bytearray(good)
        bad[place] ^= 1
        with pytest.raises(Wrong):
            check_cells(case, bytes(bad), {cell: plain}, "test")
        seen += 1
    assert seen == 200


def test_shrinking_keeps_the_finding(tmp_path, monkeypatch):
    """Where every file with a text is a finding, a table with few rows is left, and a text in it."""
    has_text = lambda case: any(column.kind == "text" for column in case.columns)
    monkeypatch.setattr(
        table_files, "judged", lambda case, folder, seed: Outcome("misread" if has_text(case) else "exact")
    )
    case = next(case for case in map(drawn_case, range(1000)) if has_text(case) and len(case.columns) > 4)
    small = shrunk(case, tmp_path, 0)
    assert has_text(small) and small.n_rows == 3 and len(small.columns) == 2
