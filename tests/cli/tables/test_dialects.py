"""Tables as people have them: read right, or refused with the option that reads them; in memory and in chunks."""

import bz2
import gzip
import re
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("pyarrow", reason="tables need pyarrow")
pytest.importorskip("pandas", reason="some files are written by pandas")

import pandas as pd
import pyarrow

from preimage.cli._errors import CommandError
from preimage.cli._options import DEFAULTS, TableOptions
from preimage.cli.tables import _dialect, _text
from preimage.cli.tables._frames import Frame, write_frame
from preimage.cli.tables._kinds import Kind
from preimage.cli.tables._sources import open_source

RNG = np.random.default_rng(0)
# Two decimals, both signs, some above 1000: numbers as they stand in files.
X = np.round(RNG.normal(size=(12, 3)) * [1, 10, 1000], 2)
NAMES = ["alpha", "beta", "gamma"]
FRAME = pd.DataFrame(X, columns=NAMES)


@dataclass(frozen=True)
class Case:
    """A file, and what is right: values, names, the index and the columns left out; or a refusal and its cure."""

    content: bytes
    suffix: str = ".csv"
    values: Any = field(default_factory=lambda: X)
    names: Any = field(default_factory=lambda: NAMES)
    index: str | None = None
    text: tuple[str, ...] = ()
    options: TableOptions = DEFAULTS
    refused: str = ""
    cure: TableOptions | None = None


def text_of(cells, delimiter=",", header=NAMES, end="\n", write=repr):
    lines = [] if header is None else [delimiter.join(header)]
    lines += [delimiter.join(cell if isinstance(cell, str) else write(float(cell)) for cell in row) for row in cells]
    return end.join(lines) + end


def comma(value):
    return repr(float(value)).replace(".", ",")


def grouped(value, group=",", decimal="."):
    return f"{value:,.2f}".replace(",", "#").replace(".", decimal).replace("#", group)


def with_column(name, cells, place=0, rows=X, header=NAMES, **options):
    """A table with one more column of texts."""
    header = None if header is None else [*header[:place], name, *header[place:]]
    return text_of(
        [[*row[:place], cell, *row[place:]] for row, cell in zip(rows.tolist(), cells)], header=header, **options
    )


PLANTS = [f"plant {number}" for number in range(12)]
LETTERS = ["ab", "cd", "ef"] * 4
WHOLE = np.round(X)
POSITIVE = np.round(np.abs(X[:, 0]) + 0.25, 2)
NUMBERED = [str(place) for place in range(len(X))]
PLAIN = text_of(X)
GERMAN = text_of(X, ";", write=comma)
WAVES = [str(wave) for wave in (400, 410, 420)]
REFLECTANCE = np.round(RNG.random((12, 3)), 3) + 0.0001
PIXELS = RNG.integers(0, 17, size=(20, 64)).astype(float)
THREE_DECIMALS = np.array([[1.234, 5.678], [2.345, 6.789], [3.456, 7.891], [4.567, 8.912]])
MISSING = X.copy()
MISSING[[1, 4, 7], [0, 1, 2]] = np.nan


def with_marks(*marks):
    cells = [[repr(value) for value in row] for row in X.tolist()]
    for mark, place in zip(marks, ((1, 0), (4, 1), (7, 2))):
        cells[place[0]][place[1]] = mark
    return text_of(cells).encode()


CASES = {
    # pandas
    "pandas without index": Case(FRAME.to_csv(index=False).encode()),
    "pandas with index": Case(FRAME.to_csv().encode(), index="row names"),
    "pandas with numbers for names": Case(pd.DataFrame(X).to_csv(index=False).encode(), names=["0", "1", "2"]),
    "pandas with numbers for names and an index": Case(
        pd.DataFrame(X).to_csv().encode(), names=["0", "1", "2"], index="row names"
    ),
    "pandas with a shuffled index": Case(
        FRAME.set_axis(RNG.permutation(100)[:12]).to_csv().encode(), index="row names"
    ),
    "pandas with dates as index": Case(
        FRAME.set_axis(pd.date_range("2020-01-01", periods=12)).to_csv().encode(), index="row names"
    ),
    "pandas read and written again": Case(FRAME.rename_axis("Unnamed: 0").to_csv().encode(), index="Unnamed: 0"),
    "pandas read and written twice": Case(
        text_of(
            [[number, number, *row] for number, row in zip(NUMBERED, X)], header=["", "Unnamed: 0", *NAMES]
        ).encode(),
        index="row names",
    ),
    "pandas with two levels of columns": Case(
        pd.DataFrame(X[:, :2], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]))
        .to_csv(index=False)
        .encode(),
        refused="--skip 1",
        cure=TableOptions(skip=1),
        values=X[:, :2],
        names=["x", "y"],
    ),
    "pandas with two levels of columns and an index with a name": Case(
        pd.DataFrame(X, columns=pd.MultiIndex.from_product([["a"], NAMES])).rename_axis("day").to_csv().encode(),
        refused="--skip 1",
        cure=TableOptions(skip=1),
        index="row names",
    ),
    "pandas with two levels, all of them different, and an index with a name": Case(
        pd.DataFrame(X, columns=pd.MultiIndex.from_tuples(list(zip("uvw", NAMES))))
        .rename_axis("day")
        .to_csv()
        .encode(),
        refused="--skip 1",
        cure=TableOptions(skip=1),
        index="row names",
    ),
    "pandas with whole numbers for pixels": Case(
        pd.DataFrame(PIXELS.astype(int)).to_csv(index=False).encode(), values=PIXELS, names=[str(i) for i in range(64)]
    ),
    "pandas and a column of identifiers": Case(
        FRAME.assign(id=range(1, 13))[["id", *NAMES]].to_csv(index=False).encode(), index="id"
    ),
    # R
    "R write.csv": Case(
        with_column('""', [f'"{i + 1}"' for i in range(12)], header=[f'"{n}"' for n in NAMES]).encode(),
        index="row names",
    ),
    "R write.table": Case(
        text_of(
            [[f'"{number + 1}"', *row] for number, row in enumerate(X)], " ", header=[f'"{n}"' for n in NAMES]
        ).encode(),
        ".txt",
        index="row names",
    ),
    "R write.table with row names": Case(
        text_of([[f'"Merc {n}  D"', *row] for n, row in enumerate(X)], " ", header=[f'"{n}"' for n in NAMES]).encode(),
        ".txt",
        index="row names",
    ),
    "R write.csv2": Case(
        with_column(
            '""', [f'"{i + 1}"' for i in range(12)], header=[f'"{n}"' for n in NAMES], delimiter=";", write=comma
        ).encode(),
        index="row names",
    ),
    "R with NA": Case(with_marks("NA", "NA", "NA"), values=MISSING),
    "R with truth values": Case(
        with_column("yes", ["TRUE", "FALSE", "TRUE"] * 4, 3).encode(),
        text=("yes",),
    ),
    # Excel
    "Excel in Germany": Case(GERMAN.encode()),
    "Excel with its own line for the delimiter": Case(("sep=;\r\n" + GERMAN.replace("\n", "\r\n")).encode("utf-8-sig")),
    "Excel as Unicode text": Case(text_of(X, "\t", end="\r\n").encode("utf-16"), ".txt"),
    "Excel with a byte order mark": Case(PLAIN.replace("\n", "\r\n").encode("utf-8-sig")),
    "Excel with empty rows and columns": Case(
        (
            text_of(np.hstack([X, np.full((12, 1), np.nan)])[:, :3], header=NAMES).replace("\n", ",,\n")
            + ",,,,\n,,,,\n"
        ).encode()
    ),
    "Excel with merged names of groups": Case(
        f"before,,after\n{PLAIN}".encode(), refused="two lines of names", cure=TableOptions(skip=1)
    ),
    "Excel with merged names of groups above days": Case(
        ("before,,after,\n" + with_column("day", [f"{day:02d}.01.2020" for day in range(1, 13)])).encode(),
        refused="--skip 1",
        cure=TableOptions(skip=1),
        text=("day",),
    ),
    "Excel with errors": Case(with_marks("#DIV/0!", "#N/A", "#VALUE!"), values=MISSING),
    "Excel with thousands between quotes": Case(
        text_of([[f'"{grouped(value)}"' for value in row] for row in X]).encode()
    ),
    "Excel with German thousands": Case(
        text_of([[grouped(value, ".", ",") for value in row] for row in X], ";").encode()
    ),
    "Excel with Swiss thousands": Case(text_of([[grouped(value, "'") for value in row] for row in X], ";").encode()),
    "Excel with French thousands": Case(
        text_of([[grouped(value, "\u202f", ",") for value in row] for row in X], ";").encode()
    ),
    "Excel with a total": Case(
        (with_column("name", LETTERS) + "Total,1,2,3\n").encode(),
        refused="--skip-footer 1",
        cure=TableOptions(skip_footer=1),
        text=("name",),
    ),
    **{
        f"a last line that begins with {word}": Case(
            (with_column("name", LETTERS) + f"{word},1,2,3\n").encode(),
            refused=f"begins with '{word}' and may sum up the others. Leave it out with --skip-footer 1",
            cure=TableOptions(skip_footer=1),
            text=("name",),
        )
        for word in ("Gesamtsumme", "Insgesamt", "Total général", "Somme", "Suma", "Итого", "Grand Total:")
    },
    "Excel with a total in the second column": Case(
        (with_column("name", LETTERS, 1) + ",Total,2,3\n").encode(),
        refused="begins with 'Total' and may sum up the others. Leave it out with --skip-footer 1",
        cure=TableOptions(skip_footer=1),
        text=("name",),
    ),
    "Excel with a total below numbers": Case(
        (PLAIN + "Total,2,3\n").encode(), refused="--skip-footer 1", cure=TableOptions(skip_footer=1)
    ),
    **{
        f"numbers like {form.format(1.5)}": Case(
            with_column("part", [form.format(value) for value in POSITIVE], 3).encode(),
            values=np.column_stack([X, np.round(factor * POSITIVE, 2)]),
            names=[*NAMES, "part"],
        )
        for form, factor in (
            ("${:.2f}", 1),
            ("{:.2f}%", 1),
            ("{:.2f} €", 1),
            ("-£{:.2f}", -1),
            ("{:.2f}-", -1),
            ("{:.2f}- EUR", -1),
            ("R$ -{:.2f}", -1),
            ("{:.2f} kg", 1),
            ("{:.2f}D+02", 100),
            ("\N{MINUS SIGN}{:.2f}", -1),
        )
    },
    "negative numbers between brackets": Case(
        with_column("gain", [f"({-v:.2f})" if v < 0 else f"{v:.2f}" for v in X[:, 0]], 3).encode(),
        values=np.column_stack([X, X[:, 0]]),
        names=[*NAMES, "gain"],
    ),
    "errors between brackets, below no numbers": Case(
        with_column("error", [f"({v:.2f})" for v in POSITIVE], 3).encode(), text=("error",)
    ),
    "prices in several currencies": Case(
        with_column("price", [f"{'$€'[row % 2]}{v:.2f}" for row, v in enumerate(POSITIVE)], 3).encode(),
        text=("price",),
    ),
    "Excel in Germany without a value": Case(
        text_of([["#NV", *X[0, 1:]], *X[1:]], ";", write=comma).encode(),
        values=np.where(np.arange(36).reshape(12, 3) == 0, np.nan, X),
    ),
    "codes": Case(with_column("zip", [f"{7 * row:05d}" for row in range(12)], 2).encode(), text=("zip",)),
    "codes that are taken as numbers": Case(
        with_column("zip", [f"{7 * row:05d}" for row in range(12)], 3).encode(),
        options=TableOptions(columns=(*NAMES, "zip")),
        values=np.column_stack([X, 7 * np.arange(12)]),
        names=[*NAMES, "zip"],
    ),
    "numbers of accounts": Case(
        with_column("konto", [str(2**53 + 1 + row) for row in range(12)], 1).encode(), text=("konto",)
    ),
    "numbers of phones": Case(
        with_column("contact", [f"+49 176 123 4{row:02d}" for row in range(12)], 1).encode(), text=("contact",)
    ),
    "numbers of phones without blanks": Case(
        with_column("phone", [f"+491761234{row:03d}" for row in range(12)], 1).encode(), text=("phone",)
    ),
    "codes without a name that says so": Case(
        with_column("what", [str(10007 + 977 * row) for row in range(12)], 1).encode(), text=("what",)
    ),
    "a column of years": Case(with_column("year", ["2019", "2020", "2021"] * 4, 1).encode(), text=("year",)),
    # encodings
    "Latin-1": Case(
        text_of(X, ";", header=["Höhe", "Länge", "Größe"]).encode("latin-1"), names=["Höhe", "Länge", "Größe"]
    ),
    "cp1252": Case(text_of(X, header=["10 €", "b", "“c”"]).encode("cp1252"), names=["10 €", "b", "“c”"]),
    "UTF-8": Case(text_of(X, header=["Höhe", "长度", "γ"]).encode(), names=["Höhe", "长度", "γ"]),
    "UTF-16 without a mark": Case(PLAIN.encode("utf-16-le")),
    "UTF-16, big endian": Case(PLAIN.encode("utf-16-be")),
    "UTF-32": Case(PLAIN.encode("utf-32")),
    "zero bytes": Case(PLAIN.replace("alpha", "al\0pha").encode(), refused="zero bytes"),
    # compressed
    "gzip": Case(gzip.compress(PLAIN.encode()), ".csv.gz"),
    "zstd": Case(pyarrow.Codec("zstd").compress(PLAIN.encode(), asbytes=True), ".tsv.zst"),
    "bzip2": Case(bz2.compress(PLAIN.encode()), ".txt.bz2"),
    # delimiters and line ends
    "tabs": Case(text_of(X, "\t").encode(), ".tsv"),
    "tabs and decimal commas": Case(text_of(X, "\t", write=comma).encode(), ".txt"),
    "bars": Case(text_of(X, "|").encode(), ".txt"),
    "blanks": Case(text_of(X, "  ").encode(), ".dat"),
    "columns aligned by blanks": Case(
        (
            "".join(f"{name:>12}" for name in NAMES)
            + "\n"
            + "".join("".join(f"{v:12.2f}" for v in row) + "\n" for row in X)
        ).encode(),
        ".txt",
    ),
    "blanks and decimal commas": Case(text_of(X, "   ", write=comma).encode(), ".txt"),
    "a comma and a blank": Case(text_of(X, ", ").encode()),
    "old Macintosh": Case(PLAIN.replace("\n", "\r").encode()),
    "no end of the last line": Case(PLAIN.rstrip("\n").encode()),
    "empty lines at the end": Case((PLAIN + "\n\n\n").encode()),
    "a delimiter at the end of rows": Case(PLAIN.replace("\n", ",\n").replace("gamma,", "gamma").encode()),
    "a delimiter at the end of all lines": Case(PLAIN.replace("\n", ",\n").encode()),
    "thousands or decimals": Case(
        text_of(THREE_DECIMALS, ";", header=["a", "b"], write=comma).encode(),
        values=THREE_DECIMALS,
        names=["a", "b"],
        refused="--decimal ,",
        cure=TableOptions(decimal=","),
    ),
    "thousands or decimals, read as thousands": Case(
        text_of(THREE_DECIMALS, ";", header=["a", "b"], write=comma).encode(),
        values=THREE_DECIMALS * 1000,
        names=["a", "b"],
        refused="--thousands , --decimal .",
        cure=TableOptions(thousands=",", decimal="."),
    ),
    "dots for thousands or decimals": Case(
        text_of(THREE_DECIMALS, ";", header=["a", "b"]).encode(),
        values=THREE_DECIMALS,
        names=["a", "b"],
        refused="--decimal .",
        cure=TableOptions(decimal="."),
    ),
    "one column with decimal commas": Case(
        text_of(X[:, :1], header=["alpha"], write=comma).encode(), values=X[:, :1], names=["alpha"]
    ),
    "pairs or decimals": Case(
        b"1,05\n2,50\n3,07\n4,10\n",
        refused="--delimiter ,",
        cure=TableOptions(delimiter=",", columns=("1", "2")),
        values=np.array([[1, 5], [2, 50], [3, 7], [4, 10]]),
        names=None,
    ),
    "words with blanks between tabs": Case(
        with_column(
            "plant name",
            [f"plant {day}" for day in range(12)],
            3,
            header=["sepal length (cm)", "b c", "d"],
            delimiter="\t",
        ).encode(),
        ".txt",
        names=["sepal length (cm)", "b c", "d"],
        text=("plant name",),
    ),
    "words with blanks and decimal commas": Case(
        with_column("plant", [f"plant {day}" for day in range(12)], 0, delimiter=";", write=comma).encode(),
        text=("plant",),
    ),
    "a name with the delimiter in it": Case(
        PLAIN.replace("alpha", "length, cm").encode(),
        refused="--skip 1 --no-header",
        cure=TableOptions(skip=1, header=False),
        names=None,
    ),
    # headers
    "no header": Case(text_of(X, header=None).encode(), names=None),
    "wavelengths": Case(text_of(REFLECTANCE, header=WAVES).encode(), values=REFLECTANCE, names=WAVES),
    "wavelengths with decimals": Case(
        text_of(REFLECTANCE, header=["400.5", "410.25", "420.75"]).encode(),
        values=REFLECTANCE,
        names=["400.5", "410.25", "420.75"],
    ),
    "years": Case(
        with_column("country", LETTERS, header=["2019", "2020", "2021"]).encode(),
        names=["2019", "2020", "2021"],
        text=("country",),
    ),
    "sorted rows": Case(text_of(np.sort(X, axis=1), header=None).encode(), values=np.sort(X, axis=1), names=None),
    "a first row that increases": Case(
        b"0.1,0.2,0.35\n0.3,0.1,0.5\n0.2,0.4,0.1\n0.5,0.3,0.2\n",
        values=np.array([[0.1, 0.2, 0.35], [0.3, 0.1, 0.5], [0.2, 0.4, 0.1], [0.5, 0.3, 0.2]]),
        names=None,
    ),
    "whole numbers under 1, 2, 3": Case(
        b"1,2,3\n2,1,3\n3,2,1\n1,3,2\n",
        refused="--no-header",
        cure=TableOptions(header=False),
        values=np.array([[1, 2, 3], [2, 1, 3], [3, 2, 1], [1, 3, 2]]),
        names=None,
    ),
    "whole numbers under the names 1, 2, 3": Case(
        b"1,2,3\n2,1,3\n3,2,1\n1,3,2\n",
        refused="--header",
        cure=TableOptions(header=True),
        values=np.array([[2, 1, 3], [3, 2, 1], [1, 3, 2]]),
        names=["1", "2", "3"],
    ),
    "a simulation that starts at whole numbers": Case(
        b"0 1 5\n0.1 0.95 5.2\n0.2 0.9 5.1\n0.3 0.8 4.9\n",
        ".txt",
        values=np.array([[0, 1, 5], [0.1, 0.95, 5.2], [0.2, 0.9, 5.1], [0.3, 0.8, 4.9]]),
        names=None,
    ),
    "another simulation that starts at whole numbers": Case(
        b"0 1 5\n0.1 0.95 0.2\n0.2 0.1 5.1\n0.3 0.8 0.5\n",
        ".txt",
        refused="--no-header",
        cure=TableOptions(header=False),
        values=np.array([[0, 1, 5], [0.1, 0.95, 0.2], [0.2, 0.1, 5.1], [0.3, 0.8, 0.5]]),
        names=None,
    ),
    "a counter without a header": Case(
        text_of([[str(number + 1), *row] for number, row in enumerate(X)], header=None).encode(), names=None, index="1"
    ),
    "names that occur twice": Case(
        text_of(X, header=["a", "b", "a"]).encode(),
        refused="--no-header",
        cure=TableOptions(skip=1, header=False),
        names=None,
    ),
    "a name that is missing": Case(text_of(X, header=["a", "", "c"]).encode(), names=["a", "column 2", "c"]),
    # instruments
    "preamble": Case(f"Instrument: XY 3000\nOperator: A. Nobody\n\n{PLAIN}".encode()),
    "a title padded with separators": Case(f"Quarterly report,,\n{PLAIN}".encode()),
    "titles and a line of separators, without names": Case(
        f"Report,,\nof the year,,\n,,\n{text_of(X, header=None)}".encode(), names=None
    ),
    "a title or a name": Case(
        f"Report,,\n{text_of(X, header=None)}".encode(),
        refused="--skip 1 --no-header",
        cure=TableOptions(skip=1, header=False),
        names=None,
    ),
    "a title between blanks": Case(f"All values measured\n\n{text_of(X, ' ')}".encode(), ".txt"),
    "a comment of words between blanks": Case(
        f"# Instrument: in cellar\n{text_of(X, ' ', header=None)}".encode(), ".txt", names=None
    ),
    "units above percent": Case(text_of([["m", "V", "s"], *([f"{value}%" for value in row] for row in X)]).encode()),
    "percent without units": Case(text_of([[f"{value} %" for value in row] for row in X]).encode()),
    "money with brackets within": Case(
        text_of(X, ";", write=lambda value: f"${value:.2f}" if value >= 0 else f" $({-value:.2f})").encode()
    ),
    "decimal commas and words between blanks": Case(
        with_column("city", LETTERS, 1, delimiter="   ", write=comma).encode(), ".txt", text=("city",)
    ),
    "single quotes that end on another line": Case(
        with_column("note", ["'two\nlines'", 'say "no"', "it's"] * 4, 3, delimiter="|").encode(), text=("note",)
    ),
    "preamble with commas": Case(f"Date,2020-01-01\nSerial,17\n\n{PLAIN}".encode()),
    "units": Case(text_of([["nm", "V", "counts"], *X]).encode()),
    "units in brackets, some missing": Case(text_of([["[nm]", "", "[counts]"], *X], "\t").encode(), ".txt"),
    "comments": Case(f"# made by a machine\n# on a day\n{PLAIN}# the end\n".encode()),
    "comments between rows": Case(PLAIN.replace("\n", "\n# lamp changed\n", 5).encode()),
    "rows that begin like comments": Case(
        with_column("tag", ["a", "#1", *LETTERS[2:]]).encode(),
        refused="--comment none",
        cure=TableOptions(comment="none"),
        text=("tag",),
    ),
    "rows that somebody took out": Case(
        PLAIN.replace("\n", "\n#1,2,3\n", 2).replace("#1,2,3\n", "", 1).encode(),
        refused="--comment '#'",
        cure=TableOptions(comment="#"),
    ),
    "numbers that do not count rows, but go on": Case(
        with_column("id", [str(1001 + row) for row in range(12)]).encode(), index="id"
    ),
    "names in a comment, as NumPy writes them": Case(
        f"# alpha beta gamma\n{text_of(X, ' ', header=None)}".encode(), ".txt"
    ),
    "a footer of words": Case(
        f"{PLAIN}\nMeasured with care, on a sunny day, by us, all\n".encode(),
        refused="--skip-footer N",
        cure=TableOptions(skip_footer=1),
    ),
    "a line that is too long": Case(
        (PLAIN + "1,2,3,4\n").encode(),
        refused="line 14 has 4 values; 3 are needed",
        cure=TableOptions(skip_ragged=True),
    ),
    "values below a limit": Case(
        with_marks("<0.5"),
        refused="--missing '<0.5'",
        cure=TableOptions(missing=("<0.5",)),
        values=np.where(np.arange(36).reshape(12, 3) == 3, np.nan, X),
    ),
    "missing values of all sorts": Case(with_marks("?", "-", "NULL"), values=MISSING),
    "missing values and blanks": Case(with_marks(" ", " NaN ", "n/a"), values=MISSING),
    "infinity": Case(with_marks("inf"), refused="infinite"),
    # values
    "quoted numbers": Case(text_of([[f'"{value}"' for value in row] for row in X.tolist()]).encode()),
    "single quotes": Case(with_column("name", [f"'{a}, b'" for a in LETTERS]).encode(), text=("name",)),
    "exponents": Case(text_of(X, write=lambda value: f"{value:+.6E}").encode()),
    "exponents and decimal commas": Case(
        text_of(X, ";", write=lambda value: f"{value:.6e}".replace(".", ",")).encode()
    ),
    "words between numbers": Case(with_column("city", LETTERS, 1).encode(), text=("city",)),
    "dates": Case(with_column("day", [f"{day:02d}.01.2020" for day in range(1, 13)]).encode(), text=("day",)),
    "times": Case(with_column("time", [f"2020-01-01 12:{day:02d}:00" for day in range(12)]).encode(), text=("time",)),
    "hexadecimal codes": Case(with_column("code", [f"0x{day:02X}" for day in range(12)]).encode(), text=("code",)),
    "newlines between quotes": Case(with_column("note", ['"two\nlines, one note"'] * 12, 3).encode(), text=("note",)),
    "quotes between quotes": Case(with_column("note", ['"5"" pipe"'] * 12, 3).encode(), text=("note",)),
    "truth values": Case(
        with_column("is_on", ["True", "False", ""] * 4, 3).encode(),
        text=("is_on",),
    ),
    "whole numbers": Case(text_of(WHOLE, write=lambda value: str(int(value))).encode(), values=WHOLE),
    "mixed decimal separators": Case(
        text_of([[repr(a), comma(b), repr(c)] for a, b, c in X.tolist()], ";").encode(),
        refused="--decimal",
        cure=TableOptions(decimal=".", exclude=("beta",)),
        values=X[:, [0, 2]],
        names=["alpha", "gamma"],
    ),
    "nothing": Case(b"", refused="is empty"),
    "blank lines alone": Case(b"\n\n\n", refused="is empty"),
    "words alone": Case(b"a,b\nx,y\nz,w\n", refused="Not taken are a (text), b (text)"),
}


def file_of(case, folder):
    path = folder / f"table{case.suffix}"
    path.write_bytes(case.content)
    return path


def in_memory(path, options):
    source = open_source(path, options)
    return source, np.concatenate(list(source.chunks(2**15, with_missing=True)))


def in_chunks(path, options):
    source = open_source(path, options)
    return source, np.concatenate(list(source.chunks(5, with_missing=True)))


@pytest.fixture(params=["memory", "chunks", "small blocks"])
def route(request, monkeypatch):
    """Ways to read a file: at once, in chunks, and so that its beginning is a few lines, and blocks cut lines."""
    if request.param == "small blocks":
        monkeypatch.setattr(_text, "raw_blocks", partial(_text.raw_blocks, size=31))
        monkeypatch.setattr(_dialect, "FEWEST_BYTES", 150)
        monkeypatch.setattr(_dialect, "FEWEST_LINES", 8)
    return in_memory if request.param == "memory" else in_chunks


def test_there_are_enough_cases():
    assert len(CASES) >= 40


@pytest.mark.parametrize("name", CASES)
def test_tables_are_read_right_or_refused_with_the_option_that_reads_them(name, route, tmp_path):
    case = CASES[name]
    path, options = file_of(case, tmp_path), case.options
    if case.refused:
        with pytest.raises(CommandError) as caught:
            route(path, options)
        assert case.refused in str(caught.value) and str(path) in str(caught.value)
        if case.cure is None:
            return
        options = case.cure
    source, values = route(path, options)
    np.testing.assert_array_equal(values, case.values)
    assert source.names == case.names
    layout = source.layout
    assert (None if layout.index is None else layout.labels[layout.index]) == case.index
    passed_over = [place for place in layout.passed_over if layout.kinds[place] is not Kind.EMPTY]
    assert tuple(layout.called(passed_over)) == case.text


def written(folder, text):
    path = folder / "table.csv"
    path.write_text(text, encoding="utf-8")
    return path


def opened(folder, text, **options):
    return in_memory(written(folder, text), TableOptions(**options))[1]


def raised(folder, text, **options):
    with pytest.raises(CommandError) as caught:
        opened(folder, text, **options)
    return str(caught.value)


@pytest.fixture
def short_beginnings(monkeypatch):
    """Tables are understood from their first ten lines."""
    monkeypatch.setattr(_dialect, "FEWEST_BYTES", 30)
    monkeypatch.setattr(_dialect, "FEWEST_LINES", 9)


WHOLE_ONES = "".join(f"{number}\n" for number in range(1, 40))


@pytest.mark.parametrize(
    ("later", "said", "options", "number"),
    [
        ("1.040", "three decimals", {"decimal": "."}, 1.04),
        ("1.040", "--thousands . --decimal ,", {"decimal": ",", "thousands": "."}, 1040),
        ("-1.040", "--thousands . --decimal ,", {"decimal": ",", "thousands": "."}, -1040),
        ("1,040", "--thousands , --decimal .", {"decimal": ".", "thousands": ","}, 1040),
        ("1.040,5", "Say --decimal , --thousands .", {"decimal": ",", "thousands": "."}, 1040.5),
        ("3,25", "Say --decimal ,", {"decimal": ","}, 3.25),
        ("1'040.5", 'Say --decimal . --thousands "\'"', {"decimal": ".", "thousands": "'"}, 1040.5),
    ],
)
def test_separators_that_come_after_the_first_rows_are_asked_about(
    short_beginnings, tmp_path, later, said, options, number
):
    """39 whole numbers and 1.040: it may be 1040, and is never 1.04 because a point was the first guess."""
    text = f"a;b\n{WHOLE_ONES.replace(chr(10), ';x' + chr(10))}{later};x\n"
    assert said in raised(tmp_path, text)
    assert opened(tmp_path, text, **options)[-1] == number


@pytest.mark.parametrize("mark", [".", ","])
@pytest.mark.parametrize("amount", ["R$ {}", "{} kr.", "Fr. {}", "{} %", "(€ {})", "-$ {}"])
def test_separators_of_amounts_that_come_after_the_first_rows_are_asked_about(short_beginnings, tmp_path, amount, mark):
    rows = [*(amount.strip("(-)").format(number) for number in range(1, 60)), amount.format(f"1{mark}262")]
    with pytest.raises(
        CommandError, match=re.escape(f"--decimal {mark} for decimals, or --thousands {mark} --decimal")
    ):
        opened(tmp_path, "x;y\n" + "".join(f"{row};1\n" for row in rows))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_as_many_lines_are_seen_however_they_end(monkeypatch, tmp_path, end):
    monkeypatch.setattr(_dialect, "FEWEST_BYTES", 8)
    path = tmp_path / "table.csv"
    path.write_bytes(end.join(["a;b", *(f"{row};{row % 7}" for row in range(10, 90))]).encode())
    assert 0 <= len(_dialect.read_beginning(path, DEFAULTS).rows) + 1 - _dialect.FEWEST_LINES < 4


def test_patterns_of_comments_are_not_made_for_every_line(monkeypatch):
    made = []
    pattern = _text.comment_pattern
    monkeypatch.setattr(_text, "comment_pattern", lambda sign: made.append(sign) or pattern(sign))
    counts = []
    for size in (10, 1000):
        lines = ["# of a machine\n", "a;b\n", *(f"{row};{row / 7:.2f}\n" for row in range(size))]
        _dialect.understand(lines, True, DEFAULTS)
        counts.append(len(made))
        made.clear()
    assert 0 < counts[0] == counts[1]


def test_separators_are_known_from_any_column(short_beginnings, tmp_path):
    text = "a;b\n" + "".join(f"{number};{number / 7:.2f}\n" for number in range(1, 40)) + "1.040;2.25\n"
    np.testing.assert_array_equal(opened(tmp_path, text)[-1], [1.04, 2.25])


@pytest.mark.parametrize("later", ["(40)", "40-", "-40", "\u221240"])
def test_negative_numbers_may_come_after_the_first_rows(short_beginnings, tmp_path, later):
    assert opened(tmp_path, f"a\n{WHOLE_ONES}{later}\n")[-1] == -40


def test_columns_between_brackets_alone_are_no_values_in_long_tables_either(short_beginnings, tmp_path):
    text = "a,error\n" + "".join(f"{number}.5,({number})\n" for number in range(40))
    assert opened(tmp_path, text).shape == (40, 1)


@pytest.mark.parametrize(("later", "width"), [("", 1), ("7", 2)])
def test_columns_that_begin_empty_are_values_if_they_have_any(short_beginnings, tmp_path, later, width):
    text = "a,b\n" + "".join(f"{number},\n" for number in range(40)) + f"40,{later}\n"
    assert opened(tmp_path, text).shape == (41, width)


def test_columns_that_begin_empty_are_understood_by_their_first_values(short_beginnings, tmp_path):
    for later, expected in (("-R$ 4.50", Kind.MEASUREMENT), ("00417", Kind.CODE), ("2020-01-01", Kind.DATE)):
        path = written(tmp_path, "a,b\n" + "".join(f"{number},\n" for number in range(40)) + f"40,{later}\n")
        assert open_source(path).layout.kinds[1] is expected
    assert opened(tmp_path, "a,b\n" + "1,\n" * 40 + "40,-R$ 4.50\n")[-1, 1] == -4.5
    german = "a;b\n" + "1,5;\n" * 40 + "2,5;-2.854,62 €\n"
    assert "--decimal , --thousands ." in raised(tmp_path, german)
    assert opened(tmp_path, german, decimal=",", thousands=".")[-1, 1] == -2854.62


def test_a_comment_after_the_first_rows_is_named(short_beginnings, tmp_path):
    text = "a,b\n" + "".join(f"{number},{number / 7:.2f}\n" for number in range(40)) + "# the end\n"
    assert "--comment '#'" in raised(tmp_path, text)
    assert opened(tmp_path, text, comment="#").shape == (40, 2)
    assert "--comment '#'" in raised(tmp_path, text.replace(",", " "))  # as many words as there are columns
    one = "a\n" + WHOLE_ONES
    assert "--comment none" in raised(tmp_path, one + "% the end\n")
    assert np.isnan(opened(tmp_path, one + "#N/A\n")[-1, 0])


def test_a_row_whose_first_value_is_missing_is_no_header(tmp_path):
    text = ";36’309;94;0\n100.2;18’665;110;6\n40.3;11’338;161;7\n78.3;55’671;137;4\n"
    values = opened(tmp_path, text)
    assert values.shape == (4, 4) and np.isnan(values[0, 0]) and values[0, 1] == 36309


def test_a_number_above_numbers_in_brackets_is_no_header(tmp_path):
    values = opened(tmp_path, "0.1,13'424\n(0.1),19'210\n(0.3),1'553\n")
    np.testing.assert_array_equal(values, [[0.1, 13424], [-0.1, 19210], [-0.3, 1553]])
    assert opened(tmp_path, "1,2019\n(see below),0.5\n(none),0.7\n").shape == (2, 1)


@pytest.mark.parametrize("names", [",0,1,2", ",400,410,420", ",alpha,beta,gamma"])
@pytest.mark.parametrize("row", ["{}", "sample {}"])
def test_names_above_an_index_without_one_are_a_header(tmp_path, names, row):
    rows = [",".join([row.format(place), *map(repr, np.abs(values).tolist())]) for place, values in enumerate(X)]
    np.testing.assert_array_equal(opened(tmp_path, "\n".join([names, *rows]) + "\n"), np.abs(X))
    between = [line.replace(",", ",word,", 2).replace(",word,", ",", 1) for line in rows]  # a column of words is second
    numbers = {"0": ",0,1,2,3", "4": ",400,410,420,430"}.get(names[1], ",alpha,beta,gamma,delta")
    np.testing.assert_array_equal(opened(tmp_path, "\n".join([numbers, *between]) + "\n"), np.abs(X))


def test_pairs_of_a_protocol_above_a_table_of_two_columns_are_titles(tmp_path):
    rows = "".join(f"{number},{number / 7:.3f}\n" for number in range(30))
    text = f"Instrument:,X200\nOperator:,Eve\nSerial:,12345\n\ntime,signal\n{rows}"
    assert opened(tmp_path, text).shape == (30, 2)


PAIRS = [(number, 10 + number * 7 % 300) for number in range(1000, 1040)]


def test_a_title_above_pairs_of_numbers_is_no_name_of_decimals(tmp_path):
    """In the country of decimal commas 1000,10 is one number, if it ends in no zero and others begin with some."""
    text = "Quarterly report\n" + "".join(f"{a},{b}\n" for a, b in PAIRS)
    assert opened(tmp_path, text).shape == (40, 2)
    equal = "Quarterly report\n" + "".join(f"{a},{10 + b % 90}\n" for a, b in PAIRS[:12])
    assert "--delimiter , for two, or --delimiter ';' --decimal , for one" in raised(tmp_path, equal)
    decimals = "Body mass\n" + "".join(f"{a},{b % 100:02d}\n" for a, b in PAIRS)
    assert opened(tmp_path, decimals).shape == (40, 1)
    one_word = "mass\n" + "".join(f"{a},{10 + b % 90}\n" for a, b in PAIRS[:12])
    assert opened(tmp_path, one_word).shape == (12, 1)


def test_lines_above_a_table_are_counted(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(f"Prices of 2026,,\n,,\n{PLAIN}", encoding="utf-8")
    assert "header, 2 lines above left out" in open_source(path).described()
    path.write_text(PLAIN, encoding="utf-8")
    assert "above" not in open_source(path).described()


def test_groups_in_the_only_column_are_written_between_quotes(tmp_path):
    """In a file of one column nothing says what separates values: 45,893 below 503 would be two of them."""
    path, output = tmp_path / "one.csv", tmp_path / "out.csv"
    path.write_text("x\n" + '"9,004"\n"78,769"\n503\n"68,479"\n', encoding="utf-8")
    source = open_source(path, TableOptions(decimal=".", thousands=",")).held()
    numbers = np.array([[78769.0], [503.0], [45893.0], [9004.0]])
    write_frame(output, iter([numbers]), Frame.of_whole(source), ".csv")
    assert output.read_text(encoding="utf-8") == 'x\n"78,769"\n"503"\n"45,893"\n"9,004"\n'


@pytest.mark.parametrize("letter", [b"\x92", b"\xe4"])
def test_letters_of_windows_after_the_first_rows_are_named(short_beginnings, tmp_path, letter):
    text = b"a,b\n" + b"".join(b"%d,x\n" % number for number in range(40)) + b"40,it" + letter + b"s\n"
    path = tmp_path / "table.csv"
    path.write_bytes(text)
    with pytest.raises(CommandError, match="--encoding cp1252"):
        list(open_source(path).columns([1]))
    assert list(open_source(path, TableOptions(encoding="cp1252")).columns([1]))[-1][0][-1].as_py().startswith("it")


def test_decimals_of_shortest_digits_are_one_column(tmp_path):
    """Programs write 12.0 next to 12.75; such a zero does not say that the digits behind the comma are a number."""
    text = "I_sc\n-1106,0\n-16940,6\n19841,46\n5832,34\n-4809,54\n"
    np.testing.assert_array_equal(opened(tmp_path, text)[:, 0], [-1106, -16940.6, 19841.46, 5832.34, -4809.54])


def test_a_mark_that_stands_between_quotes_alone_separates_nothing(tmp_path):
    for mark in ";,|":
        text = "".join(f'{value} {place} "x{mark} y" {value / 7}\n' for place, value in enumerate((7.5, -3.25, 6.125)))
        assert opened(tmp_path, text).shape == (3, 3)


def test_rows_that_lack_values_below_titles_are_asked_about(tmp_path):
    text = 'Instrument: XY;\nOperator: Eve;\n;\n"A-25";\n"B-43";32.6\n"A-46";59.4\n"B-94";60.9\n'
    assert "--skip N --no-header" in raised(tmp_path, text)
    assert opened(tmp_path, text, skip=3, header=False).shape == (4, 1)


def test_a_number_alone_in_its_column_is_the_name_of_an_empty_one(tmp_path):
    rows = "".join(f"{value},,{value / 1e9:.3e},{value / 7:.3f}\n" for value in (88291, 8112, 45644, 2920, 41735))
    source = open_source(written(tmp_path, "400,410,420,430\n" + rows))
    assert source.layout.kinds[1] is Kind.EMPTY and source.n_rows == 5
    assert "--header or --no-header" in raised(tmp_path, "17,410,12,30\n" + rows)


def test_amounts_that_are_negative_in_the_first_row_alone_are_no_names(tmp_path):
    text = "it's\tt|u\t $(0.01)\nfirst\tA & B\t $0.00 \nsecond\tx\t $0.02 \n"
    np.testing.assert_array_equal(opened(tmp_path, text)[:, 0], [-0.01, 0, 0.02])


def test_a_minus_behind_the_first_number_alone_makes_no_names(tmp_path):
    rows = "".join(f"{number},50%;plant {number}\n" for number in range(1, 9))
    expected = [-33.5, *(number + 0.5 for number in range(1, 9))]
    for text in ("prix;site\n33,50-%;north\n" + rows, "prix;site\n33,50-;north\n" + rows.replace("%", "")):
        np.testing.assert_array_equal(opened(tmp_path, text)[:, 0], expected)
    assert opened(tmp_path, "33,50-;1\n" + rows.replace("%", "").replace("plant ", "")).shape == (9, 2)


@pytest.mark.parametrize("mark", [" ", "\u00a0", "\u202f", "'", "."])
def test_groups_in_the_first_row_alone_are_numbers(tmp_path, mark):
    rows = "".join(f"{number};{number},5\n" for number in range(1, 9))
    for first in (f"2{mark}428;24,6", f"2{mark}428;1{mark}024,5", f"2{mark}428{mark}000;7,5"):
        assert opened(tmp_path, f"{first}\n{rows}").shape == (9, 2)
        assert opened(tmp_path, f"{first}\n{rows}", header=False)[0, 0] in (2428, 2428000)
        assert opened(tmp_path, f"x;y\n{first}\n{rows}").shape == (9, 2)
    assert opened(tmp_path, f"2{mark}428;1{mark}024\n{rows}", header=True).shape == (8, 2)


def test_separators_of_the_first_row_alone_are_asked_about(tmp_path):
    rows = "".join(f"{number};x{number}\n" for number in range(1, 9))
    assert "--decimal . for decimals, or --thousands ." in raised(tmp_path, "1.234;y\n" + rows, header=False)


def test_units_above_columns_with_words_for_gaps_are_units(tmp_path):
    rows = "".join(f"{'k.A.' if row % 3 == 0 else row};{row / 7:.2f}\n" for row in range(1, 12))
    assert "--missing 'k.A.'" in raised(tmp_path, "mass;rate\nkg;\n" + rows)
    assert opened(tmp_path, "mass;rate\nkg;\n" + rows, missing=("k.A.",)).shape == (11, 2)
    # What occurs again is no unit.
    assert opened(tmp_path, "mass;rate\nk.A.;\n" + rows, missing=("k.A.",)).shape == (12, 2)


@pytest.mark.parametrize("amount", ["{},368", "R$ {},50", "({} €)"])
def test_one_word_for_most_gaps_of_numbers_is_asked_about(tmp_path, amount):
    cells = [amount.format(row) if row % 3 == 0 else "k.A." for row in range(1, 13)]
    cells = [cell.strip("()") if row == 2 else cell for row, cell in enumerate(cells)]
    text = "x;y\n" + "".join(f"{row},25;{cell}\n" for row, cell in enumerate(cells))
    assert "--missing 'k.A.'" in raised(tmp_path, text) and "--exclude y" in raised(tmp_path, text)
    assert opened(tmp_path, text, missing=("k.A.",)).shape == (12, 2)
    assert opened(tmp_path, text, exclude=("y",)).shape == (12, 1)
    # One number among words is none, nor are several among several words.
    assert opened(tmp_path, text.replace("k.A.", "no", 4)).shape == (12, 1)


def test_a_day_above_days_is_no_name(tmp_path):
    assert opened(tmp_path, ',2020-06-21\n"5,52",2020-06-22\n"1,07",2020-06-23\n').shape == (3, 1)
    days = "2020-06-21;2020-06-22;2020-06-23\n"
    assert opened(tmp_path, days + "".join(f"{row};{row / 7:.2f};{row / 3:.2f}\n" for row in range(5))).shape == (5, 3)


@pytest.mark.parametrize("mark", [".--", ".-", ".\u2013", ".\u2014"])
def test_dashes_stand_for_decimals_of_money(tmp_path, mark):
    """1.- is a price in Switzerland, and not minus one as SAP would write it: 1-."""
    rows = "".join(f"{number}'000{mark};{number}.50\n" for number in range(1, 9))
    expected = [[1000 * number, number + 0.5] for number in range(1, 9)]
    np.testing.assert_array_equal(opened(tmp_path, "x;y\n" + rows), expected)
    np.testing.assert_array_equal(opened(tmp_path, "x;y\n" + rows.replace(".", ",").replace("'", ".")), expected)
    some = opened(tmp_path, f"x;y\n{rows}9.25;1\n-7{mark};2\n")
    np.testing.assert_array_equal(some[-2:, 0], [9.25, -7])
    assert opened(tmp_path, "x;y\n1.5-;2\n3.5;4\n7-;1\n")[:, 0].tolist() == [-1.5, 3.5, -7]


def test_subtotals_are_left_out_as_comments(tmp_path):
    text = "site;mass\nA;1\nB;2\nSubtotal;3\nC;5\nSubtotal;5\nD;4\n"
    assert "--comment 'Subtotal'" in raised(tmp_path, text)
    np.testing.assert_array_equal(opened(tmp_path, text, comment="Subtotal")[:, 0], [1, 2, 5, 4])
    assert opened(tmp_path, text, comment="none").shape == (6, 1)


def test_blanks_between_thousands_and_values_are_refused(tmp_path):
    """Split at commas the lines are regular, but no more than the decimals and the next number stand between two."""
    text = "sales count\n1 234,50 12,25\n234,50 1 012,25\n7,00 3,10\n12 500,10 1,00\n3 250,00 2,00\n"
    assert "--delimiter ," in raised(tmp_path, text)
    assert opened(tmp_path, text, delimiter=",").shape[0] == 5


def test_a_row_that_counts_as_names_do_is_asked_about(tmp_path):
    """pandas calls two columns 0 and 1; of small numbers some row is 0, 1 as well."""
    numbers = (0, 0, 4.4, 0.1, 0, 0, 0.2, 0, 0.8)
    rows = "".join(f"{number},{count}\n" for number, count in zip(numbers, "091833010"))
    text = "0,1\n" + rows + "0,1\n"
    assert "--header or --no-header" in raised(tmp_path, text)
    assert opened(tmp_path, text, header=True).shape == (10, 2)
