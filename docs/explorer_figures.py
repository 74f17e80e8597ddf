"""Draw the pages of the guide again: ``python docs/explorer_figures.py``, with Playwright and Chromium.

Runs the examples that make pages, opens each page, brings it into the state that its figure shows, and writes
``docs/images/explorer_*.png``.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples" / "explore"
# Pixels of the window.
WIDTH, HEIGHT = 1280, 960
# Milliseconds in which the background of the map and strips of pictures are computed.
SETTLED = 4000


def main():
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for figure, (name, pose) in FIGURES.items():
            path = Path(folder) / f"{name}.html"
            if not path.exists():
                subprocess.run([sys.executable, EXAMPLES / f"explore_{name}.py", path], check=True)
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
            page.goto(path.as_uri())
            page.wait_for_function("window.preimage")
            shown = pose(page)
            page.wait_for_timeout(SETTLED)
            shown.screenshot(path=DOCS / "images" / f"explorer_{figure}.png")
            page.close()


def at_the_pointer(across, up, colour=None):
    """The upper part of a page: a sample is selected, then the pointer rests at a place, in fractions of the map."""

    def pose(page):
        if colour is not None:
            page.get_by_label("Colour by").select_option(label=colour)
        box = page.locator("[data-panel=map] canvas").first.bounding_box()
        x, y = box["x"] + across * box["width"], box["y"] + up * box["height"]
        page.mouse.click(x, y)
        page.mouse.move(x + 12, y - 12)
        return page

    return pose


def walking(begin, end):
    """The walk between the means of two labels, near its end."""

    def pose(page):
        panel = page.locator("[data-panel=walk]")
        panel.get_by_label("A", exact=True).select_option(label=f"mean of {begin}")
        panel.get_by_label("B", exact=True).select_option(label=f"mean of {end}")
        place = panel.get_by_label("Place between A and B")
        place.evaluate("(slider) => { slider.value = slider.max; slider.dispatchEvent(new Event('input')); }")
        panel.scroll_into_view_if_needed()
        return panel

    return pose


def completing(page):
    """A digit whose lower half is hidden, and what the model makes of it."""
    at_the_pointer(0.58, 0.36)(page)
    page.get_by_role("tab", name="Denoise").click()
    panel = page.locator("[data-panel=denoise]")
    panel.scroll_into_view_if_needed()
    panel.get_by_role("button", name="Take the selected sample").click()
    panel.get_by_label("Gaps", exact=True).select_option(label="lower half")
    panel.get_by_role("button", name="Make gaps").click()
    return panel


def of_gaps(across, up):
    """The upper part of a page with the first row of two gaps selected, and the pointer at a place."""

    def pose(page):
        at_the_pointer(across, up)(page)
        page.evaluate(
            """() => {
              const { samples, store } = window.preimage;
              const gaps = (row) => samples.gaps(row)?.reduce((sum, gap) => sum + gap, 0);
              store.set({ selected: [...Array(samples.count).keys()].find((row) => gaps(row) === 2) });
            }"""
        )
        return page

    return pose


# Name of a figure: the example whose page it shows, and how.
FIGURES = {
    "digits": ("digits", at_the_pointer(0.78, 0.78)),
    "half_digit": ("digits", completing),
    "spectra": ("spectra", at_the_pointer(0.3, 0.3, "temperature (°C)")),
    "wine": ("wine", at_the_pointer(0.8, 0.6)),
    "brain": ("brain", walking("rest", "movement")),
    "machine": ("machine", at_the_pointer(0.52, 0.62)),
    "outliers": ("outliers", at_the_pointer(0.3, 0.5, "Decision")),
    "gaps": ("gaps", of_gaps(0.45, 0.4)),
}


if __name__ == "__main__":
    main()
