"""`preimage doctor`: it says what is there, and never fails."""

import json
import sys
import time
from types import SimpleNamespace

import pytest

pytest.importorskip("typer", reason="the command line needs typer")

from typer.testing import CliRunner

import preimage
from preimage.cli import _app
from preimage.cli.runs import _doctor


def run(*options):
    result = CliRunner().invoke(_app.app, ["doctor", *options])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(autouse=True)
def _without_torch(monkeypatch):
    """Importing torch takes seconds, and belongs to its own test."""
    found = _doctor.importlib.util.find_spec
    absent = {"torch", "cupy"}
    monkeypatch.setattr(_doctor.importlib.util, "find_spec", lambda name: None if name in absent else found(name))


def test_the_same_facts_as_text_and_as_json():
    started = time.perf_counter()
    facts = json.loads(run("--json"))
    assert time.perf_counter() - started < 2
    assert facts["preimage"] == preimage.__version__
    assert facts["cores"]["threads_used_by_default"] >= 1
    assert 0 < facts["memory"]["default_max_memory_bytes"] <= facts["memory"]["free_bytes"]
    assert {"cli", "plot", "dask", "torch"} <= set(facts["extras"])
    assert not {"dev", "docs", "release", "test"} & set(facts["extras"])  # not for users
    text = run()
    for name in facts:
        assert f"\n{name}" in f"\n{text}"
    assert "torch: not installed" in text


def test_absent_and_old_packages_come_with_the_line_that_installs_them(monkeypatch):
    requirements = ["numpy>=2.0", "skops>=999; extra == 'persist'", "no-such-package>=1; extra == 'plot'"]
    monkeypatch.setattr(_doctor.importlib.metadata, "requires", lambda name: requirements)
    extras = _doctor.examined()["extras"]
    assert extras["plot"]["install"] == 'pip install "preimage[plot]"' and not extras["persist"]["complete"]
    text = run()
    assert 'pip install "preimage[plot]"' in text and "(needs >=999)" in text


@pytest.mark.parametrize(
    "broken", ["threadpool_info", "free_memory", "allowed_cores", "_requirements", "data_directory"]
)
def test_what_is_broken_is_said_and_hides_nothing_else(monkeypatch, broken):
    def fail(*_):
        raise RuntimeError("it is broken")

    monkeypatch.setattr(_doctor, broken, fail)
    assert "not known: RuntimeError: it is broken" in run() and "it is broken" in run("--json")


def test_a_broken_torch_is_named(monkeypatch):
    monkeypatch.setattr(_doctor.importlib.util, "find_spec", lambda name: object() if name == "torch" else None)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "torch: not known: ModuleNotFoundError" in run()


def test_a_folder_that_is_no_folder_is_named(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PREIMAGE_DATA", str(tmp_path / "file"))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "file" / "below"))
    text = run()
    assert "not a folder" in text and "NOT writable" in text


def test_devices_are_named_with_their_memory(monkeypatch):
    cuda = SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: 1,
        get_device_name=lambda number: "A fast device",
        mem_get_info=lambda number: (3 * 10**9, 8 * 10**9),
    )
    monkeypatch.setattr(_doctor.importlib.util, "find_spec", lambda name: object() if name == "torch" else None)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert "torch: A fast device, 3.0 of 8.0 GB free" in run()
