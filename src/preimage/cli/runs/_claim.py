"""One run at a time on an output."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from preimage._engine.output_files import remove
from preimage.cli._errors import FileError

try:
    import fcntl
except ImportError:  # Windows has no such locks; users must not start two runs on one output there
    fcntl = None  # type: ignore[assignment]


def beside(output: Path, end: str = "") -> Path:
    """The name of a file that a run keeps next to its output."""
    return output.with_name(output.name + ".part" + end)


@contextmanager
def claimed(output: Path) -> Iterator[BinaryIO]:
    """``OUTPUT.part``, open and locked, for a run that keeps nothing else; an error if another run has it.

    The lock ends with the process, however it ends, so that nothing needs to be removed by hand. What an interrupted
    run left is not touched.
    """
    file = open_locked(output)
    try:
        yield file
    finally:
        if file.seek(0, os.SEEK_END) == 0 and not beside(output, ".json").exists():
            remove(beside(output))
        file.close()


def open_locked(output: Path) -> BinaryIO:
    """``OUTPUT.part``, created where there is none, locked by this process until it is closed."""
    part = beside(output)
    while True:
        file = os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        try:
            _lock(file, output)
            if _has_name(file, part):
                return file
        except BaseException:
            file.close()
            raise
        # The run that had it ended between the two steps and removed it, or made it its output: not to be touched.
        file.close()


def _lock(file: BinaryIO, output: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise FileError(f"Another run is writing {output} right now.") from error
    except OSError:  # file systems without locks
        return


def _has_name(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False
