"""`preimage.show_versions`: it says what is there, and never fails."""

import pytest

import preimage
from preimage._engine import show_versions as _show_versions


def test_facts_are_lines(capsys):
    preimage.show_versions()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [
        "preimage", "python", "system", "packages", "BLAS", "threads", "memory",
    ]  # fmt: skip
    assert "numpy" in lines[3] and "not known" not in "".join(lines)


def test_absent_packages_come_with_the_line_that_installs_them(monkeypatch, capsys):
    requirements = ["numpy>=2.0", "no-such-package>=1; extra == 'plot'", "pytest; extra == 'test'"]
    monkeypatch.setattr(_show_versions.importlib.metadata, "requires", lambda name: requirements)
    preimage.show_versions()
    text = capsys.readouterr().out
    assert 'no-such-package ABSENT (needs >=1: pip install "preimage[plot]")' in text and "pytest" not in text


@pytest.mark.parametrize("broken", ["threadpool_info", "free_memory", "allowed_cores", "_packages"])
def test_what_is_broken_is_said_and_hides_nothing_else(monkeypatch, capsys, broken):
    def fail(*_):
        raise RuntimeError("it is broken")

    monkeypatch.setattr(_show_versions, broken, fail)
    preimage.show_versions()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7 and sum("not known: RuntimeError: it is broken" in line for line in lines) == 1
