"""Distributions of the working tree, built once for each process of the tests and without a network."""

import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes

import pytest
from _project import ROOT


def build(source, target, kind):
    """The only file that the build backend leaves in `target`."""
    pytest.importorskip("hatchling", reason="distributions need hatchling to be built")
    pytest.importorskip("hatch_fancy_pypi_readme", reason="the README for PyPI needs hatch-fancy-pypi-readme")
    command = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", str(target)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = target.iterdir()
    return built


@pytest.fixture(scope="session")
def sdist(tmp_path_factory):
    """The path of the source distribution."""
    return build(ROOT, tmp_path_factory.mktemp("sdist"), "sdist")


@pytest.fixture(scope="session")
def wheel(sdist, tmp_path_factory):
    """The path of a wheel that is built from the source distribution alone, as PyPI's users would."""
    source = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(source, filter="data")
    (folder,) = source.iterdir()
    return build(folder, tmp_path_factory.mktemp("wheel"), "wheel")


@pytest.fixture(scope="session")
def metadata(wheel):
    """The METADATA file of the wheel, as a message with headers; its payload is the long description."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))
