"""The wheel has the whole package and nothing else; the source distribution builds it again."""

import os
import subprocess
import tarfile
import zipfile

import pytest
from _project import ROOT, URLS

import preimage

# A megabyte and a half: far from PyPI's limit of 100 MB, and a picture or a data set more would be noticed.
LARGEST = 1_500_000


def tracked_files():
    """Files of the package that are under version control, as a wheel names them."""
    listed = subprocess.run(["git", "ls-files", "-z", "src/preimage"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("the list of files needs a git repository")
    return {name.removeprefix("src/") for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}


def test_the_wheel_has_the_package_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {name for name in names if not name.startswith(f"preimage-{preimage.__version__}.dist-info/")}
    assert tracked_files() <= package
    suffixes = {".py", ".js", ".css", ".html", ".typed"}
    assert {name for name in package if os.path.splitext(name)[1] not in suffixes} <= {"preimage/py.typed"}
    assert not {name for name in package if not name.startswith("preimage/") or "__pycache__" in name}
    assert {"preimage/py.typed", "preimage/explorer/assets/page.html"} <= package


def test_the_wheel_has_licence_and_commands(wheel):
    archive, info = zipfile.ZipFile(wheel), f"preimage-{preimage.__version__}.dist-info"
    assert archive.read(f"{info}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    assert "preimage = preimage.cli:main" in archive.read(f"{info}/entry_points.txt").decode()
    assert "Tag: py3-none-any" in archive.read(f"{info}/WHEEL").decode()


def test_the_source_distribution_has_sources_and_no_tests(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    outside = {name for name in names if not name.startswith("src/preimage/")}
    wanted = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "PKG-INFO"}
    assert wanted <= outside <= {*wanted, ".gitignore"}


def test_distributions_are_small(sdist, wheel):
    assert sdist.stat().st_size < LARGEST and wheel.stat().st_size < LARGEST


def test_metadata_say_what_users_look_for(metadata):
    assert metadata["Name"] == "preimage" and metadata["Version"] == preimage.__version__
    assert metadata["License-Expression"] == "BSD-3-Clause" and metadata["Requires-Python"] == ">=3.11"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert len(metadata["Summary"]) <= 512  # PyPI's limit
    assert dict(entry.split(", ") for entry in metadata.get_all("Project-URL")) == URLS


def test_pypi_would_accept_the_distributions(sdist, wheel):
    check = pytest.importorskip("twine.commands.check", reason="the check of PyPI needs twine")
    assert check.check([str(sdist), str(wheel)], strict=True) is False  # False: nothing failed
