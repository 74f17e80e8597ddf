"""Benchmarks are too long for the suite; that they still fit the library can be read from them."""

import ast
import importlib
import inspect
import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest
from for_each import for_each

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(path for folder in ("benchmarks", "examples") for path in (ROOT / folder).rglob("*.py"))
each_script = for_each("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))


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


# Those with a report.
REPORTING = [path for path in SCRIPTS if path.parent.name in ("papers", "comparisons") and path.name[0] != "_"]
PAGES = [*ROOT.glob("benchmarks/README.md"), *ROOT.glob("docs/develop/*.md"), *ROOT.glob("docs/results/*.md")]
COMMAND = re.compile(r"`?\bpython (benchmarks/\w+/\w+\.py)([^`\n]*)")


@pytest.fixture
def own_path(monkeypatch):
    """Whatever scripts put in front of the path is gone afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))


def help_of(path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(path), "--help"])
    sys.path.insert(0, str(path.parent))  # as Python does for a script that is run
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(path), run_name="__main__")
    assert not stopped.value.code
    return capsys.readouterr().out


# Without those that import torch, which takes long.
WITH_OPTIONS = [
    path for path in SCRIPTS if "option_parser(__doc__" in path.read_text() and not path.name.startswith("gpu_")
]


@pytest.mark.parametrize("path", WITH_OPTIONS, ids=lambda path: str(path.relative_to(ROOT / "benchmarks")))
def test_scripts_say_what_they_ask_and_pages_give_options_that_they_have(path, own_path, monkeypatch, capsys):
    text = help_of(path, monkeypatch, capsys)
    question = ast.get_docstring(ast.parse(path.read_text())).splitlines()[0]
    assert question.endswith("?") and question in text
    options = set(re.findall(r"--[a-zA-Z][\w-]*", text))
    for page in PAGES:
        for script, rest in COMMAND.findall(page.read_text(encoding="utf-8")):
            used = {word for word in shlex.split(rest.partition(",")[0]) if re.fullmatch(r"--[a-zA-Z][\w-]*", word)}
            if script == path.relative_to(ROOT).as_posix():
                assert used <= options, f"{page.name}: {path.name} has no {used - options}."


def test_the_list_of_benchmarks_has_every_script_of_the_papers():
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    scripts = {match[0] for match in COMMAND.findall(text)}
    assert scripts == {path.relative_to(ROOT).as_posix() for path in REPORTING}


def test_reports_are_printed_and_written(own_path, monkeypatch, capsys, tmp_path):
    sys.path.insert(0, str(ROOT / "benchmarks"))
    reports = importlib.import_module("_reports")
    monkeypatch.setattr(sys, "argv", [str(ROOT / "benchmarks" / "papers" / "ida.py"), "--jobs", "2", "a b"])
    lines = [*reports.origin_and_time("1 second"), *reports.table(["x", "y"], [["1", "2"]])]
    reports.publish(lines, tmp_path / "page.md")
    written = (tmp_path / "page.md").read_text()
    assert written == capsys.readouterr().out
    assert written.startswith("`python benchmarks/papers/ida.py --jobs 2 'a b'`\n\npreimage ")
    assert written.endswith("; 1 second.\n\n| x | y |\n| --- | --- |\n| 1 | 2 |\n")
    options = reports.option_parser("text", "jobs", "record", "output").parse_args(["--jobs", "3"])
    assert vars(options) == {"jobs": 3, "record": False, "output": None}
