"""Drawing on images and curves and filling in tables, by pointer and by keyboard."""

import numpy as np
import pytest

from preimage.explorer._kinds import view_record
from preimage.explorer._page import style_sheet

rng = np.random.default_rng(0)
IMAGES = view_record(rng.uniform(-1, 2, size=(9, 80)), image_shape=(8, 10))[0]
COLOURS = view_record(rng.uniform(0, 255, size=(9, 192)), image_shape=(8, 8, 3))[0]
CURVES = view_record(rng.normal(size=(9, 30)), kind="curve")[0]
TABLE = view_record(rng.normal(size=(9, 4)), names=list("abcd"), kind="table")[0]

EDITOR = """async ({{createView}}, record, row, css) => {{
  document.head.innerHTML = `<style>${{css}}</style>`;
  const changes = [];
  const editor = createView(record).editor(row && row.values, (changed) => changes.push(changed));
  if (editor === null) return null;
  document.body.replaceChildren(editor.element);
  const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const button = (text) => [...editor.element.querySelectorAll("button")].find((each) => each.textContent === text);
  const picture = editor.element.querySelector(".picture");
  const press = (key) => picture.dispatchEvent(new KeyboardEvent("keydown", {{key, cancelable: true}}));
  const point = (name, across, down) => {{
    picture.setPointerCapture = () => {{}};
    const box = picture.getBoundingClientRect();
    const place = {{clientX: box.left + across * box.width, clientY: box.top + down * box.height}};
    picture.dispatchEvent(new PointerEvent(name, {{button: 0, ...place}}));
  }};
  await ({steps})({{editor, press, point, button, frame}});
  await frame();
  return changes;
}}"""


@pytest.fixture
def edit(javascript):
    """Rows that an editor hands over while something is done to it; None where there is no editor."""

    def run(record, row, steps):
        return javascript("views/view.js", EDITOR.format(steps=steps), record, row, style_sheet())

    return run


STROKE = """({stroke}, shape, from, to, radius, value) => {
  const row = new Float64Array(shape.reduce((product, side) => product * side, 1));
  stroke(row, shape, from, to, radius, value);
  return {values: row, shape};
}"""


def test_strokes_are_symmetric_move_with_their_ends_and_stay_inside(javascript):
    draw = lambda from_, to, radius=1.0: javascript("views/brush.js", STROKE, [9, 12], from_, to, radius, [1.0])
    one = draw([3.5, 4.5], [7.5, 4.5])
    np.testing.assert_array_equal(one, draw([7.5, 4.5], [3.5, 4.5]))
    np.testing.assert_array_equal(one, one[::-1])
    np.testing.assert_array_equal(np.roll(one, (1, 2), axis=(0, 1)), draw([5.5, 5.5], [9.5, 5.5]))
    assert np.all((one >= 0) & (one <= 1))
    assert np.all(one[4, 3:8] == 1)
    assert one.sum() < draw([3.5, 4.5], [7.5, 4.5], 2.0).sum() < 108
    assert np.all(draw([-50.0, 4.5], [-20.0, 4.5]) == 0)
    assert np.all(draw([-5.0, 4.5], [20.0, 4.5])[4] == 1)


def test_strokes_cover_all_channels_and_gaps_have_no_partial_pixels(javascript):
    painted = javascript("views/brush.js", STROKE, [5, 5, 3], [2.5, 2.5], [2.5, 2.5], 0.5, [1.0, 0.5, 0.25])
    assert painted[2, 2].tolist() == [1, 0.5, 0.25]
    cut = javascript("views/brush.js", STROKE, [9, 9], [4.5, 4.5], [4.5, 4.5], 2.2, [np.nan])
    assert np.isnan(cut[4, 4])
    assert set(cut[~np.isnan(cut)]) == {0.0}


def test_pointer_draws_where_it_is_and_hands_over_copies(edit):
    row = np.zeros(80)
    changes = edit(
        IMAGES,
        row,
        """async ({point, button, frame}) => {
          point("pointermove", 0.9, 0.9);
          point("pointerdown", 0.15, 0.56); point("pointermove", 0.55, 0.56); point("pointerup", 0.55, 0.56);
          await frame();
          button("Gap").click();
          point("pointerdown", 0.95, 0.06); point("pointerup", 0.95, 0.06);
          await frame();
          button("Clear").click();
        }""",
    )
    assert len(changes) == 3
    drawn, cut, clear = (change.reshape(8, 10) for change in changes)
    low, high = IMAGES["range"]
    assert np.all(drawn[4, 1:6] > high - 0.05 * (high - low))
    assert np.all(drawn[6:] == 0)
    assert np.isnan(cut[0, 9])
    assert np.all(clear == low)


def test_keys_draw_on_an_image(edit):
    steps = """async ({press, button}) => {
      for (let i = 0; i < 20; i++) { press("ArrowLeft"); press("ArrowUp"); }
      press(" ");
      button("Dark").click();
      for (let i = 0; i < 20; i++) press("ArrowRight");
      press("Enter");
    }"""
    changes = edit(IMAGES, np.zeros(80), steps)
    low, high = IMAGES["range"]
    assert changes[-1].reshape(8, 10)[0, [0, 9]].tolist() == [high, low]


def test_colours_are_drawn_in_the_scale_of_the_data(edit):
    steps = """async ({editor, press}) => {
      editor.element.querySelector("input[type=color]").value = "#ff0080";
      press(" ");
    }"""
    low, high = COLOURS["range"]
    painted = edit(COLOURS, np.zeros(192), steps)[-1].reshape(8, 8, 3)[4, 4]
    np.testing.assert_allclose(painted, low + np.array([1, 0, 128 / 255]) * (high - low))


def test_pointer_and_keys_draw_curves(edit):
    steps = """async ({point, press, button, frame}) => {
      point("pointerdown", 0.2, 0.2); point("pointermove", 0.6, 0.7); point("pointerup", 0.6, 0.7);
      await frame();
      press("ArrowRight"); press("ArrowUp");
      await frame();
      button("Gap").click();
      point("pointerdown", 0.8, 0.5); point("pointerup", 0.8, 0.5);
      await frame();
      button("Mean").click();
    }"""
    line, key, cut, mean = edit(CURVES, np.zeros(30), steps)
    drawn = np.flatnonzero(line)
    assert np.all(np.diff(drawn) == 1)
    assert 10 < len(drawn) < 20
    np.testing.assert_allclose(np.diff(line[drawn], 2), 0, atol=1e-12)
    assert line[drawn[0]] > line[drawn[-1]]
    changed = np.flatnonzero(key != line)
    assert changed.tolist() == [drawn[-1] + 1]
    assert 0 < key[changed[0]] < 0.1 * np.ptp(CURVES["range"])
    assert np.isnan(cut).sum() == 1
    np.testing.assert_array_equal(mean, CURVES["mean"])


def test_fields_of_a_table_change_one_value_and_an_empty_one_is_a_gap(edit):
    row = np.array([0.123456789, 1.0, -2.0, 3.0])
    steps = """async ({editor, frame}) => {
      const fields = [...editor.element.querySelectorAll("input")];
      const set = (number, text) => { fields[number].value = text; fields[number].dispatchEvent(new Event("input")); };
      set(2, "-7.25");
      await frame();
      set(3, "");
    }"""
    first, second = edit(TABLE, row, steps)
    # Fields show few digits; the others keep theirs.
    np.testing.assert_array_equal(first, [0.123456789, 1, -7.25, 3])
    np.testing.assert_array_equal(second, [0.123456789, 1, -7.25, np.nan])


def test_volumes_and_very_wide_tables_are_not_edited(edit):
    record, _ = view_record(rng.normal(size=(3, 8)), mask=np.ones((2, 2, 2)))
    assert edit(record, np.zeros(8), "async () => {}") is None
    record, _ = view_record(rng.normal(size=(3, 2000)), kind="table")
    assert edit(record, np.zeros(2000), "async () => {}") is None
