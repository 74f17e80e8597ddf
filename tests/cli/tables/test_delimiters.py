"""What separates values, guessed by laws of whole readings."""

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")

from preimage.cli._errors import FileError
from preimage.cli.tables._delimiters import DELIMITERS, guess_delimiter

WORDS = ["plant", "north", "(none)", "naïve"]
PHRASES = ["plant 7", "São Paulo", "see p. 12", "10 % off"]


def lines_of(mark, decimal, words, header, seed):
    """Rows of a word, a number, a day and another number."""
    rng = np.random.default_rng(seed)
    number = lambda: f"{rng.normal() * 100:.{rng.integers(1, 4)}f}".replace(".", decimal)
    rows = [[str(rng.choice(words)), number(), f"2020-01-{day:02d}", number()] for day in range(1, 15)]
    rows = [["site", "mass", "day", "rate"], *rows] if header else rows
    return [mark.join(row) + "\n" for row in rows]


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize(("mark", "decimal"), [(m, d) for m in DELIMITERS for d in ".," if m != d])
def test_regular_lines_are_divided_by_what_joined_them(mark, decimal, header):
    for seed in range(5):
        lines = lines_of(mark, decimal, WORDS if mark == " " else WORDS + PHRASES, header, seed)
        assert guess_delimiter(lines) == mark
        assert guess_delimiter(["Instrument: XY 3000\n", *lines]) == mark


def test_words_between_tabs_are_not_cut_although_that_gives_more_numbers():
    lines = ["date\trate\tcount\tt\tnote\n"]
    notes = ["São Paulo", "one two", "see p. 12", "plant 7", "Zürich  2"]
    lines += [f"0{day}.06.2020\t4.7E+11\t0\t00:0{day}:00\t{note}\n" for day, note in enumerate(notes, 1)]
    assert guess_delimiter(lines) == "\t"


def test_decimal_commas_of_every_row_do_not_separate_values_between_blanks():
    lines = [f'3,27{day} 2020-09-0{day} "plant {day}" -17,1{day}6\n' for day in range(1, 9)]
    assert guess_delimiter(lines) == " "


@pytest.mark.parametrize("unit", ["USD", "€", "kr."])
def test_money_before_a_comma_is_the_end_of_a_value(unit):
    rows = [f"{number / 100:.2f} {unit},{20095 + number}\n" for number in range(1, 20)]
    assert guess_delimiter(rows) == ","
    assert guess_delimiter(["Quarterly report,\n", *rows]) == ","


def test_titles_of_as_many_words_as_rows_do_not_say_that_blanks_separate_values():
    titles = ["Instrument: XY 3000\n", "Operator: A. Nobody\n", "prix;is_on;voltage\n"]
    for size in range(5, 20):
        rows = [f"0.0{number % 7};CHF {number};WAHR;CHF {number}.5\n" for number in range(size)]
        assert guess_delimiter([*titles, *rows]) == ";"


@pytest.mark.parametrize("value", [" $46.{} ", "46.{}", "plant{}"])
def test_words_above_names_between_tabs_are_a_title(value):
    for size in range(4, 40):
        rows = [f"{value.format(10 + number)}\t{number % 7}\n" for number in range(size)]
        assert guess_delimiter(["Quarterly report\n", "beta_2\tsignal\n", *rows]) == "\t"
        if value.startswith(" "):  # names between blanks, and no others
            assert guess_delimiter(["beta_2 signal\n", *rows]) == " "


def test_two_blanks_in_the_last_row_alone_separate_nothing():
    rows = [f"0.5\t{number}\t{text}\n" for number, text in ((1, "see p. 12"), (2, "x; y"), (3, "Zürich  2"))]
    assert guess_delimiter(rows) == "\t"


def test_names_between_commas_say_that_commas_separate_values():
    rows = [f"plant {number},{3 * number}\n" for number in range(1, 9)]
    assert guess_delimiter(["name,value\n", *rows]) == ","


@pytest.mark.parametrize("first", ["", "x\n"])
def test_pairs_that_may_be_decimals_are_asked_about_or_are_decimals(first):
    pairs = [f"{number},{90 - number}\n" for number in (12, 11, 17, 45, 23, 31)]
    if first:
        assert guess_delimiter([first, *pairs]) not in ","
    else:
        with pytest.raises(FileError, match="may be two numbers, or one with a decimal comma"):
            guess_delimiter(pairs)
