"""Which paths are read: files and folders as they are, pipes through a copy with an end; nothing else."""

import atexit
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

from preimage.cli._errors import FileError

# How standard input is written on the command line.
STANDARD_INPUT = "-"
# Folders of open files, by number.
_DESCRIPTORS = (Path("/dev/fd"), Path("/proc/self/fd"))
# Bytes that a pipe may deliver: tables are read several times, so that all of it is kept in a file, and a program that
# writes without end must not fill the disk. Larger tables are given as files.
MOST_STREAMED = 2**32
BLOCK = 2**20
# First bytes of formats, for pipes whose name says nothing; all others are text.
_MAGIC = {
    b"\x93NUMPY": ".npy",
    b"PAR1": ".parquet",
    b"\x1f\x8b": ".csv.gz",
    b"\x28\xb5\x2f\xfd": ".csv.zst",
    b"BZh": ".csv.bz2",
}


def check_regular(path: Path) -> None:
    """Raise a `FileError` unless `path` is a file or a folder: pipes end once, devices never, and tables are reread."""
    if not path.exists():
        raise FileError(f"{path} does not exist.")
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise FileError(f"{path} is {_kind(mode)}, not a file.")


def with_end(path: Path) -> Path:
    """`path`, or a copy of what comes through it if it is a pipe or "-"; devices and sockets are refused.

    /dev/stdin and /dev/fd/N become the name of the file that they stand for, whose suffix says how to read it.

    The copy is removed when the program ends.

    Raises
    ------
    FileError
        If it is a device or a socket, or delivers more than `MOST_STREAMED` bytes.
    """
    if str(path) == STANDARD_INPUT:
        if sys.stdin is None:
            raise FileError(f"{path} is standard input, which is closed. Give the name of a file.")
        mode = os.fstat(sys.stdin.fileno()).st_mode
        if stat.S_ISCHR(mode):
            raise FileError(f"{path} is standard input, and nothing is piped into it. Give the name of a file.")
        return _copied(sys.stdin.buffer, "standard_input")
    if not path.exists():  # whoever reads it says so
        return path
    mode = path.stat().st_mode
    if stat.S_ISFIFO(mode):
        with open(path, "rb") as pipe:
            return _copied(pipe, path.name)
    check_regular(path)
    return _named(path) if _is_descriptor(path) and stat.S_ISREG(mode) else path


def _is_descriptor(path: Path) -> bool:
    """Whether a path stands for an open file, whose name and suffix it does not tell."""
    return path == Path("/dev/stdin") or path.parent in _DESCRIPTORS


def _named(path: Path) -> Path:
    """The file that a descriptor stands for, by its own name, or a copy if it has none any more."""
    named = path.resolve()
    if named.is_file() and named.samefile(path) and not _is_descriptor(named):
        return named
    with open(path, "rb") as file:
        return _copied(file, path.name)


def _copied(pipe: Any, name: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="preimage-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    first = pipe.read(BLOCK)
    if not Path(name).suffix:
        name += next((suffix for magic, suffix in _MAGIC.items() if first.startswith(magic)), ".csv")
    copy, size, block = folder / name, 0, first
    with open(copy, "wb") as file:
        while block:
            size += len(block)
            if size > MOST_STREAMED:
                shutil.rmtree(folder, ignore_errors=True)
                raise FileError(
                    f"More than {MOST_STREAMED // 2**20:,} MiB came through the pipe {name}, which is the most that is "
                    "kept of one. Write them to a file, and give its name."
                )
            file.write(block)
            block = pipe.read(BLOCK)
    return copy


def _kind(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"
