"""Notations of numbers: what a column has is kept, and nothing is read as another number."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="tables need pyarrow")

import pyarrow

from preimage.cli.tables._numbers import NotANumber, NumberFormat, numbers_of

LAKH = NumberFormat(".", ",", is_lakh=True)


def test_small_numbers_between_groups_of_two_digits_are_read_back():
    column = LAKH.of_column(["2,35,81,19,06,377.416443", "0.000020"])
    texts = column.texts(np.array([2e-5, -123456.5, 1234567890123.0]))
    assert column.values(pyarrow.array(texts)).tolist() == [2e-5, -123456.5, 1234567890123.0]
    assert texts[1] == "-1,23,456.5"


@pytest.mark.parametrize("text", ["9007199254740993", "-9007199254740993", "+007", "007", "-007"])
def test_codes_far_below_are_no_numbers(text):
    with pytest.raises(NotANumber, match=r"007|9007199254740993"):
        NumberFormat().values(pyarrow.array(["1.5", text]))


@pytest.mark.parametrize("kind", [pyarrow.int64(), pyarrow.uint64(), pyarrow.decimal128(25, 2)])
def test_exact_numbers_of_too_many_digits_are_no_values(kind):
    values = pyarrow.array([1, 9007199254740993], pyarrow.int64()).cast(kind)
    with pytest.raises(NotANumber) as caught:
        numbers_of(values, NumberFormat())
    assert caught.value.row == 1


@pytest.mark.parametrize(
    ("first", "later", "number", "text"),
    [
        (["0.0", "0.0"], ["0.00123"], 0.00457, "0.00457"),
        (["12", "345"], ["0.25"], 0.126, "0.13"),
        (["0.5", "12"], ["1234567.5"], 7654321.5, "7654321.5"),
        (["0.5", "12"], ["1e-7"], 2e-7, "2e-07"),
        (["1e-3", "2e5"], ["1.25e-7"], 2.126e-4, "2.13e-04"),
        (["1,5 %", "2,5 %"], ["1,125 %"], 1.375, "1,375 %"),
        (["1.5", "2.5"], ["3.5", "NA"], 1.26, "1.3"),
        (["1.25", "-3.75"], ["-.25"], -0.26, "-.26"),
        (["$1,25", "$3,75"], ["$,25"], 0.26, "$,26"),
        ([".1234567890123456", "2.1234567890123456"], ["1.5"], 0.25, ".25"),
    ],
)
def test_columns_have_the_digits_of_their_later_numbers(first, later, number, text):
    convention = NumberFormat("," if "," in first[0] else ".")
    column = convention.of_column(first).of_more(pyarrow.array(later))
    assert column.texts(np.array([number])) == [text]


@pytest.mark.parametrize(
    ("texts", "number", "text"),
    [
        (["100.578792", "1039.62616"], 84827.2545, "84827.2545"),  # nine digits
        (["0.125", "12.5", "7.25"], 3.0, "3.0"),
        (["0.12500", "12.500"], 3.0, "3.000"),
        (["0.12", "12.50"], 3.0, "3.00"),
    ],
)
def test_numbers_end_in_zeros_where_those_of_their_column_do(texts, number, text):
    assert NumberFormat().of_column(texts).texts(np.array([number])) == [text]


@pytest.mark.parametrize(
    ("first", "later", "written"),
    [
        (["1", "2"], ["(3)"], "(4)"),
        (["$1", "$2"], ["($3)"], "($4)"),
        (["$ 1", "$ 2"], ["$ -3"], "$ -4"),
        (["1 €", "2 €"], ["3- €"], "4- €"),
        (["1", "2"], ["\u22123"], "\u22124"),
        (["1", "-2"], ["3"], "-4"),
    ],
)
def test_negative_numbers_are_written_as_later_rows_have_them(first, later, written):
    column = replace(NumberFormat().of_column(first), is_beginning=True)
    assert column.values(pyarrow.array([*first, *later]))[2] in (-3, 3)
    assert column.of_more(pyarrow.array(later)).texts(np.array([-4.0])) == [written]


def test_groups_of_later_rows_are_written():
    column = replace(NumberFormat(".", ",").of_column(["1", "2"]), is_beginning=True)
    assert column.of_more(pyarrow.array(["3", "4,000"])).texts(np.array([5000.0])) == ["5,000"]


@pytest.mark.parametrize("text", ["1.234", "-1.234", "(12.345)", "999.000-"])
def test_what_may_be_grouped_or_decimal_is_no_number_while_the_convention_is_open(text):
    column = NumberFormat(is_open=True, is_beginning=True)
    with pytest.raises(NotANumber):
        column.values(pyarrow.array(["1", text]))
    assert column.values(pyarrow.array(["1", "1.5", "0.125"])).tolist() == [1, 1.5, 0.125]
