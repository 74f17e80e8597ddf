"""What a fit on a cluster should cost: tasks, bytes that travel, and seconds, from a few constants.

Every worker has one thread, and does its part of the arithmetic at the speed that so many processes leave each other.
The client and the scheduler are one process, which has a millisecond of work for each task and its own algebra; nothing
else runs meanwhile where the next pass needs its result. Workers send and receive at the same time.
"""

from dataclasses import dataclass
from math import ceil, log2

from preimage._engine.dask import pair_blocks

# Seconds of the scheduler and the client for a task, as Dask's documentation has it; and bytes per second of a link:
# ten gigabits, which workers of one machine reach through its memory as well.
TASK, LINK = 1e-3, 1e9
# Tasks of a landmark fit for each chunk: rows are counted, sampled, summed, and sums are added.
TASKS_OF_A_CHUNK = 4


@dataclass(frozen=True)
class Cost:
    """Tasks, bytes between workers, and seconds: of a worker, of the client, and of what travels.

    Attributes
    ----------
    tasks : float
    megabytes : float
        Of all workers together.
    working, serial, sending : float
    """

    tasks: float
    megabytes: float
    working: float
    serial: float
    sending: float

    @property
    def seconds(self):
        return self.working + self.serial + self.sending

    def __str__(self):
        return (
            f"{self.seconds:.3g} s ({self.working:.3g} working, {self.serial:.2g} of the client, {self.sending:.2g} "
            f"sending), {self.tasks:.0f} tasks, {self.megabytes:.0f} MB"
        )


def landmark_cost(seconds, workers, *, chunks, landmarks, client, speed=1.0):
    """Of kernel PCA on landmarks, which one process fits in so many seconds.

    One matrix of m × m numbers per chunk, added in a tree: those of neighbouring chunks are on the same worker as long
    as it has several. The client chooses landmarks and solves a problem of their size.
    """
    tasks, matrix = TASKS_OF_A_CHUNK * chunks, 8 * landmarks**2
    sums = min(chunks, workers) - 1
    levels = ceil(log2(workers)) if workers > 1 else 0
    work = max(seconds - client, 0.0) / (workers * speed) * _rounds(chunks, workers)
    return Cost(tasks, sums * matrix / 1e6, work, client + TASK * tasks, levels * matrix / LINK)


def exact_cost(seconds, workers, *, n, columns, width, passes, chunks, client, speed=1.0):
    """Of exact kernel PCA by products with blocks of so many columns.

    Each pass sends b copies of V to the workers and as many of partial products to those that add them, b blocks of
    rows; the client gets the product. The rows themselves are sent to each worker once.
    """
    b = pair_blocks(n, workers)
    pairs = b * (b + 1) / 2
    tasks = passes * (pairs + b) + b + chunks
    block = 8 * width * n / b
    others = 1 - 1 / workers  # what is not on the worker already
    megabytes = (passes * 2 * b * b * block * others + 8 * n * columns * min(workers, b) * others) / 1e6
    work = max(seconds - client, 0.0) / (workers * speed) * _rounds(b * b / 2, workers)
    serial = client + TASK * tasks + passes * 2 * 8 * n * width / LINK  # V goes out, and the product comes back
    return Cost(tasks, megabytes, work, serial, megabytes * 1e6 / workers / LINK)


def _rounds(pieces, workers):
    """How much longer the last of so many workers works than all on average."""
    return ceil(pieces / workers) * workers / pieces
