"""Outputs appear complete or not at all, in the place of nothing that is needed."""

import errno
import os
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from for_each import for_each

import preimage
from preimage._engine import output_files as _output_files
from preimage._engine.output_files import are_distinct, check_not_inputs, check_writable, open_locked, replacing

ROOT = Path(preimage.__file__).parent
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other links, modes and locks")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def write(path, text="new"):
    with replacing(path) as aside:
        aside.write_text(text)


def test_a_file_has_its_name_only_when_it_is_complete(tmp_path):
    with replacing(tmp_path / "out.csv") as aside:
        aside.write_text("new")
        assert aside.suffix == ".csv" and aside.parent == tmp_path
        assert not (tmp_path / "out.csv").exists()
    assert (tmp_path / "out.csv").read_text() == "new"
    assert names(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, error):
    (tmp_path / "out.csv").write_text("old")

    def fail():
        with replacing(tmp_path / "out.csv") as aside:
            aside.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert names(tmp_path) == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "old"


@pytest.mark.parametrize("before", [None, "old"])
def test_a_folder_is_replaced_as_a_whole(tmp_path, before):
    folder = tmp_path / "pictures"
    if before is not None:
        folder.mkdir()
        (folder / "old.png").touch()
    with pytest.raises(FileNotFoundError), replacing(folder, folder=True) as aside:
        (aside / "missing" / "half.png").touch()
    assert names(tmp_path) == ([] if before is None else ["pictures"])
    with replacing(folder, folder=True) as aside:
        (aside / "new.png").touch()
    assert names(folder) == ["new.png"] and names(tmp_path) == ["pictures"]


def test_an_old_folder_comes_back_if_the_new_one_cannot_take_its_name(tmp_path, monkeypatch):
    folder, calls = tmp_path / "pictures", iter(range(1))
    folder.mkdir()
    (folder / "old.png").touch()
    replace = os.replace

    def fail_at_the_second(source, target):
        if Path(target) == folder and next(calls, None) is not None:
            raise OSError(errno.EIO, "Input/output error", str(source))
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_at_the_second)
    with pytest.raises(OSError), replacing(folder, folder=True) as aside:
        (aside / "new.png").touch()
    assert names(folder) == ["old.png"] and names(tmp_path) == ["pictures"]


@POSIX
def test_what_is_replaced_passes_its_mode_on_and_new_files_have_the_usual_one(tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("old")
    out.chmod(0o640)
    write(out)
    assert stat.S_IMODE(out.stat().st_mode) == 0o640
    (tmp_path / "usual").touch()
    write(tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


@POSIX
def test_a_secret_file_is_secret_from_the_first_byte(tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("old")
    out.chmod(0o600)
    with replacing(out) as aside:
        assert stat.S_IMODE(aside.stat().st_mode) == 0o600


@POSIX
def test_a_link_stays_one_and_what_it_points_to_is_replaced(tmp_path):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "target.csv", tmp_path / "out.csv"
    link.symlink_to(target)
    write(link, "first")  # the target does not exist yet
    write(link, "second")
    assert link.is_symlink() and target.read_text() == "second"
    assert names(tmp_path / "far") == ["target.csv"]


@POSIX
def test_other_names_of_a_replaced_file_keep_the_old_contents(tmp_path):
    (tmp_path / "precious").write_text("old")
    os.link(tmp_path / "precious", tmp_path / "out.csv")
    write(tmp_path / "out.csv")
    assert (tmp_path / "precious").read_text() == "old"


@POSIX
def test_a_loop_of_links_is_an_error(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(OSError):
        write(tmp_path / "a")
    assert names(tmp_path) == ["a", "b"]


@POSIX
def test_devices_and_pipes_are_refused_and_stay(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in filter(Path.exists, (tmp_path / "pipe", Path("/dev/null"), Path("/dev/full"))):  # the last: on Linux
        kind = stat.S_IFMT(path.stat().st_mode)
        with pytest.raises(OSError, match="device or a pipe"):
            write(path)
        with pytest.raises(OSError, match="device or a pipe"):
            check_writable(path, force=True)
        assert stat.S_IFMT(path.stat().st_mode) == kind


def test_names_as_long_as_the_file_system_allows(tmp_path):
    out = tmp_path / ("é" * 120 + "x" * 11 + ".csv")
    assert len(os.fsencode(out.name)) == 255
    write(out)
    assert names(tmp_path) == [out.name]
    with pytest.raises(OSError, match="cannot be written"):  # runs write files next to it with longer names
        check_writable(out, force=True)


def test_a_file_in_the_place_of_a_folder_and_the_reverse(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="choose another name"), replacing(tmp_path / "folder"):
        pass
    with pytest.raises(NotADirectoryError, match="choose another name"), replacing(tmp_path / "file", folder=True):
        pass
    with pytest.raises(IsADirectoryError):
        check_writable(tmp_path / "folder", force=True)
    assert names(tmp_path) == ["file", "folder"]


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_folder_in_which_nothing_can_be_created(tmp_path, monkeypatch, number):
    """A test that runs as the superuser may write everywhere, so that the refusal of the system is simulated."""
    real = os.open

    def refuse(path, flags, *arguments, **options):
        if flags & os.O_CREAT:
            raise OSError(number, os.strerror(number), str(path))
        return real(path, flags, *arguments, **options)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(OSError, match=f"out.csv cannot be written: {os.strerror(number)}"):
        check_writable(tmp_path / "out.csv", force=False)
    with pytest.raises(OSError, match=rf"{os.strerror(number)}: '.*out\.csv'") as caught:
        write(tmp_path / "out.csv")
    assert caught.value.errno == number and "unfinished" not in str(caught.value)
    assert names(tmp_path) == []


@POSIX
def test_a_read_only_file_is_not_replaced(tmp_path, monkeypatch):
    (tmp_path / "out.csv").write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="read-only"):
        write(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "old"


@pytest.mark.net
@POSIX
def test_what_killed_processes_left_is_removed_and_what_living_ones_write_is_not(tmp_path):
    die = (
        "import os, signal, sys; from preimage._engine.output_files import replacing\n"
        "with replacing(sys.argv[1]) as aside:\n"
        "    aside.write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", die, tmp_path / "out.csv"], check=False)
    assert len(names(tmp_path)) == 1 and not (tmp_path / "out.csv").exists()
    with replacing(tmp_path / "out.csv") as mine:
        mine.write_text("mine")
        write(tmp_path / "out.csv", "other")
        assert names(tmp_path) == sorted([mine.name, "out.csv"])
        write(tmp_path / "another.csv")
    assert names(tmp_path) == ["another.csv", "out.csv"]
    assert (tmp_path / "out.csv").read_text() == "mine"


def test_many_threads_may_write_one_file(tmp_path):
    texts = [letter * 10_000 for letter in "abcdefgh"]
    threads = [threading.Thread(target=write, args=(tmp_path / "out.csv", text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "out.csv").read_text() in texts
    assert names(tmp_path) == ["out.csv"]


@POSIX
def test_inputs_are_found_through_links(tmp_path):
    given = tmp_path / "in.csv"
    given.write_text("precious")
    (tmp_path / "soft.csv").symlink_to(given)
    os.link(given, tmp_path / "hard.csv")
    (tmp_path / "folder").symlink_to(tmp_path)
    for output in (given, tmp_path / "soft.csv", tmp_path / "hard.csv", tmp_path / "folder" / "in.csv"):
        with pytest.raises(FileExistsError, match="is an input"):
            check_not_inputs([tmp_path / "new.csv", output], [None, given])
    check_not_inputs([tmp_path / "new.csv"], [None, given, tmp_path / "missing.csv"])


def test_folders_of_inputs_are_neither_replaced_nor_added_to(tmp_path):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    (pictures / "0.png").touch()
    for outputs, inputs in [
        ([pictures], [pictures / "0.png"]),
        ([tmp_path], [pictures]),
        ([pictures / "figure.png"], [pictures]),
    ]:
        with pytest.raises(FileExistsError, match="input"):
            check_not_inputs(outputs, inputs, [".png"])
    check_not_inputs([pictures / "summary.json", pictures / "clean", tmp_path / "figure.png"], [pictures], [".png"])


def test_outputs_need_names_that_differ_in_more_than_capitals(tmp_path):
    assert are_distinct([tmp_path / "a.png", tmp_path / "b.png"])
    for other in (tmp_path / "a.png", tmp_path / "A.PNG", tmp_path / "x" / ".." / "a.png"):
        assert not are_distinct([tmp_path / "a.png", other])


# Files that write to paths or open files which `replacing` gave to their caller; one holds a lock besides, and the last
# writes into a folder that it removes.
GIVEN_A_PATH = {"cli/tables/_files.py", "cli/runs/_partial.py", "cli/commands/_inflation.py"}


@for_each("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_files_take_their_names_in_one_place(path):
    """Elsewhere nothing is renamed, and what is written goes to a path that `replacing` gave."""
    name = str(path.relative_to(ROOT))
    if path == Path(_output_files.__file__):
        return
    text = path.read_text()
    assert not re.search(r"\bos\.(replace|rename|link)\(|mkstemp|NamedTemporaryFile", text)
    writes = re.search(r"""\bopen\([^)]*["'][rb]*[wax]|\.write_(text|bytes)\(|\.savefig\(|\.to_filename\(""", text)
    assert (
        not writes or re.search(r"replacing\(|making\(", text) or name in GIVEN_A_PATH or name.startswith("cli/tables/")
    )


@POSIX
def test_a_locked_file_is_opened_once_at_a_time_and_keeps_its_contents(tmp_path):
    path = tmp_path / "out.part"
    with open_locked(path) as first:
        first.write(b"rows")
        first.flush()
        with pytest.raises(BlockingIOError):
            open_locked(path)
        assert path.read_bytes() == b"rows"
    with open_locked(path) as again:
        assert again.read() == b"rows"


@POSIX
def test_a_file_that_was_removed_before_it_was_locked_is_made_anew(tmp_path, monkeypatch):
    path, lock_now, removed = tmp_path / "out.part", _output_files._lock_now, []

    def lock(file):
        lock_now(file)
        if not removed:  # as by a run that ends between the two steps
            removed.append(file)
            path.unlink()

    monkeypatch.setattr(_output_files, "_lock_now", lock)
    with open_locked(path) as file:
        assert removed[0].closed and os.path.samestat(os.fstat(file.fileno()), os.stat(path))


def test_systems_without_locks_open_files(tmp_path, monkeypatch):
    monkeypatch.setattr(_output_files, "fcntl", None)
    with open_locked(tmp_path / "a.part"), open_locked(tmp_path / "a.part"):
        assert names(tmp_path) == ["a.part"]
