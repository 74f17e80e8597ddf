"""The entry point works without its optional dependencies, as far as to say what to install."""

import sys

import pytest

from preimage.cli import main


def test_a_missing_typer_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "preimage.cli._app", raising=False)
    with pytest.raises(SystemExit, match=r'pip install "preimage\[cli\]"'):
        main()
