"""How tools in different countries write tables as text: one table of countries, one of tools, and one writer."""

import bz2
import codecs
import gzip
import re
from dataclasses import dataclass, replace

import numpy as np
import pyarrow
from table_truths import MINUS, NARROW, NO_BREAK, drawn_truth


@dataclass(frozen=True)
class Locale:
    """How people of a country write numbers, days and truth values.

    Attributes
    ----------
    name : str
    decimal, thousands, minus : str
    money : tuple of (before, after, whether a minus stands after the sign)
    percent : str
        What stands between a number and its sign of percent.
    dates : tuple of str
        Short days of Excel, and ISO.
    truths : tuple of str
        Truth values of Excel and LibreOffice.
    error : str
        What Excel shows where there is no value (#N/A).
    ansi : str
        The code page of Windows.
    """

    name: str
    decimal: str
    thousands: str
    money: tuple
    percent: str
    dates: tuple
    truths: tuple
    error: str = "#N/A"
    ansi: str = "cp1252"
    minus: str = "-"

    @property
    def separator(self):
        """Windows' list separator: a semicolon where commas separate decimals."""
        return ";" if self.decimal == "," else ","


ISO = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y%m%d", "%H:%M", "year")
LOCALES = {
    locale.name: locale
    for locale in (
        Locale("en-US", ".", ",", (("$", "", False), ("$", "", True), ("", " USD", False)), "", ("%m/%d/%Y", "%m/%d/%Y %H:%M", *ISO), ("TRUE", "FALSE")),
        Locale("en-GB", ".", ",", (("£", "", False), ("GBP ", "", True)), "", ("%d/%m/%Y", *ISO), ("TRUE", "FALSE")),
        Locale("de-DE", ",", ".", (("", " €", False), ("", " EUR", False), ("", f"{NO_BREAK}€", False)), " ", ("%d.%m.%Y", "%d.%m.%Y %H:%M", *ISO), ("WAHR", "FALSCH"), "#NV"),
        # Money before numbers, as Austria's Excel writes it.
        Locale("de-AT", ",", ".", (("€ ", "", True), ("€ ", "", False)), " ", ("%d.%m.%Y", *ISO), ("WAHR", "FALSCH"), "#NV"),
        Locale("de-CH", ".", "’", (("CHF ", "", False), ("CHF ", "", True)), "", ("%d.%m.%Y", *ISO), ("WAHR", "FALSCH"), "#NV"),
        # Since Windows 10 thousands are separated by U+202F, before by U+00A0; Excel's text files have both.
        Locale("fr-FR", ",", NARROW, (("", " €", False), ("", f"{NO_BREAK}€", False)), f"{NO_BREAK}", ("%d/%m/%Y", *ISO), ("VRAI", "FAUX")),
        Locale("fr-CH", ".", "'", (("CHF ", "", False), ("", " CHF", False)), "", ("%d.%m.%Y", *ISO), ("VRAI", "FAUX")),
        Locale("es-ES", ",", ".", (("", " €", False),), " ", ("%d/%m/%Y", *ISO), ("VERDADERO", "FALSO"), "#N/D"),
        Locale("it-IT", ",", ".", (("€ ", "", False), ("", " €", False)), "", ("%d/%m/%Y", *ISO), ("VERO", "FALSO"), "#N/D"),
        Locale("pt-BR", ",", ".", (("R$ ", "", False), ("R$ ", "", True)), "", ("%d/%m/%Y", *ISO), ("VERDADEIRO", "FALSO"), "#N/D"),
        # Sweden's minus is U+2212 in every program that uses ICU.
        Locale("sv-SE", ",", NO_BREAK, (("", " kr", False), ("", f"{NO_BREAK}kr", False)), f"{NO_BREAK}", ISO, ("SANT", "FALSKT"), "#SAKNAS!", minus=MINUS),
        Locale("pl-PL", ",", NO_BREAK, (("", " zł", False), ("", " PLN", False)), "", ("%d.%m.%Y", *ISO), ("PRAWDA", "FAŁSZ"), "#N/D!", "cp1250"),
        Locale("ru-RU", ",", NO_BREAK, (("", " ₽", False), ("", " руб.", False)), "", ("%d.%m.%Y", *ISO), ("ИСТИНА", "ЛОЖЬ"), "#Н/Д", "cp1251"),
    )
}
POINT = Locale("point", ".", "", (("$", "", False),), "", ISO, ("True", "False"))


@dataclass(frozen=True)
class Tool:
    """What a program writes. Tuples are choices; "locale" stands for what the country has.

    Attributes
    ----------
    why : str
        What is known of it.
    weight : int
        How often it is drawn.
    delimiters, encodings, ends, quoting, gaps : tuple of str
        "ansi" is the code page of the country, "list" its list separator, "error" its #N/A.
    headers : tuple of str
        "one", "none", "units" (a second line), or "brackets" (units in names).
    above : tuple of str
        What stands above the header: "", "titles", "comments" or "sep".
    index : tuple of str
        "pandas", "R", or "R short", whose header lacks a name.
    numbers : str
        "shown": as cells look; else as the program writes numbers of double precision.
    decimals : str
        "locale", or the separator; where it is a comma, the delimiter is no comma.
    truths, dates : tuple of str
        Empty for those of the country.
    """

    why: str
    weight: int
    delimiters: tuple
    encodings: tuple
    ends: tuple
    quoting: tuple
    gaps: tuple
    headers: tuple = ("one",)
    above: tuple = ("",)
    index: tuple = ("",)
    numbers: str = "repr"
    decimals: str = "."
    truths: tuple = ()
    dates: tuple = ()
    suffixes: tuple = (".csv",)
    final_end: tuple = (True,)
    compressions: tuple = ("",)
    footers: tuple = ("",)


CRLF, LF, CR = "\r\n", "\n", "\r"
PANDAS_DATES = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "year")
TOOLS = {
    "Excel CSV": Tool(
        "Cells as they look, between list separators, in the code page of Windows; quotes where a cell has a quote, the "
        "separator or a line end; errors by the country's name.",
        10, ("list",), ("ansi",), (CRLF,), ("minimal",), ("", "", "", "error"), ("one", "one", "one", "brackets", "units"), ("", "", "", "titles"), numbers="shown", decimals="locale", footers=("", "", "", "", "empty", "empty", "total"),
    ),
    "Excel CSV UTF-8": Tool(
        "The same in UTF-8 with a byte order mark, since 2016.",
        7, ("list",), ("utf-8-sig",), (CRLF,), ("minimal",), ("", "", "", "error"), above=("", "", "", "titles"), numbers="shown", decimals="locale",
    ),
    "Excel Unicode text": Tool(
        "UTF-16 with a byte order mark, tabs; a cell with a comma is quoted too.",
        4, ("\t",), ("utf-16",), (CRLF,), ("commas",), ("",), above=("", "", "titles"), numbers="shown", decimals="locale", suffixes=(".txt",),
    ),
    "Excel text": Tool("Tabs, in the code page.", 4, ("\t",), ("ansi",), (CRLF,), ("commas",), ("",), numbers="shown", decimals="locale", suffixes=(".txt", ".tsv")),
    "Excel for Mac": Tool("Carriage returns alone end lines.", 2, ("list",), ("ansi",), (CR,), ("minimal",), ("",), numbers="shown", decimals="locale"),
    "web export for Excel": Tool(
        "A first line says sep=; for Excel, which reads it.",
        3, (";", ",", "\t"), ("utf-8-sig", "utf-8"), (CRLF, LF), ("minimal", "all"), ("",), above=("sep",), numbers="shown", decimals="locale",
    ),
    "LibreOffice": Tool(
        "Cells as they look, with the delimiter, encoding and quoting that its dialogue is given; quotes around texts if asked.",
        8, (",", ";", "\t", "|", "list"), ("utf-8", "utf-8", "utf-16", "ansi"), (LF,), ("minimal", "nonnumeric"), ("",), ("one", "one", "one", "none", "units"), ("", "", "titles"), numbers="shown", decimals="locale",
    ),
    "pandas": Tool(
        "DataFrame.to_csv: the shortest digits that give the number back, an index without a name unless told.",
        10, (",", ",", ",", ";", "\t", "|"), ("utf-8", "utf-8", "utf-8-sig", "utf-16"), (LF, LF, CRLF), ("minimal", "minimal", "nonnumeric", "all"), ("", "", "NA", "nan", "NULL"), ("one", "one", "one", "one", "none"), index=("", "pandas"), truths=("True", "False"), dates=PANDAS_DATES, compressions=("", "", "", "gz", "zst", "bz2"), suffixes=(".csv", ".csv", ".tsv", ".txt"),
    ),
    "pandas, decimal commas": Tool(
        "DataFrame.to_csv(sep=';', decimal=',').",
        3, (";", ";", "\t", "|"), ("utf-8", "cp1252"), (LF, CRLF), ("minimal",), ("", "NA"), index=("", "pandas"), truths=("True", "False"), dates=PANDAS_DATES, decimals=",",
    ),
    "R write.csv": Tool(
        "Quotes around names and texts, 15 digits, a first column of row names without a name, NA.",
        6, (",",), ("utf-8", "ansi"), (LF, CRLF), ("nonnumeric",), ("NA", "NA", ""), index=("R", "R", ""), numbers="R", truths=("TRUE", "FALSE"), dates=PANDAS_DATES,
    ),
    "R write.csv2": Tool("The same with semicolons and decimal commas.", 3, (";",), ("utf-8", "ansi"), (LF, CRLF), ("nonnumeric",), ("NA",), index=("R", "R", ""), numbers="R", decimals=",", truths=("TRUE", "FALSE"), dates=PANDAS_DATES),
    "R write.table": Tool(
        "Blanks, quotes around texts, and a header that has no name for the row names.",
        4, (" ", " ", "\t"), ("utf-8", "ansi"), (LF,), ("nonnumeric",), ("NA",), ("one", "one", "none"), index=("R short", "R short", ""), numbers="R", truths=("TRUE", "FALSE"), dates=PANDAS_DATES, suffixes=(".txt", ".dat"),
    ),
    "R readr and data.table": Tool("write_csv and fwrite: quotes where needed, no row names.", 3, (",", "\t"), ("utf-8",), (LF,), ("minimal",), ("NA", ""), numbers="R", truths=("TRUE", "FALSE"), dates=("%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "year"), suffixes=(".csv", ".tsv"), compressions=("", "", "gz")),
    "SAS": Tool(
        "PROC EXPORT: numbers by BEST12., DATE9. and MMDDYY10. days; a data step writes a point where there is no number.",
        4, (",", "\t", "|"), ("ansi", "utf-8"), (CRLF, LF), ("minimal",), ("", "."), numbers="sas", truths=("Y", "N"), dates=("%d%b%Y", "%m/%d/%Y", "%H:%M:%S"),
    ),
    "SPSS": Tool(
        "SAVE TRANSLATE: F8.2 numbers without a zero before the point, #NULL! or a blank where there is none.",
        4, ("list", "\t"), ("utf-8-sig", "ansi"), (CRLF,), ("minimal",), ("#NULL!", " ", ""), numbers="spss", decimals="locale", truths=("ja", "nein"), dates=("%d-%b-%Y", "%d.%m.%Y", "%Y-%m-%d"), suffixes=(".csv", ".dat"),
    ),
    "Stata": Tool(
        "export delimited: numbers without a zero before the point; outsheet: tabs.",
        4, (",", "\t", ";"), ("utf-8", "ansi"), (LF, CRLF), ("minimal",), ("", "", "."), numbers="stata", truths=("Yes", "No"), dates=("%d%b%Y", "%Y-%m-%d"), suffixes=(".csv", ".out.txt"),
    ),
    "SQL Server": Tool("Results of a query saved as CSV: NULL, nothing quoted but what must be.", 2, (",", ";", "\t"), ("utf-8-sig",), (CRLF,), ("minimal",), ("NULL",), ("one", "none"), dates=("%Y-%m-%d", "%Y-%m-%d %H:%M:%S.000"), truths=("true", "false")),
    "NumPy and loggers": Tool(
        "savetxt and instruments: comments above, names in brackets with units, blanks or tabs, NaN.",
        4, (" ", "\t", ",", ";"), ("utf-8", "ansi"), (LF, CRLF), ("minimal",), ("nan", "NaN"), ("one", "brackets", "units", "none"), ("", "comments", "comments", "titles"), decimals=".", dates=ISO[:2], suffixes=(".txt", ".dat", ".csv"), final_end=(True, True, False), footers=("", "", "", "comment"),
    ),
    "aligned report": Tool(
        "Columns of one width between blanks, as PRINT and fixed formats write them.",
        4, ("aligned",), ("utf-8", "ansi"), (LF, CRLF), ("minimal",), (".", "NA", "nan"), ("one", "one", "none", "units"), ("", "", "titles"), decimals="locale", dates=("%Y-%m-%d", "%d.%m.%Y"), suffixes=(".txt", ".dat"), final_end=(True, True, False),
    ),
    "by hand": Tool(
        "Any mixture: scripts, databases and people write what they like.",
        14, (",", ";", "\t", "|", " ", "list"), ("utf-8", "utf-8-sig", "utf-16", "ansi", "latin-1"), (LF, CRLF, CR), ("minimal", "all", "nonnumeric", "single"), ("", "NA", "NULL", "nan", "#N/A", "."), ("one", "one", "one", "one", "none", "units", "brackets"), ("", "", "", "", "titles", "comments"), numbers="shown", decimals="locale", suffixes=(".csv", ".txt"), final_end=(True, False), compressions=("", "", "", "", "gz", "zst", "bz2"), footers=("", "", "", "", "", "", "empty", "comment", "total"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """One way in which one tool writes one file; what an analyst knows of it who has written it."""

    tool_name: str
    locale_name: str
    delimiter: str
    encoding: str
    end: str
    quoting: str
    gap: str
    header: str
    above: str
    index: str
    footer: str
    suffix: str
    compression: str
    has_final_end: bool
    is_grouped: bool

    @property
    def tool(self):
        return TOOLS[self.tool_name]

    @property
    def locale(self):
        known = LOCALES[self.locale_name]
        if self.tool.decimals == "locale":
            return known
        return replace(POINT, decimal=self.tool.decimals, ansi=known.ansi, dates=known.dates)

    @property
    def quote(self):
        return "'" if self.quoting == "single" else '"'


def drawn_recipe(rng):
    weights = np.array([tool.weight for tool in TOOLS.values()], dtype=float)
    tool_name = list(TOOLS)[rng.choice(len(TOOLS), p=weights / weights.sum())]
    locale = LOCALES[list(LOCALES)[rng.integers(len(LOCALES))]]
    tool = TOOLS[tool_name]
    pick = lambda choices: choices[rng.integers(len(choices))]
    decimal = locale.decimal if tool.decimals == "locale" else tool.decimals
    separator = ";" if decimal == "," else ","
    words = {"list": separator, "error": locale.error, "ansi": locale.ansi}
    word = lambda choices: words.get(chosen := pick(choices), chosen)
    delimiter, gap, header = word(tool.delimiters), word(tool.gaps), pick(tool.headers)
    if delimiter in (" ", "aligned") and gap.strip() == "":
        gap = "NA"
    suffix = pick(tool.suffixes)
    if suffix == ".tsv" and delimiter != "\t":
        suffix = ".csv"
    return Recipe(
        tool_name, locale.name, delimiter, word(tool.encodings), pick(tool.ends), pick(tool.quoting), gap, header,
        pick(tool.above), pick(tool.index) if header == "one" else "", pick(tool.footers), suffix,
        pick(tool.compressions), bool(pick(tool.final_end)), bool(rng.random() < 0.6),
    )  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A truth, and how it is written."""

    recipe: Recipe
    columns: tuple

    @property
    def n_rows(self):
        return len(self.columns[0].cells)

    def named(self, column):
        """The name of a column as its header has it."""
        name = column.name
        return f"{name} [{column.unit}]" if self.recipe.header == "brackets" and column.unit else name

    def units(self):
        """The line of units: for columns of measurements alone."""
        return [column.unit if column.kind == "measurement" else "" for column in self.columns]


def drawn_case(seed):
    """The case of a seed: what the recipe cannot write is left out or written otherwise, as a tool would do."""
    rng = np.random.default_rng(seed)
    recipe = drawn_recipe(rng)
    columns = drawn_truth(rng, recipe, recipe.locale)
    return possible(Case(recipe, tuple(columns)))


def possible(case):
    """A case that can be written so that its truth is in the file."""
    recipe, columns = case.recipe, list(case.columns)
    if recipe.header == "units" and (case.n_rows < 3 or not any(column.unit for column in columns if column.kind == "measurement")):
        recipe = replace(recipe, header="one")
    if len(columns) == 1:
        # Nothing separates values, and empty lines are no rows.
        bare = re.sub(r"[^\w]", "", columns[0].name)
        columns = [replace(columns[0], name=bare)]
        if recipe.gap.strip() == "":
            recipe = replace(recipe, gap="NA")
        if recipe.header in ("units", "brackets"):
            recipe = replace(recipe, header="one")
        if recipe.above == "titles":  # of two lines with one word each, either may be the name
            recipe = replace(recipe, above="")
    if recipe.end == "\r":
        columns = [with_cells(column, lambda text: text.replace("\n", " ")) for column in columns]
    if recipe.delimiter == "aligned":
        columns = [without_blanks(column) for column in columns]
    if recipe.delimiter == " " and recipe.quoting == "single":
        recipe = replace(recipe, quoting="minimal")
    case = Case(recipe, tuple(columns))
    try:
        "".join(text for text, _ in pieces_of(case)).encode(recipe.encoding)
    except UnicodeEncodeError:
        case = replace(case, recipe=replace(recipe, encoding="utf-8-sig" if "Excel" in recipe.tool_name else "utf-8"))
    return case


def with_cells(column, change):
    if column.kind == "measurement":
        return column
    return replace(column, cells=tuple(cell and change(cell) for cell in column.cells))


def without_blanks(column):
    """What a report of fixed columns can hold: no blank stands within a value or a name."""
    if column.kind == "measurement":
        bare = {field: re.sub(r"\s", "", getattr(column.notation, field)) for field in ("thousands", "before", "after")}
        column = replace(column, notation=replace(column.notation, **bare))
    column = with_cells(column, lambda text: re.sub(r"[\s\"',;|]+", "_", text))
    blankless = lambda text: re.sub(r"\s+", "_", text)
    return replace(column, name=blankless(column.name), unit=blankless(column.unit))


TITLES = (
    ("Quarterly report",),
    ("Messprotokoll", ""),
    ("Instrument: XY 3000", "Operator: A. Nobody", ""),
    ("Export 7", "all values as measured"),
)
COMMENTS = (
    ("# made by a machine, on a day in May",),
    ("# Instrument: XY 3000", "# Operator: A. Nobody, in the cellar"),
    ("# version 2.1 of the program that measures everything",),
)


# Spreadsheets write as many separators in every line, titles included.
RECTANGULAR = ("Excel CSV", "Excel CSV UTF-8", "LibreOffice")


def lines_above(case):
    """Lines before the header."""
    recipe = case.recipe
    if recipe.above == "sep":
        return [f"sep={recipe.delimiter}"]
    pool = {"titles": TITLES, "comments": COMMENTS}.get(recipe.above)
    if pool is None:
        return []
    lines = pool[(case.n_rows + len(recipe.tool_name)) % len(pool)]
    if recipe.tool_name not in RECTANGULAR:
        return list(lines)
    return [quoted(line, recipe, False) + recipe.delimiter * (len(case.columns) - 1) for line in lines]


def footer_cells(case):
    """The lines after the last row: cells of a total, a comment, or separators alone."""
    recipe = case.recipe
    if recipe.footer == "total" and len(case.columns) > 1:
        return [["Total", *("" for _ in case.columns[1:])]]
    if recipe.footer == "empty" and recipe.delimiter in ",;\t|" and len(case.columns) > 1:
        return [[""] * len(case.columns)] * 2
    return []


def quoted(text, recipe, is_text):
    """A cell between quotes, where the tool writes them."""
    quote, delimiter = recipe.quote, recipe.delimiter
    special = {quote, "\n", "\r", "," if recipe.quoting == "commas" else delimiter, delimiter}
    needs = any(mark in text for mark in special) or (delimiter == " " and (text == "" or re.search(r"\s", text)))
    wants = recipe.quoting in ("all",) or (recipe.quoting == "nonnumeric" and is_text)
    return f"{quote}{text.replace(quote, 2 * quote)}{quote}" if needs or wants else text


def written_cell(case, column, row):
    """A cell as it stands in the file, with its quotes."""
    recipe, text = case.recipe, column.text(row)
    if text is None:
        return quoted(recipe.gap, recipe, False) if recipe.gap or recipe.quoting == "all" else ""
    return quoted(text, recipe, column.kind != "measurement" and column.is_quoted)


def header_lines(case):
    recipe = case.recipe
    if recipe.header == "none":
        return []
    names = [case.named(column) for column in case.columns]
    if recipe.index == "R short":
        names = names[1:]
    lines = [[quoted(name, recipe, True) for name in names]]
    if recipe.header == "units":
        lines.append([quoted(unit, recipe, True) if unit else "-" if recipe.delimiter in (" ", "aligned") else "" for unit in case.units()])
    return lines


def pieces_of(case):
    """The text of a file in pieces: pairs of a text and the place (row, column) of the cell that it is, or None."""
    recipe, columns = case.recipe, case.columns
    delimiter = recipe.delimiter
    rows = [[written_cell(case, column, row) for column in columns] for row in range(case.n_rows)]
    above, header = lines_above(case), header_lines(case)
    tail = [delimiter.join(cells) for cells in footer_cells(case)]
    tail += ["# the end"] if recipe.footer == "comment" else []
    widths = [0] * len(columns)
    if delimiter == "aligned":
        widths = [max(len(line[place]) for line in (*header, *rows)) + 2 for place in range(len(columns))]
        delimiter = ""
    pieces = [(line + recipe.end, None) for line in above]
    pieces += [(delimiter.join(cell.rjust(width) for cell, width in zip(cells, widths[-len(cells) :])) + recipe.end, None) for cells in header]
    for row, cells in enumerate(rows):
        for place, cell in enumerate(cells):
            blank = " " * (widths[place] - len(cell))
            if place:
                blank = delimiter + blank
            pieces += [(blank, None)] if blank else []
            pieces.append((cell, (row, place)))
        pieces.append((recipe.end, None))
    pieces += [(line + recipe.end, None) for line in tail]
    if not recipe.has_final_end:
        pieces.pop() if pieces[-1][0] == recipe.end else None
    return pieces


MARKS = {"utf-8-sig": codecs.BOM_UTF8, "utf-16": codecs.BOM_UTF16_LE}
PLAIN_ENCODINGS = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le"}


def encoded(text, encoding):
    """Bytes of a piece, without a byte order mark."""
    return text.encode(PLAIN_ENCODINGS.get(encoding, encoding))


def bytes_of(case):
    """The bytes of a file before they are compressed."""
    text = "".join(text for text, _ in pieces_of(case))
    return MARKS.get(case.recipe.encoding, b"") + encoded(text, case.recipe.encoding)


COMPRESSORS = {
    "": lambda data: data,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "zst": lambda data: pyarrow.Codec("zstd").compress(data, asbytes=True),
}


def name_of(case):
    compression = case.recipe.compression
    return f"table{case.recipe.suffix}{'.' + compression if compression else ''}"


def write_case(case, folder):
    """The path of the file of a case."""
    path = folder / name_of(case)
    path.write_bytes(COMPRESSORS[case.recipe.compression](bytes_of(case)))
    return path
