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
    separator : str
        The list separator of Windows, which also separates cells of CSV.
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
    separator: str = ";"


ISO = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y%m%d", "%H:%M", "year")
LOCALES = {
    locale.name: locale
    for locale in (
        Locale(
            "en-US",
            ".",
            ",",
            (("$", "", False), ("$", "", True), ("", " USD", False)),
            "",
            ("%m/%d/%Y", "%m/%d/%Y %H:%M", *ISO),
            ("TRUE", "FALSE"),
            separator=",",
        ),
        Locale(
            "en-GB",
            ".",
            ",",
            (("£", "", False), ("GBP ", "", True)),
            "",
            ("%d/%m/%Y", *ISO),
            ("TRUE", "FALSE"),
            separator=",",
        ),
        Locale(
            "de-DE",
            ",",
            ".",
            (("", " €", False), ("", " EUR", False), ("", f"{NO_BREAK}€", False)),
            " ",
            ("%d.%m.%Y", "%d.%m.%Y %H:%M", *ISO),
            ("WAHR", "FALSCH"),
            "#NV",
        ),
        # Money before numbers, as Austria's Excel writes it.
        Locale(
            "de-AT", ",", ".", (("€ ", "", True), ("€ ", "", False)), " ", ("%d.%m.%Y", *ISO), ("WAHR", "FALSCH"), "#NV"
        ),
        Locale(
            "de-CH",
            ".",
            "’",
            (("CHF ", "", False), ("CHF ", "", True)),
            "",
            ("%d.%m.%Y", *ISO),
            ("WAHR", "FALSCH"),
            "#NV",
        ),
        # Since Windows 10 thousands are separated by U+202F, before by U+00A0; Excel's text files have both.
        Locale(
            "fr-FR",
            ",",
            NARROW,
            (("", " €", False), ("", f"{NO_BREAK}€", False)),
            f"{NO_BREAK}",
            ("%d/%m/%Y", *ISO),
            ("VRAI", "FAUX"),
        ),
        Locale("fr-CH", ".", "'", (("CHF ", "", False), ("", " CHF", False)), "", ("%d.%m.%Y", *ISO), ("VRAI", "FAUX")),
        Locale("es-ES", ",", ".", (("", " €", False),), " ", ("%d/%m/%Y", *ISO), ("VERDADERO", "FALSO"), "#N/D"),
        Locale(
            "it-IT", ",", ".", (("€ ", "", False), ("", " €", False)), "", ("%d/%m/%Y", *ISO), ("VERO", "FALSO"), "#N/D"
        ),
        Locale(
            "pt-BR",
            ",",
            ".",
            (("R$ ", "", False), ("R$ ", "", True)),
            "",
            ("%d/%m/%Y", *ISO),
            ("VERDADEIRO", "FALSO"),
            "#N/D",
        ),
        # Sweden's minus is U+2212 in every program that uses ICU.
        Locale(
            "sv-SE",
            ",",
            NO_BREAK,
            (("", " kr", False), ("", f"{NO_BREAK}kr", False)),
            f"{NO_BREAK}",
            ISO,
            ("SANT", "FALSKT"),
            "#SAKNAS!",
            minus=MINUS,
        ),
        Locale(
            "pl-PL",
            ",",
            NO_BREAK,
            (("", " zł", False), ("", " PLN", False)),
            "",
            ("%d.%m.%Y", *ISO),
            ("PRAWDA", "FAŁSZ"),
            "#N/D!",
            "cp1250",
        ),
        Locale(
            "ru-RU",
            ",",
            NO_BREAK,
            (("", " ₽", False), ("", " руб.", False)),
            "",
            ("%d.%m.%Y", *ISO),
            ("ИСТИНА", "ЛОЖЬ"),
            "#Н/Д",
            "cp1251",
        ),
    )
}
POINT = Locale("point", ".", "", (("$", "", False),), "", ISO, ("True", "False"), separator=",")


@dataclass(frozen=True)
class Tool:
    """What a program writes. Texts are choices between blanks, where ``one*3 none`` is "one" in three of four cases.

    Attributes
    ----------
    why : str
        What is known of it.
    weight : int
        How often it is drawn.
    delimiters, encodings, ends, quoting, gaps : str
        "ansi" is the code page of the country, "list" its list separator, "error" its #N/A.
    headers : str
        "one", "none", "two" (names of groups above those of columns), "units" (a second line), or "brackets" (units in
        names).
    above : str
        What stands above the header: "titles", "comments" or "sep".
    index : str
        "pandas", "R", or "R-short", whose header lacks a name.
    suffixes, compressions : str
    last_ends : str
        Whether the last line has an end.
    footers : str
        What stands below the rows: "empty" lines of separators, a "comment" or a "total".
    numbers : str
        "shown": as cells look; else as the program writes numbers of double precision.
    decimals : str
        "locale", or the separator.
    truths, dates : tuple of str
        Empty for those of the country.
    """

    why: str
    weight: int
    delimiters: str
    encodings: str
    ends: str = "CRLF"
    quoting: str = "minimal"
    gaps: str = "none"
    headers: str = "one"
    above: str = "none"
    index: str = "none"
    suffixes: str = ".csv"
    compressions: str = "none"
    last_ends: str = "same"
    footers: str = "none"
    numbers: str = "repr"
    decimals: str = "."
    truths: tuple = ()
    dates: tuple = ()


WORDS = {
    **{"none": "", "comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "blank": " "},
    **{"LF": "\n", "CRLF": "\r\n", "CR": "\r", "one-blank": " "},
}


def choices(text):
    """The words of a text, repeated as it says."""
    return [word for part in text.split() for word, _, times in [part.partition("*")] for _ in range(int(times or 1))]


PANDAS_DATES = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "year")
TOOLS = {
    "Excel CSV": Tool(
        "Cells as they look, between list separators, in the code page of Windows; quotes where a cell has a "
        "quote, the separator or a line end; errors by the country's name.",
        weight=10,
        delimiters="list",
        encodings="ansi",
        ends="CRLF",
        quoting="minimal",
        gaps="none*3 error",
        headers="one*6 brackets*2 units*2 two",
        above="none*3 titles",
        footers="none*4 empty*2 total",
        numbers="shown",
        decimals="locale",
    ),
    "Excel CSV UTF-8": Tool(
        "The same in UTF-8 with a byte order mark, since 2016.",
        weight=7,
        delimiters="list",
        encodings="utf-8-sig",
        ends="CRLF",
        quoting="minimal",
        gaps="none*3 error",
        above="none*3 titles",
        numbers="shown",
        decimals="locale",
    ),
    "Excel Unicode text": Tool(
        "UTF-16 with a byte order mark, tabs; a cell with a comma is quoted too.",
        weight=4,
        delimiters="tab",
        encodings="utf-16",
        ends="CRLF",
        quoting="commas",
        gaps="none",
        above="none*2 titles",
        suffixes=".txt",
        numbers="shown",
        decimals="locale",
    ),
    "Excel text": Tool(
        "Tabs, in the code page.",
        weight=4,
        delimiters="tab",
        encodings="ansi",
        ends="CRLF",
        quoting="commas",
        gaps="none",
        suffixes=".txt .tsv",
        numbers="shown",
        decimals="locale",
    ),
    "Excel for Mac": Tool(
        "Carriage returns alone end lines.",
        weight=2,
        delimiters="list",
        encodings="ansi",
        ends="CR",
        quoting="minimal",
        gaps="none",
        numbers="shown",
        decimals="locale",
    ),
    "web export for Excel": Tool(
        "A first line says sep=; for Excel, which reads it.",
        weight=3,
        delimiters="semicolon comma tab",
        encodings="utf-8-sig utf-8",
        ends="CRLF LF",
        quoting="minimal all",
        gaps="none",
        above="sep",
        numbers="shown",
        decimals="locale",
    ),
    "LibreOffice": Tool(
        "Cells as they look, with the delimiter, encoding and quoting that its dialogue is given; quotes "
        "around texts if asked.",
        weight=8,
        delimiters="comma semicolon tab bar list",
        encodings="utf-8*2 utf-16 ansi",
        ends="LF",
        quoting="minimal nonnumeric",
        gaps="none",
        headers="one*6 none*2 units*2 two",
        above="none*2 titles",
        numbers="shown",
        decimals="locale",
    ),
    "pandas": Tool(
        "DataFrame.to_csv: the shortest digits that give the number back, an index without a name unless told.",
        weight=10,
        delimiters="comma*3 semicolon tab bar",
        encodings="utf-8*2 utf-8-sig utf-16",
        ends="LF*2 CRLF",
        quoting="minimal*2 nonnumeric all",
        gaps="none*2 NA nan NULL",
        headers="one*12 none*3 two",
        index="none pandas",
        suffixes=".csv*2 .tsv .txt",
        compressions="none*3 gz zst bz2",
        truths=("True", "False"),
        dates=PANDAS_DATES,
    ),
    "pandas, decimal commas": Tool(
        "DataFrame.to_csv(sep=';', decimal=',').",
        weight=3,
        delimiters="semicolon*2 tab bar",
        encodings="utf-8 cp1252",
        ends="LF CRLF",
        quoting="minimal",
        gaps="none NA",
        index="none pandas",
        decimals=",",
        truths=("True", "False"),
        dates=PANDAS_DATES,
    ),
    "R write.csv": Tool(
        "Quotes around names and texts, 15 digits, a first column of row names without a name, NA.",
        weight=6,
        delimiters="comma",
        encodings="utf-8 ansi",
        ends="LF CRLF",
        quoting="nonnumeric",
        gaps="NA*2 none",
        index="R*2 none",
        numbers="R",
        truths=("TRUE", "FALSE"),
        dates=PANDAS_DATES,
    ),
    "R write.csv2": Tool(
        "The same with semicolons and decimal commas.",
        weight=3,
        delimiters="semicolon",
        encodings="utf-8 ansi",
        ends="LF CRLF",
        quoting="nonnumeric",
        gaps="NA",
        index="R*2 none",
        numbers="R",
        decimals=",",
        truths=("TRUE", "FALSE"),
        dates=PANDAS_DATES,
    ),
    "R write.table": Tool(
        "Blanks, quotes around texts, and a header that has no name for the row names.",
        weight=4,
        delimiters="blank*2 tab",
        encodings="utf-8 ansi",
        ends="LF",
        quoting="nonnumeric",
        gaps="NA",
        headers="one*2 none",
        index="R-short*2 none",
        suffixes=".txt .dat",
        numbers="R",
        truths=("TRUE", "FALSE"),
        dates=PANDAS_DATES,
    ),
    "R readr and data.table": Tool(
        "write_csv and fwrite: quotes where needed, no row names.",
        weight=3,
        delimiters="comma tab",
        encodings="utf-8",
        ends="LF",
        quoting="minimal",
        gaps="NA none",
        suffixes=".csv .tsv",
        compressions="none*2 gz",
        numbers="R",
        truths=("TRUE", "FALSE"),
        dates=("%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "year"),
    ),
    "SAS": Tool(
        "PROC EXPORT: numbers by BEST12., DATE9. and MMDDYY10. days; a data step writes a point where there "
        "is no number.",
        weight=4,
        delimiters="comma tab bar",
        encodings="ansi utf-8",
        ends="CRLF LF",
        quoting="minimal",
        gaps="none .",
        numbers="sas",
        truths=("Y", "N"),
        dates=("%d%b%Y", "%m/%d/%Y", "%H:%M:%S"),
    ),
    "SPSS": Tool(
        "SAVE TRANSLATE: F8.2 numbers without a zero before the point, #NULL! or a blank where there is none.",
        weight=4,
        delimiters="list tab",
        encodings="utf-8-sig ansi",
        ends="CRLF",
        quoting="minimal",
        gaps="#NULL! one-blank none",
        suffixes=".csv .dat",
        numbers="spss",
        decimals="locale",
        truths=("ja", "nein"),
        dates=("%d-%b-%Y", "%d.%m.%Y", "%Y-%m-%d"),
    ),
    "Stata": Tool(
        "export delimited: numbers without a zero before the point; outsheet: tabs.",
        weight=4,
        delimiters="comma tab semicolon",
        encodings="utf-8 ansi",
        ends="LF CRLF",
        quoting="minimal",
        gaps="none*2 .",
        suffixes=".csv .txt",
        numbers="stata",
        truths=("Yes", "No"),
        dates=("%d%b%Y", "%Y-%m-%d"),
    ),
    "SAP": Tool(
        "Lists saved as files: numbers of the country, with the minus behind them.",
        weight=3,
        delimiters="tab semicolon bar",
        encodings="ansi utf-8-sig utf-16",
        ends="CRLF",
        quoting="minimal",
        gaps="none",
        above="none*2 titles",
        suffixes=".txt .csv",
        numbers="shown",
        decimals="locale",
        truths=("X", "-"),
        dates=("%d.%m.%Y", "%Y%m%d", "%H:%M:%S"),
    ),
    "SQL Server": Tool(
        "Results of a query saved as CSV: NULL, nothing quoted but what must be.",
        weight=2,
        delimiters="comma semicolon tab",
        encodings="utf-8-sig",
        ends="CRLF",
        quoting="minimal",
        gaps="NULL",
        headers="one none",
        truths=("true", "false"),
        dates=("%Y-%m-%d", "%Y-%m-%d %H:%M:%S.000"),
    ),
    "NumPy and loggers": Tool(
        "savetxt and instruments: comments above, names in brackets with units, blanks or tabs, NaN.",
        weight=4,
        delimiters="blank tab comma semicolon",
        encodings="utf-8 ansi",
        ends="LF CRLF",
        quoting="minimal",
        gaps="nan NaN",
        headers="one brackets units none",
        above="none comments*2 titles",
        suffixes=".txt .dat .csv",
        footers="none*3 comment",
        last_ends="same*2 none",
        dates=ISO[:2],
    ),
    "aligned report": Tool(
        "Columns of one width between blanks, as PRINT and fixed formats write them.",
        weight=4,
        delimiters="aligned",
        encodings="utf-8 ansi",
        ends="LF CRLF",
        quoting="minimal",
        gaps=". NA nan",
        headers="one*2 none units",
        above="none*2 titles",
        suffixes=".txt .dat",
        last_ends="same*2 none",
        decimals="locale",
        dates=("%Y-%m-%d", "%d.%m.%Y"),
    ),
    "by hand": Tool(
        "Any mixture: scripts, databases and people write what they like.",
        weight=14,
        delimiters="comma semicolon tab bar blank list",
        encodings="utf-8*2 utf-8-sig*2 utf-16*2 utf-16-le utf-16-be ansi*2 latin-1*2 iso8859-2*2",
        ends="LF CRLF CR",
        quoting="minimal all nonnumeric single",
        gaps="none*2 NA*2 NULL*2 nan*2 #N/A . k.A.",
        headers="one*12 none*3 units*3 brackets*3 two",
        above="none*4 titles comments",
        suffixes=".csv .txt",
        compressions="none*4 gz zst bz2",
        footers="none*6 empty comment total",
        last_ends="same none",
        numbers="shown",
        decimals="locale",
    ),
}


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
        if self.tool_name == "SAP":
            return replace(known, minus="behind")
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
    words = {**WORDS, "list": locale.separator, "error": locale.error, "ansi": locale.ansi}

    def pick(text):
        word = (found := choices(text))[rng.integers(len(found))]
        return words.get(word, word)

    delimiter, gap, header = pick(tool.delimiters), pick(tool.gaps), pick(tool.headers)
    if delimiter in (" ", "aligned") and gap.strip() == "":
        gap = "NA"
    suffix = pick(tool.suffixes)
    return Recipe(
        tool_name=tool_name,
        locale_name=locale.name,
        delimiter=delimiter,
        encoding=pick(tool.encodings),
        end=pick(tool.ends),
        quoting=pick(tool.quoting),
        gap=gap,
        header=header or "none",
        above=pick(tool.above),
        index=pick(tool.index) if header in ("one", "two") else "",
        footer=pick(tool.footers),
        suffix=".csv" if suffix == ".tsv" and delimiter != "\t" else suffix,
        compression=pick(tool.compressions),
        has_final_end=pick(tool.last_ends) == "same",
        is_grouped=bool(rng.random() < 0.6),
    )


GROUPS = ("Sensor A", "Sensor B", "vorher", "nachher", "outside", "plant", "day 1", "day 2", "day 3")


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

    def groups(self):
        """The line above the names, which pandas repeats and spreadsheets merge; none above the index."""
        is_merged = self.recipe.tool_name != "pandas" and self.recipe.delimiter not in (" ", "aligned")
        size, found = 1 + self.n_rows % 3, []
        for place, column in enumerate(self.columns):
            begins = place % size == 0 or self.columns[place - 1].is_index
            found.append("" if column.is_index or (is_merged and not begins) else GROUPS[place // size])
        return found

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
    if recipe.header == "units" and (
        case.n_rows < 3 or not any(column.unit for column in columns if column.kind == "measurement")
    ):
        recipe = replace(recipe, header="one")
    if len(columns) == 1:
        # Nothing separates values, and empty lines are no rows.
        bare = re.sub(r"[^\w]", "", columns[0].name)
        columns = [replace(columns[0], name=bare)]
        if recipe.gap.strip() == "":
            recipe = replace(recipe, gap="NA")
        if recipe.header in ("units", "brackets", "two"):
            recipe = replace(recipe, header="one")
        # Of two lines with one word each, either may be the name, as may be the words of a comment.
        if recipe.above == "titles" or (recipe.above == "comments" and recipe.header == "none"):
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
    ("# made by a machine on a day in May",),
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
    if recipe.delimiter in (" ", "aligned") and recipe.above == "titles" and lines[-1]:
        lines = (*lines, "")  # words are cells there: without an empty line nobody could tell titles from names
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
    if recipe.index == "R-short":
        names = names[1:]
    lines = [[quoted(name, recipe, True) for name in names]]
    if recipe.header == "two":
        lines.insert(0, [quoted(group, recipe, True) if group else "" for group in case.groups()])
        if case.columns[0].is_index and names[0]:  # pandas writes the name of an index below those of columns
            lines[1][0] = ""
            lines.append([quoted(names[0], recipe, True), *("" for _ in names[1:])])
    if recipe.header == "units":
        lines.append(
            [
                quoted(unit, recipe, True) if unit else "-" if recipe.delimiter in (" ", "aligned") else ""
                for unit in case.units()
            ]
        )
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
    pieces += [
        (delimiter.join(cell.rjust(width) for cell, width in zip(cells, widths[-len(cells) :])) + recipe.end, None)
        for cells in header
    ]
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
