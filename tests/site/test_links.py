"""The check of links that ``make docs`` ends with finds what it should find."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
spec = importlib.util.spec_from_file_location("check_links", DOCS / "check_links.py")
check_links = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_links)


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#here">x</a><a href="b.html#there">x</a><img src="no.png">')
    (tmp_path / "b.html").write_text('<p id="here"><a href="https://example.org">x</a><a href="#top">x</a></p>')
    found = check_links.broken_links(tmp_path)
    assert sorted(address for _, address in found) == ["b.html#there", "no.png"]


def test_things_loaded_from_elsewhere_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="https://example.org">x</a><link rel="canonical" href="https://example.org/a.html">'
        '<script src="https://cdn.example.org/x.js"></script><img src="//example.org/x.png">'
    )
    found = check_links.foreign_parts(tmp_path)
    assert sorted(address for _, address in found) == ["//example.org/x.png", "https://cdn.example.org/x.js"]
