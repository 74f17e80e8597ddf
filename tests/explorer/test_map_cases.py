"""Cases of the map that a mouse alone does not reach: two fingers, unequal models, few rows, missing numbers."""

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_digits

from preimage import KernelPCA, explore


@cache
def digits(rows=60):
    X, y = load_digits(return_X_y=True)
    return X[:rows] / 16, y[:rows]


@cache
def models(*sizes):
    X, _ = digits()
    fitted = [KernelPCA(k, kernel="rbf", gamma=0.05).fit(X) for k in sizes]
    return fitted[0] if len(fitted) == 1 else fitted


@cache
def page(*sizes, rows=60):
    X, y = digits()
    columns = {
        "brightness": np.where(np.arange(60) % 7 == 0, np.nan, X.mean(1)),
        "half": np.array(["left", "right"] * 30),
    }
    colors = {name: values[:rows] for name, values in columns.items()}
    return explore(models(*sizes), X[:rows], y[:rows], image_shape=(8, 8), colors=colors).to_html()


class Shown:
    def __init__(self, watched):
        self.watched, self.page = watched, watched.page
        self.wait_for("store.get('selected') !== null")

    def state(self, key):
        return self.page.evaluate("(key) => window.preimage.store.get(key)", key)

    def set(self, **changes):
        self.page.evaluate("(changes) => window.preimage.store.set(changes)", changes)

    def wait_for(self, condition):
        self.page.wait_for_function(f"() => {{ const {{ store }} = window.preimage; return {condition}; }}")

    def text(self, place):
        """What a place of the page says after everything that was asked has been drawn."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return self.page.locator(place).inner_text()

    def pixels(self, canvas):
        return self.page.locator(canvas).evaluate("(canvas) => canvas.toDataURL()")


@pytest.fixture
def shown(open_page):
    return lambda html, **window: Shown(open_page(html, **window))


@pytest.mark.parametrize("width", [1280, 880, 400])
def test_nothing_moves_when_the_pointer_does_and_extrapolation_is_said(shown, width):
    opened = shown(page(6), width=width)
    part = opened.page.locator('[data-part="pointer"]')
    warning = part.get_by_text("The model extrapolates")
    first, second = opened.page.evaluate(
        "() => Array.from(window.preimage.data.models[0].coordinates.values.slice(0, 2))"
    )
    heights, warned = set(), []
    for across, up in [(first, second), (0, 0), (2, 2), (0.3, -0.2), (-3, 1)]:
        opened.set(pointer={"across": across, "up": up})
        opened.text("body")
        heights.add(part.bounding_box()["height"])
        warned.append(warning.is_visible())
    assert len(heights) == 1
    assert not warned[0] and warned[2] and warned[4]


def test_two_fingers_zoom_and_what_is_between_them_stays(shown):
    opened = shown(page(6), width=400, touch=True)
    surface = opened.page.locator(".map-overlay")
    surface.scroll_into_view_if_needed()
    box = surface.bounding_box()
    middle = np.array([box["x"] + 0.6 * box["width"], box["y"] + 0.5 * box["height"]])
    session = opened.page.context.new_cdp_session(opened.page)

    def touch(kind, *shifts):
        places = [middle + np.array(shift) for shift in shifts]
        points = [{"x": float(x), "y": float(y), "id": i} for i, (x, y) in enumerate(places)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def explored(x, y):
        touch("touchStart", (x - 1, y))
        touch("touchMove", (x, y))
        touch("touchEnd")
        return np.array([opened.state("pointer")[key] for key in ("across", "up")])

    before, corner = explored(0, 0), explored(60, 40)
    touch("touchStart", (-30, 0), (30, 0))
    for apart in (40, 50, 60):
        touch("touchMove", (-apart, 0), (apart, 0))
    touch("touchEnd")
    after, nearer = explored(0, 0), explored(60, 40)
    np.testing.assert_allclose(after, before, atol=0.02 * np.abs(corner - before).max())
    np.testing.assert_allclose(nearer - after, (corner - before) / 2, rtol=0.1)


def test_models_with_fewer_components_keep_the_choices_among_theirs(shown):
    opened = shown(page(6, 3))
    opened.set(across=5, up=4)
    opened.set(model=1)
    assert [opened.state(key) for key in ("q", "across", "up")] == [3, 2, 2]
    assert "3 of 3 components" in opened.text(".spectrum")
    opened.set(q=2, across=0)
    assert "Component 3: beyond the 2 in use" in opened.text(".map-note")
    opened.set(model=0)
    assert opened.state("q") == 2
    assert opened.page.get_by_label("Across").locator("option").count() == 6


def test_the_pointer_stays_with_its_sample_when_the_plane_changes(shown):
    opened = shown(page(6, 3))
    place = "(i, j) => window.preimage.data.models[i].coordinates.values[7 * window.preimage.models[i].k + j]"
    at = lambda model, component: opened.page.evaluate(f"([i, j]) => ({place})(i, j)", [model, component])
    opened.set(pointer={"across": at(0, 0), "up": at(0, 1)})
    opened.set(up=3)
    assert opened.state("pointer") == {"across": at(0, 0), "up": at(0, 3)}
    opened.set(model=1, up=1)
    assert opened.state("pointer") == {"across": at(1, 0), "up": at(1, 1)}


@pytest.mark.parametrize(("components", "rows"), [(1, 60), (6, 1), (1, 1)])
def test_one_component_and_one_row_are_a_map(shown, components, rows):
    opened = shown(page(components, rows=rows))
    surface = opened.page.locator(".map-overlay")
    surface.hover(position={"x": 200, "y": 100})
    surface.click(position={"x": 210, "y": 110})
    opened.page.get_by_label("Shade").select_option("error")
    opened.page.keyboard.press("Tab")
    assert f"of {rows} samples" in opened.text('[data-part="selected"]')
    assert "Squared distance" in opened.text('[data-part="pointer"]')
    assert not opened.watched.problems()


def test_with_everything_hidden_there_is_no_nearest_sample(shown):
    opened = shown(page(6))
    for entry in opened.page.locator(".legend-entry").all():
        entry.click()
    opened.page.locator(".map-overlay").hover(position={"x": 300, "y": 200})
    assert "no sample is shown" in opened.text('[data-figure="nearest-sample"]')
    opened.page.get_by_role("button", name="Show all").click()
    assert "row " in opened.text('[data-figure="nearest-sample"]')


def test_shift_shows_one_label_alone_and_all_again(shown):
    opened = shown(page(6))
    entries = opened.page.locator(".legend-entry")
    pressed = lambda: [entry.get_attribute("aria-pressed") for entry in entries.all()]
    entries.nth(3).click(modifiers=["Shift"])
    assert pressed() == ["true" if i == 3 else "false" for i in range(10)]
    entries.nth(3).click(modifiers=["Shift"])
    assert pressed() == ["true"] * 10


def test_names_of_a_column_filter_as_long_as_the_map_is_coloured_by_them(shown):
    opened = shown(page(6))
    menu = opened.page.get_by_label("Colour by")
    menu.select_option(label="half")
    opened.page.locator(".legend-entry", has_text="left").click()
    nearest = '[data-figure="nearest-sample"] figcaption'
    for place in ((300, 200), (350, 260), (280, 300)):
        opened.page.locator(".map-overlay").hover(position=dict(zip("xy", place, strict=True)))
        row = int(opened.text(nearest).split(",")[0].removeprefix("row "))
        assert row % 2 == 1
    menu.select_option(label="label")
    assert opened.page.evaluate("() => window.preimage.store.get('hidden').size") == 0
    assert opened.page.locator('.legend-entry[aria-pressed="false"]').count() == 0


def test_missing_numbers_of_a_column_are_in_the_legend_and_not_in_the_scale(shown):
    opened = shown(page(6))
    opened.page.get_by_label("Colour by").select_option(label="brightness")
    text = opened.text(".legend")
    assert "missing" in text and "≤ 0." in text and "≥ 0." in text


def test_numbers_of_a_scale_filter_too_and_all_are_shown_again(shown):
    opened = shown(page(6))
    opened.page.get_by_label("Colour by").select_option(label="brightness")
    X, _ = digits()
    values = np.where(np.arange(60) % 7 == 0, np.nan, X.mean(1)).astype(np.float32)
    known = np.sort(values[np.isfinite(values)])
    low, high = known[round(0.01 * (len(known) - 1))], known[round(0.99 * (len(known) - 1))]
    fractions = np.clip((values - low) / (high - low), 0, 1)
    begin, end = opened.page.get_by_label("Show from"), opened.page.get_by_label("to", exact=True)
    begin.fill("0.3")
    end.fill("0.6")
    assert opened.state("range") == [0.3, 0.6]
    near = '[data-figure="nearest-sample"] figcaption'
    for place in ((200, 150), (350, 260), (500, 300)):
        opened.page.locator(".map-overlay").hover(position=dict(zip("xy", place, strict=True)))
        row = int(opened.text(near).split(",")[0].removeprefix("row "))
        assert 0.3 <= fractions[row] <= 0.6
    # One end takes the other with it: the range is never empty.
    end.fill("0.2")
    assert opened.state("range") == [0.2, 0.2] and begin.input_value() == "0.2"
    opened.page.get_by_role("button", name="Show all").click()
    assert opened.state("range") == [0, 1] and end.input_value() == "1"


def test_shades_differ_and_can_be_left_out(shown):
    opened = shown(page(6))
    shades = {}
    for shade in ("extrapolation", "error", "none"):
        opened.page.get_by_label("Shade").select_option(shade)
        opened.watched.settle()
        shades[shade] = opened.pixels(".map-haze")
    assert len(set(shades.values())) == 3
    blank = """(canvas) => Object.assign(document.createElement("canvas"),
      { width: canvas.width, height: canvas.height }).toDataURL()"""
    assert shades["none"] == opened.page.locator(".map-haze").evaluate(blank)


def test_dark_colours_are_drawn_at_once(shown):
    opened = shown(page(6))
    before = opened.pixels(".map-marks"), opened.pixels(".swatch >> nth=6")
    opened.page.get_by_role("button", name="Dark colours").click()
    opened.text("body")
    after = opened.pixels(".map-marks"), opened.pixels(".swatch >> nth=6")
    assert before[0] != after[0] and before[1] != after[1]


# A model with two minima, at −1 and at 1: descents stay on the side of their start, and need three steps.
SETTLING = """({PointerAnswer}, depths, places) => new Promise((resolve) => {
  const asked = [];
  const model = {preimage: (y, {start = null, maxIter = 500}) => {
    asked.push({start: start && start[0], maxIter});
    const side = start ? Math.sign(start[0]) : 1;
    return {row: [side], objective: depths[side > 0 ? 1 : 0], converged: maxIter > 100, reason: "limit"};
  }};
  const values = {model: 0, q: 2, across: 0, up: 1, others: "zero", hidden: new Set(), colour: "none"};
  const coordinates = {values: new Float64Array([-1, -1, 1, 1]), shape: [2, 2]};
  const app = {store: {get: (key) => values[key]}, model: () => model, data: {models: [{coordinates}]},
               samples: {code: () => -1, columns: []}};
  const answer = new PointerAnswer(app);
  answer.before = null;
  let first = null;
  places.forEach(([across, up], i) => {
    if (i === 1) answer.before.result = {...answer.before.result, row: [-1]};
    first = answer.at({across, up}, (settled) => resolve({first, settled, asked}));
  });
})"""


def test_an_answer_that_follows_the_pointer_is_compared_with_a_fresh_one_at_rest(javascript):
    near, far = [[0.0, 0.0], [0.01, 0.0]], [[0.0, 0.0], [1.0, 0.0]]
    followed = javascript("panels/pointer_answer.js", SETTLING, [0.5, 0.2], near)
    assert followed["first"]["objective"] == 0.5 and followed["settled"]["objective"] == 0.2
    kept = javascript("panels/pointer_answer.js", SETTLING, [0.1, 0.2], near)
    assert kept["first"]["objective"] == kept["settled"]["objective"] == 0.1
    # What was stopped early is continued at rest, and then counts as converged.
    assert not kept["first"]["converged"] and kept["settled"]["converged"]
    jumped = javascript("panels/pointer_answer.js", SETTLING, [0.1, 0.2], far)
    assert [question["start"] for question in jumped["asked"][:2]] == [None, None]


def test_rows_that_are_drawn_keep_the_colours_of_labels_beyond_the_eighth(javascript):
    looks = javascript(
        "panels/map_colouring.js",
        """({Categories}) => {
      const codes = Int32Array.from({length: 21}, (_, i) => i - 1);
      const colouring = new Categories("", Array.from({length: 20}, String), codes);
      const look = (code) => Object.values(colouring.look(code)).join();
      return colouring.entries().map(({code, name, count}) => [name, count, look(code)]);
    }""",
    )
    assert len({look for _, _, look in looks}) == 21
    assert looks[-1][0] == "missing" and all(count == 1 for _, count, _ in looks)


def test_a_scale_ignores_outliers_and_missing_numbers(javascript):
    values = np.concatenate([np.linspace(0, 1, 198), [1e9, np.nan]])
    answer = javascript(
        "panels/map_colouring.js",
        """({Scale}, values) => {
      const scale = new Scale("", values.values);
      const marks = Array.from(values.values, (_, i) => scale.mark(i));
      return {marks, ends: scale.ends(), low: scale.low, high: scale.high, missing: scale.hasMissing};
    }""",
        values,
    )
    assert answer["high"] < 1.01 and answer["missing"]
    assert answer["marks"][-1] == -1 and answer["marks"][-2] == 63
    assert (np.diff(answer["marks"][:198]) >= 0).all() and set(answer["marks"][:198]) == set(range(64))
    assert answer["ends"][0].startswith("≤") and answer["ends"][1].startswith("≥")
