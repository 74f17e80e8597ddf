"""Every guide begins with its question, a short program and what it shows."""

import re
from pathlib import Path

import pytest

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
# An overview, and pages whose first program prints the numbers that a picture would repeat.
WITHOUT_A_PICTURE = {"train_many_rows", "strings_and_objects"}
PAGES = sorted(path for path in GUIDES.glob("*.md") if path.stem != "index")


def beginning(path):
    """What stands before the second heading."""
    text = re.sub(r"\A---\n.*?\n---\n", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.split(r"^## ", text, maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_guide_begins_with_a_program_and_its_picture(path):
    text = beginning(path)
    assert re.search(r"^```(?:python|bash|sh)\n", text, re.MULTILINE), "no program"
    if path.stem not in WITHOUT_A_PICTURE:
        assert re.search(r"^!\[|plt\.show\(\)|^```\{explorer\}", text, re.MULTILINE), "no picture"


@pytest.mark.parametrize(
    "path", [path for path in PAGES if path.stem not in WITHOUT_A_PICTURE], ids=lambda path: path.stem
)
def test_a_guide_begins_with_its_question(path):
    title, _, rest = beginning(path).strip().partition("\n")
    first = rest.strip().split("\n\n")[0]
    assert "?" in title + first
