"""The wheel has the whole package and nothing else; the source distribution builds it again, and runs its tests."""

import os
import subprocess
import sys
import tarfile
import zipfile

import pytest
from _project import ROOT, URLS

import preimage
from preimage.explorer._page import page_script, style_sheet

# A megabyte and a half: far from PyPI's limit of 100 MB, and a picture or a data set more would be noticed. Sources
# come with the records and pictures of the site, which tests read.
LARGEST, LARGEST_SOURCES = 1_500_000, 10_000_000
# What the wheel has as one script and one style sheet.
BUNDLED = ("preimage/explorer/assets/js/", "preimage/explorer/assets/css/", "preimage/explorer/assets/style.css")


def tracked_files(*folders):
    """Files of folders that are under version control."""
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("the list of files needs a git repository")
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}


def test_the_wheel_has_the_package_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {name for name in names if not name.startswith(f"preimage-{preimage.__version__}.dist-info/")}
    sources = {name.removeprefix("src/") for name in tracked_files("src/preimage")}
    bundled = {name for name in sources if name.startswith(BUNDLED)}
    assert bundled and sources - bundled <= package and not bundled & package
    suffixes = {".py", ".js", ".css", ".html", ".typed"}
    assert {name for name in package if os.path.splitext(name)[1] not in suffixes} <= {"preimage/py.typed"}
    assert not {name for name in package if not name.startswith("preimage/") or "__pycache__" in name}
    assert {"preimage/py.typed", "preimage/explorer/assets/page.html"} <= package


def test_pages_of_the_wheel_are_those_of_the_sources(wheel):
    archive = zipfile.ZipFile(wheel)
    for name, text in {"page.js": page_script(), "page.css": style_sheet()}.items():
        assert archive.read(f"preimage/explorer/assets/{name}").decode() == text


def test_an_installed_wheel_makes_the_same_page(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    program = (
        "import numpy as np, preimage; X = np.arange(40.0).reshape(10, 4) % 7; "
        "print(preimage.__file__); print(preimage.explore(preimage.KernelPCA(2).fit(X), X).to_html())"
    )
    run = lambda folder: subprocess.run(
        [sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": str(folder)}, capture_output=True, check=True
    ).stdout.split(b"\n", 1)
    (theirs, page), (_, expected) = run(tmp_path), run(ROOT / "src")
    assert theirs.decode().startswith(str(tmp_path)) and page == expected


def test_the_wheel_has_licence_and_commands(wheel):
    archive, info = zipfile.ZipFile(wheel), f"preimage-{preimage.__version__}.dist-info"
    assert archive.read(f"{info}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    assert "preimage = preimage.cli:main" in archive.read(f"{info}/entry_points.txt").decode()
    assert "Tag: py3-none-any" in archive.read(f"{info}/WHEEL").decode()


def test_the_source_distribution_has_sources_and_what_their_tests_read(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CITATION.cff",
        "PKG-INFO",
        "Makefile",
        "hatch_build.py",
    }
    assert wanted <= names
    assert tracked_files("src/preimage", "tests", "docs", "examples", "benchmarks") <= names
    # Neither what builds and runs leave behind, nor anything that is not under version control.
    assert not {name for name in names if "__pycache__" in name or "_build/" in name or name.startswith("demo/")}


@pytest.fixture(scope="module")
def tests_of_sdist(sdist, tmp_path_factory):
    """Runs pytest in an unpacked source distribution."""
    parent = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(parent, filter="data")
    (folder,) = parent.iterdir()
    # What is run once needs no messages about the values in its assertions.
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--assert=plain"]
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    return lambda *arguments: subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_tests_run_from_the_source_distribution(tests_of_sdist):
    """A test that reads pages, one that reads files of earlier versions, and one that reads the source."""
    some = ("tests/test_footnotes.py", "tests/persistence/test_file_of_earlier_versions.py", "tests/test_layers.py")
    run = tests_of_sdist(*some)
    assert run.returncode == 0, run.stdout[-2000:]


@pytest.mark.net
def test_all_tests_of_the_source_distribution_are_found(tests_of_sdist):
    collected = tests_of_sdist("--collect-only", "tests")
    assert collected.returncode == 0, collected.stdout[-2000:]


def test_distributions_are_small(sdist, wheel):
    assert wheel.stat().st_size < LARGEST and sdist.stat().st_size < LARGEST_SOURCES


def test_metadata_say_what_users_look_for(metadata):
    assert metadata["Name"] == "preimage" and metadata["Version"] == preimage.__version__
    assert metadata["License-Expression"] == "BSD-3-Clause" and metadata["Requires-Python"] == ">=3.11"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert len(metadata["Summary"]) <= 512  # PyPI's limit
    assert dict(entry.split(", ") for entry in metadata.get_all("Project-URL")) == URLS


def test_pypi_would_accept_the_distributions(sdist, wheel):
    check = pytest.importorskip("twine.commands.check", reason="the check of PyPI needs twine")
    assert check.check([str(sdist), str(wheel)], strict=True) is False  # False: nothing failed
