"""Data that nobody expects: each makes a page on which every tool works."""

import numpy as np
import pytest
from ready_pages import digits_data, digits_model

from preimage import KernelPCA, explore

LABELS = [
    "🙂👩‍👩‍👧",
    "\u202eright to left",
    "two\nlines",
    "\x00",
    "\ud800",
    "مرحبا",
    '"double"',
    "'single'",
    "\\",
    "&amp;",
]


def images(labels=None, rows=slice(None), model=None, **options):
    X, _ = digits_data()
    return explore(model or digits_model(), X[rows], labels, image_shape=(8, 8), **options)


def of_labels(make):
    """A label for each digit."""
    return np.array([make(label) for label in digits_data()[1]], dtype=object)


def table(X, n_components=3, **options):
    model = KernelPCA(n_components, kernel="rbf", gamma=0.5 / X.var() / X.shape[1]).fit(X)
    return explore(model, X, kind="table", **options)


def random(*shape):
    return np.random.default_rng(0).normal(size=shape)


CASES = {
    "one row": lambda: images(np.array(["a"]), slice(1)),
    "one component": lambda: images(
        digits_data()[1], model=KernelPCA(1, kernel="rbf", gamma=0.05).fit(digits_data()[0])
    ),
    "no labels": images,
    "labels of all scripts": lambda: images(of_labels(lambda label: LABELS[label]), title="\ud800 🙂"),
    "long names": lambda: images(of_labels(lambda label: str(label) * 10_000), title="word " * 2000),
    "a label per row": lambda: images(np.array([f"label {row}" for row in range(120)])),
    "missing labels": lambda: images(of_labels(lambda label: None if label == 3 else label)),
    "columns with gaps": lambda: images(
        digits_data()[1],
        colors={
            "some": np.where(digits_data()[1] > 5, np.nan, 1.5),
            "none": np.full(120, np.nan),
            "infinite": np.where(digits_data()[1] > 5, np.inf, digits_data()[1]),
            "": of_labels(lambda label: None if label > 7 else "x"),
        },
    ),
    "one column": lambda: table(random(60, 1)),
    "a thousand columns": lambda: table(random(40, 1000)),
    "large numbers": lambda: table(1e12 * (1 + random(60, 4))),
    "small numbers": lambda: table(1e-12 * random(60, 4)),
    "a constant column": lambda: table(np.hstack([random(60, 3), np.ones((60, 1))])),
    "one pixel": lambda: explore(
        KernelPCA(2, kernel="rbf", gamma=1.0).fit(random(50, 1)), random(50, 1), image_shape=(1, 1)
    ),
    "models of different sizes": lambda: images(
        digits_data()[1],
        model={"<b>": digits_model(), "x" * 5000: KernelPCA(1, kernel="rbf", gamma=0.2).fit(digits_data()[0])},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_tool_of_an_unexpected_page_works(open_page, case):
    watched = open_page(CASES[case](), width=400)
    store = "window.preimage.store"
    watched.page.evaluate(f"() => {store}.set({{ pointer: {{ across: 0.05, up: 0.05 }}, selected: 0 }})")
    for tool in ("Walk", "Components", "Denoise"):
        watched.open_tool(tool)
        watched.settle()
        assert watched.sideways() == 0
    # All labels hidden, the fewest components, the last model.
    watched.page.evaluate(
        f"""() => {{
          const names = window.preimage.samples.labels?.names ?? [];
          {store}.set({{ hidden: new Set([-1, ...names.keys()]), q: 1 }});
          {store}.set({{ model: window.preimage.models.length - 1 }});
          {store}.set({{ pointer: {{ across: -0.2, up: 0.3 }} }});
        }}"""
    )
    watched.settle()
    surface = watched.page.get_by_role("application", name="Map of the samples")
    surface.scroll_into_view_if_needed()
    surface.hover()
    watched.settle()
    assert watched.state("q") == 1


def test_rows_beyond_those_that_are_drawn_are_counted(open_page):
    X = random(20_000, 4)
    model = KernelPCA(3, kernel="rbf", gamma=0.2, landmarks=40, random_state=0).fit(X)
    watched = open_page(explore(model, X, X[:, 0] > 0, max_samples=500))
    text = watched.page.locator("header").inner_text()
    assert "500" in text and "20,000" in text
    assert watched.page.evaluate("() => window.preimage.samples.count") == 500
    watched.page.evaluate("() => window.preimage.store.set({ selected: 499 })")
    watched.settle()
    assert "that are drawn" in watched.panel("inspector").inner_text()
