"""Documentation that is true: its code runs, its labels exist, its map is the one that imports obey."""

import importlib.util
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import SVC
from test_layers import LAYERS

import preimage

SOURCE = Path(preimage.__file__).parent
DOCS = Path(__file__).parents[1] / "docs"
LABEL = re.compile(r"\(([A-Z]\d+[a-z]?)\)")
# Pages whose code is a program of its own on any machine; those about clusters need one.
RUNNABLE = ["guide.md", "extending.md", "shipping.md", "../README.md"]
NOT_RUNNABLE = ["clusters.md"]


def names_of_the_reader(page):
    """What a page expects its reader to have: the README data and a machine, here few digits, for quick searches."""
    if page != "../README.md":
        return {}
    X, y = load_digits(return_X_y=True)
    X = X / 16
    noisy = X[:120] + np.random.default_rng(0).normal(scale=0.25, size=(120, 64))
    gaps = np.where(np.random.default_rng(1).uniform(size=(120, 64)) < 0.3, np.nan, X[:120])
    svc = SVC(gamma="scale").fit(X[:400], y[:400])
    data = {
        "X": X[:200],
        "X_new": X[200:250],
        "X_noisy": noisy,
        "X_with_gaps": gaps,
        "X_occluded": X[:20] * (X[:20] < 1),
    }
    return {**data, "X_train": X[:400], "svc": svc}


def code_blocks(page):
    return re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), flags=re.MULTILINE | re.DOTALL)


def test_every_page_with_code_is_looked_at():
    assert {page.name for page in DOCS.glob("*.md") if code_blocks(page.name)} == {*RUNNABLE, *NOT_RUNNABLE} - {
        "../README.md"
    }


@pytest.mark.parametrize("page", RUNNABLE)
@pytest.mark.filterwarnings("ignore")
def test_code_of_a_page_runs(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the README saves a model
    names = {"__name__": "__main__"} | names_of_the_reader(page)
    for block in code_blocks(page):
        exec(compile(block, page, "exec"), names)


@pytest.mark.parametrize("page", NOT_RUNNABLE)
def test_code_of_other_pages_is_python(page):
    for block in code_blocks(page):
        compile(block, page, "exec")


def defined_labels():
    """Those of the list of equations, where a label is followed by what it says."""
    text = (DOCS / "notation.md").read_text().partition("## Equations")[2]
    return set(LABEL.findall(text))


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_labels_that_code_cites_are_defined(path):
    cited = set(LABEL.findall(path.read_text()))
    # (R9)–(R11) cites what is between as well.
    for first, last in re.findall(r"\(([A-Z]\d+)\)\s*[–-]\s*\(([A-Z]\d+)\)", path.read_text()):
        cited |= {f"{first[0]}{number}" for number in range(int(first[1:]), int(last[1:]) + 1)}
    assert cited <= defined_labels(), f"undefined in docs/notation.md: {sorted(cited - defined_labels())}"


def cited_names(text):
    """Dotted names of this library in quotes, as (module, name)."""
    return set(re.findall(r"`(preimage\.[a-z_]+)\.([A-Za-z]\w*)", text))


def test_names_that_texts_cite_exist():
    """In `__all__` where a module has public names; internal packages have none."""
    for path in [*SOURCE.rglob("*.py"), *DOCS.glob("*.md"), DOCS.parent / "README.md"]:
        for name_of_module, name in cited_names(path.read_text(encoding="utf-8")):
            if importlib.util.find_spec(name_of_module):
                module = import_module(name_of_module)
                known = getattr(module, "__all__", dir(module))
                assert name in known, f"{path.name} cites {name_of_module}.{name}, which is not there or not public"


def test_files_that_pages_name_exist():
    for page in [*DOCS.glob("*.md"), DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"]:
        for name in re.findall(r"`((?:\w+/)*\w+\.py)`", page.read_text(encoding="utf-8")):
            assert (SOURCE / name).exists() or (DOCS.parent / name).exists(), f"{page.name} names {name}"


def test_the_map_of_layers_is_the_one_that_imports_obey():
    drawn = re.search(r"an import points down only:\n\n```\n(.*?)```", (DOCS / "design.md").read_text(), re.DOTALL)
    assert [set(line.split()) for line in drawn[1].splitlines()] == LAYERS


@pytest.mark.parametrize(
    "page", [*DOCS.glob("*.md"), *DOCS.glob("results/*.md"), DOCS.parent / "README.md"], ids=lambda page: page.name
)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", " ", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    assert not [link for link in links if "://" not in link and not (page.parent / link).exists()]
