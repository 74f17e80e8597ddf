"""The page inside a notebook: a frame of its own, which works and cannot reach what is around it."""

import pytest
from ready_pages import digits_data, digits_model

from preimage import explore


@pytest.fixture(scope="module")
def frame(chromium):
    """The frame of a page in a document that stands for a notebook, and what was heard from the console."""
    page = explore(digits_model(), *digits_data(), image_shape=(8, 8), title="Digits")
    window, heard = chromium.new_page(), []
    window.on("console", lambda message: heard.append(message.text))
    window.on("pageerror", lambda error: heard.append(str(error)))
    window.set_content(f"<!DOCTYPE html><script>window.secret = 1</script><p>A cell</p>{page._repr_html_()}")
    inner = window.frames[-1]
    inner.wait_for_function("() => window.preimage")
    yield inner, heard
    window.close()


def test_the_page_works_inside_a_frame(frame):
    inner, heard = frame
    assert inner.evaluate("() => window.preimage.models[0].k") == 8
    assert inner.locator("h1").inner_text() == "Digits"
    assert heard == []


def test_the_page_cannot_reach_the_notebook(frame):
    inner, _ = frame
    reached = inner.evaluate("() => { try { return window.parent.secret } catch (error) { return error.name } }")
    assert reached == "SecurityError"
