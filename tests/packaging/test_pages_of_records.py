"""The page on kernel machines says what its records say, and nothing was typed into it."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "results" / "kernel_machines.md"
SCRIPT = ROOT / "benchmarks" / "comparisons" / "kernel_machines.py"


@pytest.fixture
def script(monkeypatch):
    """The script, as it is run for the page."""
    monkeypatch.setattr(sys, "path", [str(SCRIPT.parent), *sys.path])
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--page", "--output", PAGE.relative_to(ROOT).as_posix()])
    import kernel_machines

    return kernel_machines


def test_page_on_kernel_machines_is_made_from_records(script):
    assert PAGE.read_text(encoding="utf-8") == "\n".join(script.page_lines()) + "\n"
