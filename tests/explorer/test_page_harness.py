"""The harness itself: values survive the way to the browser and back, and pages that misbehave are noticed."""

import numpy as np
import pytest
from browser import Modules, WatchedPage

READY = "document.documentElement.dataset.ready = 'true'"
PAGE = "<!doctype html><title>page</title><body>{body}<script>{script};" + READY + "</script>"


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8"])
def test_arrays_survive_the_way_to_the_browser_and_back(javascript, dtype, rng):
    sent = (100 * rng.normal(size=(7, 5))).astype(dtype)
    back = javascript([], "(exports, array) => ({ array, doubled: array.values.map((x) => 2 * x) })", sent)
    np.testing.assert_array_equal(back["array"], sent)
    assert back["array"].dtype == sent.dtype
    np.testing.assert_array_equal(back["doubled"], (2 * sent).ravel())


def test_numbers_that_json_lacks_survive_too(javascript):
    sent = {"list": [1.5, float("inf"), -float("inf")], "text": "</script> ü 🙂", "none": None, "missing": float("nan")}
    back = javascript([], "async (exports, value) => value", sent)
    assert np.isnan(back.pop("missing"))
    sent.pop("missing")
    assert back == sent


def test_modules_import_each_other(chromium, tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "double.js").write_text("export const double = (x) => 2 * x;")
    (tmp_path / "sum.js").write_text(
        'import { double } from "./parts/double.js";\nexport const f = (x) => double(x) + 1;'
    )
    modules = Modules(chromium, tmp_path)
    assert modules(["sum.js", "parts/double.js"], "({ f, double }, x) => f(x) + double(x)", 3) == 13
    modules.close()


def test_what_a_function_throws_is_raised(javascript):
    with pytest.raises(Exception, match="no such kernel"):
        javascript([], "() => { throw new Error('no such kernel'); }")


@pytest.mark.parametrize(
    ("body", "script", "problem"),
    [
        ("", "setTimeout(() => missing(), 0)", "raised missing is not defined"),
        ("", "console.error('broken')", "error: broken"),
        ("", "fetch('https://example.org/data.json').catch(() => {})", "asked for https://example.org"),
        ("<img src='picture.png'>", "", "picture.png"),
        ("<p>distance: NaN</p>", "", "shows distance: NaN"),
        ("<p>undefined of 3</p>", "", "shows undefined of 3"),
    ],
)
def test_pages_that_misbehave_are_noticed(chromium, tmp_path, body, script, problem):
    path = tmp_path / "page.html"
    path.write_text(PAGE.format(body=body, script=script))
    watched = WatchedPage(chromium, path)
    watched.settle()
    assert any(problem in found for found in watched.closed())


def test_a_calm_page_has_no_problems(open_page):
    watched = open_page(PAGE.format(body="<p>12 components, Nanette</p>", script=""))
    assert not watched.problems()
    assert watched.sideways() == 0
