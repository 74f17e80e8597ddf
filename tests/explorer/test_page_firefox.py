"""Pages in Firefox: they open, compute the numbers that Chromium computes, and are used by mouse and keys."""

from pathlib import Path

import numpy as np
import pytest
from ready_pages import PAGES, digits, digits_data, digits_model

_SCRIPT = (Path(__file__).parent / "accessibility.js").read_text(encoding="utf-8")
# The expression without the comment in front of it.
AUDIT = "() =>" + _SCRIPT.partition("() =>")[2].rstrip().rstrip(";")
ENTER, RIGHT = "\ue007", "\ue014"
# Errors of the page, and a promise that waits until it has nothing to compute: scripts run after those of the page, so
# rest is a time without a change.
READY = """
  const later = (time) => new Promise((go) => setTimeout(go, time));
  for (let i = 0; i < 600 && !document.documentElement.dataset.ready; i += 1) await later(50);
  await later(300);
  return [document.documentElement.dataset.ready ?? null, document.querySelector("[role=alert]")?.textContent ?? null];
"""


@pytest.fixture
def opened(firefox, tmp_path):
    """Opens a page from its text."""

    def open_one(html):
        path = tmp_path / "page.html"
        path.write_text(html, encoding="utf-8")
        firefox.open(path.as_uri())
        assert firefox.run(READY) == ["true", None]
        return firefox

    return open_one


@pytest.mark.parametrize("kind", PAGES)
def test_pages_open_and_can_be_read(opened, kind):
    firefox = opened(PAGES[kind]())
    text = firefox.run("return document.body.innerText")
    assert "Inspector" in text and "NaN" not in text and "undefined" not in text
    assert firefox.run(f"const audit = {AUDIT}; return audit()") == []
    assert firefox.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


def test_coordinates_and_pre_images_are_those_of_the_model(opened):
    firefox = opened(digits())
    X = digits_data()[0][:5]
    found = firefox.run("return given[0].map((row) => [...window.preimage.model().coordinates(row)])", X.tolist())
    np.testing.assert_allclose(found, digits_model().transform(X), atol=1e-5)
    rows = firefox.run("return given[0].map((row) => [...window.preimage.model().denoise(row).row])", X.tolist())
    np.testing.assert_allclose(rows, digits_model().denoise(X), atol=1e-3)


def test_mouse_and_keys_explore_and_select(opened):
    firefox = opened(digits())
    box = firefox.run(
        """
        const box = document.querySelector(".map-overlay").getBoundingClientRect();
        return [box.x, box.y, box.width, box.height];
        """
    )
    pointer = "await new Promise((go) => setTimeout(go, 300)); return window.preimage.store.get('pointer')"
    firefox.point(box[0] + 0.4 * box[2], box[1] + 0.5 * box[3])
    first = firefox.run(pointer)
    firefox.point(box[0] + 0.6 * box[2], box[1] + 0.5 * box[3], click=True)
    assert firefox.run(pointer)["across"] > first["across"]
    firefox.run("window.preimage.store.set({ selected: null }); document.querySelector('.map-overlay').focus()")
    before = firefox.run(pointer)
    firefox.keys(RIGHT, ENTER)
    assert firefox.run(pointer)["across"] > before["across"]
    assert isinstance(firefox.run("return window.preimage.store.get('selected')"), int)


def test_files_and_links_work(opened):
    firefox = opened(digits())
    kinds = firefox.run(
        """
        const kinds = [];
        const click = HTMLAnchorElement.prototype.click;
        HTMLAnchorElement.prototype.click = function () { kinds.push(this.download); };
        const buttonOf = (kind) => document.querySelector(`[aria-label="Write the map to a ${kind} file"]`);
        for (const kind of ["PNG", "SVG"]) buttonOf(kind).click();
        for (let i = 0; i < 100 && kinds.length < 2; i += 1) await new Promise((go) => setTimeout(go, 50));
        HTMLAnchorElement.prototype.click = click;
        return kinds.sort();
        """
    )
    assert kinds == ["digits-map.png", "digits-map.svg"]
    firefox.run(
        """
        window.preimage.store.set({ across: 3 });
        [...document.querySelectorAll("button")].find((node) => node.textContent === "Link to this view").click();
        """
    )
    assert "x=4" in firefox.run("return location.hash")
