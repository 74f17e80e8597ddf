"""Zip archives (.npz, .xlsx, .skops) that are small, and would fill the memory when they are unpacked."""

import zipfile

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
