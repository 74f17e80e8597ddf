"""The page holds what was added, in order, and needs no other file."""

import base64
import re
import runpy
from html.parser import HTMLParser
from pathlib import Path

import pytest

Report = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "_report.py"))["Report"]


class Checker(HTMLParser):
    """Opens and closes every element; collects tags and addresses."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.addresses = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check(report):
    checker = Checker()
    checker.feed(report.html())
    assert checker.open == []
    return checker


def test_parts_come_in_the_order_of_their_calls():
    report = Report("Title").add_text("one\n\ntwo").add_table(["a"], [[1]]).add_heading("Three").add_code("four")
    body = [tag for tag in check(report).tags if tag in ("h1", "p", "table", "h2", "pre")]
    assert body == ["h1", "p", "p", "table", "h2", "pre"]


def test_text_is_escaped_everywhere():
    report = (
        Report("<b>").add_text("<b>").add_heading("<b>").add_code("<b>").add_table(["<b>"], [["<b>"]], caption="<b>")
    )
    assert "b" not in check(report).tags and report.html().count("&lt;b&gt;") == 8


def test_columns_of_numbers_are_aligned_and_rows_marked():
    page = Report("t").add_table(["name", "error"], [["a", "0.5"], ["b", "–"]], marked=[1]).html()
    assert '<td class="number">0.5</td>' in page and "<td>a</td>" in page
    assert '<tr class="marked"><td>b</td><td class="number">–</td></tr>' in page


def test_rows_must_match_the_header():
    with pytest.raises(ValueError, match="needs 2 cells, as the header has; got 1"):
        Report("t").add_table(["a", "b"], [[1]])


def test_figures_are_embedded():
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    from matplotlib.figure import Figure

    report = Report("t").add_figure(Figure(figsize=(1, 1)), caption='a "figure"', dpi=20)
    (address,) = check(report).addresses
    assert base64.b64decode(address.removeprefix("data:image/png;base64,")).startswith(b"\x89PNG")
    assert 'alt="a &quot;figure&quot;"' in report.html()


def test_the_page_loads_nothing_from_elsewhere():
    assert not re.search(r"https?://|<link|<script|@import", Report("t").add_text("x").html())


def test_a_written_page_replaces_the_old_one_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    assert Report("Täglich").write(path) == path
    assert "Täglich" in path.read_text(encoding="utf-8") and list(tmp_path.iterdir()) == [path]


def test_a_picture_file_can_be_added(tmp_path):
    (tmp_path / "p.png").write_bytes(b"\x89PNG")
    assert base64.b64encode(b"\x89PNG").decode() in Report("t").add_figure(tmp_path / "p.png").html()
