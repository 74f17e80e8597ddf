"""Pages in frames of other pages, on telephones, and as links: what is seen side by side, at the pointer, and again."""

import re

import numpy as np
import pytest
from PIL import Image
from ready_pages import PAGES, digits, wine


def box(part):
    found = part.bounding_box()
    return {**found, "right": found["x"] + found["width"], "bottom": found["y"] + found["height"]}


@pytest.mark.parametrize("kind", PAGES)
@pytest.mark.parametrize("width", [640, 800, 1280])
def test_map_and_inspector_are_side_by_side(open_page, kind, width):
    watched = open_page(PAGES[kind](), width=width, height=820)
    chart, inspector = box(watched.panel("map")), box(watched.panel("inspector"))
    assert chart["right"] <= inspector["x"] and abs(chart["y"] - inspector["y"]) < 2
    stage = box(watched.page.locator(".map-stage"))
    assert stage["bottom"] <= 820 and stage["width"] >= 250
    assert watched.sideways() == 0


def test_differences_of_short_tables_are_seen_at_once(open_page):
    for width in (640, 1280):
        watched = open_page(wine(), width=width, height=800)
        watched.settle()
        cells = watched.panel("inspector").locator(".comparison td[data-of='difference']")
        assert cells.count() == 13
        assert box(cells.last)["bottom"] <= 800
        assert all(text.strip() for text in cells.all_inner_texts())


def test_a_narrow_page_has_the_picture_at_the_finger(open_page):
    watched = open_page(digits(), width=400, touch=True)
    lens = watched.page.locator(".map-lens")
    surface = watched.page.locator(".map-overlay")
    surface.scroll_into_view_if_needed()
    place = box(surface)
    x, y = place["x"] + 0.6 * place["width"], place["y"] + 0.7 * place["height"]
    watched.page.touchscreen.tap(x, y)
    watched.settle()
    assert lens.is_visible()
    seen = box(lens)
    assert seen["bottom"] <= y and seen["x"] < x < seen["right"]
    before = watched.drawn(lens)
    watched.page.touchscreen.tap(place["x"] + 0.3 * place["width"], place["y"] + 0.1 * place["height"])
    watched.settle()
    assert watched.drawn(lens) != before
    # Near the upper border it is below the place, and never outside of the plane.
    assert box(lens)["y"] >= place["y"] and box(lens)["bottom"] <= place["bottom"]
    watched.page.get_by_role("button", name="Picture at the pointer").click()
    watched.settle()
    assert not lens.is_visible()


def test_a_wide_page_has_it_on_demand(open_page):
    watched = open_page(digits())
    watched.settle()
    assert not watched.page.locator(".map-lens").is_visible()
    watched.page.get_by_role("button", name="Picture at the pointer").click()
    watched.settle()
    assert watched.page.locator(".map-lens").is_visible()


KEYS = (
    "model",
    "q",
    "across",
    "up",
    "colour",
    "others",
    "haze",
    "selected",
    "pointer",
    "walk",
    "tool",
    "theme",
    "lens",
)
VIEW = {
    "q": 5,
    "across": 1,
    "up": 2,
    "colour": "component:3",
    "others": "zero",
    "haze": "error",
    "selected": 17,
    "pointer": {"across": 0.125, "up": -0.25},
    "walk": {"a": "label:2", "b": "sample:9"},
    "tool": "components",
    "theme": "dark",
    "lens": True,
}


def look_of(watched):
    return {key: watched.state(key) for key in KEYS}


def test_a_link_brings_a_view_back(open_page):
    watched = open_page(digits())
    watched.page.evaluate("(view) => window.preimage.store.set(view)", VIEW)
    watched.page.evaluate("() => window.preimage.store.set({ hidden: new Set([3, 5]) })")
    watched.page.get_by_role("button", name="Zoom in").click()
    watched.page.get_by_role("button", name="Link to this view").click()
    watched.settle()
    link, wanted, shown = watched.page.url, look_of(watched), watched.state("shown")
    assert "#" in link
    watched.page.goto("about:blank")
    watched.page.goto(link)
    watched.page.wait_for_function("() => document.documentElement.dataset.ready")
    watched.settle()
    watched.requests[:] = [each for each in watched.requests if each != "about:blank"]
    found = look_of(watched)
    pointers = [list(each.pop("pointer").values()) for each in (found, wanted)]
    assert pointers[0] == pytest.approx(pointers[1], rel=1e-5)
    assert found == wanted
    assert watched.page.evaluate("() => [...window.preimage.store.get('hidden')]") == [3, 5]
    for side, value in shown.items():
        assert watched.state("shown")[side] == pytest.approx(value, abs=1e-5)
    assert watched.panel("components").is_visible()


@pytest.mark.parametrize(
    "link",
    [
        "model=9&components=99&x=0&y=-1&row=1e9&colour=component:77&others=<b>&shade=error%22&tool=none&at=1,x",
        "at=Infinity,2&map=1,0,0,1&walk=sample:99999,mean&hidden=a,b&theme=blue",
        "%%%&=&row&at=&map=NaN,1,2,3&walk=label:99,label:0",
    ],
)
def test_links_that_make_no_sense_change_nothing(open_page, link):
    watched = open_page(digits())
    watched.settle()
    before = look_of(watched)
    watched.page.evaluate("(link) => { location.hash = link; }", link)
    watched.settle()
    after = look_of(watched)
    assert {**after, "haze": None} == {**before, "haze": None}


@pytest.mark.parametrize("kind", ["images", "table", "curves", "volume"])
def test_maps_and_strips_become_files(open_page, tmp_path, kind):
    watched = open_page(PAGES[kind](), shade=True)
    watched.settle()
    for what, tab in (("the map", None), ("the walk", "Walk"), ("the components", "Components")):
        if tab:
            watched.open_tool(tab)
            watched.settle()
        files = {}
        for ending in ("PNG", "SVG"):
            with watched.page.expect_download() as waiting:
                watched.page.get_by_role("button", name=f"Write {what} to a {ending} file").click()
            assert waiting.value.suggested_filename.endswith(f"{what[4:]}.{ending.lower()}")
            files[ending] = tmp_path / f"file.{ending.lower()}"
            waiting.value.save_as(files[ending])
        drawing = files["SVG"].read_text(encoding="utf-8")
        without_pictures = re.sub(r"data:image/png;base64,[\w+/=]+", "", drawing)
        assert not re.search(r"NaN|undefined|<script|https?://(?!www\.w3\.org/)", without_pictures)
        picture = np.asarray(Image.open(files["PNG"]).convert("L"), dtype=float)
        width = int(re.search(r'<svg[^>]* width="(\d+)"', drawing)[1])
        assert abs(picture.shape[1] - 3 * width) <= 3 and picture.std() > 10
    watched.settle()


def test_pages_say_what_made_them(open_page):
    link = open_page(digits()).page.get_by_role("link", name="preimage")
    assert link.get_attribute("href") == "https://preimage-dev.github.io/preimage/"
    assert link.get_attribute("rel") == "noopener"


def test_labels_are_words(open_page):
    legend = open_page(digits()).panel("map").locator(".legend-entry").first
    assert legend.inner_text().split("\n") == ["class 0", "(12)"]
    assert open_page(wine()).panel("map").locator(".legend-entry").first.inner_text().startswith("class_0")


HAZE = """({MapSamples}, coordinates, places) => {
  const samples = new MapSamples(coordinates, 0, 1, () => true, null);
  const at = places.map(([across, up]) => samples.squaredDistance({ across, up }));
  return { usual: samples.usualSquaredDistance(), at };
}"""


def test_the_haze_is_measured_by_distances_of_samples_from_each_other(javascript):
    """`usual` is a quantile of distances of samples from the others; the middle of a group is nearer."""
    rng = np.random.default_rng(0)
    groups = np.concatenate([rng.normal(size=(20, 2)) + 6 * np.array(middle) for middle in ((0, 0), (2, 0), (1, 2))])
    groups[::10] = 6 + 9 * rng.normal(size=(6, 2))  # scattered between and around them
    found = javascript("panels/map_target.js", HAZE, groups, [[6.0, 0.0], [0.0, 0.0], [30.0, 0.0]])
    widths = groups.std(axis=0) * len(groups) ** (-1 / 6)
    squared = np.sum(((groups[:, None] - groups) / widths) ** 2, axis=-1)
    np.fill_diagonal(squared, np.inf)
    distances = np.sort(np.maximum(0, -2 * np.log(np.exp(-squared / 2).sum(axis=1))))
    assert found["usual"] == pytest.approx(distances[int(0.95 * 59)], abs=1e-9) and found["usual"] > 0
    assert found["at"][1] < found["usual"] < found["at"][2]
