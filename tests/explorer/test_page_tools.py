"""The tools of a page under mouse and keyboard: spectrum, walk, components, denoise, widths, theme."""

import re

import numpy as np
import pytest
from ready_pages import digits, digits_data, digits_model, digits_of_three_widths, wine

from preimage import KernelPCA, explore

PICTURE = "(node) => node.querySelector('canvas').toDataURL()"


def frames_of(watched, strip):
    """The pictures of a strip, once all of them are drawn: none is like an empty one any more."""
    strip.scroll_into_view_if_needed()
    frames = strip.locator("figure")
    for _ in range(40):
        pictures = [frames.nth(number).evaluate(PICTURE) for number in range(frames.count())]
        watched.settle()
        if (
            pictures == [frames.nth(number).evaluate(PICTURE) for number in range(frames.count())]
            and pictures[-1] != ""
        ):
            return pictures
    raise AssertionError("the strip never came to rest")


def press(watched, locator, key, times=1):
    locator.focus()
    for _ in range(times):
        watched.page.keyboard.press(key)
    watched.settle()


def select(watched, sample):
    watched.page.evaluate("(selected) => window.preimage.store.set({ selected })", sample)
    watched.settle()


@pytest.fixture
def page_of_digits(open_page):
    return open_page(digits())


# Spectrum


def test_the_handle_of_the_spectrum_sets_the_components_of_all_views(page_of_digits):
    watched = page_of_digits
    handle = watched.page.get_by_role("slider", name="Components in use").first
    select(watched, 3)
    shown = watched.panel("inspector").locator('[data-figure="reconstruction"]')
    with_all = watched.drawn(shown)
    press(watched, handle, "ArrowLeft", 5)
    assert watched.state("q") == 3
    assert handle.get_attribute("aria-valuenow") == "3"
    assert "3 of 8 components" in watched.panel("spectrum").inner_text()
    assert watched.drawn(shown) != with_all
    assert watched.open_tool("Denoise").get_by_label("Components in use").input_value() == "3"
    for key, q in (("Home", 1), ("ArrowLeft", 1), ("End", 8), ("ArrowRight", 8)):
        press(watched, handle, key)
        assert watched.state("q") == q
    assert watched.drawn(shown) == with_all


def test_the_handle_can_be_dragged(page_of_digits):
    watched = page_of_digits
    handle = watched.page.get_by_role("slider", name="Components in use").first
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    watched.page.mouse.move(box["x"] + box["width"] - 10, box["y"] + box["height"] / 2)
    watched.page.mouse.down()
    watched.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
    watched.page.mouse.up()
    assert watched.state("q") == 4


def test_explained_variance_is_that_of_the_model(page_of_digits):
    watched = page_of_digits
    explained = watched.page.evaluate("() => Array.from(window.preimage.data.models[0].explained.values)")
    watched.page.evaluate("() => window.preimage.store.set({ q: 3 })")
    watched.settle()
    assert f"{100 * sum(explained[:3]):.1f} %" in watched.panel("spectrum").inner_text()


# Walk


def test_a_walk_goes_from_a_to_b_and_back(page_of_digits):
    watched = page_of_digits
    panel = watched.open_tool("Walk")
    panel.get_by_label("A", exact=True).select_option(label="mean of class 0")
    panel.get_by_label("B", exact=True).select_option(label="mean of class 7")
    strips = panel.locator(".strip")
    forwards = [frames_of(watched, strips.nth(number)) for number in (0, 1)]
    assert all(len(set(frames)) == len(frames) for frames in forwards), "two frames of a walk are the same"
    panel.get_by_role("button", name="Swap A and B").click()
    watched.settle()
    backwards = frames_of(watched, strips.nth(1))
    # The line between inputs is the same line in the other direction.
    assert backwards == forwards[1][::-1]


def test_the_selected_sample_becomes_the_end_of_a_walk(page_of_digits):
    watched = page_of_digits
    panel = watched.open_tool("Walk")
    take = panel.get_by_role("button", name="Selected sample as B")
    select(watched, None)
    assert take.is_disabled()
    select(watched, 17)
    take.click()
    chosen = panel.get_by_label("B", exact=True).evaluate("(menu) => menu.selectedOptions[0].textContent")
    assert chosen == f"row 17, class {digits_data()[1][17]}"


def test_the_slider_of_the_walk_moves_the_large_pictures(page_of_digits):
    watched = page_of_digits
    panel = watched.open_tool("Walk")
    frames_of(watched, panel.locator(".strip").first)
    slider = panel.get_by_label("Place between A and B")
    seen = []
    for key in ("Home", "PageUp", "ArrowRight", "End"):
        press(watched, slider, key)
        seen.append(watched.drawn(panel.locator(".pictures")))
    assert len(set(seen)) == 4
    assert panel.locator("output").first.inner_text() == "100 %"


# Components


def test_sliders_of_components_change_the_picture_and_reset_brings_it_back(page_of_digits):
    watched = page_of_digits
    panel = watched.open_tool("Components")
    watched.settle()
    picture = panel.locator("figure").first
    at_first = watched.drawn(picture)
    press(watched, panel.locator("input[type=range]").nth(1), "ArrowRight", 12)
    assert panel.locator("output").nth(1).inner_text() == "+1.2 s"
    assert watched.drawn(picture) != at_first
    panel.get_by_role("button", name="Reset sliders").click()
    watched.settle()
    assert watched.drawn(picture) == at_first
    assert panel.locator("output").nth(1).inner_text() == "0 s"


def test_all_axes_share_their_middle_and_differ_at_their_ends(page_of_digits):
    """At zero deviations every strip shows the same place."""
    watched = page_of_digits
    panel = watched.open_tool("Components")
    strips = panel.locator(".strip")
    strips.nth(5).wait_for()
    frames = [frames_of(watched, strips.nth(number)) for number in range(strips.count())]
    assert len(frames) >= 6
    assert len({axis[2] for axis in frames}) == 1
    assert len({picture for axis in frames for picture in (axis[0], axis[4])}) == 2 * len(frames)


def test_components_survive_impatience(open_page):
    """A reset before there is anything to reset, and a smaller model while pictures are still being found."""
    X, y = digits_data()
    models = {"large": digits_model(), "small": KernelPCA(2, kernel="rbf", gamma=0.2).fit(X)}
    watched = open_page(explore(models, X, y, image_shape=(8, 8)))
    watched.page.evaluate(
        """() => {
          document.querySelector("#tab-components").click();
          document.querySelector('[data-panel="components"] .controls button').click();
        }"""
    )
    panel = watched.panel("components")
    panel.locator(".strip").first.wait_for()
    watched.page.evaluate(
        """() => {
          const slider = document.querySelector('[data-panel="components"] input[type=range]');
          slider.value = 1;
          slider.dispatchEvent(new Event("input", { bubbles: true }));
          document.querySelector("#tab-walk").click();
          window.preimage.store.set({ model: 1 });
        }"""
    )
    watched.settle()
    watched.open_tool("Components")
    watched.settle()
    before = watched.drawn(panel.locator("figure").first)
    press(watched, panel.locator("input[type=range]").first, "ArrowRight", 10)
    assert watched.drawn(panel.locator("figure").first) != before


# Denoise


def paste(watched, text):
    panel = watched.open_tool("Denoise")
    panel.locator("textarea").fill(text)
    watched.settle()
    return panel


def test_a_pasted_training_row_has_the_novelty_of_that_sample(page_of_digits):
    watched = page_of_digits
    row = digits_data()[0][5]
    panel = paste(watched, ", ".join(map(repr, row.tolist())))
    assert "One row read" in panel.inner_text()
    select(watched, 5)
    inspector = watched.panel("inspector").locator('[data-part="selected"]').inner_text()
    score = float(re.search(r"\(reconstruction error\) ([\d.e−]+)", inspector)[1])
    pasted = float(re.search(r"Novelty score ([\d.e−]+)", panel.inner_text())[1])
    assert pasted == pytest.approx(score, rel=5e-3)


def test_all_common_ways_to_write_a_row_mean_the_same(page_of_digits):
    numbers = [f"{number:.4f}" for number in digits_data()[0][5]]
    header = ",".join(f"pixel_{j}" for j in range(64))
    ways = {
        "commas": ",".join(numbers),
        "tabs": "\t".join(numbers),
        "decimal commas": ";".join(numbers).replace(".", ","),
        "a header": f"{header}\n{','.join(numbers)}",
        "spaces and a last line": " ".join(numbers) + "\n",
    }
    given = {}
    for way, text in ways.items():
        panel = paste(page_of_digits, text)
        assert "One row read" in panel.inner_text(), way
        given[way] = page_of_digits.drawn(panel.locator(".given"))
        paste(page_of_digits, ",".join(["0"] * 64))
    assert len(set(given.values())) == 1, given.keys()


def test_rows_that_cannot_be_read_get_a_sentence(page_of_digits):
    panel = page_of_digits.open_tool("Denoise")
    before = page_of_digits.drawn(panel.locator(".given"))
    for text in ("1, 2, 3", "hello", "1 2 three", ",".join(["inf"] * 64), "1e999," * 63 + "1", "x" * 100_000):
        paste(page_of_digits, text)
        message = panel.locator(".message")
        assert "warning" in message.get_attribute("class"), text[:20]
        assert len(message.inner_text()) > 20, text[:20]
        assert page_of_digits.drawn(panel.locator(".given")) == before, text[:20]


def test_a_file_can_be_dropped(page_of_digits):
    watched = page_of_digits
    X, _ = digits_data()
    panel = watched.open_tool("Denoise")
    text = "\n".join(",".join(map(repr, row)) for row in X[10:13].tolist())
    transfer = watched.page.evaluate_handle(
        """(text) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([text], "rows.csv"));
          return transfer;
        }""",
        text,
    )
    panel.dispatch_event("drop", {"dataTransfer": transfer})
    watched.settle()
    assert "3 rows read" in panel.inner_text()
    first = watched.drawn(panel.locator(".given"))
    press(watched, panel.get_by_label("Row", exact=True), "ArrowRight")
    assert "row 2 of rows.csv" in panel.inner_text()
    assert watched.drawn(panel.locator(".given")) != first


def test_gaps_are_filled_and_noise_is_removed(page_of_digits):
    watched = page_of_digits
    panel = watched.open_tool("Denoise")
    select(watched, 20)
    panel.get_by_role("button", name="Take the selected sample").click()
    watched.settle()
    clean = float(re.search(r"Novelty score ([\d.e−]+)", panel.inner_text())[1])
    panel.get_by_role("button", name="Add noise").click()
    watched.settle()
    noisy = float(re.search(r"Novelty score ([\d.e−]+)", panel.inner_text())[1])
    assert noisy > clean
    assert not panel.get_by_text("Completed").is_visible()
    panel.get_by_role("button", name="Make gaps").click()
    watched.settle()
    assert panel.get_by_text("Completed").is_visible()
    assert "values were missing" in panel.inner_text()


def test_an_image_can_be_drawn_on_by_mouse_and_by_keyboard(page_of_digits):
    watched = page_of_digits
    panel = watched.open_tool("Denoise")
    screen = panel.get_by_role("application", name="Image to draw on")
    screen.scroll_into_view_if_needed()
    results = panel.locator("figure").last
    before = watched.drawn(panel.locator(".given")), watched.drawn(results)
    box = screen.bounding_box()
    watched.page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.8 * box["height"])
    watched.page.mouse.down()
    watched.page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 0.8 * box["height"], steps=4)
    watched.page.mouse.up()
    watched.settle()
    drawn = watched.drawn(panel.locator(".given")), watched.drawn(results)
    assert drawn[0] != before[0] and drawn[1] != before[1]
    press(watched, screen, "ArrowUp", 3)
    press(watched, screen, "Space")
    watched.settle()
    assert watched.drawn(panel.locator(".given")) != drawn[0]


def test_a_row_of_a_table_is_read_by_its_names_in_any_order(open_page):
    """Columns of another order are put into that of the model, so the same row has the same novelty."""
    watched = open_page(wine())
    names = watched.page.evaluate("() => window.preimage.data.view.names")
    row = watched.page.evaluate("() => Array.from(window.preimage.samples.row(4))")
    scores = []
    for order in (np.arange(len(names)), np.arange(len(names))[::-1]):
        text = ",".join(names[j] for j in order) + "\n" + ",".join(repr(row[j]) for j in order)
        panel = paste(watched, text)
        scores.append(re.search(r"Novelty score ([\d.e−]+)", panel.inner_text())[1])
    assert scores[0] == scores[1]


# Widths


def test_a_slider_moves_between_widths_and_all_views_follow(open_page):
    watched = open_page(digits_of_three_widths())
    panel = watched.panel("widths")
    watched.page.evaluate("() => window.preimage.store.set({ selected: 3 })")
    watched.settle()
    slider = panel.locator("input[type=range]").first
    shown = watched.panel("inspector").locator('[data-figure="reconstruction"]')
    pictures = set()
    press(watched, slider, "Home")
    for model in range(3):
        assert watched.state("model") == model
        pictures.add((watched.drawn(shown), watched.drawn(watched.panel("map"))))
        press(watched, slider, "ArrowRight")
    assert len(pictures) == 3
    assert watched.state("model") == 2


# Theme


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_follows_the_system_and_the_button(open_page, theme):
    watched = open_page(digits(), theme=theme)
    background = "() => getComputedStyle(document.body).backgroundColor"
    before = watched.page.evaluate(background)
    dark = sum(map(int, re.findall(r"\d+", before)[:3])) < 3 * 128
    assert dark == (theme == "dark")
    marks = watched.drawn(watched.panel("map"))
    watched.page.get_by_role("button", name=re.compile("colours")).click()
    watched.settle()
    assert watched.page.evaluate(background) != before
    assert watched.drawn(watched.panel("map")) != marks
