"""Pages that cannot work say why: damaged files, browsers that are too old or run no scripts."""

from browser import WatchedPage
from ready_pages import digits


def written(tmp_path, html):
    path = tmp_path / "page.html"
    path.write_text(html, encoding="utf-8")
    return path


def test_a_damaged_page_says_that_it_cannot_be_opened(chromium, tmp_path):
    start = digits().index('id="page-arrays">') + len('id="page-arrays">')
    watched = WatchedPage(chromium, written(tmp_path, digits()[: start + 200] + digits()[start + 1200 :]))
    assert "could not be opened" in watched.page.get_by_role("alert").inner_text()
    assert watched.closed()


def test_an_old_browser_is_told_so(chromium, tmp_path):
    context = chromium.new_context()
    page = context.new_page()
    page.add_init_script("delete window.DecompressionStream;")
    page.goto(written(tmp_path, digits()).as_uri())
    assert "older than 2023" in page.get_by_role("alert").inner_text()
    context.close()


def test_without_scripts_the_page_asks_for_them(chromium, tmp_path):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(written(tmp_path, digits()).as_uri())
    assert "allow it to run scripts" in page.locator("body").inner_text()
    context.close()


def test_equal_calls_give_equal_pages():
    """So that a page can be kept under version control."""
    first = digits()
    digits.cache_clear()
    assert digits() == first
