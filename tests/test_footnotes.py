"""A footnote of one line that begins with an initial, "S. Mika", is the item "S." of a list for docutils.

Sphinx then prints the text on top of the number. In two lines it is a paragraph.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = [path for folder in ("src", "examples") for path in sorted((ROOT / folder).rglob("*.py"))]
FOOTNOTE = re.compile(r"^ *(?:# )?\.\. \[\d+\] [A-Za-z]\. .*\n(?= *#?\n| *(?:# )?\.\. \[| *\"\"\")", re.MULTILINE)


@pytest.mark.parametrize("text", ['.. [1] S. Mika, 1999.\n"""', ".. [1] S. Mika, 1999.\n\n", "# .. [1] S. Mika.\n#\n"])
def test_a_footnote_that_becomes_a_list_is_found(text):
    assert FOOTNOTE.search(text)


def test_no_footnote_becomes_a_list():
    wrong = {
        str(path.relative_to(ROOT)): found
        for path in SOURCES
        if (found := FOOTNOTE.findall(path.read_text(encoding="utf-8")))
    }
    assert not wrong, "break these lines in two"
