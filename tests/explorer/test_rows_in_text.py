"""Rows that people paste into a page: every way of writing them gives the same numbers, or a sentence that helps."""

import itertools

import numpy as np
import pytest

READ = """({rowsInText, UnreadableText}, texts, names, count) => texts.map((text) => {
  try {
    return rowsInText(text, names, count);
  } catch (error) {
    if (!(error instanceof UnreadableText)) throw error;
    return { problem: error.message };
  }
})"""
NAMES = ["height", "width", "first weight", "age"]


@pytest.fixture
def read(javascript):
    return lambda texts, names=NAMES, count=4: javascript("rows_in_text.js", READ, texts, names, count)


def written(rows, delimiter, decimal, missing="", header=None):
    """A table as a program writes it."""

    def cell(value):
        return missing if np.isnan(value) else repr(float(value)).replace(".", decimal)

    lines = [] if header is None else [delimiter.join(header)]
    return "\n".join(lines + [delimiter.join(map(cell, row)) for row in rows])


def test_every_delimiter_decimal_separator_and_mark_gives_the_same_rows(read):
    rng = np.random.default_rng(0)
    rows = np.round(rng.normal(size=(3, 4)) * 10.0 ** rng.integers(-3, 4, size=(3, 4)), 6)
    rows[0, 0], rows[1, 2], rows[2, 3] = np.nan, np.nan, np.nan
    ways = itertools.product(["\t", ";", ",", "|", " "], [".", ","], ["", "NA", "nan", "?"], [None, NAMES])
    texts = [
        written(rows, delimiter, decimal, missing, header)
        for delimiter, decimal, missing, header in ways
        # A comma cannot do two things at once, and blanks cannot surround an empty cell or divide a name.
        if (delimiter, decimal) != (",", ",") and not (delimiter == " " and (missing == "" or header))
    ]
    assert len(texts) > 60
    for text, found in zip(texts, read(texts)):
        assert len(found["rows"]) == 3, (text, found)
        np.testing.assert_array_equal(np.array(found["rows"]), rows, err_msg=text)


def test_names_in_the_header_sort_the_columns_and_leave_out_others(read):
    text = 'Age;"First weight";species;height;width\n1;2;setosa;3;4,5\n5;;virginica;7;8'
    (found,) = read([text])
    np.testing.assert_array_equal(found["rows"], [[3, 4.5, 2, 1], [7, 8, np.nan, 5]])
    assert "1 other column was left out" in found["note"]


def test_names_may_be_numbers_such_as_wavelengths(read):
    (found,) = read(["400,410,420\n1,2,3"], ["400", "410", "420"], 3)
    np.testing.assert_array_equal(found["rows"], [[1, 2, 3]])


def test_a_header_in_another_order_with_a_wrong_name_is_refused(read):
    (found,) = read(["age,width,first weight,hight\n1,2,3,4"])
    assert "lacks 1 of the 4 columns" in found["problem"] and "height" in found["problem"]


def test_as_many_values_as_needed_are_one_row_however_they_are_divided(read):
    texts = ["1 2\n3 4", "1,2\n3,4", "1\n2\n3\n4", "1, 2, 3, 4,"]
    texts += ["[[1, 2],\n [3, 4]]", "array([1., 2.,\n       3., 4.])", "[1,2,3,4]"]
    for text, found in zip(texts, read(texts, [], 4)):
        np.testing.assert_array_equal(found["rows"], [[1, 2, 3, 4]], err_msg=text)


def test_columns_of_words_are_left_out_where_the_others_are_as_many_as_needed(read):
    (found,) = read(["1,2,3,4,setosa\n5,6,7,8,virginica"])
    np.testing.assert_array_equal(found["rows"], [[1, 2, 3, 4], [5, 6, 7, 8]])
    assert "column 5" in found["note"]


def test_digits_in_groups_signs_exponents_and_marks_of_the_beginning_are_read(read):
    (found,) = read(["\ufeff1.234,5;−2;+3e-2;1.234.567\r\n"])
    np.testing.assert_array_equal(found["rows"], [[1234.5, -2, 0.03, 1234567]])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no text"),
        (" \n\t\n", "no text"),
        ("1,2,3", "Row 1 has 3 values (separated by commas); the model needs 4: height, width, first weight, age."),
        ("1,2,3,4\n5,6,7,8,9", "Row 2 has 5 values"),
        ("1,2,many,4", "Value 3 of row 1, “many”, is not a number"),
        ("1,2,3,4\n1,1e999,3,4", "Row 2 has a number that is too large"),
        ("Dear all, please find attached our <b>results</b>", "the model needs 4"),
        ("x" * 10_000, "the model needs 4"),
    ],
)
def test_what_cannot_be_read_is_answered_by_a_sentence(read, text, words):
    (found,) = read([text])
    assert words in found["problem"]
    assert len(found["problem"]) < 300


def test_long_tables_are_read_to_a_limit(read):
    (found,) = read(["\n".join(f"{number},1,2,3" for number in range(50_000))])
    assert 1000 <= len(found["rows"]) <= 1001
    assert [row[0] for row in found["rows"]] == list(range(len(found["rows"])))


def test_texts_of_files_have_the_encoding_that_spreadsheets_write(javascript):
    code = """async ({textOf}, lists) => Promise.all(
      lists.map((bytes) => textOf(new File([Uint8Array.from(bytes)], "table.csv")).catch((error) => error.message)))"""
    encoded = ["1;2,5 ä".encode(name) for name in ("utf-8", "utf-8-sig", "utf-16")]
    texts = javascript("text_files.js", code, [list(text) for text in [*encoded, b"PK\x03\x04\x00\x00"]])
    assert texts[:3] == ["1;2,5 ä"] * 3
    assert "not a text file" in texts[3]


def test_folders_that_are_dropped_are_answered_by_a_sentence(javascript):
    code = """({textOf, UnreadableText}) => textOf({ name: "a folder", slice: () => ({ arrayBuffer: () =>
      Promise.reject(new DOMException("no file", "NotReadableError")) }) }).catch((error) => error.message)"""
    assert "“a folder” cannot be read" in javascript("text_files.js", code)


def test_names_that_differ_by_capitals_or_not_at_all_are_columns_of_their_own(read):
    (found,) = read(["k,K,x\n1,2,3"], ["K", "k", "x"], 3)
    np.testing.assert_array_equal(found["rows"], [[2, 1, 3]])
    (found,) = read(["a,a,b\n1,2,3"], ["a", "a", "b"], 3)
    np.testing.assert_array_equal(found["rows"], [[1, 2, 3]])
