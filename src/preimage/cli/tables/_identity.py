"""Whether a file is still the one that was read."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from preimage.cli._errors import FileError

# Pieces of a file that are compared, and their bytes: all of it up to 16 MB, which takes some 20 ms. Of larger files
# pieces at equal distances: with ten times as many a run on a slow disk would begin and end with a pause.
PIECES, PIECE = 16, 2**20


def identity_of(path: Path) -> dict[str, Any]:
    """What tells a file from another one, or from itself after a change.

    Size and time do not tell a file that was changed in place within the resolution of its clock, which is two seconds
    on some file systems, or that was given its old time again; so contents are compared too.
    """
    status = path.stat()
    return {
        "path": str(path.resolve()),
        "size": status.st_size,
        "modified": status.st_mtime_ns,
        "contents": _digest(path, status.st_size) if path.is_file() else "",
    }


@contextmanager
def unchanged(paths: list[Path]) -> Iterator[None]:
    """Refuse files that change while the block reads them."""
    paths = [path for path in paths if path.exists()]  # what is missing has an error of its own
    before = [identity_of(path) for path in paths]
    yield
    for path, known in zip(paths, before, strict=True):
        if not path.exists() or identity_of(path) != known:
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
