"""Benchmarks are too long for the suite; that they still fit the library can be read from them."""

import ast
import importlib
import inspect
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(path for folder in ("benchmarks", "examples") for path in (ROOT / folder).rglob("*.py"))
each_script = pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))


def imported(tree):
    """What a script imports from the library, by the name it has there; None for names that do not exist."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "preimage":
            module = importlib.import_module(node.module)
            found |= {alias.asname or alias.name: getattr(module, alias.name, None) for alias in node.names}
    return found


@each_script
def test_names_that_scripts_import_exist(path):
    missing = [name for name, value in imported(ast.parse(path.read_text())).items() if value is None]
    assert not missing


@each_script
def test_calls_of_scripts_pass_parameters_that_exist(path):
    tree = ast.parse(path.read_text())
    names = imported(tree)
    for call in ast.walk(tree):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and callable(names.get(call.func.id))):
            continue
        parameters = inspect.signature(names[call.func.id]).parameters
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            continue
        unknown = [keyword.arg for keyword in call.keywords if keyword.arg and keyword.arg not in parameters]
        assert not unknown, f"line {call.lineno}: {call.func.id} has no {unknown}"


def test_functions_that_are_timed_from_outside_exist():
    assert not runpy.run_path(str(ROOT / "benchmarks" / "speed" / "_phases.py"))["missing_functions"]()
