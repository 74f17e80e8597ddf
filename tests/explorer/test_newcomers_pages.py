"""What newcomers meet on pages of odd data: few rows, outliers, names of all lengths, numbers for y, one component."""

import numpy as np
import pytest
from ready_pages import digits_data

from preimage import KernelPCA, explore
from preimage.explorer._kinds import view_record, within_fences

rng = np.random.default_rng(0)
VALUES = '(element) => [...element.querySelectorAll(".table-value")].map((value) => value.textContent)'
CUT = """() => [...document.querySelectorAll(".table-line .table-name")].filter((name) => name.offsetWidth > 0)
  .map((name) => [name.textContent, name.scrollWidth > name.clientWidth])"""
COMPLETED = """(panel) => [...panel.querySelectorAll("figure")]
  .find((figure) => figure.innerText.startsWith("Completed")).querySelector("canvas").toDataURL()"""


def table_page(X, n_components=2, y=None, **options):
    return explore(KernelPCA(n_components, gamma="median").fit(X), X, y, **options)


def test_gaps_are_filled_alike_however_few_rows_are_drawn(open_page):
    X, _ = digits_data(150)
    model = KernelPCA(12, gamma="median").fit(X)
    row = ["" if pixel < 24 else f"{value:.4f}" for pixel, value in enumerate(X[3])]
    seen = []
    for rows in (X, X[:14]):
        page = open_page(explore(model, rows, image_shape=(8, 8)))
        panel = page.open_tool("Denoise")
        panel.locator("textarea").fill(",".join(row))
        panel.get_by_text("24 of 64 values were missing").wait_for()
        seen.append(panel.evaluate(COMPLETED))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_an_outlier_does_not_hide_what_others_are(look, unit):
    usual = rng.normal(size=(200, 1))
    values = unit * np.concatenate([usual, [[1e6]]])
    record, _ = view_record(values, kind="table")
    texts = [look(record, unit * np.array([value]), VALUES)[0] for value in (0.5, -0.6, 1e6)]
    read = np.array([float(text.replace("−", "-")) for text in texts]) / unit
    np.testing.assert_allclose(read, [0.5, -0.6, 1e6], atol=0.03)


def test_what_is_written_as_zero_is_less_than_half_of_the_last_digit(look):
    record, _ = view_record(100_000 + 1200 * rng.normal(size=(200, 1)), kind="table")
    assert look(record, np.array([45.0]), VALUES, what="difference") == ["+45"]
    assert look(record, np.array([-0.4]), VALUES, what="difference") == ["0"]


def test_values_within_the_fences_stay_as_they_are():
    X = rng.normal(size=(500, 4))
    X[:, 3] = 0
    X[:3, 3] = 7  # mostly one number: the others are what one looks for
    X[5, 0] = np.nan
    X[:, 2] = np.nan
    np.testing.assert_array_equal(within_fences(X), X)
    X[7, 1] = 1e9
    low, high = np.quantile(X[:, 1], [0.25, 0.75])
    assert within_fences(X)[7, 1] == pytest.approx(high + 3 * (high - low))


@pytest.mark.parametrize("names", [None, [f"ENSG{number:011d}" for number in range(6)], ["WWWW", *"abcde"]])
def test_names_that_fit_are_not_cut(open_page, names):
    page = open_page(table_page(rng.normal(size=(40, 6)), names=names))
    seen = page.page.evaluate(CUT)
    assert len(seen) >= 6 and not [name for name, is_cut in seen if is_cut]


def test_numbers_for_y_are_what_the_map_is_coloured_by(open_page):
    X = rng.normal(size=(60, 4))
    page = open_page(table_page(X, y=X[:, 0], label_name="temperature"))
    assert page.panel("map").locator(".legend-title").inner_text() == "temperature"


def test_the_menu_of_the_upper_axis_names_what_is_drawn(open_page):
    page = open_page(table_page(rng.normal(size=(60, 4))))
    chosen = lambda label: (
        page.panel("map").get_by_label(label, exact=True).evaluate("(menu) => menu.selectedOptions[0].text")
    )
    assert chosen("Up").startswith("Component 2")
    page.panel("map").get_by_label("Across", exact=True).select_option("1")
    assert chosen("Across").startswith("Component 2") and chosen("Up") == "Novelty"
    page.panel("map").get_by_label("Up", exact=True).select_option("0")
    assert chosen("Up").startswith("Component 1")
    single = open_page(table_page(rng.normal(size=(60, 4)), n_components=1))
    assert single.panel("map").get_by_label("Up", exact=True).inner_text() == "Novelty"


def test_long_labels_leave_no_hole_between_a_menu_and_its_button(open_page):
    X = rng.normal(size=(60, 4))
    names = np.array(["a label that goes on and on and is much longer than others", "b"])[np.arange(60) % 2]
    walk = open_page(table_page(X, y=names)).panel("walk")
    menu, button = (walk.locator(f".end {tag}").first.bounding_box() for tag in ("select", "button"))
    assert button["x"] - menu["x"] - menu["width"] < 20


def test_small_negative_numbers_stand_in_the_fields_and_are_no_gaps(open_page):
    X = -1e-9 * (3 + rng.normal(size=(60, 3)))
    panel = open_page(table_page(X)).open_tool("Denoise")
    panel.locator("textarea").fill(", ".join(f"{value:.3g}" for value in X[4]))
    panel.get_by_text("One row read").wait_for()
    fields = panel.locator(".field input")
    read = [float(fields.nth(number).input_value()) for number in range(3)]
    np.testing.assert_allclose(read, X[4], atol=5e-11)


def test_noise_is_measured_by_usual_values(javascript):
    table, _ = view_record(np.concatenate([rng.normal(size=(200, 2)), [[1e6, 0]]]), kind="table")
    code = "({noisy}, view, row) => noisy(row.values, view, 1, 0)"
    rows = [javascript("panels/noise.js", code, table, np.full(2, value)) for value in (0.0, 5.0)]
    assert np.all(np.abs(rows[0]) < 10)
    np.testing.assert_allclose(rows[1] - rows[0], 5)


def test_numbers_without_squares_are_refused_with_a_sentence(open_page):
    panel = open_page(table_page(rng.normal(size=(60, 3)))).open_tool("Denoise")
    panel.locator("textarea").fill("1, 1e200, 3")
    panel.get_by_text("Row 1 has a number that is too large to compute with.").wait_for()
    panel.locator(".field input").nth(1).fill("1e200")
    panel.get_by_text("The row has a number that is too large to compute with.").wait_for()
    panel.locator(".field input").nth(1).fill("2")
    panel.get_by_text("Novelty score").wait_for()


@pytest.mark.parametrize("title", ['"""Size"" in mm"', '"Size" in mm', "Size in mm"])
def test_names_with_quotes_are_found_in_tables(javascript, title):
    code = "({rowsInText}, text, names) => rowsInText(text, names, names.length).rows[0]"
    text = f'owner;{title};weight\n"Ann";1,5;2,5'
    np.testing.assert_array_equal(javascript("rows_in_text.js", code, text, ["weight", '"Size" in mm']), [2.5, 1.5])


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_model_that_reconstructs_everything_does_not_extrapolate_among_its_samples(open_page, unit):
    X = unit * (1 + 0.2 * rng.normal(size=(80, 3)))
    page = open_page(explore(KernelPCA(3, kernel="linear").fit(X), X))
    inspector = page.panel("inspector")
    inspector.get_by_text("next to nothing").wait_for()
    assert not inspector.get_by_text("The model extrapolates").is_visible()


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_the_place_of_the_pointer_is_written_to_a_hundredth_of_the_map(open_page, unit):
    X = unit * (1 + 0.2 * rng.normal(size=(80, 3)))
    page = open_page(explore(KernelPCA(2, kernel="linear").fit(X), X))
    place = {"across": 0.123 * unit, "up": -0.0456 * unit}
    page.page.evaluate("(pointer) => window.preimage.store.set({ pointer })", place)
    page.page.evaluate("() => window.atRest(9000)")
    text = page.panel("inspector").locator('[data-figure="pre-image"] figcaption').inner_text()
    read = [float(each) for each in text.replace("−", "-").removeprefix("Pre-image at (").removesuffix(")").split(",")]
    assert len(text) < 34
    np.testing.assert_allclose(read, [place["across"], place["up"]], atol=0.006 * unit)
