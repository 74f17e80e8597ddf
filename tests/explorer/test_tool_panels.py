"""The panels walk, components, denoise and width: what they show is what the library computes."""

import io
import re

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from preimage import KernelPCA, explore


@pytest.fixture(scope="module")
def digits():
    bunch = load_digits()
    return bunch.data[:120] / 16.0, bunch.target[:120]


@pytest.fixture(scope="module")
def model(digits):
    return KernelPCA(8, gamma=0.05).fit(digits[0])


@pytest.fixture(scope="module")
def images(digits, model):
    return explore(model, *digits, image_shape=(8, 8)).to_html()


class Tool:
    """One panel of an opened shown.page."""

    def __init__(self, page, name):
        self.page, self.panel = page, page.locator(f"[data-panel={name}]")
        if name != "widths":
            page.click(f"#tab-{name}")
        self.panel.scroll_into_view_if_needed()

    def state(self, key):
        return self.page.evaluate("(key) => window.preimage.store.get(key)", key)

    def select(self, sample):
        self.page.evaluate("(selected) => window.preimage.store.set({ selected })", sample)

    def wait_for(self, words, *, gone=False):
        """Waits until the panel says so, or no longer does."""
        code = "([panel, words, gone]) => panel.innerText.includes(words) !== gone"
        self.page.wait_for_function(code, arg=[self.panel.element_handle(), words, gone])

    def drawn(self):
        """The pixels of the first picture."""
        return self.panel.locator("canvas").first.evaluate("(canvas) => canvas.toDataURL()")

    def blank(self):
        """The pixels of an empty picture of the same size."""
        code = """(canvas) => Object.assign(document.createElement("canvas"),
          { width: canvas.width, height: canvas.height }).toDataURL()"""
        return self.panel.locator("canvas").first.evaluate(code)

    def wait_for_drawing(self, pixels, *, gone=False):
        code = "([canvas, pixels, gone]) => (canvas.toDataURL() === pixels) !== gone"
        self.page.wait_for_function(code, arg=[self.panel.locator("canvas").first.element_handle(), pixels, gone])

    def wait_for_novelty(self, least, most):
        """Waits until the panel says a novelty score in this range."""
        code = r"""([panel, least, most]) => {
          const found = panel.innerText.replaceAll("−", "-").match(/Novelty score ([-\d.e+]+)/);
          return found !== null && least <= Number(found[1]) && Number(found[1]) <= most;
        }"""
        self.page.wait_for_function(code, arg=[self.panel.element_handle(), float(least), float(most)])

    def drop(self, name, content, kind="text/csv"):
        """Drops a file on the panel, as the browser would tell it."""
        code = """([name, bytes, type]) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([Uint8Array.from(bytes)], name, { type }));
          return transfer;
        }"""
        transfer = self.page.evaluate_handle(code, [name, list(content), kind])
        self.panel.dispatch_event("dragover", {"dataTransfer": transfer})
        self.panel.dispatch_event("drop", {"dataTransfer": transfer})


@pytest.fixture
def tool(open_page):
    """Opens a page at one of its tools."""
    return lambda html, name: Tool(open_page(html).page, name)


def wait_for_text(panel, pattern):
    panel.get_by_text(re.compile(pattern)).first.wait_for()
    return panel.get_by_text(re.compile(pattern)).first.inner_text()


def test_lines_in_feature_space_are_those_of_navigate(javascript, digits, model):
    code = """({Model, alongLine}, record, a, b, fractions, q) =>
      [...alongLine(new Model(record), a.values, b.values, fractions, { q })].map(({ row }) => row)"""
    X, _ = digits
    record = explore(model, X).header["models"][0]
    A, B = model.transform(X[:1])[0], model.transform(X[1:2])[0]
    found = javascript(["model.js", "panels/lines.js"], code, record, A, B, list(np.linspace(0, 1, 7)), 8)
    expected = model.navigate(X[:1], X[1:2], steps=7)
    assert np.max(np.abs(np.array(found) - expected)) < 1e-4 * np.sqrt(np.sum(np.var(X, axis=0)))


def test_a_walk_follows_its_slider_its_frames_and_its_ends(tool, images):
    shown = tool(images, "walk")
    panel = shown.panel
    begun = shown.state("walk")
    first = wait_for_text(panel, "Squared distance")
    position = panel.get_by_label("Place between A and B")
    position.focus()
    for _ in range(30):
        position.press("ArrowRight")
    assert panel.locator(".marked figcaption").all_inner_texts() == ["75 %", "75 %"]
    assert panel.get_by_text("80 %").is_visible()
    assert wait_for_text(panel, "Squared distance") != first
    panel.locator(".frame", has_text="B").first.click()
    assert position.input_value() == "1"
    panel.get_by_role("button", name="Swap").click()
    assert shown.state("walk") == {"a": begun["b"], "b": begun["a"]}


def test_the_selected_sample_becomes_an_end_of_the_walk(tool, images):
    shown = tool(images, "walk")
    panel = shown.panel
    take = panel.get_by_role("button", name="Selected sample as B")
    shown.page.get_by_role("button", name="Clear the selection").click()
    shown.select(None)
    assert take.is_disabled()
    shown.select(7)
    take.click()
    assert shown.state("walk")["b"] == "sample:7"
    assert panel.get_by_label("B", exact=True).locator("option:checked").inner_text() == "row 7, class 7"


def test_sliders_of_components_change_the_picture_and_reset_brings_it_back(tool, images):
    shown = tool(images, "components")
    panel = shown.panel
    assert panel.locator(".component").count() == 6
    assert panel.locator(".component .frame").count() == 30
    shown.wait_for_drawing(shown.blank(), gone=True)
    before = shown.drawn()
    slider = panel.get_by_role("slider").first
    slider.focus()
    for _ in range(15):
        slider.press("ArrowRight")
    assert panel.get_by_text("+1.5 s").is_visible()
    shown.wait_for_drawing(before, gone=True)
    panel.get_by_role("button", name="Reset").click()
    assert slider.input_value() == "0"
    shown.wait_for_drawing(before)
    panel.get_by_role("button", name="Show more").click()
    assert panel.locator(".component").count() == 8
    shown.page.evaluate("() => window.preimage.store.set({ q: 3 })")
    shown.page.wait_for_function("() => document.querySelectorAll('.component').length === 3")


def test_components_start_at_the_place_that_was_chosen(tool, images, digits, model):
    shown = tool(images, "components")
    panel = shown.panel
    panel.get_by_label("Around").select_option(label="mean of class 3")
    X, y = digits
    mean = model.transform(X[y == 3]).mean(axis=0)[0] / model.transform(X)[:, 0].std()
    shown.page.wait_for_function(
        "(value) => Math.abs(document.querySelector('.component input').value - value) < 0.06", arg=mean
    )


def test_pasted_rows_are_denoised_and_their_novelty_is_that_of_the_library(tool, images, digits, model):
    shown = tool(images, "denoise")
    panel = shown.panel
    row = np.round(np.random.default_rng(0).random(64), 3)
    panel.get_by_label("Paste a row").fill(";".join(str(value).replace(".", ",") for value in row))
    panel.get_by_text("One row read.").wait_for()
    panel.get_by_text("Given: the row pasted").wait_for()
    expected = model.reconstruction_error(row[None, :])[0]
    shown.wait_for(f"Novelty score {expected:.3g}:")
    panel.get_by_label("Components in use").press("Home")
    assert shown.state("q") == 1
    expected = model.reconstruction_error(row[None, :], n_components=1)[0]
    shown.wait_for(f"Novelty score {expected:.3g}:")


def test_gaps_of_a_dropped_file_are_filled_as_impute_fills_them(tool, images, digits, model):
    shown = tool(images, "denoise")
    panel = shown.panel
    rows = load_digits().data[300:302] / 16.0
    rows[1, 32:] = np.nan
    text = "\n".join(",".join("" if np.isnan(value) else str(value) for value in row) for row in rows)
    shown.drop("two rows.csv", text.encode())
    panel.get_by_text("2 rows read.").wait_for()
    panel.get_by_label("Row", exact=True).press("End")
    panel.get_by_text("Given: row 2 of two rows.csv").wait_for()
    panel.get_by_text("32 of 64 values were missing").wait_for()
    expected = model.reconstruction_error(model.impute(rows[1:]))[0]
    shown.wait_for_novelty(0.99 * expected, 1.01 * expected)
    assert panel.get_by_text("Completed: gaps filled").is_visible()


def test_a_dropped_picture_is_scaled_to_the_images_of_the_model(tool, images, digits, model):
    picture = pytest.importorskip("PIL.Image")
    shown = tool(images, "denoise")
    row = digits[0][3]
    # Every pixel four times as large, so that scaling down gives the pixels back.
    pixels = np.kron(np.round(255 * row.reshape(8, 8)), np.ones((4, 4))).astype(np.uint8)
    file = io.BytesIO()
    picture.fromarray(pixels).save(file, "PNG")
    shown.drop("digit.png", file.getvalue(), "image/png")
    shown.wait_for("The picture was scaled to 8 × 8 pixels.")
    shown.wait_for("Given: the row of digit.png")
    expected = model.reconstruction_error(row[None, :])[0]
    shown.wait_for_novelty(0.98 * expected, 1.02 * expected)
    shown.drop("broken.png", b"no picture", "image/png")
    shown.wait_for("“broken.png” is not a picture that this browser can read")


@pytest.mark.parametrize(
    ("text", "words"),
    [("1, 2, 3", "Row 1 has 3 values"), ("<script>alert(1)</script>", "the model needs 64")],
)
def test_rows_that_cannot_be_used_are_answered_by_a_sentence_and_change_nothing(tool, images, text, words):
    shown = tool(images, "denoise")
    panel = shown.panel
    before = wait_for_text(panel, "Given:")
    panel.get_by_label("Paste a row").fill(text)
    panel.get_by_text(words).wait_for()
    assert wait_for_text(panel, "Given:") == before


def test_noise_and_gaps_are_added_to_a_selected_sample(tool, images, digits, model):
    shown = tool(images, "denoise")
    panel = shown.panel
    shown.select(5)
    panel.get_by_role("button", name="Take the selected sample").click()
    panel.get_by_text("Given: row 5, class 5").wait_for()
    clean = model.reconstruction_error(digits[0][5:6])[0]
    shown.wait_for_novelty(0.98 * clean, 1.02 * clean)
    panel.get_by_role("button", name="Add noise").click()
    panel.get_by_text("Given: with noise added").wait_for()
    shown.wait_for_novelty(1.1 * clean, 1.0)
    panel.get_by_label("Gaps", exact=True).select_option("lower")
    panel.get_by_role("button", name="Make gaps").click()
    panel.get_by_text("32 of 64 values were missing").wait_for()


@pytest.mark.parametrize("shape", [(4, 6), (5, 3), (4, 4, 3)])
def test_gaps_are_halves_of_images_whatever_their_shape(javascript, shape):
    code = """({withGaps, gapChoices}, row, view) =>
      Object.fromEntries(gapChoices(view).map(({ value }) => [value, withGaps(row.values, view, value, 3)]))"""
    row = np.arange(np.prod(shape), dtype=float)
    found = javascript("panels/noise.js", code, row, {"kind": "image", "shape": list(shape)})
    gaps = {name: np.isnan(values).reshape(shape) for name, values in found.items()}
    height, width = shape[:2]
    assert gaps["upper"][: height // 2].all() and gaps["lower"][-(height // 2) :].all()
    assert gaps["left"][:, : width // 2].all() and gaps["right"][:, -(width // 2) :].all()
    pixels = {name: gap.reshape(height, width, -1).all(axis=2).sum() for name, gap in gaps.items()}
    assert pixels["upper"] == pixels["lower"] == (height // 2) * width
    assert pixels["left"] == pixels["right"] == height * (width // 2)
    assert pixels["random"] == height * width // 2
    for name, values in found.items():
        np.testing.assert_array_equal(values[~gaps[name].ravel()], row[~gaps[name].ravel()])


def test_noise_has_the_size_that_was_asked_for_and_is_the_same_again(javascript):
    code = (
        """({noisy}, row, view, amount) => [noisy(row.values, view, amount, 1), noisy(row.values, view, amount, 1)]"""
    )
    deviation = np.linspace(0.5, 2, 4000)
    row = np.zeros(4000)
    row[7] = np.nan
    first, again = javascript("panels/noise.js", code, row, {"kind": "table", "deviation": deviation}, 0.3)
    np.testing.assert_array_equal(first, again)
    assert np.isnan(first[7])
    relative = np.delete(first / deviation, 7)
    assert abs(relative.mean()) < 0.02 and relative.std() == pytest.approx(0.3, rel=0.05)


def test_rows_of_tables_are_found_by_the_names_of_their_columns(tool):
    wine = load_wine(as_frame=True)
    model = make_pipeline(StandardScaler(), KernelPCA(5, gamma=0.05)).fit(wine.data)
    shown = tool(explore(model, wine.data, wine.target_names[wine.target]).to_html(), "denoise")
    panel = shown.panel
    row = wine.data.iloc[:1, ::-1].assign(comment="late harvest")
    panel.get_by_label("Paste a row").fill(row.to_csv(index=False))
    panel.get_by_text("1 other column was left out").wait_for()
    scaled = model[0].transform(wine.data.iloc[:1])
    expected = model[1].reconstruction_error(scaled)[0]
    shown.wait_for(f"Novelty score {expected:.3g}:")


def test_the_slider_of_widths_changes_the_model_of_all_views(tool, digits):
    X, y = digits
    html = explore(KernelPCA(4, gamma=0.05).fit(X), X, y, image_shape=(8, 8), widths=[0.01, 0.05, 0.2]).to_html()
    shown = tool(html, "widths")
    panel = shown.panel
    assert panel.locator(".frame").count() == 3
    slider = panel.get_by_role("slider")
    slider.press("End")
    assert shown.state("model") == 2
    assert panel.locator(".marked").inner_text() == "γ = 0.2"
    panel.locator(".frame").first.click()
    assert shown.state("model") == 0 and slider.input_value() == "0"
    panel.get_by_label("Picture of").select_option("walk")
    panel.get_by_text(re.compile("Half-way between row .* and row ")).wait_for()


def test_models_keep_the_names_that_users_gave_them(tool, digits):
    X, y = digits
    models = {name: KernelPCA(k, gamma=0.05).fit(X) for name, k in (("few", 3), ("<b>many</b>", 6))}
    panel = tool(explore(models, X, y, image_shape=(8, 8)).to_html(), "widths").panel
    assert panel.locator(".frame figcaption").all_inner_texts() == ["few", "<b>many</b>"]


@pytest.mark.parametrize("name", ["walk", "components", "denoise"])
def test_narrow_windows_need_no_scrolling_sideways(open_page, images, name):
    watched = open_page(images, width=400, theme="dark")
    watched.page.click(f"#tab-{name}")
    watched.page.locator(f"[data-panel={name}]").scroll_into_view_if_needed()
    assert watched.sideways() <= 0


@pytest.mark.parametrize("with_labels", [False, True])
def test_walks_begin_between_two_typical_samples_far_from_each_other(tool, digits, with_labels):
    """Of different labels where there are some; one far outlier, which shows little of a model, is no end."""
    X, y = digits
    X = np.vstack([X, 3 + X[:1]])
    y = np.append(y, y[0])
    model = KernelPCA(4, gamma=0.05).fit(X[:-1])
    shown = tool(explore(model, X, y if with_labels else None, image_shape=(8, 8)).to_html(), "walk")
    ends = [int(shown.state("walk")[end].removeprefix("sample:")) for end in "ab"]
    errors = model.reconstruction_error(X)
    typical = np.flatnonzero(errors <= np.median(errors) * (1 + 1e-6))
    assert set(ends) <= set(typical)
    assert not with_labels or y[ends[0]] != y[ends[1]]
    Y = model.transform(X)
    distances = np.linalg.norm(Y[typical, None] - Y[typical], axis=-1)
    assert np.linalg.norm(Y[ends[0]] - Y[ends[1]]) >= 0.9 * distances.max()
    wait_for_text(shown.panel, "Squared distance")
