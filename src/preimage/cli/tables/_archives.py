"""Zip archives (.npz, .xlsx, .skops) that are small, and would fill the memory when they are unpacked."""

import math
import zipfile
from typing import Any

import numpy as np


def check_declared(file: Any, size: int) -> None:
    """Raise ValueError unless the array at the beginning of `file` fits into `size` bytes.

    NumPy asks for the memory of an array before it reads it.
    """
    version = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(file)
    if math.prod(shape) * dtype.itemsize > size:
        raise ValueError(f"an array of shape {shape} and type {dtype} does not fit into {size} bytes.")


# Archives may unpack to so many times their size: measurements become 20 times smaller at most, while an archive that
# is made to fill the memory unpacks to 1000 times its size.
MOST_TIMES = 20


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
