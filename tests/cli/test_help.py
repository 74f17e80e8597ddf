"""Help that helps: every command has examples that run, the manual is true, and help is quick."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("skops", reason="models are skops files")
pytest.importorskip("matplotlib", reason="figures need matplotlib")
pytest.importorskip("PIL", reason="pictures need pillow")
pytest.importorskip("onnx", reason="an example exports a model")

from folder_of_examples import make_files
from typer.main import get_command
from typer.testing import CliRunner

from preimage.cli import _app
from preimage.cli._errors import ExitCode
from preimage.cli._options import OLD_SPELLINGS
from preimage.cli.commands import _compress

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
MANUAL = (GUIDES / "command_line.md").read_text(encoding="utf-8")
OF_THE_MANUAL = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", MANUAL, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
    if line.startswith("preimage ")
]
OF_THE_HELP = [example for _, examples in _app.COMMANDS.values() for example in examples]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    make_files(folder)
    return folder


@pytest.mark.net
@pytest.mark.parametrize("line", list(dict.fromkeys([*OF_THE_HELP, *OF_THE_MANUAL])))
def test_examples_run(files, monkeypatch, line):
    monkeypatch.chdir(files)
    monkeypatch.setattr(_compress, "SECONDS", 0.0001)
    program, command, *words = shlex.split(line)
    assert program == "preimage"
    result = CliRunner().invoke(_app.app, [command, *words, "--force"])
    assert result.exit_code == 0, result.output


def test_the_doctor_says_where_it_has_gone():
    result = CliRunner().invoke(_app.app, ["doctor"])
    assert result.exit_code == 0 and "preimage.show_versions()" in result.stderr and "BLAS" in result.stdout
    assert "doctor" not in CliRunner().invoke(_app.app, ["--help"]).output


@pytest.mark.parametrize("command", _app.COMMANDS)
def test_every_command_shows_its_examples(command):
    shown = " ".join(CliRunner().invoke(_app.app, [command, "--help"], terminal_width=400).output.split())
    examples = _app.COMMANDS[command][1]
    assert examples and "Examples:" in shown
    assert all(example in shown for example in examples)
    assert all(example.startswith(f"preimage {command} ") or example == f"preimage {command}" for example in examples)


def test_the_manual_has_every_command_and_exit_code():
    for command in _app.COMMANDS:
        assert f"preimage {command} " in MANUAL or f"`preimage {command}`" in MANUAL
    for code in ExitCode:
        assert f"| {code.value} | {code.meaning} |" in MANUAL


def test_options_that_guides_name_exist():
    command = get_command(_app.app)
    options = [option for each in (command, *command.commands.values()) for option in each.params]
    known = {"--help", *OLD_SPELLINGS, *(name for each in options for name in (*each.opts, *each.secondary_opts))}
    call = re.compile(r"^preimage (?:.*\\\n)*.*$|`preimage [^`]*`", re.MULTILINE)
    pages = [page.read_text(encoding="utf-8") for page in GUIDES.glob("*.md")]
    texts = [MANUAL, *(each for page in pages for each in call.findall(page))]
    named = {option for text in texts for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)}
    assert len(named) > 30 and named <= known, sorted(named - known)


def test_completion_comes_with_typer():
    shown = CliRunner().invoke(_app.app, ["--help"]).output
    assert "--install-completion" in shown and "--show-completion" in shown


HEAVY = """
import sys
from preimage.cli import main
sys.argv = ["preimage", *sys.argv[1:]]
try:
    main()
finally:
    loaded = {"torch", "dask", "distributed", "cupy", "matplotlib", "nilearn", "onnx"} & set(sys.modules)
    print("loaded:", *sorted(loaded))
"""


def test_help_loads_nothing_heavy():
    done = subprocess.run([sys.executable, "-c", HEAVY, "embed", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "loaded:", done.stdout
