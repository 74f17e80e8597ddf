"""Pages for all readers: narrow windows, dark colours, keyboards alone, screen readers."""

from pathlib import Path

import pytest
from ready_pages import PAGES, digits

AUDIT = (Path(__file__).parent / "accessibility.js").read_text(encoding="utf-8")
TOOLS = ("Walk", "Components", "Denoise")


def posed(watched):
    """A page with a place explored and a sample selected, so that all of its parts have something to show."""
    watched.page.evaluate("() => window.preimage.store.set({ pointer: { across: 0.05, up: 0.05 }, selected: 2 })")
    watched.settle()
    return watched


@pytest.mark.parametrize("kind", PAGES)
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (400, "dark")], ids=["wide", "narrow and dark"])
def test_pages_fit_their_window_and_can_be_read(open_page, kind, width, theme):
    """With each tool open: no scrolling to the side, enough contrast, names for what acts, no text cut off."""
    watched = posed(open_page(PAGES[kind](), width=width, theme=theme, shade=True))
    for tool in TOOLS:
        watched.open_tool(tool)
        watched.settle()
        assert watched.sideways() == 0, f"{tool} makes the page {watched.sideways()} pixels too wide"
        problems = watched.page.evaluate(AUDIT)
        assert not problems, f"{tool}: {'; '.join(problems)}"
    # A window of 1280 pixels, enlarged to four times its size for readers who see little.
    watched.page.set_viewport_size({"width": 320, "height": 900})
    watched.settle()
    assert watched.sideways() == 0


def test_what_the_audit_asks_for_is_missed_where_it_is_missing(chromium):
    context = chromium.new_context()
    page = context.new_page()
    page.set_content(
        "<style>h3 { width: 20px; overflow: hidden; white-space: nowrap }</style><h1>a</h1><h3>long words</h3>"
        "<button></button><canvas></canvas><p style='color:#999'>pale</p><label for='none'>x</label>"
        "<i id='twice'></i><i id='twice'></i><input aria-label='x' style='width:5px;height:5px'>"
        "<div role='slider' aria-label='s' tabindex='2'>s</div>"
    )
    problems = "; ".join(page.evaluate(AUDIT))
    context.close()
    wanted = ["no name: <button>", "drawing without a name", "contrast 2.85", "for of <label>", "id twice stands twice"]
    wanted += [
        "too small to hit: <input>",
        "h3 after h1",
        "cut off: <h3>",
        "without aria-valuemin",
        "order of the page",
    ]
    assert all(problem in problems for problem in wanted), problems


FOCUSED = """() => {
  const node = document.activeElement;
  if (!node || node === document.body) return null;
  const box = node.getBoundingClientRect();
  const style = getComputedStyle(node);
  window.stops = window.stops ?? new Map();
  if (!window.stops.has(node)) window.stops.set(node, window.stops.size);
  return {
    number: window.stops.get(node),
    seen: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight,
    marked: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1,
    what: node.outerHTML.slice(0, 120),
  };
}"""
REACHABLE = """() => [...document.querySelectorAll("button, select, textarea, input, summary, a[href], [tabindex]")]
  .filter((node) => node.getClientRects().length > 0 && !node.disabled && node.tabIndex >= 0).length"""


def test_tab_reaches_everything_that_acts_and_shows_where_it_is(open_page):
    watched = open_page(digits())
    for tool in TOOLS:
        watched.open_tool(tool)
        watched.settle()
        expected = watched.page.evaluate(REACHABLE)
        # From the button next to the title on; it is the first stop.
        watched.page.get_by_role("button", name="colours").focus()
        watched.page.keyboard.press("Shift+Tab")
        stops = []
        for _ in range(expected + 3):
            watched.page.keyboard.press("Tab")
            stop = watched.page.evaluate(FOCUSED)
            if stop is None:
                break
            stops.append(stop)
        assert len({stop["number"] for stop in stops}) >= expected, f"Tab does not reach everything of {tool}"
        assert not [stop["what"] for stop in stops if not stop["seen"]], "the focus is where nobody sees it"
        assert not [stop["what"] for stop in stops if not stop["marked"]], "the focus is not marked"


def test_a_page_can_be_used_by_keyboard_alone(open_page):
    """Explore, select, filter, change a component, open a tool: without a mouse."""
    watched = open_page(digits())
    keyboard = watched.page.keyboard
    watched.page.get_by_role("application", name="Map of the samples").focus()
    keyboard.press("ArrowRight")
    first = watched.state("pointer")
    keyboard.press("ArrowUp")
    second = watched.state("pointer")
    assert second["up"] > first["up"] and second["across"] == pytest.approx(first["across"])
    keyboard.press("Enter")
    watched.settle()
    assert isinstance(watched.state("selected"), int)
    assert "rank" in watched.panel("inspector").inner_text()
    keyboard.press("Escape")
    assert watched.state("selected") is None
    watched.page.locator(".legend-entry").first.focus()
    keyboard.press("Space")
    assert watched.page.evaluate("() => [...window.preimage.store.get('hidden')]") == [0]
    watched.panel("map").get_by_label("Across").focus()
    keyboard.press("ArrowDown")
    assert watched.state("across") == 1
    watched.page.get_by_role("tab", name="Walk").focus()
    keyboard.press("ArrowRight")
    assert watched.panel("components").is_visible() and not watched.panel("walk").is_visible()
    keyboard.press("ArrowLeft")
    keyboard.press("ArrowLeft")
    assert watched.panel("denoise").is_visible()


def test_a_finger_explores_the_map_and_selects(open_page):
    watched = open_page(digits(), width=400, touch=True)
    surface = watched.page.get_by_role("application", name="Map of the samples")
    surface.scroll_into_view_if_needed()
    box = surface.bounding_box()
    watched.page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    watched.settle()
    assert watched.state("pointer") is not None
