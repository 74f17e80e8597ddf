"""One spelling and one meaning per option, and exit codes that say what kind of thing went wrong."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")

import typer
from typer.testing import CliRunner

from preimage.cli import _app, _console
from preimage.cli._app import arranged
from preimage.cli._errors import DataError, ExitCode, FileError, UsageError

X = np.random.default_rng(0).normal(size=(40, 3))
FAST = ["--components", "2", "--penalty", "0", "--no-plot"]


def run(*arguments, **options):
    return CliRunner().invoke(_app.app, [*map(str, arguments)], **options)


def commands():
    return typer.main.get_command(_app.app).commands


def options_of(command):
    return {name: option for option in command.params for name in option.opts if name.startswith("--")}


def test_options_of_one_name_are_alike_in_all_commands():
    """Where a command says more than others in the help of an option, its value is still written in the same way."""
    seen = {}
    for command in commands().values():
        for name, option in options_of(command).items():
            kind = (option.is_flag, (option.metavar or "").removeprefix("auto|"))
            assert seen.setdefault(name, kind) == kind, (command.name, name)


def test_every_command_takes_what_all_take():
    for command in commands().values():
        names = options_of(command)
        if any(path in names for path in ("--output-format", "--save-model")):
            assert {"--force", "--quiet", "--seed", "--output-format"} <= set(names), command.name


@pytest.fixture
def table(tmp_path):
    np.savetxt(tmp_path / "x.csv", X, delimiter=",", header="a,b,c", comments="")
    return tmp_path / "x.csv"


def parameters(path):
    return json.loads(path.with_suffix(".json").read_text())["parameters"]


def test_a_width_is_one_over_gamma(table, tmp_path):
    assert run("denoise", table, tmp_path / "one.csv", "--gamma", "0.25", *FAST).exit_code == 0
    assert run("denoise", table, tmp_path / "two.csv", "--width", "4", *FAST).exit_code == 0
    assert parameters(tmp_path / "one.csv") == parameters(tmp_path / "two.csv")
    both = run("denoise", table, tmp_path / "both.csv", "--width", "4", "--gamma", "0.25", *FAST)
    assert both.exit_code == ExitCode.WRONG_USE and "Give one of them" in both.output
    assert "--width" not in run("denoise", "--help").output


def test_auto_is_the_median_rule_of_embed(table, tmp_path):
    for name, gamma in [("auto", []), ("named", ["--gamma", "auto"]), ("median", ["--gamma", "median"])]:
        assert run("embed", table, tmp_path / f"{name}.npy", "--components", "2", *gamma).exit_code == 0
    auto, named, median = (np.load(tmp_path / f"{name}.npy") for name in ("auto", "named", "median"))
    np.testing.assert_array_equal(auto, median)
    np.testing.assert_array_equal(named, median)


def test_a_format_may_be_named_where_the_suffix_does_not(table, tmp_path):
    for command, options in [("denoise", ["--gamma", "median", *FAST]), ("embed", ["--components", "2"])]:
        output = tmp_path / f"{command}.dat"
        assert run(command, table, output, "--output-format", "npy", *options).exit_code == 0
        assert np.load(output).shape[0] == len(X)
        wrong = run(command, table, tmp_path / "wrong.npy", "--output-format", "doc", *options)
        assert wrong.exit_code == ExitCode.WRONG_USE and "npy" in wrong.output


def test_older_spellings_still_work(table, tmp_path):
    result = run("denoise", table, tmp_path / "out.csv", "--gamma", "median", *FAST[:-1], "--no-figure")
    assert result.exit_code == 0 and not (tmp_path / "out.png").exists()
    assert arranged(["compress", "--labels=y", "--", "--labels", "--debug"]) == [
        "compress",
        "--label=y",
        "--",
        "--labels",
        "--debug",
    ]


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (DataError("no rows"), 1, "Error: no rows"),
        (UsageError("two options"), 2, "Error: two options"),
        (FileError("no file"), 3, "Error: no file"),
        (PermissionError(13, "Permission denied", "x.csv"), 3, "Error: x.csv: Permission denied."),
        (KeyboardInterrupt(), 130, "Interrupted; nothing was written."),
        (BrokenPipeError(), 141, ""),
        (MemoryError(), 1, "not enough memory"),
        (RecursionError("maximum depth"), 1, "Error: RecursionError: maximum depth (Run again with --debug"),
        (ZeroDivisionError("two\nlines"), 1, "Error: ZeroDivisionError: two lines (Run again with --debug"),
        (AssertionError(), 1, "Error: AssertionError (Run again with --debug"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_every_error_is_one_line_and_has_its_exit_code(monkeypatch, table, tmp_path, error, code, text):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("preimage.cli.commands._embed.open_source", fail)
    result = run("embed", table, tmp_path / "out.npy")
    assert result.exit_code == code and text in result.output
    assert len(result.output.splitlines()) == (0 if code == 141 else 1) and "Traceback" not in result.output
    assert result.exit_code in set(ExitCode)
    if code != 141:
        for shown in (
            run("embed", table, tmp_path / "out.npy", "--debug"),
            run("--debug", "embed", table, tmp_path / "out.npy"),
            run("embed", table, tmp_path / "out.npy", env={"PREIMAGE_DEBUG": "1"}),
        ):
            assert shown.exit_code == code and "Traceback" in shown.output


def test_messages_of_the_library_are_not_called_defects(monkeypatch):
    def described(module):
        source = "def refuse():\n    raise ValueError('x is too small')\n"
        names = {"__name__": module}
        exec(source, names)
        try:
            names["refuse"]()
        except ValueError as error:
            return _console.described(error)[0]

    assert described("preimage.estimators._kernel_pca") == "Error: x is too small"
    assert described("sklearn.utils.validation") == "Error: x is too small"
    assert "please report it" in described("numpy.linalg")


def test_the_table_of_exit_codes_is_printed():
    shown = " ".join(run("--help").output.split())
    for code in ExitCode:
        assert f"{code.value} {code.meaning}" in shown


MAIN = "import sys; from preimage.cli import main; sys.argv = ['preimage', *sys.argv[1:]]; main()"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGPIPE to imitate")
def test_a_reader_that_has_gone_ends_a_command_quietly():
    command = [sys.executable, "-c", MAIN, "embed", "--help"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    child.stdout.close()
    assert child.stderr.read() == ""
    child.stderr.close()
    assert child.wait() == ExitCode.PIPE_CLOSED


@pytest.mark.net
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_odd_terminals_get_what_they_can_show():
    """A full disk, a terminal without Greek, and closed streams."""
    script = """
        "$@" --version > /dev/full; echo $?
        PYTHONIOENCODING=ascii:strict "$@" embed --help > /dev/null; echo $?
        "$@" --version >&- ; echo $?
    """
    done = subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, "-c", MAIN], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["3", "0", "0"] and done.stderr == "Error: No space left on device.\n"
