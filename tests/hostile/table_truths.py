"""Truths of tables: columns of every kind, and how their numbers are written."""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import compress

import numpy as np

NO_BREAK, THIN, NARROW, MINUS = "\u00a0", "\u2009", "\u202f", "\u2212"
KINDS = ("measurement", "code", "category", "date", "text", "empty")
# Whole numbers of doubles are exact up to here; from here on they are codes.
EXACT = 2**53


@dataclass(frozen=True)
class Notation:
    """How the numbers of one column are written, from plain texts such as "-1234.50" and "1.5e-07".

    Attributes
    ----------
    decimal, thousands : str
    minus : str
        "-", U+2212, "()" for negative numbers between parentheses, or "behind" for a minus behind the digits.
    before, after : str
        Signs of money or percent, with their blanks.
    sign_inside : bool
        Whether a minus stands between the sign of money and the digits: "$-5", "€ -5".
    bare_point : bool
        Whether ".5" stands for 0.5, as SAS, SPSS and Stata write it.
    """

    decimal: str = "."
    thousands: str = ""
    minus: str = "-"
    before: str = ""
    after: str = ""
    sign_inside: bool = False
    bare_point: bool = False

    def text(self, plain):
        digits, e, exponent = re.fullmatch(r"-?([\d.]+)(?:([eE])(.*))?", plain).groups(default="")
        whole, point, fraction = digits.partition(".")
        if self.thousands:
            whole = re.sub(r"(?<=\d)(?=(?:\d{3})+$)", lambda _: self.thousands, whole)
        if self.bare_point and whole == "0" and fraction:
            whole = ""
        body = f"{whole}{self.decimal if point else ''}{fraction}{e}{exponent}"
        is_negative = plain.startswith("-")
        if self.minus == "behind":
            return f"{self.before}{body}{'-' if is_negative else ''}{self.after}"
        if is_negative and self.minus == "()":
            return f"{self.before}({body})" if self.sign_inside else f"({self.before}{body}{self.after})"
        sign = self.minus if is_negative else ""
        return (
            f"{self.before}{sign}{body}{self.after}" if self.sign_inside else f"{sign}{self.before}{body}{self.after}"
        )

    def plain(self, text):
        """The plain text of what `text` writes, or ValueError where it is not written in this notation."""
        body, sign = text, ""
        if self.minus == "()" and self.sign_inside and text.endswith(")"):
            body, sign = text.replace("(", "").replace(")", self.after), "-"
        elif self.minus == "()" and text.startswith("(") and text.endswith(")"):
            body, sign = text[1:-1], "-"
        elif not self.sign_inside and body.startswith(self.minus):
            body, sign = body[len(self.minus) :], "-"
        if not body.startswith(self.before) or not body.endswith(self.after):
            raise ValueError(f"{text!r} lacks {self.before!r} or {self.after!r}")
        body = body[len(self.before) : len(body) - len(self.after)]
        if self.minus == "behind" and body.endswith("-"):
            body, sign = body[:-1], "-"
        if self.sign_inside and body.startswith(self.minus):
            body, sign = body[len(self.minus) :], "-"
        whole, point, fraction = body.partition(self.decimal)
        if self.thousands and self.thousands in whole:
            if not re.fullmatch(rf"\d{{1,3}}(?:{re.escape(self.thousands)}\d{{3}})+", whole):
                raise ValueError(f"{text!r} groups digits by other numbers than three")
            whole = whole.replace(self.thousands, "")
        plain = f"{sign}{whole}{'.' if point else ''}{fraction}"
        if not re.fullmatch(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", plain):
            raise ValueError(f"{text!r} is no number in this notation")
        return plain


@dataclass(frozen=True)
class Column:
    """One column of a truth.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    name : str
    cells : tuple of str or None
        Plain texts of numbers, or texts as they stand; None for gaps.
    notation : Notation
        Of measurements.
    unit : str
        For a line of units, or for brackets in the name.
    is_index : bool
    decimals : int or None
        Digits after the decimal separator, where all cells have as many.
    is_quoted : bool
        Whether tools that quote texts quote these.
    """

    kind: str
    name: str
    cells: tuple
    notation: Notation = Notation()
    unit: str = ""
    is_index: bool = False
    decimals: int | None = None
    is_quoted: bool = True

    def text(self, row):
        """A cell as it stands in a file; None for a gap."""
        cell = self.cells[row]
        return self.notation.text(cell) if cell is not None and self.kind == "measurement" else cell

    def values(self):
        return np.array([np.nan if cell is None else float(cell) for cell in self.cells])

    def taken(self, rows):
        return replace(self, cells=tuple(self.cells[row] for row in rows))

    def may_be(self, is_named=True):
        """The kinds that a reader who sees the file alone may take this column for.

        - Categories and texts differ by how often a word occurs, for which there is no law.
        - Measurements that are whole, all different, and of five or more digits each are codes by the rule.
        - Dates with months in words are texts to a reader who does not know the language.
        - Codes with letters are texts; years and codes whose name alone says what they are need one.
        - A column without values is empty, whatever it was meant to be; so may be one that has "-" in every row.
        """
        found = [cell for cell in self.cells if cell is not None]
        if not found:
            return {"empty"}
        if self.kind in ("category", "text"):
            return {"category", "text", *({"empty"} if set(found) == {"-"} else ())}
        if self.kind == "measurement" and self.looks_like_code():
            return {"measurement", "code"}
        if self.kind == "date" and any(re.search(r"[^\W\d_]{3}", cell) for cell in found):
            return {"date", "text", "category"}
        if self.kind == "code" and any(re.search(r"[^\d]", cell) for cell in found):
            return {"code", "text", "category"}
        if self.kind in ("code", "date") and not (is_named and re.search(r"[^\d]", self.name)):
            is_clear = any(cell.startswith("0") or int(cell) > EXACT for cell in found if cell.isdecimal())
            is_number = all(cell.isdecimal() for cell in found) and not is_clear and not self.looks_like_code()
            return {self.kind, *({"measurement"} if is_number and len(found[0]) != 8 else ())}
        return {self.kind}

    def looks_like_code(self):
        found = [cell for cell in self.cells if cell is not None]
        found = [cell.removesuffix(".0") for cell in found]
        is_whole = all(re.fullmatch(r"\d{5,}", cell) for cell in found)
        return is_whole and len(set(found)) == len(found) and len({len(cell) for cell in found}) == 1


# Names with the units that may follow them.
QUANTITIES = (
    *(("mass", "kg"), ("length", "mm"), ("Temp", "°C"), ("voltage", "V"), ("I_sc", "mA"), ("Höhe", "m"), ("Δt", "ms")),
    *(("Umsatz", "Tsd"), ("prix", "u"), ("yield", "t/ha"), ("sepal.length", "cm"), ("q 1", "l/s"), ("Größe", "cm")),
    *(("vitesse", "km/h"), ("x", "mm"), ("y", "mm"), ("signal", "counts"), ("pH", ""), ("CO2", "ppm"), ("Dose", "mg")),
    *(("cena", "szt"), ("масса", "кг"), ("längd", "m"), ("área", "m2"), ("score", ""), ("beta_2", ""), ("rate", "")),
)
WORDS = {
    "text": (
        *("Köln, Nord", "x; y", 'say "no"', "Zürich  2", "plant 7", "it's", "t|u", "naïve", "line one\nline two"),
        *("São Paulo", "10 % off", "A & B", "see p. 12", "=A1+B2", "end.", "Łódź", "café", "50,5 km", "r\tt", "(none)"),
    ),
    "category": (
        *(
            ("low", "middle", "high"),
            ("M", "F"),
            ("north", "south", "east", "west"),
            ("ja", "nein"),
            ("Größe S", "Größe M"),
        ),
        *(("control", "treated"), ("A", "B", "C"), ("yes", "no"), ("été", "hiver"), ("setosa", "versicolor")),
    ),
}
LETTERS = {"ru-RU": ("Москва", "Казань", "Самара"), "pl-PL": ("Łódź", "Gdańsk", "Kraków"), "sv-SE": ("Malmö", "Åre")}


def measurement(rng, n, style, locale, grouped):
    """Plain texts and their notation. `style` says how the tool writes numbers: `shown` as cells look, or its own."""
    notation = Notation(locale.decimal, bare_point=style in ("stata", "spss", "sas"))
    scale = 10.0 ** rng.integers(-2, 6)
    values = rng.normal(size=n) * scale + (rng.choice([0, 3]) * scale)
    if rng.random() < 0.04:
        values = np.full(n, values[0])
    if rng.random() < 0.15:
        values = np.exp(rng.normal(size=n) * 2) * scale
    if rng.random() < 0.2:  # counts
        whole = rng.integers(0, int(rng.choice([10, 300, 90000, 3_000_000])), size=n)
        thousands = locale.thousands if style == "shown" and grouped else ""
        return [str(value) for value in whole], replace(notation, thousands=thousands), 0
    if style == "shown":
        return shown(rng, values, notation, locale, grouped)
    if style == "spss":
        decimals = int(rng.choice([2, 2, 4]))
        return fixed(values, decimals), notation, decimals
    write = {"repr": repr, "R": r_text, "stata": lambda x: shortest(x, 8), "sas": lambda x: shortest(x, 10)}[style]
    if rng.random() < 0.6:
        values = np.round(values, int(rng.integers(1, 5)))
    elif rng.random() < 0.2:
        values = values * 1e-12
    return [normal_zero(write(float(value))) for value in values], notation, None


def shown(rng, values, notation, locale, grouped):
    """Numbers in the format of cells: grouped, with money or percent, with parentheses, or with exponents."""
    draw, decimals = rng.random(), int(rng.choice([0, 1, 2, 2, 2, 3]))
    thousands = locale.thousands if grouped else ""
    if draw < 0.12:
        after = f"{locale.percent}%" if rng.random() < 0.95 else f"{locale.percent}‰"
        plain = fixed(rng.normal(size=len(values)) * 30 + 40, min(decimals, 2))
        return plain, replace(notation, after=after, minus=locale.minus), min(decimals, 2)
    if draw < 0.27:
        before, after, inside = locale.money[rng.integers(len(locale.money))]
        if locale.name == "en-US" and rng.random() < 0.15:  # Excel's format for accounts: blanks on both sides
            before, after, inside = " $", " ", True
        minus = "()" if before == " $" or (locale.name == "en-US" and rng.random() < 0.3) else locale.minus
        plain, decimals = fixed(values, 2 if decimals else 0), 2 if decimals else 0
        return (
            plain,
            replace(notation, thousands=thousands, before=before, after=after, sign_inside=inside, minus=minus),
            decimals,
        )
    if draw < 0.32:
        plain = [normal_zero(f"{value:.{max(decimals, 1)}E}") for value in values * 10.0 ** rng.integers(-9, 9)]
        return plain, notation, None
    if draw < 0.38:
        return fixed(values, decimals), replace(notation, thousands=thousands, minus="()"), decimals
    if draw < 0.55:  # the general format, which groups nothing
        return [normal_zero(shortest(float(value), 9)) for value in values], replace(notation, minus=locale.minus), None
    return fixed(values, decimals), replace(notation, thousands=thousands, minus=locale.minus), decimals


def fixed(values, decimals):
    return [normal_zero(f"{value:.{decimals}f}") for value in values]


def normal_zero(plain):
    """Zero without a minus."""
    return plain.removeprefix("-") if not plain.strip("-0.") else plain


def shortest(value, digits):
    """A number with at most so many digits that count, without exponent where it is short: statistics programs."""
    text = f"{value:.{digits}g}"
    return re.sub(r"e([-+])0(\d)$", r"e\g<1>0\2", text)


def r_text(value):
    """A number as R writes it: 15 digits, and the shorter of both notations, the one without exponent if equal."""
    mantissa = next(
        f"{value:.{digits}e}" for digits in range(15) if float(f"{value:.{digits}e}") == float(f"{value:.14e}")
    )
    exponent = int(mantissa.partition("e")[2])
    decimals = max(0, len(mantissa.partition("e")[0].lstrip("-").replace(".", "")) - 1 - exponent)
    plain = f"{float(mantissa):.{decimals}f}"
    return plain if len(plain) <= len(mantissa) else mantissa


def code(rng, n):
    """A name and codes: leading zeros, too many digits, a name that says so, or one constant width."""
    kind = rng.integers(6)
    different = lambda low, high: low + rng.choice(5000, size=n, replace=False) * max(1, (high - low) // 5001) + 1
    if kind == 0:
        codes = [f"{number:05d}" for number in rng.integers(1067, 99998, size=n)]
        codes[rng.integers(n)] = f"{rng.integers(1067, 9999):05d}"
        return str(rng.choice(["PLZ", "zip", "Postleitzahl", "code_postal", "Los", "part", "x"])), codes
    if kind == 1:
        return str(rng.choice(["zip", "PLZ", "zip_code"])), [
            str(number) for number in rng.choice([80331, 10115, 20095, 50667], size=n)
        ]
    if kind == 2:
        numbers = rng.choice(10**6, size=n, replace=False)
        return str(rng.choice(["tweet_id", "key", "IBAN_Teil"])), [
            str(EXACT * 3 + 7919 * int(number)) for number in numbers
        ]
    if kind == 3:
        return str(rng.choice(["customer_id", "account", "Konto", "patient_id"])), [
            str(number) for number in different(3, 90_000)
        ]
    if kind == 4:
        width = int(rng.choice([6, 7, 9, 10]))
        return str(rng.choice(["Artikel", "serial", "numéro"])), [
            str(number) for number in different(10 ** (width - 1), 10**width)
        ]
    return str(rng.choice(["sample", "part", "Los"])), [
        f"{letter}-{number:04d}"
        for letter, number in zip(rng.choice(list("ABC"), size=n), rng.choice(9999, size=n, replace=False))
    ]


def dates(rng, n, formats):
    """Days or times in one of some formats; "year" is a column of years, "%H:%M" times of a day."""
    pattern = str(formats[rng.integers(len(formats))])
    start = datetime(2019, 1, 1) + timedelta(days=int(rng.integers(900)))
    if pattern == "year":
        return "year", [str(1960 + int(number)) for number in rng.integers(0, 60, size=n)]
    step = timedelta(days=1) if "%H" not in pattern else timedelta(minutes=int(rng.choice([7, 15, 60])))
    if rng.random() < 0.5:
        step *= int(rng.integers(1, 40))
    if pattern == "%m %Y":
        step = timedelta(days=31)
    moments = [start + step * row for row in range(n)]
    if rng.random() < 0.3:
        moments = [moments[row] for row in rng.integers(0, n, size=n)]
    return str(rng.choice(["date", "Datum", "day", "measured on", "t"])), [
        moment.strftime(pattern) for moment in moments
    ]


def with_gaps(rng, cells):
    """The same cells, some of which are gaps."""
    is_gap = rng.random(len(cells)) < rng.choice([0.02, 0.1, 0.3])
    kept = rng.choice(len(cells), size=2, replace=False)
    is_gap[kept] = False
    return [None if gap else cell for cell, gap in zip(cells, is_gap)]


def drawn_column(rng, kind, n, recipe, locale):
    """A column of some kind, as a tool in a country writes it."""
    tool = recipe.tool
    name, unit = QUANTITIES[rng.integers(len(QUANTITIES))]
    if kind == "measurement":
        grouped = recipe.is_grouped
        cells, notation, decimals = measurement(rng, n, tool.numbers, locale, grouped)
        if rng.random() < 0.3:
            cells = with_gaps(rng, cells)
        known = [row for row, cell in enumerate(cells) if cell is not None]
        if notation.minus == "()" and all(cells[row].startswith("-") for row in known):
            # Numbers all of which are in brackets are errors of those next to them.
            cells[known[0]] = cells[known[0]].removeprefix("-")
        if tool.numbers == "repr" and None in cells and all(cell is None or cell.isdecimal() for cell in cells):
            # pandas has no gaps in whole numbers.
            cells, decimals = [None if cell is None else f"{cell}.0" for cell in cells], 1
        return Column(kind, name, tuple(cells), notation, unit, decimals=decimals)
    if kind == "code":
        name, cells = code(rng, n)
        return Column(
            kind, name, tuple(cells), is_quoted=any(cell.startswith("0") or not cell.isdecimal() for cell in cells)
        )
    if kind == "category":
        is_truth = rng.random() < 0.4
        words = tool.truths or locale.truths if is_truth else WORDS[kind][rng.integers(len(WORDS[kind]))]
        cells = [str(word) for word in rng.choice(words, size=n)]
        cells = with_gaps(rng, cells) if rng.random() < 0.15 else cells
        return Column(kind, str(rng.choice(["group", "is_on", "Klasse", "sexe"])), tuple(cells), is_quoted=not is_truth)
    if kind == "date":
        name, cells = dates(rng, n, locale.dates if tool.dates == () else tool.dates)
        cells = with_gaps(rng, cells) if rng.random() < 0.1 and name != "year" else cells
        return Column(kind, name, tuple(cells), is_quoted=name != "year")
    if kind == "text":
        pool = (*WORDS[kind], *LETTERS.get(locale.name, ()))
        cells = [str(word) for word in rng.choice(pool, size=n)]
        return Column(kind, str(rng.choice(["note", "city", "Bemerkung", "objet"])), tuple(cells))
    return Column("empty", str(rng.choice(["remark", "leer", "unused"])), (None,) * n)


def drawn_truth(rng, recipe, locale):
    """The columns of a table, one of them at least of measurements; no two have the same name."""
    n = int(np.exp(rng.uniform(np.log(3), np.log(401))))
    width = int(rng.choice(range(1, 9), p=[0.06, 0.12, 0.2, 0.2, 0.15, 0.12, 0.08, 0.07]))
    chances = [0.6, 0.08, 0.1, 0.1, 0.09, 0.03]
    kinds = [str(kind) for kind in rng.choice(KINDS, size=width, p=chances)]
    kinds[rng.integers(width)] = "measurement"
    columns = [drawn_column(rng, kind, n, recipe, locale) for kind in kinds]
    columns = differently_named(columns)
    columns = named_by_numbers(rng, without_empty_rows(columns), recipe)
    return with_index(rng, columns, recipe)


def differently_named(columns):
    names, found = set(), []
    for column in columns:
        name, letters = column.name, iter("BCDEFGH")
        while name in names:  # the last word of a name says what it is about
            name = f"{next(letters)}_{column.name}"
        names.add(name)
        found.append(replace(column, name=name))
    return found


def without_empty_rows(columns):
    """No row has gaps alone: spreadsheets leave such below tables, and nobody can tell where the table ends."""
    kept = [any(column.cells[row] is not None for column in columns) for row in range(len(columns[0].cells))]
    return [replace(column, cells=tuple(compress(column.cells, kept))) for column in columns]


def named_by_numbers(rng, columns, recipe):
    """Names 0, 1, 2, ... as pandas gives them to an array, or wavelengths above measurements."""
    if recipe.tool_name != "pandas" or recipe.header != "one" or rng.random() > 0.06:
        return columns
    names = [str(place) for place in range(len(columns))]
    if rng.random() < 0.3 and len(columns) > 3:
        names = [str(400 + 10 * place) for place in range(len(columns))]
    return [replace(column, name=name) for column, name in zip(columns, names)]


def with_index(rng, columns, recipe):
    """A first column that names rows, as pandas and R write it, where the tool does so."""
    n = len(columns[0].cells)
    if recipe.index in ("", "none"):
        return columns
    if recipe.index.startswith("R"):
        cells = [str(row + 1) for row in range(n)]
        if rng.random() < 0.2:
            cells = [f"Merc {row}" for row in range(n)]
        return [Column("code", "", tuple(cells), is_index=True), *columns]
    draw = rng.random()
    cells = [str(row) for row in range(n)]
    if draw < 0.15:
        cells = [str(number) for number in rng.choice(10 * n, size=n, replace=False)]
    if 0.15 < draw < 0.25:
        cells = [(datetime(2020, 1, 1) + timedelta(days=row)).strftime("%Y-%m-%d") for row in range(n)]
    name = "" if draw < 0.9 else "id"
    return [Column("code", name, tuple(cells), is_index=True, is_quoted=False), *columns]
