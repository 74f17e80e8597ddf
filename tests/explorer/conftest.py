"""Fixtures of the explorer's tests: modules to call, pages to open."""

import pytest
from browser import PICTURE, Modules, WatchedPage

from preimage.explorer._page import style_sheet


@pytest.fixture(scope="module")
def javascript(chromium):
    """Calls functions of the page's modules with values of Python: `javascript("x.js", "({f}, a) => f(a)", a)`."""
    modules = Modules(chromium)
    yield modules
    modules.close()


@pytest.fixture
def open_page(chromium, tmp_path):
    """Opens a page (its text, or an Explorer) in a window of its own; it is closed and checked when the test ends.

    The background of the map takes most of the time of an opened page; `shade` has it drawn.
    """
    opened = []

    def open_one(page, shade=False, **window):
        path = tmp_path / f"page_{len(opened)}.html"
        path.write_text(page if isinstance(page, str) else page.to_html(), encoding="utf-8")
        opened.append(WatchedPage(chromium, path, shade=shade, **window))
        return opened[-1]

    yield open_one
    problems = [problem for page in opened for problem in page.closed()]
    assert not problems, "; ".join(problems)


@pytest.fixture
def look(javascript):
    """What a function sees of a picture: `look(record, row, "(element, view, picture, row) => …", size, what)`."""

    def see(record, row, function, size="medium", what="value"):
        code = PICTURE.format(size=size, what=what, look=function)
        return javascript("views/view.js", code, record, row, style_sheet())

    return see
