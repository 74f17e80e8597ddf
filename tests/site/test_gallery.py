"""The gallery: code that fits its block, and thumbnails that are parts of figures."""

import runpy
import tomllib
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path for path in (ROOT / "examples").rglob("*_*.py") if path.stem.startswith(("plot_", "explore_")))
COLUMNS = tomllib.loads((ROOT / "examples" / "ruff.toml").read_text(encoding="utf-8"))["line-length"]


def code_lines(text):
    """Lines that stand in blocks of code: no docstring in front, and no prose, which begins with a line of "# %%"."""
    is_prose = False
    for line in text.split('"""', 2)[2].splitlines():
        is_prose = line.startswith("# %%") or (is_prose and line.startswith("#"))
        if not is_prose and not line.startswith("# sphinx_gallery"):
            yield line


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_code_fits_its_block(path):
    assert not [line for line in code_lines(path.read_text(encoding="utf-8")) if len(line) > COLUMNS]


def pages():
    pytest.importorskip("sphinx", reason="the gallery is made with Sphinx")
    return runpy.run_path(str(ROOT / "docs" / "_extensions" / "gallery_pages.py"))


def test_the_thumbnail_of_every_example_is_a_part_of_its_figure():
    parts = tomllib.loads((ROOT / "docs" / "thumbnails.toml").read_text(encoding="utf-8"))
    assert set(parts) == {path.stem for path in EXAMPLES}
    for left, top, right, bottom in parts.values():
        assert 0 <= left < right <= 1 and 0 <= top < bottom <= 1


def test_a_thumbnail_shows_its_part_undistorted_on_white(tmp_path):
    figure = Image.new("RGB", (400, 200), "blue")
    figure.paste(Image.new("RGB", (100, 100), "red"), (200, 100))
    figure.save(tmp_path / "figure.png")
    shown = pages()["thumbnail"](tmp_path / "figure.png", [0.5, 0.5, 0.75, 1.0], (400, 280))
    assert shown.size == (400, 280)
    assert shown.getpixel((200, 140)) == (255, 0, 0) and shown.getpixel((30, 140)) == (255, 255, 255)
    red = [x for x in range(400) if shown.getpixel((x, 140)) == (255, 0, 0)]
    assert len(red) == 280
