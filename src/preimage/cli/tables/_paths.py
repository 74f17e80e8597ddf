"""Which paths are read and what their names say: formats, pipes, files that change, archives, optional readers."""

import atexit
import hashlib
import importlib
import math
import os
import shutil
import stat
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from preimage.cli._errors import FileError

FORMATS = (
    "CSV, TSV, TXT (.csv, .tsv, .txt, .dat, also with .gz or .zst), Excel (.xlsx), NumPy (.npy, .npz), "
    "Parquet (.parquet), NIfTI (.nii, .nii.gz), a folder of pictures (.png, .jpg, .tif) or a stack of them (.tif)"
)
# Formats with columns that have names and kinds of their own, and room for such when they are written.
TABLES = (".csv", ".parquet", ".xlsx")
# Text tables, whatever their delimiter.
TEXTS = (".csv", ".tsv", ".txt", ".tab", ".dat", ".data", ".asc")
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
SCANS = (".nii", ".nii.gz")
# Kinds of files that a folder of pictures holds.
PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")

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
# Pieces of a file that are compared, and their bytes: all of it up to 16 MB, which takes some 20 ms. Of larger files
# pieces at equal distances: with ten times as many a run on a slow disk would begin and end with a pause.
PIECES, PIECE = 16, 2**20
# Archives may unpack to so many times their size: measurements become 20 times smaller at most, while an archive that
# is made to fill the memory unpacks to 1000 times its size.
MOST_TIMES = 20


def need(module: str, what: str = "Tables") -> Any:
    """An optional module, or an error that says what to install; `what` needs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = {"PIL": "pillow"}.get(module.partition(".")[0], module.partition(".")[0])
        extra = "excel" if package == "openpyxl" else "cli"
        raise FileError(
            f'{what} need {package}, which is not installed. Type: pip install "preimage[{extra}]"'
        ) from error


def format_of(path: Path) -> str:
    """The kind of a file: ".csv" (any text), ".xlsx", ".npy", ".npz", ".parquet", ".nii", "picture" or "folder"."""
    suffix = inner_suffix(path)
    if path.name.lower().endswith(SCANS) and not path.is_dir():
        return ".nii"
    if path.is_dir() or not path.suffix:
        return "folder"
    if path.suffix.lower() in PICTURES:
        return "picture"
    if suffix in TEXTS:
        return ".csv"
    if suffix not in {".npy", ".npz", ".parquet", ".xlsx"} or suffix != path.suffix.lower():
        old = " Save it as .xlsx first." if suffix == ".xls" else ""
        raise FileError(f"{path} has the unknown format {path.suffix!r}.{old} Use {FORMATS}.")
    return suffix


def inner_suffix(path: Path) -> str:
    """The suffix of a file, without that of compression."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in COMPRESSIONS else suffix


def compression_of(path: Path) -> str | None:
    """gzip, zstd, bz2, or None, by the last suffix."""
    return COMPRESSIONS.get(path.suffix.lower())


def next_to(output: Path, end: str) -> Path:
    """A file next to an output: its name with `end` in place of its suffix, or both suffixes of a compressed file."""
    double = output.name.lower().endswith(SCANS[1]) or output.suffix.lower() in COMPRESSIONS
    return output.with_name((Path(output.stem).stem if double else output.stem) + end)


def check_regular(path: Path) -> None:
    """Raise a `FileError` unless `path` is a file or a folder: pipes end once, devices never, and tables are reread."""
    if not path.exists():
        raise FileError(f"{path} does not exist.")
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kind = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise FileError(f"{path} is {kind}, not a file.")


def with_end(path: Path) -> Path:
    """`path`, or a copy of what comes through it if it is a pipe or "-"; devices and sockets are refused.

    /dev/stdin and /dev/fd/N become the name of the file that they stand for, whose suffix says how to read it. The copy
    is removed when the program ends.
    """
    if str(path) == STANDARD_INPUT:
        if sys.stdin is None:
            raise FileError(f"{path} is standard input, which is closed. Give the name of a file.")
        if stat.S_ISCHR(os.fstat(sys.stdin.fileno()).st_mode):
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
    size, block = 0, pipe.read(BLOCK)
    if not Path(name).suffix:
        name += next((suffix for magic, suffix in _MAGIC.items() if block.startswith(magic)), ".csv")
    with open(folder / name, "wb") as file:
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
    return folder / name


def identity_of(path: Path) -> dict[str, Any]:
    """What tells a file from another one, or from itself after a change.

    Size and time do not tell a file that was changed in place within the resolution of its clock, which is two seconds
    on some file systems, or that was given its old time again; so contents are compared too.
    """
    status = path.stat()
    contents = _digest(path, status.st_size) if path.is_file() else ""
    return {
        "path": str(path.resolve()),
        "size": status.st_size,
        "modified": status.st_mtime_ns,
        "contents": contents,
    }


def check_unchanged(before: dict[str, Any]) -> None:
    """Refuse a file that is another one now than when `identity_of` was asked."""
    path = Path(before["path"])
    if not path.exists() or identity_of(path) != before:
        raise FileError(f"{path} has changed while it was read. Run the command again.")


def _digest(path: Path, size: int) -> str:
    pieces = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        if size <= PIECES * PIECE:
            pieces.update(file.read())
        else:
            for number in range(PIECES):
                file.seek(number * (size - PIECE) // (PIECES - 1))
                pieces.update(file.read(PIECE))
    return pieces.hexdigest()


def check_declared(file: Any, size: int) -> None:
    """Raise ValueError unless the array at the beginning of `file` fits into `size` bytes.

    NumPy asks for the memory of an array before it reads it.
    """
    version = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(file)
    if math.prod(shape) * dtype.itemsize > size:
        raise ValueError(f"an array of shape {shape} and type {dtype} does not fit into {size} bytes.")


def check_unpacked(archive: zipfile.ZipFile, size: int, most: int, advice: str) -> None:
    """Raise ValueError if an archive of `size` bytes unpacks to more than `most` bytes and `MOST_TIMES` its size.

    What the archive declares is enough to know: `zipfile` reads no more of a member than that.
    """
    unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > most + MOST_TIMES * size:
        raise ValueError(
            f"it has {size} bytes and unpacks to {unpacked}; at most {most // 2**20:,} MiB and {MOST_TIMES} times its "
            f"size are unpacked. {advice}"
        )
