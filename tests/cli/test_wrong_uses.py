"""Whatever a command is given, it ends in a result or in one line that says what to do, with the right exit code."""

import os
import warnings

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("skops", reason="models are skops files")

from sklearn.svm import SVC
from skops import io as skops
from typer.testing import CliRunner

from preimage.cli import _app
from preimage.cli._errors import ExitCode
from preimage.cli.commands import _compress

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
FIXED = ["--components", "2", "--gamma", "median", "--penalty", "0", "--no-plot"]

# Name of a run: the words around the file that is read, in a folder with `model.skops`.
RUNS = {
    "denoise": lambda path: ["denoise", path, "out.npy", *FIXED],
    "denoise in chunks": lambda path: ["denoise", path, "out.npy", *FIXED, "--landmarks", "8"],
    "denoise, all chosen": lambda path: ["denoise", path, "out.npy", "--no-plot"],
    "denoise by others": lambda path: ["denoise", "good.npy", "out.npy", *FIXED, "--fit", path],
    "impute": lambda path: ["impute", path, "out.npy"],
    "impute by others": lambda path: ["impute", "gaps.npy", "out.npy", "--fit", path],
    "embed": lambda path: ["embed", path, "out.npy", "--components", "2"],
    "embed exactly": lambda path: ["embed", path, "out.npy", "--components", "2", "--landmarks", "none"],
    "embed by a model": lambda path: ["embed", path, "out.npy", "--model", "model.safetensors"],
    "outliers": lambda path: ["outliers", path, "out.npy"],
    "explore": lambda path: ["explore", path, "out.html", "--components", "2"],
    "inflation": lambda path: ["inflation", path, "--components", "2", "--output", "out.json"],
    "compress": lambda path: ["compress", "model.skops", "out.skops", "--points", "5", "--data", path],
}


def text(content):
    return lambda path: path.write_bytes(content if isinstance(content, bytes) else content.encode())


def array(values):
    return lambda path: np.save(path, values)


def table(values):
    return lambda path: np.savetxt(path, values, delimiter=",", header="a,b,c", comments="", fmt="%.17g")


def with_value(value, place=(20, 1)):
    changed = X.copy()
    changed[place] = value
    return changed


# Name of a problem: a file name, what makes it, and the exit codes that are right.
DATA, FILE, ANSWER = ExitCode.NOT_POSSIBLE, ExitCode.FILE, ExitCode.DONE
PROBLEMS = {
    "missing file": ("none.csv", lambda path: None, {FILE}),
    "file in a missing folder": ("none/none.csv", lambda path: None, {FILE}),
    "empty folder": ("folder", lambda path: path.mkdir(), {FILE}),
    "folder with a suffix": ("folder.csv", lambda path: path.mkdir(), {FILE}),
    "unknown suffix": ("x.doc", text("a,b\n1,2\n"), {FILE}),
    "empty CSV": ("x.csv", text(""), {FILE, DATA}),
    "blank CSV": ("x.csv", text("\n\n\n"), {FILE, DATA}),
    "header alone": ("x.csv", text("a,b,c\n"), {FILE, DATA}),
    "empty NPY": ("x.npy", text(""), {FILE}),
    "empty Parquet": ("x.parquet", text(""), {FILE}),
    "empty NPZ": ("x.npz", text(""), {FILE}),
    "NPY of no rows": ("x.npy", array(np.empty((0, 3))), {DATA}),
    "NPY of no columns": ("x.npy", array(np.empty((3, 0))), {DATA}),
    "NPY of one number": ("x.npy", array(np.float64(3)), {DATA}),
    "NPY of objects": ("x.npy", array(np.array([{}, 1])), {FILE}),
    "NPY of words": ("x.npy", array(np.array([["a"], ["b"]])), {DATA, FILE}),
    "NPY of complex numbers": ("x.npy", array(X + 1j), {DATA, FILE}),
    "NPY cut off": ("x.npy", text(b"\x93NUMPY\x01\x00v\x00{'descr': '<f8'"), {FILE}),
    "words alone": ("x.csv", text("red\ngreen\nblue\nred\ngreen\nblue\nred\ngreen\nblue\n"), {DATA, FILE}),
    "a text": ("x.csv", text("Dear all,\nplease find the data below.\n\nKind regards\n"), {DATA, FILE}),
    "bytes": ("x.csv", text(bytes(range(256)) * 20), {DATA, FILE}),
    "a missing value": ("x.csv", table(with_value(np.nan)), {DATA}),
    "an infinite value": ("x.npy", array(with_value(np.inf)), {DATA}),
    "one row": ("x.npy", array(X[:1]), {DATA, ANSWER}),
    "two rows": ("x.npy", array(X[:2]), {DATA, ANSWER}),
    "equal rows": ("x.npy", array(np.ones((30, 3))), {DATA, ANSWER}),
    "a constant column": ("x.csv", table(with_value(2.0, (slice(None), 1))), {ANSWER}),
    "zeros": ("x.npy", array(np.zeros((30, 3))), {DATA, ANSWER}),
    "numbers of 1e200": ("x.npy", array(1e200 * X), {DATA, ANSWER}),
    "one number of 1e300": ("x.npy", array(with_value(1e300)), {DATA, ANSWER}),
    "numbers of 1e-200": ("x.npy", array(1e-200 * X), {DATA, ANSWER}),
    "whole numbers": ("x.npy", array(np.rint(5 * X).astype(int)), {ANSWER}),
    "truth values": ("x.npy", array(X > 0), {ANSWER, DATA}),
    "half precision": ("x.npy", array(X.astype(np.float16)), {ANSWER}),
    "big endian": ("x.npy", array(X.astype(">f8")), {ANSWER}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong")
    np.save(folder / "good.npy", X)
    np.save(folder / "gaps.npy", np.where(RNG.random(X.shape) < 0.1, np.nan, X))
    skops.dump(SVC(gamma=1).fit(X, X[:, 0] > 0), folder / "model.skops")
    done = CliRunner().invoke(
        _app.app,
        ["embed", str(folder / "good.npy"), str(folder / "o.npy"), "--save-model", str(folder / "model.safetensors")],
    )
    assert done.exit_code == 0, done.output
    os.unlink(folder / "o.npy")
    return folder


# Every problem in two commands, and these in every command; all of them together are a net.
EVERYWHERE = ("missing file", "header alone", "a missing value", "equal rows", "numbers of 1e200")
PAIRS = [
    pytest.param(problem, run, marks=[] if run in ("embed", "denoise") or problem in EVERYWHERE else pytest.mark.net)
    for problem in PROBLEMS
    for run in RUNS
]


@pytest.mark.parametrize(("problem", "run"), PAIRS)
def test_wrong_data_end_in_one_line(folder, tmp_path, monkeypatch, problem, run):
    name, make, codes = PROBLEMS[problem]
    for file in ("good.npy", "gaps.npy", "model.skops", "model.safetensors"):
        os.link(folder / file, tmp_path / file)
    make(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_compress, "SECONDS", 0.0001)
    before = sorted(tmp_path.rglob("*"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = CliRunner().invoke(_app.app, RUNS[run](name))
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    if problem == "a missing value" and run.startswith("impute"):
        codes = {ANSWER}
    assert result.exit_code in codes, (result.exit_code, result.output)
    assert "Traceback" not in result.output and not caught
    if result.exit_code:
        *understood, error = [line for line in lines if not line.startswith("  ")]  # what columns are
        assert error.startswith("Error: ") and len(error) < 600, result.output
        assert all(line.startswith((f"{name}: ", "gaps.npy: ")) for line in understood), result.output
        assert len(understood) <= 1, result.output
        assert "please report it" not in result.output, result.output
        assert sorted(tmp_path.rglob("*")) == before, "something was written"
    elif (tmp_path / "out.npy").exists():
        assert np.isfinite(np.load(tmp_path / "out.npy")).all()


@pytest.mark.parametrize("command", _app.COMMANDS)
@pytest.mark.parametrize(
    "option", [["--no-such-option"], ["--seed", "-1"], ["--seed", "one"], ["--output-format", "doc"]]
)
def test_wrong_options_end_with_2(folder, tmp_path, monkeypatch, command, option):
    monkeypatch.chdir(folder)
    arguments = {
        "denoise": ["good.npy", "out.npy"],
        "impute": ["gaps.npy", "out.npy"],
        "embed": ["good.npy", "out.npy"],
        "outliers": ["good.npy", "out.npy"],
        "explore": ["good.npy", "out.html"],
        "compress": ["model.skops", "out.skops", "--points", "5"],
        "inflation": ["good.npy", "--output", "out.json"],
    }[command]
    result = CliRunner().invoke(_app.app, [command, *arguments, *option])
    assert result.exit_code == ExitCode.WRONG_USE and "Traceback" not in result.output
    assert not list(folder.glob("out*"))


def test_no_command_and_no_arguments_are_wrong_uses():
    assert CliRunner().invoke(_app.app, []).exit_code == ExitCode.WRONG_USE
    assert "Did you mean 'embed'" in CliRunner().invoke(_app.app, ["embde"]).output
    for command in _app.COMMANDS:
        assert CliRunner().invoke(_app.app, [command]).exit_code == ExitCode.WRONG_USE
