"""Pictures of rows in the browser: what is drawn are the values, in one scale, and gaps look like nothing else."""

import numpy as np
import pytest

from preimage.explorer._kinds import view_record

rng = np.random.default_rng(0)

PIXELS = """(element) => {
  const canvas = element.tagName === "CANVAS" ? element : element.querySelector("canvas");
  return {values: new Uint8Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer),
          shape: [canvas.height, canvas.width, 4]};
}"""


def test_grey_levels_are_the_values_of_an_image(look):
    images = rng.uniform(-1, 1, size=(20, 12))
    record, _ = view_record(images, image_shape=(4, 3))
    pixels = look(record, images[0], PIXELS)
    low, high = record["range"]
    expected = np.round(255 * (images[0].reshape(4, 3) - low) / (high - low))
    for channel in range(3):
        np.testing.assert_array_equal(pixels[..., channel], expected)
    assert np.all(pixels[..., 3] == 255)


def test_colours_of_an_image_are_its_channels(look):
    images = rng.uniform(0, 255, size=(20, 24))
    images[0, :2] = 0, 255
    record, _ = view_record(images, image_shape=(4, 2, 3))
    low, high = record["range"]
    expected = np.round(255 * (images[1].reshape(4, 2, 3) - low) / (high - low))
    np.testing.assert_array_equal(look(record, images[1], PIXELS)[..., :3], expected)


@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 3)])
def test_gaps_look_like_no_value_and_nothing_is_empty(look, shape):
    values = np.tile(np.linspace(0, 1, int(np.prod(shape))), (2, 1))
    record, _ = view_record(values, image_shape=shape)
    row = values[0].copy()
    row[:: row.size // 4] = np.nan
    pixels = look(record, row, PIXELS).reshape(-1, 4)
    gaps = np.isnan(row).reshape(16, -1).any(axis=1)
    is_grey = np.ptp(pixels[:, :3].astype(int), axis=1) < 20
    assert not is_grey[gaps].any()
    assert is_grey[~gaps].all() or len(shape) == 3
    assert not look(record, None, PIXELS).any()


@pytest.mark.parametrize("kind", ["image", "volume"])
def test_opposite_differences_are_opposite_colours_and_zero_is_neutral(look, kind):
    options = {"image": {"image_shape": (2, 3)}, "volume": {"mask": np.ones((2, 1, 3))}}[kind]
    record, _ = view_record(rng.normal(size=(30, 6)), **options)
    row = np.array([0.0, 0.5, -0.5, 0.0, -9.0, 9.0])
    pixels = look(record, row, PIXELS, size="small", what="difference").reshape(-1, 4)[:, :3].astype(int)
    neutral = [pixel for pixel in pixels.tolist() if np.ptp(pixel) <= 3]
    assert len(neutral) == 2
    assert neutral[0] == neutral[1]
    red, blue = pixels[:, 0] > pixels[:, 2] + 3, pixels[:, 2] > pixels[:, 0] + 3
    assert (red.sum(), blue.sum()) == (2, 2)


@pytest.mark.parametrize("kind", ["image", "volume"])
def test_differences_follow_the_theme_and_values_do_not(look, kind):
    options = {"image": {"image_shape": (2, 3)}, "volume": {"mask": np.ones((2, 1, 3))}}[kind]
    record, _ = view_record(rng.uniform(size=(30, 6)), **options)
    code = f"""async (element) => {{
      const seen = [];
      for (const theme of ["light", "dark"]) {{
        document.documentElement.dataset.theme = theme;
        await Promise.resolve();
        seen.push(({PIXELS})(element));
      }}
      document.documentElement.dataset.theme = "light";
      return seen;
    }}"""
    light, dark = look(record, np.zeros(6), code, size="small", what="difference")
    assert light[..., :3].min() > 200
    assert dark[..., :3].max() < 100
    light, dark = look(record, np.zeros(6), code, size="small")
    np.testing.assert_array_equal(light, dark)


LINES = """(element) => [...element.querySelectorAll(".table-line")].map((line) => [
  line.querySelector(".table-name").textContent,
  line.querySelector(".table-value").textContent + (line.querySelector(".table-unit").textContent && " ")
    + line.querySelector(".table-unit").textContent,
  line.querySelector(".table-bar").hidden ? null : ["left", "width"].map(
    (side) => Math.round(parseFloat(line.querySelector(".table-bar").style.getPropertyValue(side))))])"""


def test_tables_show_values_in_their_units_on_the_scale_of_each_column(look):
    table = np.array([[0.0, -4.0, 5.0], [10.0, 0.0, 5.0], [2.0, 400.0, 5.0]])
    record, _ = view_record(table, names=["age", "<b>dose</b>", "constant"], units=["years", "", ""])
    lines = look(record, np.array([4.0, np.nan, 5.0]), LINES)
    assert lines == [["age", "4.0 years", [40, 0]], ["<b>dose</b>", "–", None], ["constant", "5.0", [50, 0]]]
    age, dose, constant = look(record, np.array([-2.5, 202.0, 0.0]), LINES, what="difference")
    assert age == ["age", "−2.5 years", [25, 25]]
    assert dose == ["<b>dose</b>", "+202", [50, 50]]
    assert constant == ["constant", "0.0", [50, 0]]


def test_long_tables_have_few_lines_and_scroll_together(look):
    table = rng.normal(size=(5, 3000))
    record, _ = view_record(table, kind="table", names=[f"gene {i}" for i in range(3000)])
    code = f"""async (element, view, picture, row) => {{
      const other = view.picture({{size: "large", what: "difference"}});
      other.show(row);
      document.body.append(other.element);
      element.querySelector(".table-list").scrollTop = 24 * 2000;
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      return [element, other.element].map({LINES});
    }}"""
    for lines in look(record, table[0], code):
        assert len(lines) < 20
        assert lines[0][0] == "gene 2000"
        assert float(lines[0][1].replace("−", "-")) == pytest.approx(table[0, 2000], abs=0.06)


def test_long_tables_can_begin_with_what_is_unusual_in_one_picture(look):
    table = rng.normal(size=(50, 40)) * 10.0 ** rng.integers(-3, 3, size=40)
    record, _ = view_record(table, kind="table", names=[f"gene {i}" for i in range(40)])
    row = record["mean"] + np.zeros(40)
    row[[7, 31, 11]] += np.array([-9, 5, 2]) * record["deviation"][[7, 31, 11]]
    row[20] = np.nan
    code = f"""(element, view, picture, row) => {{
      const other = view.picture({{size: "large", what: "difference"}});
      other.show(row);
      const [unusual, given] = element.querySelectorAll(".table-order button");
      const seen = [];
      for (const pressed of [unusual, given]) {{
        pressed.click();
        seen.push([element, other.element].map((each) => ({LINES})(each).map(([name]) => name)));
      }}
      return seen;
    }}"""
    unusual, given = look(record, row, code)
    for names in unusual:
        assert names[:4] == ["gene 7", "gene 31", "gene 11", "gene 0"]
        assert len(set(names)) == len(names)
    for names in given:
        assert names[:3] == ["gene 0", "gene 1", "gene 2"]


@pytest.mark.parametrize("width", [120, 200, 320, 440])
def test_numbers_of_tables_are_never_cut(look, width):
    table = rng.normal(size=(50, 20)) * 10.0 ** rng.integers(-9, 9, size=20)
    record, _ = view_record(table, names=["a name that is rather long"] * 20, units=["microgram per litre", *[""] * 19])
    code = f"""async (element, view, picture) => {{
      element.style.setProperty("max-width", "{width}px");
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      const box = element.getBoundingClientRect();
      return [...element.querySelectorAll(".table-line")].map((line) => {{
        const value = line.querySelector(".table-value"), inner = value.getBoundingClientRect();
        return [value.scrollWidth <= value.clientWidth + 1, box.left <= inner.left && inner.right <= box.right,
                line.querySelector(".table-name").clientWidth > 60];
      }});
    }}"""
    for seen in look(record, -record["high"], code), look(record, record["high"], code, what="difference"):
        assert np.all(seen)


def test_small_tables_have_a_bar_for_every_unusual_column(look):
    table = rng.normal(size=(50, 6)) * 10.0 ** np.arange(6)
    record, _ = view_record(table)
    bars = """(element) => ["above", "below"].map((side) =>
      [...element.querySelector(`.${side}`).getAttribute("d").matchAll(/M([-\\d.]+) [-\\d.]+v([-\\d.]+)/g)]
        .map(([, x, height]) => [Number(x), Number(height)]))"""
    row = record["mean"] + np.array([1.0, -2.0, 0.0, 1.0, 50.0, np.nan]) * record["deviation"]
    above, below = (np.array(side) for side in look(record, row, bars, size="small"))
    unit = -above[0, 1]
    np.testing.assert_allclose(above[:, 1] / unit, [-1, -1, -3], atol=0.02)
    np.testing.assert_allclose(below[:, 1] / unit, [2], atol=0.02)
    assert above[0, 0] < below[0, 0] < above[1, 0] < above[2, 0]


# Pixels of the three cuts at every voxel of a mask, by keys and by clicks.
CUTS = """async (element, view, picture, row) => {
  const other = view.picture({size: "medium"});
  other.show(row);
  document.body.append(other.element);
  const read = (picture) => [...picture.querySelectorAll("canvas")].map((canvas) => ({
    values: new Uint8Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer),
    shape: [canvas.height, canvas.width, 4]}));
  const cuts = [...element.querySelectorAll(".cut")];
  const press = (cut, key) => cut.dispatchEvent(new KeyboardEvent("keydown", {key, cancelable: true}));
  for (let step = 0; step < 9; step++) for (const cut of cuts) { press(cut, "ArrowLeft"); press(cut, "ArrowDown"); }
  const text = () => element.querySelector(".cut-position").textContent;
  const corner = text();
  const seen = [];
  for (let z = 0; z < 4; z++) {
    seen.push([text(), read(element), read(other.element)]);
    press(cuts[0], "ArrowUp");
  }
  return {corner, seen};
}"""


def test_cuts_show_the_voxels_of_all_pictures_at_one_place(look):
    mask = np.zeros((3, 4, 4), dtype=bool)
    mask[:, 1:, :] = rng.uniform(size=(3, 3, 4)) < 0.7
    mask[0, 1, 0] = mask[2, 3, 3] = True
    values = rng.uniform(size=(40, mask.sum()))
    record, _ = view_record(values, mask=mask)
    drawn = look(record, values[0], CUTS, size="large")
    assert drawn["corner"].startswith("x = 0, y = 0, z = 0")
    for z, (text, cuts, others) in enumerate(drawn["seen"]):
        assert text.startswith(f"x = 0, y = 0, z = {z}")
        for cut, other in zip(cuts, others):
            np.testing.assert_array_equal(cut, other)
        # Upwards in the last cut is y, to the right is x; the first row of pixels is the top.
        opaque = cuts[2][::-1, :, 3].T == 255
        np.testing.assert_array_equal(opaque, mask[:, :, z])
        lightness = cuts[2][::-1, :, :3].astype(int).sum(axis=2).T[mask[:, :, z]]
        volume = np.zeros(mask.shape)
        volume[mask] = values[0]
        order = np.argsort(volume[:, :, z][mask[:, :, z]])
        assert np.all(np.diff(lightness[order]) >= -3)


def test_a_click_moves_the_place_where_cuts_meet(look):
    mask = np.ones((5, 6, 7), dtype=bool)
    record, _ = view_record(rng.normal(size=(10, 210)), mask=mask)
    click = """(element) => {
      const cut = element.querySelectorAll(".cut")[2];
      const box = cut.getBoundingClientRect();
      cut.setPointerCapture = () => {};
      cut.dispatchEvent(new PointerEvent("pointerdown", {button: 0, clientX: box.left + box.width * 0.9 / 5,
                                                         clientY: box.top + box.height * 0.1 / 6}));
      return element.querySelector(".cut-position").textContent;
    }"""
    assert look(record, rng.normal(size=210), click, size="large").startswith("x = 0, y = 5, z = 3: ")


@pytest.mark.parametrize(
    ("shape", "cuts"), [((5, 6, 1), 1), ((1, 6, 5), 1), ((5, 6, 7), 3), ((5, 1, 1), 1), ((1, 1, 1), 1)]
)
def test_flat_masks_have_no_cuts_that_are_lines(look, shape, cuts):
    record, _ = view_record(rng.normal(size=(10, int(np.prod(shape)))), mask=np.ones(shape))
    row = np.zeros(int(np.prod(shape)))
    shapes = look(record, row, "(element) => [...element.querySelectorAll('canvas')].map((c) => [c.width, c.height])")
    assert len(shapes) == cuts
    assert sorted(shapes[-1]) == sorted(sorted(shape)[1:]) or cuts == 3


def test_directions_of_an_image_stand_at_the_edges_of_cuts(look):
    class Mask:
        dataobj = np.ones((2, 3, 4))
        affine = np.diag([-2.0, 2, 4, 1])

    record, _ = view_record(rng.normal(size=(10, 24)), mask=Mask())
    letters = """(element) => [...element.querySelectorAll(".cut")].map((cut) => ["left", "right", "bottom", "top"]
      .map((side) => cut.querySelector(`.${side}`).textContent).join(""))"""
    assert look(record, None, letters) == ["PAIS", "RLIS", "RLPA"]
    aspects = "(element) => [...element.querySelectorAll('.cut')].map((cut) => cut.clientWidth / cut.clientHeight)"
    np.testing.assert_allclose(look(record, None, aspects, size="large"), [6 / 16, 4 / 16, 4 / 6], rtol=0.03)


@pytest.mark.parametrize("what", ["value", "difference"])
def test_scales_name_their_ends(look, what):
    record, _ = view_record(np.array([[0.0, 1, 2, 4]]), image_shape=(2, 2))
    ends = f'(element, view) => view.scale({{what: "{what}"}}).textContent'
    assert look(record, None, ends) == ("04" if what == "value" else "−22")
    record, _ = view_record(np.array([[0.0, 1, 2, 4]]), kind="table")
    assert look(record, None, f'(element, view) => view.scale({{what: "{what}"}})') is None
