"""Users' text stays text, and a page neither loads nor sends anything, whatever its data say."""

import numpy as np
import pytest
from browser import WatchedPage
from ready_pages import digits_data

from preimage import KernelPCA, explore

# Each would set `window.owned` if any part of the page read it as markup, as an attribute or as code.
ATTACKS = [
    "<script>window.owned = 1</script>",
    "</script><script>window.owned = 1</script>",
    "<img src=x onerror='window.owned = 1'>",
    "\"' onmouseover=window.owned=1 x='",
    "--></script><!--<script>window.owned = 1",
    "<svg onload=window.owned=1>",
    "javascript:window.owned=1",
    "${window.owned = 1}",
    "\\u003cscript\\u003ewindow.owned = 1\\u003c/script\\u003e",
    "]]>{{constructor.constructor('window.owned = 1')()}}",
]


@pytest.fixture(scope="module")
def hostile_page():
    """A page whose labels, names, title and columns are attacks."""
    X, y = digits_data()
    labels = np.array(ATTACKS)[y]
    names = [f"{ATTACKS[j % len(ATTACKS)]} {j}" for j in range(X.shape[1])]
    columns = {ATTACKS[1]: np.array(ATTACKS)[(y + 3) % 10], ATTACKS[2]: X[:, 20]}
    model = KernelPCA(4, kernel="rbf", gamma=0.05).fit(X)
    return explore(
        model, X, labels, kind="table", names=names, units=[ATTACKS[0]] * 64, colors=columns, title=ATTACKS[1]
    )


def visit_everything(watched):
    """Opens all tools, all colourings, a sample and a place on the map."""
    page = watched.page
    for tool in ("Walk", "Components", "Denoise"):
        watched.open_tool(tool)
        watched.settle()
    colours = watched.panel("map").get_by_label("Colour by")
    for option in colours.locator("option").all():
        colours.select_option(value=option.get_attribute("value"))
    page.evaluate("() => window.preimage.store.set({ pointer: { across: 0, up: 0 }, selected: 0 })")
    watched.settle()


def test_markup_in_labels_names_and_titles_is_shown_as_text(open_page, hostile_page):
    watched = open_page(hostile_page)
    visit_everything(watched)
    assert watched.page.evaluate("() => window.owned") is None
    assert watched.page.title() == ATTACKS[1]
    assert watched.page.locator("h1").inner_text() == ATTACKS[1]
    # Elements that only the attacks could have made.
    assert watched.page.locator("img, svg[onload], [onerror], [onmouseover], #page script").count() == 0
    text = watched.page.locator("body").inner_text()
    for attack in ATTACKS:
        assert attack in text, f"{attack} is not shown"


def test_no_script_besides_the_one_of_the_page_can_run(hostile_page, chromium, tmp_path):
    """The policy works: what an attack would add is refused by the browser."""
    html = hostile_page.to_html()
    attacked = html.replace("</body>", "<script>window.owned = 1</script><img src=x onerror='window.owned = 2'></body>")
    assert attacked != html
    path = tmp_path / "attacked.html"
    path.write_text(attacked, encoding="utf-8")
    watched = WatchedPage(chromium, path)
    watched.settle()
    assert watched.page.evaluate("() => window.owned") is None
    problems = watched.closed()
    assert any("Content Security Policy" in problem for problem in problems)


ATTEMPTS = [
    "fetch('https://example.org/')",
    "(() => { const image = new Image(); image.src = 'https://example.org/x.png'; return image.decode(); })()",
    "import('https://example.org/x.js')",
    "new Promise((onopen, onerror) => Object.assign(new WebSocket('wss://example.org/'), {onopen, onerror}))",
    # Later, because what a test evaluates itself is exempt from the policy.
    "new Promise((done, fail) => setTimeout(() => { try { done(eval('1')); } catch (error) { fail(error); } }, 0))",
]


def test_the_policy_refuses_requests_and_code_from_text(chromium, tmp_path, hostile_page):
    """With the network on, so that it is the policy that refuses."""
    path = tmp_path / "page.html"
    path.write_text(hostile_page.to_html(), encoding="utf-8")
    context = chromium.new_context()
    sent = []
    context.route("https://**", lambda route: (sent.append(route.request.url), route.fulfill(body="")))
    page = context.new_page()
    page.goto(path.as_uri())
    done = [attempt for attempt in ATTEMPTS if not page.evaluate(f"() => ({attempt}).then(() => false, () => true)")]
    context.close()
    assert not done and not sent


def test_a_page_works_inside_the_frame_of_a_notebook(chromium, hostile_page):
    """`_repr_html_` is a frame without an origin of its own, where storage and the notebook are out of reach."""
    context = chromium.new_context()
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_content(f"<!doctype html><title>notebook</title>{hostile_page._repr_html_()}")
    frame = page.frame_locator("iframe")
    frame.locator("h1").wait_for()
    assert frame.locator("h1").inner_text() == ATTACKS[1]
    sandbox = page.locator("iframe").get_attribute("sandbox")
    assert "allow-scripts" in sandbox and "allow-same-origin" not in sandbox
    assert page.evaluate("() => window.owned") is None
    context.close()
    assert not errors
