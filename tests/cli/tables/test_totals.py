"""Last lines that sum up the others."""

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="tables need pyarrow")

from preimage.cli._errors import FileError
from preimage.cli.tables._numbers import NumberFormat
from preimage.cli.tables._totals import check_last, check_subtotals

PRICES = [12.25, 7.5, 30.0, 4.75, 18.5, 9.0]


def rows_of(numbers, last, first=""):
    return [*([f"part {place}", f"{number:.2f}"] for place, number in enumerate(numbers)), [first, last]]


@pytest.mark.parametrize("first", ["", "Σ", "in all"])
@pytest.mark.parametrize("last", ["82.00", "82", "82.02"])  # of rounded numbers
def test_sums_are_asked_about_whatever_they_are_called(first, last):
    with pytest.raises(FileError, match="--skip-footer 1, or take it as a row with --skip-footer 0"):
        check_last(rows_of(PRICES, last, first), NumberFormat())


def test_sums_are_read_in_the_convention_of_the_file():
    rows = [[f"{100 * number:.2f} €".replace(".", ",")] for number in PRICES]
    with pytest.raises(FileError):
        check_last([*rows, ["8.200,00 €"]], NumberFormat(",", "."))


@pytest.mark.parametrize("last", ["81.00", "", "none", "-82.00"])
def test_other_last_lines_are_rows(last):
    check_last(rows_of(PRICES, last), NumberFormat())


@pytest.mark.parametrize("values", [[1, 2, 3, 6], [0, 1, 0, 0, 1, 0, 2], [3, -3, 1, 5, 9, 15], [1, 2, 4, 8, 16, 31]])
def test_what_numbers_may_add_up_to_by_chance_is_a_row(values):
    check_last([[str(value)] for value in values], NumberFormat())


def test_few_random_columns_end_with_their_sum():
    rng = np.random.default_rng(0)
    for _ in range(200):
        numbers = rng.poisson(rng.choice([0.3, 3, 30]), size=rng.integers(3, 20))
        check_last([[str(number)] for number in numbers], NumberFormat())


@pytest.mark.parametrize("line", ["Subtotal;8", '"Zwischensumme";8', "  Sous-total A;8"])
def test_subtotals_between_rows_are_asked_about(line):
    with pytest.raises(FileError, match="--comment"):
        check_subtotals(["A;1", "B;7", line, "C;2"])


@pytest.mark.parametrize("line", ["Subtotals of 2020;8", "sub;8", "Total;8", "8;Subtotal"])
def test_other_words_are_no_subtotals(line):
    check_subtotals(["A;1", "B;7", line, "C;2"])
