"""Pages of the built site as readers meet them: on a wide and a narrow screen, in light and dark, without a mouse.

The fixture fails a test whose page writes an error to the console or asks another host for anything.
"""

import re
import tomllib
from pathlib import Path

import pytest

# Subscripts are small in every textbook; cards hide the text of a link that covers them; the theme draws the marks of
# its folded lists outside their boxes; sphinx-gallery writes one id of its own twice.
KNOWN = re.compile(
    r"letters of .*<m[ino]\b|letters of 0\.0|too small to hit: <summary>|the id sg-tag-list stands twice"
)
AUDIT = (Path(__file__).parents[1] / "explorer" / "accessibility.js").read_text(encoding="utf-8")
# One page of each kind; the last has the widest tables.
PAGES = [
    "index",
    "guides/denoise",
    "recipes",
    "api/index",
    "api/preimage.KernelPCA",
    "gallery/index",
    "gallery/denoise/plot_denoise_digits",
    "theory/kernel_pca",
    "results/speed",
]
SECTIONS = ["Get started", "Guides", "Recipes", "API reference", "Gallery", "Theory", "Results", "Develop"]
WIDTHS = (1280, 400)
SYNONYMS = tomllib.loads((Path(__file__).parents[2] / "docs" / "synonyms.toml").read_text(encoding="utf-8"))["pages"]
# The first page that the search lists for each query, asked of its program in one window.
BEST_PAGES = """
(queries) => queries.map((query) => {
  history.replaceState(null, "", `?q=${encodeURIComponent(query)}`);
  return Search._performSearch(...Search._parseQuery(query)).at(-1)?.[0];
})
"""
SIDEWAYS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Pictures load when they come near the window.
LOAD_PICTURES = """
async () => {
  const pictures = [...document.images];
  pictures.forEach((picture) => (picture.loading = "eager"));
  await Promise.all(pictures.map((picture) => picture.decode().catch(() => null)));
  const poor = pictures.filter((picture) => !picture.naturalWidth || !picture.hasAttribute("alt"));
  return poor.map((picture) => picture.src);
}
"""
FOCUSED = """
() => {
  const node = document.activeElement;
  // The link of a card covers all of it, and the card shows that it has the focus.
  const seen = node.closest(".sd-card") ?? node;
  const style = getComputedStyle(seen), box = seen.getBoundingClientRect();
  return {
    text: (node.textContent || node.getAttribute("aria-label") || "").trim().slice(0, 60),
    id: node.id,
    href: node.getAttribute("href"),
    // Within a frame, the page inside marks its own stops: tests/explorer asks for that.
    marked: node.tagName === "IFRAME" ||
      (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1) || style.boxShadow !== "none",
    shown: box.width > 0 && box.height > 0 && style.visibility !== "hidden",
  };
}
"""


@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (400, "dark")])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_its_window_and_can_be_read(open_page, name, width, theme):
    """Pictures are there, nothing scrolls sideways, texts have contrast, controls have names, headings are in order."""
    page = open_page(name, width, theme)
    assert page.title() and page.get_attribute("html", "lang") == "en"
    assert page.get_attribute("html", "data-theme") == theme
    assert page.evaluate(LOAD_PICTURES) == []
    assert page.evaluate(SIDEWAYS) <= 0
    assert [problem for problem in page.evaluate(AUDIT) if not KNOWN.match(problem)] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_search_finds_a_page(open_page, width):
    page = open_page("search?q=denoise", width)
    # Results come in one by one; the fixture's time limit is the failure.
    page.wait_for_selector("#search-results a[href*='guides/denoise.html']")
    page.click("#search-results a[href*='guides/denoise.html'] >> nth=0")
    assert "noise" in page.inner_text("h1")


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("missing+values", "guides/fill_gaps"),
        ("variance+inflation", "guides/many_variables"),
        ("custom+kernel", "guides/choose_a_kernel"),
        ("memory", "guides/many_rows"),
        ("fit_inverse_transform", "start/from_scikit_learn"),
    ],
)
def test_search_ranks_the_page_on_a_subject_first(open_page, query, best):
    page = open_page(f"search?q={query}", 1280)
    # The sentence on how many pages were found comes when the last of them is listed.
    page.wait_for_function("() => /found/.test(document.querySelector('#search-results p')?.textContent)")
    assert f"{best}.html" in page.get_attribute("#search-results li a", "href")


def best_pages(open_page, queries):
    page = open_page("search?q=kernel", 1280)
    page.wait_for_function("() => Search.hasIndex()")
    return dict(zip(queries, page.evaluate(BEST_PAGES, queries), strict=True))


def test_search_answers_what_people_type(open_page):
    """Each question of the list, with the page that the list names before all others."""
    queries = [(page, query) for page, questions in SYNONYMS.items() for query in questions]
    found = best_pages(open_page, [query for _, query in queries])
    assert {query: (found[query], page) for page, query in queries if found[query] != page} == {}


def test_search_finds_questions_in_other_words(open_page):
    """In another order, in part, or with a word of the page that the question does not have."""
    wanted = {
        "LDA kernel": "guides/classes_and_clusters",
        "variance explained": "start/five_minutes",
        "incremental pca": "guides/many_rows",
        "anomaly": "guides/find_novelties",
        "reduce svm size": "guides/shrink_a_machine",
        "impute missing": "guides/fill_gaps",
    }
    assert best_pages(open_page, list(wanted)) == wanted


def test_every_guide_has_questions():
    pages = {f"guides/{path.stem}" for path in (Path(__file__).parents[2] / "docs" / "guides").glob("*.md")}
    assert pages - SYNONYMS.keys() == {"guides/index"}


def test_the_keyboard_opens_search_and_leaves_it(open_page):
    page = open_page("index")
    page.keyboard.press("Control+k")
    page.wait_for_selector("dialog[open] input[type=search]")
    assert page.evaluate("() => document.activeElement.type") == "search"
    page.keyboard.press("Escape")
    assert page.locator("dialog[open] input[type=search]").count() == 0


def test_the_first_key_offers_to_skip_the_navigation(open_page):
    page = open_page("guides/denoise")
    page.keyboard.press("Tab")
    skip = page.evaluate(FOCUSED)
    assert "Skip" in skip["text"] and skip["shown"]
    page.keyboard.press("Enter")
    assert page.url.endswith("#main-content")


def test_every_stop_of_the_tab_key_is_visible_and_marked(open_page):
    page = open_page("index")
    stops = []
    for _ in range(25):
        page.keyboard.press("Tab")
        page.wait_for_function("document.activeElement !== document.body")  # frames take the focus a little later
        stops.append(page.evaluate(FOCUSED))
    hidden = [stop["text"] for stop in stops if not (stop["shown"] and stop["marked"])]
    assert not hidden
    texts = [stop["text"] for stop in stops]
    reached = [section for section in SECTIONS if section in texts]
    assert reached == SECTIONS, texts


@pytest.mark.parametrize("name", ["start/from_scikit_learn", "guides/command_line"])
def test_a_narrow_window_shows_all_columns_of_tables_of_names(open_page, name):
    page = open_page(name, 400)
    tables = ".pst-scrollable-table-container"
    hidden = page.eval_on_selector_all(tables, "nodes => nodes.map((node) => node.scrollWidth - node.clientWidth)")
    assert hidden and max(hidden) <= 0


def test_a_narrow_window_has_the_sections_in_a_menu(open_page):
    page = open_page("guides/denoise", 400)
    page.click("button.primary-toggle")
    page.wait_for_selector("dialog[open]")
    shown = page.inner_text("dialog[open]")
    assert [section for section in SECTIONS if section not in shown] == []


def test_the_button_of_the_theme_changes_it(open_page):
    page = open_page("index")
    page.click(".theme-switch-button:visible")
    page.click("button.theme-change-button[data-mode=dark]:visible")
    assert page.get_attribute("html", "data-theme") == "dark"
