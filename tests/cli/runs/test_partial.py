"""Interrupted runs continue where they stopped, and end as if nothing had happened."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("pyarrow", reason="tables need pyarrow")

from typer.testing import CliRunner

from preimage.cli import _app
from preimage.cli.runs import _partial
from preimage.feature_space import KernelMoments

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
OPTIONS = {
    "embed": ["--components", "3", "--landmarks", "20", "--chunk-rows", "32"],
    "denoise": ["--components", "3", "--gamma", "median", "--penalty", "0", "--landmarks", "20", "--chunk-rows", "32"],
}
# Dies without a word before the chunk of the given number is noted.
DIE = """
import os, signal, sys
from preimage.cli import main
from preimage.cli.runs._partial import PartialOutput
note, count = PartialOutput._note, int(sys.argv.pop(1))
def counted(self, state):
    global count
    count -= 1
    if count < 0:
        self.file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    note(self, state)
PartialOutput._note = counted
main()
"""


def run(*arguments):
    return CliRunner().invoke(_app.app, list(map(str, arguments)))


def killed(notes, *arguments):
    command = [sys.executable, "-c", DIE, str(notes), *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert ended.returncode == -signal.SIGKILL, ended.stderr


@pytest.fixture
def data(tmp_path):
    np.save(tmp_path / "data.npy", X)
    return tmp_path / "data.npy"


@pytest.fixture
def interrupted(data, monkeypatch):
    """A run of embed that was interrupted after three chunks."""
    append, count = _partial.PartialOutput.append, iter(range(3))

    def some(self, *arguments):
        if next(count, None) is None:
            raise KeyboardInterrupt
        append(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(_partial.PartialOutput, "append", some)
        result = run("embed", data, data.with_name("out.npy"), *OPTIONS["embed"])
    assert result.exit_code == 130 and "run the same command to continue" in result.output
    return data.with_name("out.npy")


@pytest.mark.net
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")
@pytest.mark.parametrize(
    ("command", "suffix"), [("embed", ".npy"), ("embed", ".csv"), ("embed", ".parquet"), ("denoise", ".csv")]
)
def test_a_killed_run_continues_to_the_same_end(data, tmp_path, command, suffix):
    whole, out = tmp_path / f"whole{suffix}", tmp_path / f"out{suffix}"
    options = OPTIONS[command] + (["--no-plot"] if command == "denoise" else [])
    assert run(command, data, whole, *options).exit_code == 0
    killed(5, command, data, out, *options)
    assert not out.exists()
    assert json.loads(out.with_name(out.name + ".part.json").read_text())["rows"] == 3 * 32
    result = run(command, data, out, *options)
    assert result.exit_code == 0 and "Continuing after row 96 of 300" in result.output, result.output
    assert out.read_bytes() == whole.read_bytes()
    assert not list(tmp_path.glob("*.part*"))
    if command == "denoise":
        before, after = (json.loads(path.with_suffix(".json").read_text()) for path in (whole, out))
        different = {name for name in before if before[name] != after[name]}
        assert different <= {"output", "seconds"}


def test_what_was_learned_is_not_learned_again(data, tmp_path, monkeypatch):
    monkeypatch.setattr(_partial, "SECONDS_BETWEEN_NOTES", 0)
    batch, count, learned = KernelMoments.batch, iter(range(4)), []

    def interrupt(*arguments):
        if next(count, None) is None:
            raise KeyboardInterrupt
        return batch(*arguments)

    def counted(moments, rows):
        learned.append(len(rows))
        return batch(moments, rows)

    out, whole = tmp_path / "out.npy", tmp_path / "whole.npy"
    monkeypatch.setattr(KernelMoments, "batch", interrupt)
    result = run("embed", data, out, *OPTIONS["embed"])
    assert result.exit_code == 130 and "run the same command to continue" in result.output
    assert "components was 3, now 2" in run("embed", data, out, *OPTIONS["embed"], "--components", "2").output
    monkeypatch.setattr(KernelMoments, "batch", counted)
    assert run("embed", data, out, *OPTIONS["embed"]).exit_code == 0
    assert sum(learned) == 300 - 4 * 32
    assert run("embed", data, whole, *OPTIONS["embed"]).exit_code == 0
    assert out.read_bytes() == whole.read_bytes()
    assert not list(tmp_path.glob("*.part*"))


def test_an_interrupted_run_continues(interrupted, data):
    assert run("embed", data, interrupted, *OPTIONS["embed"]).exit_code == 0
    expected = interrupted.with_name("whole.npy")
    assert run("embed", data, expected, *OPTIONS["embed"]).exit_code == 0
    assert interrupted.read_bytes() == expected.read_bytes()


def test_rows_that_were_not_noted_are_written_again(interrupted, data):
    with open(interrupted.with_name("out.npy.part"), "ab") as file:
        file.write(b"half a row")
    assert run("embed", data, interrupted, *OPTIONS["embed"]).exit_code == 0
    assert np.load(interrupted).shape == (300, 3)
    assert interrupted.stat().st_size == 128 + 300 * 3 * 8


def test_other_parameters_do_not_continue(interrupted, data):
    other = [*OPTIONS["embed"], "--components", "2"]
    result = run("embed", data, interrupted, *other)
    assert result.exit_code == 3 and "components was 3, now 2" in result.output and "--no-resume" in result.output
    assert interrupted.with_name("out.npy.part.json").exists()
    assert run("embed", data, interrupted, *other, "--no-resume").exit_code == 0
    assert np.load(interrupted).shape == (300, 2)


def test_a_changed_input_does_not_continue(interrupted, data):
    np.save(data, X + 1)
    result = run("embed", data, interrupted, *OPTIONS["embed"])
    assert result.exit_code == 3 and "has changed since" in result.output
    assert run("embed", data, interrupted, *OPTIONS["embed"], "--no-resume").exit_code == 0


def test_damaged_remains_are_named(interrupted, data):
    part = interrupted.with_name("out.npy.part")
    rows = part.read_bytes()
    part.write_bytes(rows[:200])
    assert "cut off" in run("embed", data, interrupted, *OPTIONS["embed"]).output
    part.write_bytes(rows)
    interrupted.with_name("out.npy.part.json").write_text("{")
    assert "damaged" in run("embed", data, interrupted, *OPTIONS["embed"]).output
    interrupted.with_name("out.npy.part.json").unlink()
    assert "no note says" in run("embed", data, interrupted, *OPTIONS["embed"]).output
    assert part.read_bytes() == rows


def test_two_runs_do_not_share_an_output(interrupted, data):
    fcntl = pytest.importorskip("fcntl", reason="locks need POSIX")
    with open(interrupted.with_name("out.npy.part"), "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        result = run("embed", data, interrupted, *OPTIONS["embed"])
    assert result.exit_code == 3 and "Another run" in result.output
    assert run("embed", data, interrupted, *OPTIONS["embed"]).exit_code == 0


def test_an_interruption_before_the_model_leaves_nothing(data, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_partial.PartialOutput, "begin", interrupt)
    result = run("embed", data, tmp_path / "out.npy", *OPTIONS["embed"])
    assert result.exit_code == 130 and "nothing was written" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["data.npy"]


def test_an_existing_output_stays_until_the_end(interrupted, data):
    interrupted.write_text("precious")
    assert "--force" in run("embed", data, interrupted, *OPTIONS["embed"]).output
    assert interrupted.read_text() == "precious"
    assert run("embed", data, interrupted, *OPTIONS["embed"], "--force").exit_code == 0
    assert np.load(interrupted).shape == (300, 3)


def test_a_disk_that_is_full_is_an_error_that_can_be_continued(data, tmp_path, monkeypatch):
    append, count = _partial.PartialOutput.append, iter(range(2))

    def fill(self, *arguments):
        if next(count, None) is None:
            raise OSError(28, "No space left on device")
        append(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(_partial.PartialOutput, "append", fill)
        result = run("embed", data, tmp_path / "out.npy", *OPTIONS["embed"])
    assert result.exit_code == 3 and "No space left" in result.output
    assert "Continuing after row 64" in run("embed", data, tmp_path / "out.npy", *OPTIONS["embed"]).output
