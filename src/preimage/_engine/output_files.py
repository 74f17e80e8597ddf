"""Output files: they appear complete or not at all, and never in the place of an input."""

import os
import re
import secrets
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

# What file systems allow for the name of a file, in bytes.
LONGEST_NAME = 255
# How the name of an unfinished file begins. A longer token would leave less of long names of outputs.
_ASIDE = re.compile(r"\.[0-9a-f]{8}\.unfinished\.")
_ASIDE_BYTES = len(".01234567.unfinished.")


@contextmanager
def replacing(path: str | os.PathLike, folder: bool = False) -> Iterator[Path]:
    """An empty file next to `path` to write to: it takes that name when the block succeeds, and is removed if it fails.

    What was written is on the disk before it has the name, so that neither a killed process nor a power failure leaves
    half a file. A file that is replaced passes its permissions on. A link stays one: what it points to is replaced.
    Files that killed processes left next to `path` are removed when the block has succeeded.

    Parameters
    ----------
    path : str or Path
    folder : bool
        Whether `path` is a folder; the block is then given an empty folder, and an older one is replaced as a whole.

    Raises
    ------
    OSError
        If the file cannot be written, or `path` is a folder, a device, a pipe or read-only.
    """
    target = Path(os.path.realpath(path))
    with _errors_about(path):
        before = _status(path, target, folder)
        aside, lock = _create_aside(target, folder)
        try:
            if before is not None and not folder:
                os.chmod(aside, stat.S_IMODE(before.st_mode) | stat.S_IRUSR | stat.S_IWUSR)
            yield aside
            _flush_to_disk(aside)
            if before is not None and not folder:
                _pass_on_owner_and_mode(before, aside)
            _take_name(aside, target)
        finally:
            _release(lock)
            _remove(aside)
    _flush_folder(target.parent)
    remove_unfinished(target)


def fill_from(source: Path, aside: Path) -> None:
    """Give what `replacing` handed out the contents of another file, as another name for it where that is possible.

    Neither file may be changed in place afterwards.
    """
    aside.unlink()
    try:
        os.link(source, aside)
    except OSError:  # file systems without hard links
        shutil.copyfile(source, aside)


def remove(path: Path) -> None:
    """Remove a file or folder of ours, if it is there, and what killed processes left next to it."""
    _remove(path)
    remove_unfinished(path)


def remove_unfinished(target: Path) -> None:
    """Remove what processes that were killed left next to an output; what a living one writes is locked."""
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            start = _ASIDE.match(entry.name)
            if start is not None and entry.name[start.end() :] == _tail(target.name):
                lock = _lock(Path(entry.path), wait=False)
                if lock is not None:
                    _remove(Path(entry.path))
                    _release(lock)


def open_locked(path: Path) -> BinaryIO:
    """A file, created where there is none, open and locked by this process until it is closed.

    The lock ends with the process, however it ends, so that nothing needs to be removed by hand. Where there are no
    locks, the file is open and nothing else.

    Raises
    ------
    BlockingIOError
        If another process, or this one before, has the lock.
    """
    while True:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        try:
            _lock_now(file)
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                return file
        except FileNotFoundError:
            pass
        except BaseException:
            file.close()
            raise
        # Whoever had it ended between the two steps and removed it, or gave it another name: not to be touched.
        file.close()


def check_writable(path: Path, force: bool, folder_of: Collection[str] = ()) -> None:
    """Refuse, before any work is done, what could not or should not be written.

    Parameters
    ----------
    path : Path
        A file or, where `folder_of` is given, a folder.
    force : bool
        Whether an existing one may be replaced.
    folder_of : collection of str
        Suffixes of the files in the folder; one that holds others is not replaced.
    """
    target, folder = Path(os.path.realpath(path)), bool(folder_of)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"The folder {path.absolute().parent} does not exist. Create it first.")
    if _status(path, target, folder) is not None:
        if not force:
            raise FileExistsError(f"{path} exists. Choose another name, or add --force to replace it.")
        if folder and any(entry.suffix.lower() not in folder_of for entry in target.iterdir()):
            kinds = ", ".join(sorted(folder_of))
            raise FileExistsError(f"{path} holds other files than {kinds}; it is not replaced, even with --force.")
    _try_to_create(path, target)


def check_not_inputs(outputs: Iterable[Path], inputs: Iterable[Path | None], folder_of: Collection[str] = ()) -> None:
    """Refuse to write over what is read, also through links; None among the inputs are those not given.

    A folder that holds an input is not replaced. A folder that is one is read again some day, and gets no further file
    with a suffix in `folder_of`.
    """
    given = [path for path in inputs if path is not None]
    for output in outputs:
        for path in given:
            if _is_same(output, path) or (output.is_dir() and any(_is_same(output, above) for above in _above(path))):
                raise FileExistsError(
                    f"{output} is an input; it is not replaced, even with --force. Choose another name."
                )
            if output.suffix.lower() in folder_of and path.is_dir() and _is_same(path, _above(output)[0]):
                raise FileExistsError(f"{output} would be among the inputs in {path}. Choose another folder.")


def are_distinct(outputs: Iterable[Path]) -> bool:
    """Whether outputs have different names, also through links and where capitals make no difference."""
    # Whether they make one is the file system's affair, so that they make none here.
    names = [os.path.realpath(path).casefold() for path in outputs]
    return len(set(names)) == len(names)


def _status(path: str | os.PathLike, target: Path, folder: bool) -> os.stat_result | None:
    """What is in the place of an output at present; an error if it cannot be replaced."""
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode) != folder:
        kind = NotADirectoryError if folder else IsADirectoryError
        raise kind(f"{path} is a {'file' if folder else 'folder'}; choose another name.")
    if not folder and not stat.S_ISREG(status.st_mode):
        raise OSError(f"{path} is a device or a pipe. Output needs a file, which takes its name when it is complete.")
    if not os.access(target, os.W_OK):
        raise PermissionError(f"{path} is read-only; choose another name, or make it writable.")
    return status


def _try_to_create(path: Path, target: Path) -> None:
    """Create a file next to an output and remove it: whether that works, only the file system knows."""
    # As long as the longest name that runs give to files next to their output (`OUT.part.learning`).
    trial = target.with_name(f"{target.name}.{secrets.token_hex(4)}.trial")
    try:
        os.close(os.open(trial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:
        raise type(error)(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        _remove(trial)


def _create_aside(target: Path, folder: bool) -> tuple[Path, int | None]:
    """An empty file or folder next to `target`, and a lock on it while this process uses it."""
    while True:
        aside = _aside(target)
        if folder:
            os.mkdir(aside)
        else:
            os.close(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        lock = _lock(aside, wait=True)
        # Between the two steps another process may have taken the file for an abandoned one.
        if fcntl is None or aside.exists():
            return aside, lock
        _release(lock)


def _aside(target: Path) -> Path:
    return target.with_name(f".{secrets.token_hex(4)}.unfinished.{_tail(target.name)}")


def _tail(name: str) -> str:
    """The end of a name, which has the suffixes, short enough for something before it."""
    return os.fsdecode(os.fsencode(name)[_ASIDE_BYTES - LONGEST_NAME :])


def _lock(path: Path, wait: bool) -> int | None:
    """A file descriptor that holds a lock until it is closed; None where others hold it, or there are no locks."""
    if fcntl is None:
        return None
    descriptor = None
    try:
        descriptor = os.open(path, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # held by others; removed meanwhile; or a file system without locks
        _release(descriptor)
        return None
    return descriptor


def _lock_now(file: BinaryIO) -> None:
    """Lock an open file, or raise BlockingIOError; nothing where there are no locks."""
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # file systems without locks
        return


def _release(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)


def _flush_to_disk(path: Path) -> None:
    if path.is_dir():
        for entry in path.iterdir():
            _flush_to_disk(entry)
        _flush_folder(path)
        return
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush_folder(folder: Path) -> None:
    """Put the names of files on the disk; some systems cannot, and after a power failure show the old names."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _pass_on_owner_and_mode(before: os.stat_result, path: Path) -> None:
    if hasattr(os, "chown"):
        with suppress(PermissionError):  # only the superuser gives files away
            os.chown(path, before.st_uid, before.st_gid)
    os.chmod(path, stat.S_IMODE(before.st_mode))  # after the owner, as a change of which drops some bits


def _take_name(aside: Path, target: Path) -> None:
    if not (aside.is_dir() and target.exists()):
        os.replace(aside, target)
        return
    # A folder cannot take the name of another in one step: the old one steps aside, and comes back on failure.
    old = _aside(target)
    os.replace(target, old)
    try:
        os.replace(aside, target)
    except BaseException:
        os.replace(old, target)
        raise
    _remove(old)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them does not exist
        return False


def _above(path: Path) -> Sequence[Path]:
    """The folders around a path, the nearest first, wherever links lead."""
    return Path(os.path.realpath(path)).parents


@contextmanager
def _errors_about(path: str | os.PathLike) -> Iterator[None]:
    """Let errors of the system name the output, which users know, and not the file next to it."""
    try:
        yield
    except OSError as error:
        unnamed = error.filename is None and error.errno is not None
        if unnamed or (error.filename is not None and _ASIDE.search(os.fsdecode(error.filename))):
            error.filename = os.fspath(path)
        raise
