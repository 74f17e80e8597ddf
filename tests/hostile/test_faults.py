"""Whatever fails while a command writes: outputs are absent or complete, inputs unchanged; a second run succeeds."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from itertools import count

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("pyarrow", reason="tables need pyarrow")
pytest.importorskip("resource", reason="limits of processes need POSIX")

import resource

from typer.testing import CliRunner

import preimage
from preimage import KernelPCA
from preimage.cli import _app
from preimage.cli.runs import _partial
from preimage.cli.runs._partial import claimed
from preimage.cli.tables import _sources

X = np.random.default_rng(0).normal(size=(70, 3))
FIXED = ["--components", "2", "--gamma", "0.5", "--seed", "1"]
CHUNKS = ["--landmarks", "10", "--chunk-rows", "40"]
# Arguments after INPUT and OUTPUT, and the outputs; {} is the folder of the outputs.
COMMANDS = {
    "embed to NumPy": ["embed", "out.npy", *FIXED, *CHUNKS, "--save-model", "{}/model.safetensors"],
    "embed to CSV": ["embed", "out.csv", *FIXED, *CHUNKS],
    "embed to Parquet": ["embed", "out.parquet", *FIXED, *CHUNKS],
    "denoise in chunks": ["denoise", "out.npy", *FIXED, *CHUNKS, "--penalty", "0.1", "--no-plot"],
    "denoise in memory": ["denoise", "out.csv", *FIXED, "--landmarks", "none", "--penalty", "0.1", "--no-plot"],
}
IN_MEMORY = "denoise in memory"


@pytest.fixture(scope="module", autouse=True)
def _impatient_disk():
    """Calls are made and counted, and nobody waits for a disk that others use too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "in.npy"
    np.save(path, X)
    return path


def arguments(command, data, folder, force=False):
    name, output, *options = COMMANDS[command]
    options = [option.format(folder) for option in options]
    return [name, str(data), str(folder / output), *options, *(["--force"] if force else [])]


def run(command, data, folder, force=False):
    return CliRunner().invoke(_app.app, arguments(command, data, folder, force))


def outputs(folder):
    """Contents of all files by name, without what says how long a run took and where it was."""
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    if "out.json" in found:
        summary = json.loads(found["out.json"])
        found["out.json"] = {name: summary[name] for name in summary if name not in {"seconds", "output"}}
    return found


@pytest.fixture(scope="module")
def undisturbed(data, tmp_path_factory):
    """What each command makes when nothing happens."""
    made = {}
    for command in COMMANDS:
        folder = tmp_path_factory.mktemp("whole")
        result = run(command, data, folder)
        assert result.exit_code == 0, result.output
        made[command] = outputs(folder)
    return made


class Faults:
    """Counts calls of functions of `os`, and does something at the one of the given number."""

    def __init__(self, at, do):
        self.at, self.do, self.count = at, do, 0

    def wrapped(self, function, counts=lambda *_: True):
        def call(*arguments, **options):
            if counts(*arguments):
                self.count += 1
                if self.count == self.at:
                    self.do(*arguments)
            return function(*arguments, **options)

        return call

    @contextmanager
    def injected(self):
        with pytest.MonkeyPatch.context() as patch:
            for name in ("fsync", "replace", "link"):
                patch.setattr(os, name, self.wrapped(getattr(os, name)))
            creates = lambda path, flags, *_: bool(flags & os.O_CREAT)
            patch.setattr(os, "open", self.wrapped(os.open, creates))
            yield

    @property
    def happened(self):
        return self.count >= self.at


def fail(*arguments):
    raise OSError(errno.ENOSPC, "No space left on device")


def check_second_run(command, data, folder, expected):
    force = command == IN_MEMORY and any(folder.iterdir())  # such a run leaves nothing to continue
    result = run(command, data, folder, force)
    assert result.exit_code == 0, result.output
    assert outputs(folder) == expected


def check_nothing_is_half(folder, expected):
    for name, contents in outputs(folder).items():
        if name in expected:
            assert contents == expected[name]


@pytest.mark.parametrize("command", ["embed to NumPy", "embed to CSV", "denoise in chunks", "denoise in memory"])
def test_any_call_of_the_system_may_fail(command, data, undisturbed, tmp_path):
    expected, before = undisturbed[command], data.read_bytes()
    for number in count(1):
        folder = tmp_path / str(number)
        folder.mkdir()
        faults = Faults(number, fail)
        with faults.injected():
            result = run(command, data, folder)
        assert result.exit_code in (0, 3), (number, result.output)
        if result.exit_code == 3:
            assert "No space left on device" in result.output
            assert result.output.strip().splitlines()[-1].startswith("Error: "), result.output
            check_nothing_is_half(folder, expected)
            check_second_run(command, data, folder, expected)
        assert outputs(folder) == expected, number
        assert data.read_bytes() == before
        if not faults.happened:
            break


def test_a_process_may_be_killed_at_any_call_of_the_system(data, undisturbed, tmp_path):
    command = "denoise in chunks"
    expected = undisturbed[command]
    for number in count(1):
        folder = tmp_path / str(number)
        folder.mkdir()
        child = os.fork()
        if child == 0:  # dies without any cleaning up, as of kill -9
            with suppress(BaseException), Faults(number, lambda *_: os._exit(9)).injected():
                run(command, data, folder)
            os._exit(0)
        killed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        if killed:
            check_nothing_is_half(folder, expected)
            check_second_run(command, data, folder, expected)
        assert outputs(folder) == expected, number
        if not killed:
            break


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("size", [0, 100, 1000])
def test_a_full_disk(command, size, data, undisturbed, tmp_path):
    """No file may become larger than `size` bytes: real refusals of the system, in whatever library writes."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        result = run(command, data, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert result.exit_code == 3, result.output
    assert "File too large" in result.output or "written" in result.output, result.output
    assert not result.output.count("Traceback")
    check_nothing_is_half(tmp_path, undisturbed[command])
    check_second_run(command, data, tmp_path, undisturbed[command])


def test_models_on_a_full_disk(tmp_path):
    model, path = KernelPCA(2, gamma=0.5).fit(X), tmp_path / "model.safetensors"
    model.save(path)
    before = path.read_bytes()
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, old[1]))
    try:
        with pytest.raises(OSError, match=r"model\.safetensors"):
            KernelPCA(2, gamma=0.25).fit(X).save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1
    assert preimage.load(path).gamma == 0.5


@pytest.mark.parametrize("command", COMMANDS)
def test_two_runs_do_not_share_an_output(command, data, undisturbed, tmp_path):
    with claimed(tmp_path / COMMANDS[command][1]):
        result = run(command, data, tmp_path)
        assert result.exit_code == 3 and "Another run" in result.output
    assert not list(tmp_path.iterdir())
    check_second_run(command, data, tmp_path, undisturbed[command])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_lock_of_a_dead_process_is_none(command, data, undisturbed, tmp_path):
    (tmp_path / (COMMANDS[command][1] + ".part")).touch()
    result = run(command, data, tmp_path)
    assert result.exit_code == 0, result.output
    assert outputs(tmp_path) == undisturbed[command]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_vanishes(command, data, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    chunks = _sources.Source.chunks

    def vanish():
        for path in (tmp_path / "gone").glob("*"):
            path.unlink()
        with suppress(FileNotFoundError):
            (tmp_path / "gone").rmdir()

    monkeypatch.setattr(_sources.Source, "chunks", lambda *a, **k: (vanish(), chunks(*a, **k))[1])
    result = run(command, data, tmp_path / "gone")
    assert result.exit_code == 3 and "No such file or directory" in result.output, result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_an_input_that_changes_while_it_is_read(command, data, tmp_path, monkeypatch):
    """Same size and same time, as within the resolution of a coarse clock."""
    copy, folder = tmp_path / "in.npy", tmp_path / "out"
    folder.mkdir()
    copy.write_bytes(data.read_bytes())
    chunks = _sources.Source.chunks

    def change():
        status = copy.stat()
        np.save(copy, X[::-1])
        os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))

    monkeypatch.setattr(_sources.Source, "chunks", lambda *a, **k: (change(), chunks(*a, **k))[1])
    result = run(command, copy, folder)
    assert result.exit_code == 3 and "has changed while it was read" in result.output, result.output
    assert not list(folder.iterdir())


def test_an_input_that_changed_between_two_runs(data, tmp_path, monkeypatch):
    copy, append = tmp_path / "in.npy", _partial.PartialOutput.append
    copy.write_bytes(data.read_bytes())

    def interrupt(self, *arguments):
        append(self, *arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_partial.PartialOutput, "append", interrupt)
        assert run("embed to CSV", copy, tmp_path).exit_code == 130
    status = copy.stat()
    np.save(copy, X[::-1])
    os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
    result = run("embed to CSV", copy, tmp_path)
    assert result.exit_code == 3 and "has changed since" in result.output and "--no-resume" in result.output


def test_outputs_of_others_are_not_taken_for_those_of_an_interrupted_run(data, undisturbed, tmp_path):
    command, out = "embed to NumPy", tmp_path / "out.npy"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_partial.PartialOutput, "close", fail)  # everything is made, and nothing removed
        assert run(command, data, tmp_path).exit_code == 3
    assert out.read_bytes() == undisturbed[command]["out.npy"]
    (tmp_path / "precious").write_text("precious")
    os.replace(tmp_path / "precious", out)
    result = run(command, data, tmp_path)
    assert result.exit_code == 3 and "--force" in result.output
    assert out.read_text() == "precious"


def test_to_start_anew_does_not_empty_an_output_that_is_made(data, undisturbed, tmp_path):
    """The rows of a NumPy file and the output are two names of one file until the end of a run."""
    command, out = "embed to NumPy", tmp_path / "out.npy"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_partial.PartialOutput, "close", fail)
        assert run(command, data, tmp_path).exit_code == 3
        patch.setattr(_partial.PartialOutput, "begin", fail)
        again = CliRunner().invoke(_app.app, [*arguments(command, data, tmp_path), "--no-resume"])
    assert again.exit_code == 3
    assert out.read_bytes() == undisturbed[command]["out.npy"]


@pytest.mark.parametrize("command", ["embed to CSV", IN_MEMORY])
@pytest.mark.parametrize("link", ["symbolic", "hard"])
def test_outputs_that_are_links_to_the_input(command, link, data, tmp_path):
    out = tmp_path / COMMANDS[command][1]
    copy = tmp_path / "in.npy"
    copy.write_bytes(data.read_bytes())
    out.symlink_to(copy) if link == "symbolic" else os.link(copy, out)
    result = run(command, copy, tmp_path, force=True)
    assert result.exit_code == 3 and "is an input" in result.output
    assert copy.read_bytes() == data.read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_that_can_be_continued(number, data, undisturbed, tmp_path):
    command = "embed to NumPy"
    slow = (
        "import time; from preimage.cli import main; from preimage.cli.runs import _partial\n"
        "append = _partial.PartialOutput.append\n"
        "def slowly(self, *arguments):\n"
        "    append(self, *arguments); print('noted', flush=True); time.sleep(60)\n"
        "_partial.PartialOutput.append = slowly\n"
        "main()"
    )
    line = [sys.executable, "-c", slow, *arguments(command, data, tmp_path)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "noted\n"
        time.sleep(0.1)
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130 and said.strip().endswith("Interrupted; run the same command to continue.")
    result = run(command, data, tmp_path)
    assert result.exit_code == 0 and "Continuing after row 40 of 70" in result.output
    assert outputs(tmp_path) == undisturbed[command]


def test_a_figure_that_fails_leaves_a_run_that_can_be_continued(data, undisturbed, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="figures need matplotlib")
    from preimage.cli.commands import _denoise

    line = [option for option in arguments("denoise in chunks", data, tmp_path) if option != "--no-plot"]
    with monkeypatch.context() as patch:
        patch.setattr(_denoise, "_drawn", fail)
        result = CliRunner().invoke(_app.app, line)
    assert result.exit_code == 3 and "could not be drawn" in result.output and "--no-plot" in result.output
    assert (tmp_path / "out.npy").read_bytes() == undisturbed["denoise in chunks"]["out.npy"]
    assert CliRunner().invoke(_app.app, line).exit_code == 0
    assert sorted(outputs(tmp_path)) == ["out.json", "out.npy", "out.png"]
