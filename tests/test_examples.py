"""Every gallery example runs from its first line to its last, without a warning of ours, and draws legible figures."""

import re
import runpy
import warnings
from pathlib import Path

import pytest
from for_each import for_each
from legible_figures import check_figure
from threadpoolctl import threadpool_limits

from preimage.exceptions import ConvergenceWarning, IndefiniteKernelWarning, RankWarning

plt = pytest.importorskip("matplotlib.pyplot", reason="examples draw with matplotlib")

FOLDER, DOCS = Path(__file__).parents[1] / "examples", Path(__file__).parents[1] / "docs"
EXAMPLES, PAGES = sorted(FOLDER.rglob("plot_*.py")), sorted(FOLDER.rglob("explore_*.py"))


@pytest.fixture(autouse=True)
def _without_a_screen():
    plt.switch_backend("Agg")
    with plt.style.context(DOCS / "figures.mplstyle"):
        yield
        plt.close("all")


@pytest.mark.net
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_draws(path, capsys):
    plt.close("all")  # those of other tests
    # One thread: matrices of examples are small, and threads that wait for each other are slow on a busy machine.
    with threadpool_limits(1), warnings.catch_warnings():
        for ours in (ConvergenceWarning, IndefiniteKernelWarning, RankWarning):
            warnings.simplefilter("error", ours)
        warnings.filterwarnings("ignore", message=".*non-interactive.*")  # plt.show() without a screen
        runpy.run_path(str(path), run_name="__main__")
    check_figures()


def check_figures():
    assert plt.get_fignums()
    for number in plt.get_fignums():
        check_figure(plt.figure(number))


@for_each("path", [*EXAMPLES, *PAGES], ids=lambda path: path.stem)
def test_pages_to_read_on_exist(path):
    pages = re.findall(r":doc:`/([\w/]+)`", path.read_text(encoding="utf-8"))
    assert pages, "an example says where to read on"
    assert all((DOCS / f"{page}.md").exists() for page in pages), pages


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_example_makes_a_page(path, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", [str(path), str(tmp_path / "page.html")])
    with threadpool_limits(1):
        runpy.run_path(str(path), run_name="__main__")
    assert 100_000 < (tmp_path / "page.html").stat().st_size < 4_000_000


def test_every_example_has_a_place_in_the_gallery():
    sections = runpy.run_path(str(DOCS / "_extensions" / "gallery_order.py"))["SECTIONS"]
    listed = {(section, name) for section, names in sections.items() for name in names.split()}
    assert listed == {(path.parent.name, path.stem.split("_", 1)[1]) for path in [*EXAMPLES, *PAGES]}
