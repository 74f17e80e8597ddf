"""Text tables with quotes, comments and footers: no row is lost, whatever stands in their words."""

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="tables need pyarrow")

from preimage.cli._errors import CommandError
from preimage.cli._options import TableOptions
from preimage.cli.tables import _text
from preimage.cli.tables._sources import open_source

NAN = np.nan


def opened(folder, text, **options):
    path = folder / "table.csv"
    path.write_text(text)
    return open_source(path, TableOptions(**options)).held(with_missing=True)


@pytest.mark.parametrize(
    "options", [{}, {"skip_ragged": True}, {"comment": "#"}], ids=["plain", "ragged", "with comments"]
)
# The beginning of a file, which says how it is written, has 2**17 bytes.
@pytest.mark.parametrize("lines", [1, 2**17 // 12 + 100], ids=["at once", "far below"])
def test_a_quote_that_does_not_end_is_refused(tmp_path, options, lines):
    text = "a,b,t\n" + "1,2,x\n3,4,y\n" * lines
    assert opened(tmp_path, text, **options).n_rows == 2 * lines
    for end in ('1,2,"z\n5,6,u\n7,8,v\n', '1,"2,z\n5,6,u\n7,8,v\n'):
        with pytest.raises(CommandError, match="quote that begins a value and does not end"):
            opened(tmp_path, text + end, **options)


def test_the_last_value_may_be_quoted_and_have_lines(tmp_path):
    source = opened(tmp_path, 'a,t\n1.5,x\n2.5,"y\n"\n')
    assert source.values[:, 0].tolist() == [1.5, 2.5]
    assert [text for batch in source.columns([1]) for text in batch[0].to_pylist()] == ["x", "y\n"]


@pytest.mark.parametrize("size", [11, 2**20], ids=["small blocks", "one block"])
@pytest.mark.parametrize("before", ["", "# true comment, 1, 2\n"], ids=["no comments", "comments"])
def test_lines_of_values_are_no_comments(tmp_path, monkeypatch, before, size):
    raw_blocks = _text.raw_blocks
    monkeypatch.setattr(_text, "raw_blocks", lambda path: raw_blocks(path, size))
    text = f'{before}a,b,t\n1,2,"x\n# no comment, 3\n#y"\n{before},3,5" pipe\n4,5,"a ""b"""\n6,7,u\n'
    source = opened(tmp_path, text, comment="#" if before else None)
    np.testing.assert_array_equal(source.values, [[1, 2], [NAN, 3], [4, 5], [6, 7]])
    words = [word for batch in source.columns([2]) for word in batch[0].to_pylist()]
    assert words == ["x\n# no comment, 3\n#y", '5" pipe', 'a "b"', "u"]


@pytest.mark.parametrize("words", [("it's", "'twas", "rock 'n' roll"), ("'twas", "'quoted'", "'n'")])
def test_apostrophes_are_no_quotes(tmp_path, words):
    source = opened(tmp_path, f"a,b,n\n1.5,2,{words[0]}\n2.5,3,{words[1]}\n4.5,5,{words[2]}\n")
    np.testing.assert_array_equal(source.values, [[1.5, 2], [2.5, 3], [4.5, 5]])


def test_empty_rows_above_a_footer_are_no_rows(tmp_path):
    source = opened(tmp_path, "a,b\n1,2\n,3\n4,5\n,\nSource: me,\n", skip_footer=1)
    np.testing.assert_array_equal(source.values, [[1, 2], [NAN, 3], [4, 5]])


def test_two_columns_with_names_are_no_amounts_with_decimal_commas(tmp_path):
    source = opened(tmp_path, "day,v\n1,5%\n2,7%\n4,9%\n")
    assert source.labels == ["day", "v"]
    np.testing.assert_array_equal(source.values, [[1, 5], [2, 7], [4, 9]])
