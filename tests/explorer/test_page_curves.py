"""Curves in the browser: what a person reads off them, by ticks and by pointing, are the values."""

import numpy as np
import pytest

from preimage.explorer._kinds import view_record

rng = np.random.default_rng(0)

# Coordinates of the line, and of the ticks whose texts are numbers.
CURVE = """(element) => {
  const places = (path) => [...path.getAttribute("d").matchAll(/([ML])([-\\d.]+) ([-\\d.]+)/g)];
  const line = element.querySelector(".line");
  const ticks = [...element.querySelectorAll(".tick")].filter((tick) => tick.textContent);
  return {
    places: places(line).map(([, , x, y]) => [Number(x), Number(y)]),
    parts: places(line).filter(([, letter]) => letter === "M").length,
    ticks: ticks.map((tick) => [tick.getAttribute("text-anchor"), Number(tick.getAttribute("x")),
                                Number(tick.getAttribute("y")), Number(tick.textContent.replaceAll("−", "-"))]),
    labels: [...element.querySelectorAll(".label")].map((label) => label.textContent),
  };
}"""


def read_off(drawn):
    """Coordinates and values of a line by the ticks of its axes, as a person reads them."""
    below = np.array([(x, number) for anchor, x, y, number in drawn["ticks"] if anchor == "middle"])
    aside = np.array([(y, number) for anchor, x, y, number in drawn["ticks"] if anchor == "end"])
    places = np.array(drawn["places"])
    # Numbers stand a little lower than the lines that they belong to, all by the same distance.
    value = np.polyfit(aside[:, 0] - 3.5, aside[:, 1], 1)
    return np.polyval(np.polyfit(*below.T, 1), places[:, 0]), np.polyval(value, places[:, 1])


@pytest.mark.parametrize("axis", [np.linspace(400, 800, 41), np.linspace(4000, 400, 41), np.geomspace(1, 100, 41)])
@pytest.mark.parametrize("what", ["value", "difference"])
@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e7])
def test_values_can_be_read_off_a_curve_by_its_ticks(look, axis, what, unit):
    curves = unit * np.cumsum(rng.normal(size=(30, 41)), axis=1)
    record, _ = view_record(curves, axis=axis, axis_label="wavelength in nm", value_label="absorbance")
    drawn = look(record, curves[0] / 3, CURVE, size="large", what=what)
    across, values = read_off(drawn)
    width = np.ptp(record["range"])
    np.testing.assert_allclose(across, axis, atol=2e-3 * np.ptp(axis))
    np.testing.assert_allclose(values, curves[0] / 3, atol=4e-3 * width)
    assert drawn["labels"] == ["absorbance" if what == "value" else "difference of absorbance", "wavelength in nm"]


def test_differences_of_similar_curves_fill_their_plot(look):
    curves = 10 + np.linspace(0, 5, 41) + rng.uniform(-0.1, 0.1, size=(30, 41))
    record, _ = view_record(curves, kind="curve")
    ticks = look(record, None, CURVE, size="large", what="difference")["ticks"]
    assert 0.05 <= max(number for anchor, x, y, number in ticks if anchor == "end") <= 0.11


def test_gaps_break_a_curve(look):
    curves = rng.normal(size=(30, 41))
    record, _ = view_record(curves, kind="curve")
    row = curves[0].copy()
    row[[0, 5, 6, 20, 22]] = np.nan
    drawn = look(record, row, CURVE)
    assert drawn["parts"] == 4
    assert len(drawn["places"]) == 36
    assert look(record, None, CURVE)["places"] == []


def test_long_curves_are_drawn_with_few_places_and_all_their_peaks(look):
    curves = 0.1 * rng.normal(size=(10, 20_000))
    curves[0, [37, 9_999]] = 1.0, -1.0
    record, _ = view_record(curves, kind="curve")
    drawn = look(record, curves[0], CURVE, size="large")
    across, values = read_off(drawn)
    assert len(values) < 1_000
    np.testing.assert_allclose([values.max(), values.min()], [1, -1], atol=0.02)
    np.testing.assert_allclose(across[[values.argmax(), values.argmin()]], [38, 10_000], atol=60)
    drawn["places"] = look(record, np.where(np.arange(20_000) < 10_000, curves[0], np.nan), CURVE, size="large")[
        "places"
    ]
    assert read_off(drawn)[0].max() < 10_060


POINT = """(element) => {
  const box = element.getBoundingClientRect();
  const at = (across, down) => {
    const place = {clientX: box.left + across * box.width, clientY: box.top + down * box.height};
    element.dispatchEvent(new PointerEvent("pointermove", place));
    return element.title ?? [...element.querySelectorAll(".tick")].at(-1).textContent;
  };
  return [at(0.9, 0.3), at(0.4, 0.9)];
}"""


def test_values_under_the_pointer_are_told(look):
    images = np.linspace(0, 1, 16)[None] + np.zeros((3, 1))
    record, _ = view_record(images, image_shape=(4, 4))
    row = images[0].copy()
    row[13] = np.nan
    assert look(record, row, POINT) == ["row 2, column 4: 0.467", "row 4, column 2: gap"]
    assert look(record, None, POINT) == ["", ""]
    record, _ = view_record(images, axis=10.0 * np.arange(16))
    right, middle = look(record, images[0], POINT)
    column, value = (float(part) for part in right.split(": "))
    assert 120 <= column <= 150
    assert value == pytest.approx(column / 150, abs=2e-3)
    assert float(middle.split(": ")[0]) < column


@pytest.mark.parametrize("columns", [1, 2])
def test_curves_of_few_columns_are_drawn(look, columns):
    record, _ = view_record(rng.normal(size=(10, columns)), kind="curve")
    assert len(look(record, np.zeros(columns), CURVE)["places"]) == columns


def test_ticks_are_round_inside_and_read_back(javascript):
    ranges = [sorted(rng.normal(size=2) * 10.0 ** rng.integers(-12, 12)) for _ in range(200)]
    code = """({ticks}, ranges) => ranges.map(([low, high]) => {
      const {values, format} = ticks(low, high, 5);
      return {values, texts: values.map(format)};
    })"""
    for (low, high), drawn in zip(ranges, javascript("views/ticks.js", code, ranges)):
        values = np.array(drawn["values"])
        read = np.array([float(text.replace("−", "-")) for text in drawn["texts"]])
        assert 2 <= len(values) <= 6
        assert low - 1e-6 * (high - low) <= values.min() <= values.max() <= high + 1e-6 * (high - low)
        np.testing.assert_allclose(read, values, atol=1e-6 * (high - low))
        assert len(set(drawn["texts"])) == len(values)
        assert max(map(len, drawn["texts"])) <= 18


@pytest.mark.parametrize("axis", [np.linspace(400, 800, 41), 1e5 + np.linspace(0, 0.4, 41), np.linspace(4e9, 1e8, 41)])
def test_ticks_of_curves_keep_their_size_and_do_not_touch_at_every_width(look, axis):
    curves = np.cumsum(rng.normal(size=(30, 41)), axis=1)
    record, _ = view_record(curves, axis=axis)
    code = """async (element, view, picture) => {
      element.style.setProperty("max-width", "%dpx");
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      const texts = [...element.querySelectorAll(".tick")].filter((text) => text.textContent);
      const boxes = texts.map((text) => text.getBoundingClientRect());
      const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
      return {...(CURVE)(element), heights: boxes.map((box) => box.height), width: element.clientWidth,
              overlaps: boxes.some((box, i) => boxes.slice(0, i).some((other) => overlap(box, other)))};
    }""".replace("CURVE", CURVE)
    for width in 130, 220, 400:
        drawn = look(record, curves[0], code % width, size="large")
        assert drawn["width"] == width
        assert min(drawn["heights"]) > 9
        assert not drawn["overlaps"]
        if width > 200:
            np.testing.assert_allclose(read_off(drawn)[1], curves[0], atol=4e-3 * np.ptp(record["range"]))
