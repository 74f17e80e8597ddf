"""Pairs of truths that have the same bytes: whoever reads one of them without asking has guessed."""

import numpy as np
from table_dialects import TOOLS, Case, Recipe, bytes_of, possible
from table_truths import Column, Notation

NAMES = ("Höhe", "mass", "x")


def recipe(tool_name, locale_name, delimiter, **fields):
    plain = {
        "encoding": "utf-8",
        "end": "\n",
        "quoting": "minimal",
        "gap": "",
        "header": "one",
        "above": "",
        "index": "",
    }
    rest = {"footer": "", "suffix": ".csv", "compression": "", "has_final_end": True, "is_grouped": False}
    assert tool_name in TOOLS
    return Recipe(tool_name, locale_name, delimiter, **{**plain, **rest, **fields})


def thousands_or_decimals(rng):
    """The text 1.234 or 1,234 in every cell: above a thousand in one country, with three decimals in another."""
    delimiter = str(rng.choice([";", "\t", "|", ","]))
    mark = str(rng.choice([".", ","])) if delimiter != "," else ","
    n, width = int(rng.integers(3, 30)), int(rng.integers(1, 4))
    cells = [[(int(rng.integers(1, 1000)), int(rng.integers(1000))) for _ in range(n)] for _ in range(width)]
    of_thousands = [tuple(f"{high}{low:03d}" for high, low in column) for column in cells]
    of_decimals = [tuple(f"{high}.{low:03d}" for high, low in column) for column in cells]
    other = "," if mark == "." else "."
    big = [Column("measurement", *pair, Notation(other, mark), decimals=0) for pair in zip(NAMES, of_thousands)]
    small = [Column("measurement", *pair, Notation(mark), decimals=3) for pair in zip(NAMES, of_decimals)]
    locales = {".": ("de-DE", "en-US"), ",": ("en-US", "de-DE")}[mark]
    return [Case(recipe("by hand", name, delimiter), tuple(columns)) for name, columns in zip(locales, (big, small))]


def two_numbers_or_one(rng):
    """The text 12,34 in every line: two whole numbers, or one with a decimal comma."""
    n = int(rng.integers(3, 30))
    pairs = rng.integers(10, 99, size=(n, 2))
    two = [
        Column("measurement", name, tuple(str(number) for number in numbers), decimals=0)
        for name, numbers in zip(NAMES, pairs.T)
    ]
    one = [Column("measurement", NAMES[0], tuple(f"{a}.{b}" for a, b in pairs), Notation(","), decimals=2)]
    of_two, of_one = recipe("by hand", "en-US", ",", header="none"), recipe("by hand", "de-DE", ";", header="none")
    return [Case(of_two, tuple(two)), Case(of_one, tuple(one))]


def total_or_row(rng):
    """A last line "Total" below numbers: their sum, or a row that is called so."""
    n = int(rng.integers(3, 30))
    words = tuple(str(word) for word in rng.choice(["north", "south", "plant 7"], size=n))
    numbers = tuple(str(number) for number in rng.integers(10, 99, size=n))
    of_total = (Column("text", "site", words), Column("measurement", "mass", numbers, decimals=0))
    of_row = (Column("text", "site", (*words, "Total")), Column("measurement", "mass", (*numbers, None), decimals=0))
    first = recipe("by hand", "en-US", ",", footer="total")
    return [Case(first, of_total), Case(recipe("by hand", "en-US", ","), of_row)]


TWINS = (thousands_or_decimals, two_numbers_or_one, total_or_row)


def drawn_twins(seed):
    """Two cases with the same bytes."""
    rng = np.random.default_rng(seed)
    first, second = map(possible, TWINS[seed % len(TWINS)](rng))
    assert bytes_of(first) == bytes_of(second), "the instrument itself: twins have the same bytes"
    return first, second
