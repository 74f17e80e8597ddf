"""An output that is written row by row and survives interruptions."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from preimage._output_files import fill_from, remove, replacing
from preimage._progress import stage
from preimage._typing import Array
from preimage.cli._console import DataError, FileError, one_line
from preimage.cli.tables._optional import need
from preimage.cli.tables._sources import Source
from preimage.persistence._file import read, write

try:
    import fcntl
except ImportError:  # Windows has no such locks; users must not start two runs on one output there
    fcntl = None  # type: ignore[assignment]

# Seconds between notes of what is learned, each of which holds squares of the number of landmarks: writing them takes
# a small part of the time, and no more than this is lost in an interruption.
SECONDS_BETWEEN_NOTES = 10
# Rows that are converted to CSV or Parquet together, and that make a row group of a Parquet file.
EXPORT_ROWS = 2**15

# Takes a chunk, the totals so far and ``advance(rows)``, which it calls along the way; returns rows and new totals.
Step: TypeAlias = Callable[[Array, dict[str, Any], Callable[[int], None]], tuple[Array, dict[str, Any]]]


class PartialOutput:
    """Rows of an output as far as they are computed, in a few files next to it.

    ``OUTPUT.part`` is a NumPy file whatever the format of the output: it can be cut off after the last complete chunk
    and continued, which a Parquet file cannot. ``OUTPUT.part.model`` is the model, ``OUTPUT.part.json`` says how many
    rows are there and what they were computed from. Before there is a model, ``OUTPUT.part.learning`` holds what was
    learned so far.

    Parameters
    ----------
    output : Path
    inputs : dict
        What the result depends on: files and parameters, in JSON's types.
    file : binary file
        ``OUTPUT.part``, open and locked.
    state : dict or None
        What was in ``OUTPUT.part.json``.
    """

    def __init__(self, output: Path, inputs: dict[str, Any], file: BinaryIO, state: dict[str, Any] | None) -> None:
        self.output = output
        self.inputs = inputs
        self.file = file
        self.state = state
        self.noted_at = time.monotonic()

    @property
    def is_begun(self) -> bool:
        """Whether there is a model, and rows can follow."""
        return self.state is not None and "n_rows" in self.state

    @property
    def rows(self) -> int:
        """Number of rows that are there."""
        return self._begun["rows"]

    @property
    def n_rows(self) -> int:
        """Number of rows that there will be."""
        return self._begun["n_rows"]

    @property
    def dtype(self) -> str:
        return self._begun["dtype"]

    @property
    def totals(self) -> dict[str, Any]:
        """Numbers about the rows so far."""
        return self._begun["totals"]

    def note_learning(self, value: Any) -> None:
        """Keep what was learned so far, if the last note is old enough."""
        if time.monotonic() < self.noted_at + SECONDS_BETWEEN_NOTES:
            return
        write(value, _beside(self.output, ".learning"))
        self.state = {"inputs": self.inputs, "bytes": 0}
        self._note()
        self.noted_at = time.monotonic()

    def learned(self) -> Any:
        """What the last note has; None without one, or if it is damaged: learning then starts again."""
        try:
            return read(_beside(self.output, ".learning"))
        except (OSError, ValueError):
            return None

    def model(self) -> Any:
        """What `begin` was given."""
        try:
            return read(_beside(self.output, ".model"))
        except (OSError, ValueError) as error:
            raise FileError(f"{one_line(error).rstrip('.')}. Start anew with --no-resume.") from error

    def begin(
        self,
        model: Any,
        n_rows: int,
        row_shape: tuple[int, ...],
        dtype: Any,
        totals: dict[str, Any] | None = None,
    ) -> None:
        """Keep the model, and expect `n_rows` rows of the given shape."""
        write(model, _beside(self.output, ".model"))
        self.file.truncate(0)
        self.file.seek(0)
        header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": (n_rows, *row_shape)}
        np.lib.format.write_array_header_1_0(self.file, header)
        self.state = {
            "inputs": self.inputs,
            "n_rows": n_rows,
            "rows": 0,
            "bytes": self.file.tell(),
            "dtype": np.dtype(dtype).str,
            "totals": totals or {},
        }
        self._note()
        _beside(self.output, ".learning").unlink(missing_ok=True)

    def append(self, values: Array, totals: dict[str, Any] | None = None) -> None:
        """Add rows, and the numbers about all rows so far; both are there afterwards, or neither is."""
        state = self._begun
        self.file.seek(state["bytes"])
        self.file.write(np.ascontiguousarray(values, dtype=state["dtype"]).tobytes())
        rows = self.rows + len(values)
        self.state = {**state, "rows": rows, "bytes": self.file.tell(), "totals": totals or self.totals}
        self._note()

    def first(self, count: int) -> Array:
        """The first `count` rows, of those that are there."""
        return np.array(np.lib.format.open_memmap(_beside(self.output), mode="r")[: min(count, self.rows)])

    def finish(self, kind: str, names: list[str] | None) -> None:
        """Turn the rows into the output, which takes its name at once, and remove the files next to it."""
        if self.rows != self.n_rows:
            raise FileError(f"{self.n_rows} rows were expected and {self.rows} came: the input has changed. Run again.")
        self.file.truncate(self._begun["bytes"])
        self.file.close()
        _export(_beside(self.output), self.output, kind, names)
        _discard(self.output)

    @property
    def _begun(self) -> dict[str, Any]:
        assert self.state is not None and "n_rows" in self.state
        return self.state

    def _note(self) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())  # the rows first, then the note that they are there
        note = _beside(self.output, ".json")
        with replacing(note) as aside:
            aside.write_text(json.dumps(self.state), encoding="utf-8")


@contextmanager
def partial_output(output: Path, inputs: dict[str, Any], resume: bool) -> Iterator[PartialOutput]:
    """A `PartialOutput`: what an interrupted run with the same inputs left, or an empty one.

    Without `resume` the remains of earlier runs are removed. A run that fails for its data before it has a model, or
    before anything worth keeping is learned, leaves nothing.
    """
    part, partial = _beside(output), None
    existed = part.exists()
    try:
        with open(part, "r+b" if existed else "w+b") as file:
            _lock(file, output)
            if not (resume and existed):  # a note without rows: the run was killed between its last two steps
                _discard(output, but_part=True)
            partial = PartialOutput(output, inputs, file, _checked_state(output, inputs, file) if resume else None)
            yield partial
    except (FileError, DataError):
        if partial is not None and not partial.is_begun:
            partial.state = None  # the same data would fail again
        raise
    finally:
        if not existed if partial is None else partial.state is None:
            _discard(output)


def write_rows(
    source: Source,
    partial: PartialOutput,
    chunk_rows: int,
    step: Step,
    name: str,
    tell: Callable[[str], None],
) -> None:
    """Append the rows of ``step`` for every chunk that is not there yet."""
    if partial.rows:
        tell(f"Continuing after row {partial.rows:,} of {partial.n_rows:,}.")
    with stage(name, partial.n_rows, partial.rows) as advance:
        for chunk in source.chunks(chunk_rows, partial.rows):
            if partial.rows + len(chunk) > partial.n_rows:
                raise DataError(f"{source.path} has more rows than before: it has changed. Run the command again.")
            partial.append(*step(chunk.astype(partial.dtype, copy=False), partial.totals, advance))
    if source.identity() != partial.inputs["input"]:
        raise DataError(f"{source.path} has changed while it was read. Start anew with --no-resume.")


def remains(output: Path) -> str:
    """What an interrupted run left, in words for the user."""
    is_resumable = _beside(output).exists() and _beside(output, ".json").exists()
    return "run the same command to continue." if is_resumable else "nothing was written."


def _checked_state(output: Path, inputs: dict[str, Any], file: BinaryIO) -> dict[str, Any] | None:
    """What an earlier run noted, if it fits; None when there was none."""
    part, note = _beside(output), _beside(output, ".json")
    size = file.seek(0, os.SEEK_END)
    if not note.exists():
        if size:
            raise FileError(f"{part} exists, and no note says what it holds. Move it, or add --no-resume.")
        return None
    try:
        state = json.loads(note.read_text(encoding="utf-8"))
        before, expected = state["inputs"], state["bytes"]
        changed = [name for name in {**before, **inputs} if before.get(name) != inputs.get(name)]
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{note} is damaged. Start anew with --no-resume.") from error
    if changed:
        raise FileError(
            f"{part} was left by an interrupted run that differs: "
            f"{'; '.join(_difference(name, before.get(name), inputs.get(name)) for name in changed)}. "
            "Repeat that command to continue it, or start anew with --no-resume."
        )
    if size < expected:
        raise FileError(f"{part} is cut off. Start anew with --no-resume.")
    return state


def _difference(name: str, before: Any, now: Any) -> str:
    if isinstance(before, dict) and isinstance(now, dict):
        same = before["path"] == now["path"]
        return f"{now['path']} has changed since" if same else f"{name} was {before['path']}, now {now['path']}"
    return f"{name} was {before}, now {now}"


def _lock(file: BinaryIO, output: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise FileError(f"Another run is writing {output} right now.") from error
    except OSError:  # file systems without locks
        return


def _discard(output: Path, but_part: bool = False) -> None:
    ends = (".json", ".model", ".learning")
    for path in [*(_beside(output, end) for end in ends), *([] if but_part else [_beside(output)])]:
        remove(path)


def _beside(output: Path, end: str = "") -> Path:
    return output.with_name(output.name + ".part" + end)


def _export(part: Path, output: Path, kind: str, names: list[str] | None) -> None:
    """Give the rows of the NumPy file `part` the name `output`, in the format `kind`; `names` are the columns."""
    with replacing(output) as aside:
        if kind == ".npy":
            fill_from(part, aside)
        else:
            write = {".csv": _write_csv, ".parquet": _write_parquet}[kind]
            write(aside, _matrices(part), names)


def _matrices(part: Path) -> Iterator[Array]:
    n = len(np.lib.format.open_memmap(part, mode="r"))
    for first in range(0, n, EXPORT_ROWS):
        # A map of its own each time: pages of a map that stays open count as memory of this process.
        rows = np.array(np.lib.format.open_memmap(part, mode="r")[first : first + EXPORT_ROWS])
        yield rows.reshape(len(rows), -1)


def _write_csv(path: Path, matrices: Iterator[Array], names: list[str] | None) -> None:
    arrow, csv = need("pyarrow", "CSV files"), need("pyarrow.csv", "CSV files")
    with open(path, "wb") as file:
        for number, rows in enumerate(matrices):
            batch = _batch(arrow, rows, names)
            csv.write_csv(batch, file, csv.WriteOptions(include_header=number == 0 and names is not None))


def _write_parquet(path: Path, matrices: Iterator[Array], names: list[str] | None) -> None:
    arrow, parquet = need("pyarrow", "Parquet files"), need("pyarrow.parquet", "Parquet files")
    writer = None
    try:
        for rows in matrices:
            batch = _batch(arrow, rows, names)
            writer = writer or parquet.ParquetWriter(path, batch.schema)
            writer.write_batch(batch)
    finally:
        if writer is not None:
            writer.close()


def _batch(arrow: Any, rows: Array, names: list[str] | None) -> Any:
    names = names or [f"x{number}" for number in range(rows.shape[1])]
    return arrow.RecordBatch.from_arrays([arrow.array(column.copy()) for column in rows.T], names=names)
