"""Version, addresses and supported Pythons stand in several files; here they are compared."""

import re
from itertools import chain

import yaml
from _project import PROJECT, PYPROJECT, PYTHONS, ROOT, URLS

import preimage

CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
WITH_ADDRESSES = [
    *ROOT.glob("*.md"),
    *(ROOT / ".github").rglob("*.*"),
    *(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.relative_to(ROOT).parts),
    *(ROOT / "src").rglob("*.py"),
    ROOT / "pyproject.toml",
    ROOT / "docs" / "conf.py",
    ROOT / "CITATION.cff",
]


def test_versions_agree():
    assert CITATION["version"] == preimage.__version__
    first = re.search(r"^## \[?(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert first[1] == preimage.__version__, "the changelog begins with another version"


def test_addresses_agree():
    assert CITATION["repository-code"] == URLS["Source"] and CITATION["url"] == URLS["Documentation"]
    conf = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    assert f'repository_url = "{URLS["Source"]}"' in conf and f'html_baseurl = "{URLS["Documentation"]}"' in conf
    assert all(url.startswith(URLS["Source"]) for name, url in URLS.items() if name != "Documentation")


def test_no_other_address_of_ours_is_written():
    """A repository of another owner, or a site elsewhere, would be a slip of the pen."""
    owner, name = URLS["Source"].split("/")[-2:]
    ours = {f"github.com/{owner}/{name}", f"github.io/{name}", f"githubusercontent.com/{owner}/{name}"}
    pattern = re.compile(rf"github(?:usercontent)?\.(?:com|io)/(?:[\w.-]+/)?{name}\b")
    for path in WITH_ADDRESSES:
        others = set(pattern.findall(path.read_text(encoding="utf-8"))) - ours
        assert not others, f"{path.relative_to(ROOT)}: {others}"


def test_supported_pythons_agree():
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert PYTHONS[0] == lowest
    assert PYPROJECT["tool"]["ruff"]["target-version"] == "py" + lowest.replace(".", "")
    assert f"--python {lowest} " in (ROOT / "Makefile").read_text(encoding="utf-8")
    tests = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    assert tests["jobs"]["suite"]["strategy"]["matrix"]["python"] == PYTHONS
    assert tests["jobs"]["oldest"]["steps"][1]["with"]["python-version"] == lowest


def test_every_dependency_has_a_lowest_version():
    requirements = [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]
    assert not [each for each in requirements if not re.search(r">=|==", each) and not each.startswith("preimage[")]


def test_papers_that_are_cited_have_authors_and_years():
    for paper in CITATION["references"]:
        assert paper["title"] and paper["authors"] and paper["scope"] and 1990 < paper["year"] < 2100


def test_pre_commit_uses_the_linter_of_the_project():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    wanted = next(each for each in PROJECT["optional-dependencies"]["dev"] if each.startswith("ruff"))
    for hook in config["repos"][0]["hooks"]:
        assert hook["additional_dependencies"] == [wanted] or not hook["id"].startswith("ruff")
