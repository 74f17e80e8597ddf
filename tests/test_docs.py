"""Documentation that is true: its code runs, its links and labels exist, its map is the one that imports obey.

Pages are found by themselves: every Markdown file below docs/ that no build writes.
"""

import importlib.util
import os
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest
from for_each import for_each
from test_layers import LAYERS

import preimage

SOURCE = Path(preimage.__file__).parent
ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
LABEL = re.compile(r"\(([A-Z]\d+[a-z]?)\)")

sys.path.insert(0, str(DOCS / "_extensions"))
import running_code

PAGES = [DOCS / page for page in running_code.pages()]
READ_IN_THE_REPOSITORY = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
WITH_CODE = [page for page in PAGES if running_code.blocks(page.read_text(encoding="utf-8"))]
CODE = re.compile(r"^ *(`{3,}).*?^ *\1 *$", flags=re.MULTILINE | re.DOTALL)
EXAMPLES = {path.relative_to(ROOT / "examples").with_suffix("") for path in (ROOT / "examples").rglob("*_*.py")}


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def prose(page):
    """The text of a page without its blocks of code."""
    return CODE.sub(" ", page.read_text(encoding="utf-8"))


each_page = for_each("page", [*PAGES, *READ_IN_THE_REPOSITORY], ids=name_of)


@pytest.mark.net
@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_code_of_a_page_runs(page):
    text = page.read_text(encoding="utf-8")
    missing = running_code.missing_packages(text)
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed, which this page requires")
    if os.name == "nt" and any(block.language == "bash" for block in running_code.blocks(text)):
        pytest.skip("the page has commands for bash, which on Windows is that of another system")
    running_code.outputs(page)


README_BLOCKS = running_code.blocks((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.net
@pytest.mark.parametrize("block", README_BLOCKS, ids=lambda block: f"line {block.line}")
@pytest.mark.filterwarnings("ignore")
def test_code_of_the_readme_runs_as_it_stands(block, tmp_path, monkeypatch):
    """Each block alone, since readers copy one of them."""
    monkeypatch.chdir(tmp_path)
    exec(compile(block.code, "README.md", "exec"), {"__name__": "__main__"})


@each_page
def test_links_lead_somewhere(page):
    for path, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", prose(page)):
        if "://" in path or path.startswith("mailto:"):
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"the link to {path} leads nowhere"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{path} has no heading or label for #{anchor}"


def anchors(page):
    """Names of the headings of a page, as GitHub and MyST make them, and labels that it sets itself."""
    found = {}
    for heading in re.findall(r"^#{1,6} +(.*?) *$", prose(page), flags=re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower().replace(" ", "-")
        slug = re.sub(r"[^\w\-]", "", words)
        count = found[slug] = found.get(slug, -1) + 1
        if count:
            found[f"{slug}-{count}"] = 0
    labels = re.findall(r"^\(([\w-]+)\)=$", prose(page), flags=re.MULTILINE)
    return {*found, *labels, *re.findall(r"\{#([\w-]+)", prose(page))}


@each_page
def test_documents_that_roles_name_exist(page):
    for target in re.findall(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`", prose(page)):
        path = (DOCS / target.lstrip("/")) if target.startswith("/") else (page.parent / target).resolve()
        relative = path.relative_to(DOCS)
        if relative.parts[0] == "gallery":
            assert relative.name == "index" or relative.relative_to("gallery") in EXAMPLES, f"no example for {target}"
        elif relative.parts[0] != "api":  # a build writes those, and checks them
            assert path.with_suffix(".md").exists(), f"no page {target}"


def test_every_guide_has_a_card_and_a_place_in_the_navigation():
    index = DOCS / "guides" / "index.md"
    text = index.read_text(encoding="utf-8")
    guides = {page.stem for page in PAGES if page.parent == index.parent} - {"index"}
    assert set(re.findall(r"^:link: (\w+)$", text, flags=re.MULTILINE)) == guides
    # Entries are names of pages, or a text with the name in angle brackets.
    entries = "".join(re.findall(r"\{toctree\}\n(?::[^\n]*\n)*\n(.*?)```", text, flags=re.DOTALL)).splitlines()
    assert sorted(entry.rpartition("<")[2].rstrip(">") for entry in entries) == sorted(guides)


def defined_labels():
    """Those of the list of equations, where a label is followed by what it says."""
    text = (DOCS / "notation.md").read_text(encoding="utf-8").partition("## Equations")[2]
    return set(LABEL.findall(text))


@for_each("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_labels_that_code_cites_are_defined(path):
    text = path.read_text(encoding="utf-8")
    cited = set(LABEL.findall(text))
    # (R9)–(R11) cites what is between as well.
    for first, last in re.findall(r"\(([A-Z]\d+)\)\s*[–-]\s*\(([A-Z]\d+)\)", text):
        cited |= {f"{first[0]}{number}" for number in range(int(first[1:]), int(last[1:]) + 1)}
    assert cited <= defined_labels(), f"undefined in docs/notation.md: {sorted(cited - defined_labels())}"


def cited_names(text):
    """Dotted names of this library in quotes, as (module, name)."""
    return set(re.findall(r"`(preimage\.[a-z_]+)\.([A-Za-z]\w*)", text))


def test_names_that_texts_cite_exist():
    """In `__all__` where a module has public names; internal packages have none."""
    for path in [*SOURCE.rglob("*.py"), *PAGES, *READ_IN_THE_REPOSITORY]:
        for name_of_module, name in cited_names(path.read_text(encoding="utf-8")):
            if importlib.util.find_spec(name_of_module):
                module = import_module(name_of_module)
                known = getattr(module, "__all__", dir(module))
                assert name in known, f"{path.name} cites {name_of_module}.{name}, which is not there or not public"


@each_page
def test_files_that_pages_name_exist(page):
    for name in re.findall(r"`((?:\w+/)*\w+\.py)`", prose(page)):
        found = (SOURCE / name).exists() or (ROOT / name).exists() or list((ROOT / "benchmarks").rglob(name))
        assert found, f"{page.name} names {name}"


def test_the_map_of_layers_is_the_one_that_imports_obey():
    text = (DOCS / "design.md").read_text(encoding="utf-8")
    drawn = re.search(r"an import points down only:\n\n```(?:text)?\n(.*?)```", text, re.DOTALL)
    assert [set(line.split()) for line in drawn[1].splitlines()] == LAYERS
