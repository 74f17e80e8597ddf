"""One Chromium for all tests in a browser: of the explorer's pages and of the site."""

import asyncio
import os
import shutil

import pytest


def chromium_path():
    """The browser to drive: the one of `PREIMAGE_CHROMIUM`, or the first on the path; None where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return os.environ.get("PREIMAGE_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def started_chromium():
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
def chromium(started_chromium):
    """The browser for the tests of one module.

    Playwright leaves its event loop marked as running between calls; outside these modules the mark is taken away, or
    whatever else uses asyncio in the same process would refuse to start.
    """
    browser, loop = started_chromium
    asyncio._set_running_loop(loop)
    yield browser
    asyncio._set_running_loop(None)
