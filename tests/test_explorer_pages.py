"""A page that an example of the gallery wrote moves next to the page that shows it, out of the examples."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

EXTENSION = runpy.run_path(str(Path(__file__).parents[1] / "docs" / "_extensions" / "explorer_pages.py"))


@pytest.fixture
def example(tmp_path):
    """What sphinx-gallery tells of an example that wrote its page."""
    written = tmp_path / "digits.html"
    written.write_text("<p>a page</p>", encoding="utf-8")
    variables = {"PAGE": str(written), "page": SimpleNamespace(title="Digits <0 to 9>")}
    (tmp_path / "gallery").mkdir()
    return {"example_globals": variables, "target_file": str(tmp_path / "gallery" / "explore_digits.py")}


def test_the_page_is_moved_and_shown_in_a_frame(example, tmp_path):
    shown = EXTENSION["scrape"](None, example, {})
    assert 'src="pages/explore_digits.html"' in shown and "Digits &lt;0 to 9&gt;" in shown
    assert not (tmp_path / "digits.html").exists()
    assert (tmp_path / "gallery" / "pages" / "explore_digits.html").read_text(encoding="utf-8") == "<p>a page</p>"


def test_blocks_without_a_page_show_nothing(example, tmp_path):
    (tmp_path / "digits.html").unlink()
    assert EXTENSION["scrape"](None, example, {}) == ""
    assert EXTENSION["scrape"](None, {**example, "example_globals": {}}, {}) == ""
