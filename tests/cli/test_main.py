"""The entry point works without its optional dependencies, as far as to say what to install."""

import signal
import subprocess
import sys

import pytest

import preimage
from preimage.cli import main


def test_a_missing_typer_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "preimage.cli._app", raising=False)
    with pytest.raises(SystemExit, match=r'pip install "preimage\[cli\]"'):
        main()


class FailingImport:
    """Makes the import of the commands fail."""

    def __init__(self, error):
        self.error = error

    def find_spec(self, name, path=None, target=None):
        if name == "preimage.cli._app":
            raise self.error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), 130),
        (ImportError("libfoo.so: cannot open shared object file", name="scipy"), "Error: preimage cannot be loaded"),
        (MemoryError(), "Error: preimage cannot be loaded: MemoryError"),
    ],
)
def test_failures_while_loading_are_one_line(monkeypatch, error, code):
    monkeypatch.delitem(sys.modules, "preimage.cli._app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [FailingImport(error), *sys.meta_path])
    monkeypatch.setattr(sys, "argv", ["preimage", "embed"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert str(ended.value.code).startswith(str(code)) and "\n" not in str(ended.value.code)
    monkeypatch.setattr(sys, "argv", ["preimage", "embed", "--debug"])
    if not isinstance(error, KeyboardInterrupt):
        with pytest.raises(type(error)):
            main()


def test_a_polite_kill_is_an_interruption(monkeypatch):
    before = signal.getsignal(signal.SIGTERM)
    try:
        monkeypatch.setattr(sys, "argv", ["preimage", "--version"])
        with pytest.raises(SystemExit):
            main()
        assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_package_is_a_program():
    pytest.importorskip("typer", reason="the command line needs typer")
    run = subprocess.run([sys.executable, "-m", "preimage", "--version"], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.strip(), run.stderr) == (0, preimage.__version__, "")
