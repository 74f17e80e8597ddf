"""The ready pages of the examples, in a browser: pictures at the pointer, a walk, a narrow window."""

import runpy
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "explore").glob("explore_*.py"))


def shown(watched, part):
    """Drawings inside a part and, where rows are bars of a table, their values."""
    return watched.drawn(part), part.locator(".table-value, .comparison-value").all_inner_texts()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_a_ready_page_answers_to_the_pointer(open_page, example, tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    monkeypatch.setattr("sys.argv", [str(example), str(path)])
    with threadpool_limits(1):
        runpy.run_path(str(example), run_name="__main__")
    watched = open_page(path.read_text(encoding="utf-8"))
    inspector, box = watched.panel("inspector"), watched.panel("map").locator("canvas").first.bounding_box()
    # Short tables have the numbers of the pre-image in a column.
    preimage, seen = inspector.locator('[data-figure="pre-image"], td[data-of="pre-image"]'), []
    for across in (0.3, 0.7):
        watched.page.mouse.move(box["x"] + across * box["width"], box["y"] + 0.5 * box["height"])
        watched.settle()
        seen.append([shown(watched, part) for part in preimage.all()])
    assert seen[0] != seen[1], "the pre-image does not follow the pointer"
    watched.page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    watched.settle()
    assert "rank" in inspector.inner_text()
    walk = watched.open_tool("Walk")
    watched.settle()
    before = shown(watched, walk)
    walk.get_by_role("button", name="Swap").click()
    watched.settle()
    assert shown(watched, walk) != before
    watched.page.set_viewport_size({"width": 400, "height": 800})
    watched.settle()
    assert watched.sideways() <= 0


def test_examples_of_pages_are_found():
    assert len(EXAMPLES) == 7
