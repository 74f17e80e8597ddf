"""The map and the inspector under a mouse: what is asked, what is answered, what is filtered."""

import re

import numpy as np
import pytest
from ready_pages import digits, digits_data, digits_model


class MapUnderMouse:
    """The surface of the map, and the linear function from its pixels to coordinates, measured by hovering."""

    def __init__(self, watched):
        self.watched = watched
        self.surface = watched.page.locator(".map-overlay")
        self.box = self.surface.bounding_box()
        self.measure()

    def hover(self, across, up):
        """Move to a place given as fractions of the surface; to a whole pixel, because wheels know no others."""
        x = round(self.box["x"] + across * self.box["width"])
        y = round(self.box["y"] + up * self.box["height"])
        self.watched.page.mouse.move(x, y)
        self.watched.settle()
        return np.array([x, y], dtype=float)

    def pointer(self):
        return np.array([self.watched.state("pointer")[key] for key in ("across", "up")])

    def measure(self):
        pixels, places = [], []
        for place in ((0.4, 0.6), (0.6, 0.4)):
            pixels.append(self.hover(*place))
            places.append(self.pointer())
        self.scale = (pixels[1] - pixels[0]) / (places[1] - places[0])
        self.shift = pixels[0] - places[0] * self.scale

    def pixel(self, coordinates):
        return np.asarray(coordinates) * self.scale + self.shift

    def is_on(self, pixels):
        low = np.array([self.box["x"], self.box["y"]])
        high = low + np.array([self.box["width"], self.box["height"]])
        return np.all((pixels > low) & (pixels < high), axis=-1)


def coordinates_in(watched, model=0):
    """All coordinates of the samples that the page has, (count, k)."""
    shape, values = watched.page.evaluate(
        """(model) => {
          const { shape, values } = window.preimage.data.models[model].coordinates;
          return [shape, Array.from(values)];
        }""",
        model,
    )
    return np.array(values).reshape(shape)


def lonely_sample(places):
    """The sample that is farthest from its neighbours, which a click cannot miss."""
    distances = np.linalg.norm(places[:, None] - places, axis=2) + 1e9 * np.eye(len(places))
    return int(distances.min(1).argmax())


@pytest.fixture
def on_map(open_page):
    return MapUnderMouse(open_page(digits()))


def test_hovering_shows_the_pre_image_of_the_place_and_the_nearest_sample(on_map):
    watched = on_map.watched
    parts = watched.panel("inspector").locator('[data-part="pointer"]')
    sample = lonely_sample(coordinates_in(watched)[:, :2])
    x, y = on_map.pixel(coordinates_in(watched)[sample, :2])
    watched.page.mouse.move(x, y)
    watched.settle()
    at_sample = watched.drawn(parts.locator('[data-figure="pre-image"]'))
    assert f"row {sample}," in parts.locator('[data-figure="nearest-sample"]').inner_text()
    watched.page.mouse.move(x + 120, y + 40)
    watched.settle()
    assert watched.drawn(parts.locator('[data-figure="pre-image"]')) != at_sample
    watched.page.mouse.move(x, y)
    watched.settle()
    assert "Squared distance" in parts.inner_text()


def test_the_page_says_where_the_pointer_is(on_map):
    on_map.hover(0.5, 0.5)
    place = on_map.pointer()
    text = on_map.watched.panel("inspector").locator('[data-figure="pre-image"] figcaption').inner_text()
    numbers = [float(number.replace("−", "-")) for number in re.findall(r"[−\d.e]+", text)]
    np.testing.assert_allclose(numbers, place, rtol=0.06, atol=0.006)


def test_a_click_selects_the_sample_under_the_pointer(on_map):
    watched = on_map.watched
    places = coordinates_in(watched)[:, :2]
    sample = lonely_sample(places)
    selected = watched.panel("inspector").locator('[data-part="selected"]')
    before = watched.drawn(selected)
    watched.page.mouse.click(*on_map.pixel(places[sample]))
    watched.settle()
    assert watched.state("selected") == sample
    assert f"row {sample}, class {digits_data()[1][sample]}" in selected.inner_text()
    assert watched.drawn(selected) != before
    watched.page.get_by_role("button", name="Clear the selection").click()
    watched.settle()
    assert watched.state("selected") is None


def test_novelty_ranks_are_those_of_the_model(on_map):
    watched = on_map.watched
    X, _ = digits_data()
    model = digits_model()
    errors = model.reconstruction_error(X)
    for sample in (int(errors.argmax()), int(errors.argmin()), 7):
        watched.page.evaluate("(selected) => window.preimage.store.set({ selected })", sample)
        watched.settle()
        text = watched.panel("inspector").locator('[data-part="selected"]').inner_text()
        rank = 1 + int((errors > errors[sample]).sum())
        assert f"rank {rank} of {len(X)} samples" in text
        assert float(re.search(r"\(reconstruction error\) ([\d.e−]+)", text)[1]) == pytest.approx(
            errors[sample], rel=5e-3
        )


def test_menus_choose_the_components_of_the_map(on_map):
    watched = on_map.watched
    panel = watched.panel("map")
    panel.get_by_label("Across").select_option(index=2)
    panel.get_by_label("Up").select_option(index=4)
    watched.settle()
    on_map.measure()
    places = coordinates_in(watched)[:, [2, 4]]
    # Everything is on the new map, and a click hits the sample that is there now.
    assert on_map.is_on(on_map.pixel(places)).all()
    sample = lonely_sample(places)
    watched.page.mouse.click(*on_map.pixel(places[sample]))
    watched.settle()
    assert watched.state("selected") == sample


def test_the_legend_hides_a_label_and_shows_it_again(on_map):
    watched = on_map.watched
    panel = watched.panel("map")
    watched.page.mouse.move(5, 5)
    watched.settle()
    marks = panel.locator("canvas.map-marks")
    at_first = marks.evaluate("(canvas) => canvas.toDataURL()")
    entry = panel.locator(".legend-entry").nth(6)
    label = entry.inner_text().split()[1]
    entry.click()
    watched.settle()
    assert entry.get_attribute("aria-pressed") == "false"
    assert marks.evaluate("(canvas) => canvas.toDataURL()") != at_first
    # Samples that are hidden are no neighbours either.
    hidden = np.flatnonzero(digits_data()[1] == int(label))
    for sample in hidden[:4]:
        watched.page.mouse.move(*on_map.pixel(coordinates_in(watched)[sample, :2]))
        watched.settle()
        nearest = watched.panel("inspector").locator('[data-figure="nearest-sample"]').inner_text()
        assert not nearest.strip().endswith(f", class {label}")
    panel.get_by_role("button", name="Show all").click()
    watched.page.mouse.move(5, 5)
    watched.settle()
    assert entry.get_attribute("aria-pressed") == "true"
    assert marks.evaluate("(canvas) => canvas.toDataURL()") == at_first


def test_wheel_and_drag_move_the_map_and_a_button_brings_all_of_it_back(on_map):
    watched = on_map.watched
    at_first = on_map.scale, on_map.shift
    selected = watched.state("selected")
    on_map.hover(0.5, 0.5)
    fixed = on_map.pointer()
    watched.page.mouse.wheel(0, -300)
    watched.settle()
    on_map.hover(0.5, 0.5)
    # The place under the pointer stays there.
    np.testing.assert_allclose(on_map.pointer(), fixed, atol=1e-6 * np.abs(fixed).max() + 1e-9)
    on_map.measure()
    assert (np.abs(on_map.scale) > 1.5 * np.abs(at_first[0])).all()
    # What is dragged follows the mouse.
    scale, before = on_map.scale, on_map.pixel([0.0, 0.0])
    x, y = on_map.hover(0.5, 0.5)
    watched.page.mouse.down()
    watched.page.mouse.move(x + 60, y + 30, steps=4)
    watched.page.mouse.up()
    watched.settle()
    on_map.measure()
    np.testing.assert_allclose(on_map.scale, scale)
    np.testing.assert_allclose(on_map.pixel([0.0, 0.0]) - before, [60, 30], atol=1)
    assert watched.state("selected") == selected
    watched.page.get_by_role("button", name="Show the whole map").click()
    watched.settle()
    on_map.measure()
    np.testing.assert_allclose(on_map.scale, at_first[0])
    np.testing.assert_allclose(on_map.shift, at_first[1])


def test_every_colouring_draws_another_map(on_map):
    watched = on_map.watched
    colours = watched.panel("map").get_by_label("Colour by")
    seen = set()
    options = [option.get_attribute("value") for option in colours.locator("option").all()]
    for value in options:
        colours.select_option(value=value)
        watched.settle()
        seen.add(watched.panel("map").locator("canvas.map-marks").evaluate("(canvas) => canvas.toDataURL()"))
    assert len(seen) == len(options) > 2


def test_what_other_components_are_changes_the_answer(on_map):
    watched = on_map.watched
    others = watched.panel("map").get_by_label("Other components")
    shown = watched.panel("inspector").locator('[data-figure="pre-image"]')
    on_map.hover(0.3, 0.45)
    pictures = set()
    for option in ("average", "nearest", "zero"):
        others.select_option(option)
        watched.settle()
        pictures.add(watched.drawn(shown))
    assert len(pictures) == 3


def test_a_restless_pointer_leaves_no_error(on_map, rng):
    for place in rng.uniform(0.05, 0.95, size=(60, 2)):
        x = on_map.box["x"] + place[0] * on_map.box["width"]
        on_map.watched.page.mouse.move(x, on_map.box["y"] + place[1] * on_map.box["height"])
    on_map.watched.settle()
    assert not on_map.watched.problems()


def test_the_background_is_finished_under_a_pointer_and_can_be_left_out(open_page):
    watched = open_page(digits(), shade=True)
    haze = "() => document.querySelector('canvas.map-haze').toDataURL()"
    empty = "() => { const { width, height } = document.querySelector('canvas.map-haze');"
    empty += " return Object.assign(document.createElement('canvas'), { width, height }).toDataURL(); }"
    watched.settle()
    shaded = watched.page.evaluate(haze)
    assert shaded != watched.page.evaluate(empty)
    # It depends on what is asked, not on where the pointer is.
    watched.page.get_by_role("application", name="Map of the samples").hover()
    watched.settle()
    assert watched.page.evaluate(haze) == shaded
    watched.panel("map").get_by_label("Shade").select_option("none")
    watched.settle()
    assert watched.page.evaluate(haze) == watched.page.evaluate(empty)
