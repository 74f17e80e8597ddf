"""Fixtures of the explorer's tests: one Chromium for all of them, modules to call, pages to open."""

import asyncio

import pytest
from browser import PICTURE, Modules, WatchedPage, chromium_path

from preimage.explorer._page import style_sheet


@pytest.fixture(scope="session")
def _started_chromium():
    """The browser, started once per process; without it the tests in a browser are skipped."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = chromium_path()
    if path is None:
        pytest.skip("needs Chromium on the path (Debian: apt-get install chromium), or its path in PREIMAGE_CHROMIUM")
    playwright = driver.sync_playwright().start()
    # Containers have a small /dev/shm, which large canvases fill.
    browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
    loop = asyncio.get_running_loop()
    asyncio._set_running_loop(None)
    yield browser, loop
    asyncio._set_running_loop(loop)
    browser.close()
    playwright.stop()


@pytest.fixture(scope="module")
def chromium(_started_chromium):
    """The browser for the tests of one module.

    Playwright leaves its event loop marked as running between calls; outside these modules the mark is taken away, or
    whatever else uses asyncio in the same process would refuse to start.
    """
    browser, loop = _started_chromium
    asyncio._set_running_loop(loop)
    yield browser
    asyncio._set_running_loop(None)


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
