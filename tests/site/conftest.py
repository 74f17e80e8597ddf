"""Fixtures of the tests that open the built site: ``make docs`` first, or they are skipped.

Its extensions can be imported by their names.
"""

import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SITE = DOCS / "_build" / "html"
sys.path.insert(0, str(DOCS / "_extensions"))


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder, without a line per request."""

    def log_message(self, *words):
        pass


@pytest.fixture(scope="session")
def address():
    """The address of the built site; search reads pages of it, which browsers allow only for served ones."""
    if not (SITE / "index.html").exists():
        pytest.skip("the site is not built; make docs builds it")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


class OpenedPage:
    """A page of the site in a window of its own, with everything that must not happen written down."""

    def __init__(self, browser, address, name, width, theme):
        self._context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce"
        )
        self.address, self.console, self.requests = address, [], []
        self.page = self._context.new_page()
        # Far longer than anything takes, also where other work keeps the machine busy.
        self.page.set_default_timeout(60_000)
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.console.append(str(error)))
        self._context.on("request", lambda request: self.requests.append(request.url))
        path, _, query = name.partition("?")
        self.page.goto(f"{address}{path}.html?{query}")

    def _hear(self, message):
        if message.type in {"error", "warning", "assert"}:
            self.console.append(f"{message.type}: {message.text}")

    def problems(self):
        """Sentences about errors, files that are not there, and requests that leave the site."""
        own = (self.address, "data:", "blob:", "about:")
        foreign = [url for url in self.requests if not url.startswith(own)]
        return [f"the console has {line}" for line in self.console] + [f"the page asked for {url}" for url in foreign]

    def close(self):
        self._context.close()


@pytest.fixture
def open_page(chromium, address):
    """Opens a page of the site by its name; it is closed and checked when the test ends."""
    opened = []

    def open_one(name, width=1280, theme="light"):
        opened.append(OpenedPage(chromium, address, name, width, theme))
        return opened[-1].page

    yield open_one
    problems = [problem for page in opened for problem in page.problems()]
    for page in opened:
        page.close()
    assert not problems, "; ".join(problems)
