"""Outputs that are written row by row, by one run at a time: held in memory, or in files that survive interruptions."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np

import preimage
from preimage._engine.output_files import fill_from, open_locked, remove, remove_unfinished, replacing
from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage.cli._console import NOTHING, how_many, one_line
from preimage.cli._errors import DataError, FileError
from preimage.cli._options import DEFAULTS
from preimage.cli.tables._files import write as write_file
from preimage.cli.tables._frames import Frame, write_frame
from preimage.cli.tables._paths import check_unchanged
from preimage.cli.tables._sources import Source
from preimage.persistence._file import read, write

# Seconds between notes of what is learned, each of which holds squares of the number of landmarks: writing them takes
# a small part of the time, and no more than this is lost in an interruption.
SECONDS_BETWEEN_NOTES = 10
# Rows that are converted to CSV or Parquet together, and that make a row group of a Parquet file.
EXPORT_ROWS = 2**15

Totals: TypeAlias = dict[str, Any]
# Takes a chunk, the totals so far and ``advance(rows)``, which it calls along the way; returns rows and new totals.
Step: TypeAlias = Callable[[Array, Totals, Callable[[int], None]], tuple[Array, Totals]]

# Gives a path to write to, which takes the name of the output when the block succeeds.
Making: TypeAlias = Callable[[Path], AbstractContextManager[Path]]


def part_of(output: Path, end: str = "") -> Path:
    """The name of a file that a run keeps next to its output."""
    return output.with_name(output.name + ".part" + end)


@contextmanager
def claimed(output: Path) -> Iterator[BinaryIO]:
    """``OUTPUT.part``, open and locked, for a run that keeps nothing else; an error if another run has it.

    What an interrupted run left is not touched.
    """
    file = _locked(output)
    try:
        yield file
    finally:
        if file.seek(0, os.SEEK_END) == 0 and not part_of(output, ".json").exists():
            remove(part_of(output))
        file.close()


def _locked(output: Path) -> BinaryIO:
    """``OUTPUT.part``, created where there is none, locked by this process until it is closed."""
    try:
        return open_locked(part_of(output))
    except BlockingIOError as error:
        raise FileError(f"Another run is writing {output} right now.") from error


class HeldOutput:
    """Rows of an output in memory until all of them are there; an interruption leaves nothing.

    Parameters
    ----------
    output : Path
    outside : {"keep", "zero"}
        What is written for voxels of scans outside the mask.
    """

    is_begun = False

    def __init__(self, output: Path, outside: str = "keep") -> None:
        self.output = output
        self.outside = outside
        self.dtype: Any = None
        self.parts: list[Array] = []
        self.totals: Totals = {}
        self.n_rows = 0

    @property
    def rows(self) -> int:
        """Number of rows that are there."""
        return sum(map(len, self.parts))

    def note_learning(self, value: Any) -> None:
        """Keep nothing."""

    def learned(self) -> Any:
        return None

    def model(self) -> Any:
        return None

    def begin(self, model: Any, n_rows: int, row_shape: Any, dtype: Any, totals: Totals | None = None) -> None:
        """Expect `n_rows` rows."""
        self.n_rows, self.totals, self.dtype = n_rows, totals or {}, dtype

    def append(self, values: Array, totals: Totals | None = None) -> None:
        """Add rows, and the numbers about all rows so far."""
        self.parts.append(values)
        self.totals = totals or self.totals

    def first(self, count: int) -> Array:
        """The first `count` rows."""
        return np.concatenate(self.parts)[:count]

    def finish(self, kind: str, frame: Frame) -> None:
        """Turn the rows into the output."""
        with replacing(self.output, folder=kind == "folder") as aside:
            write_file(aside, iter(self.parts), frame, kind, self.output, self.outside)

    def making(self, path: Path) -> AbstractContextManager[Path]:
        return replacing(path)


class PartialOutput:
    """Rows of an output as far as they are computed, in a few files next to it.

    ``OUTPUT.part`` is a NumPy file whatever the format of the output: it can be cut off after the last complete chunk
    and continued, which a Parquet file cannot. ``OUTPUT.part.model`` is the model, ``OUTPUT.part.json`` says how many
    rows are there, what they were computed from, and which outputs are made already. Before there is a model,
    ``OUTPUT.part.learning`` holds what was learned so far. All of them stay until `close`.

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
    def totals(self) -> Totals:
        """Numbers about the rows so far."""
        return self._begun["totals"]

    def note_learning(self, value: Any) -> None:
        """Keep what was learned so far, if the last note is old enough."""
        if time.monotonic() < self.noted_at + SECONDS_BETWEEN_NOTES:
            return
        write(value, part_of(self.output, ".learning"))
        self._note({"inputs": self.inputs, "bytes": 0})
        self.noted_at = time.monotonic()

    def learned(self) -> Any:
        """What the last note has; None without one, or if it is damaged: learning then starts again."""
        try:
            return read(part_of(self.output, ".learning"))
        except (OSError, ValueError):
            return None

    def model(self) -> Any:
        """What `begin` was given."""
        try:
            return read(part_of(self.output, ".model"))
        except (OSError, ValueError) as error:
            raise FileError(f"{one_line(error).rstrip('.')}. Start anew with --no-resume.") from error

    def begin(
        self, model: Any, n_rows: int, row_shape: tuple[int, ...], dtype: Any, totals: Totals | None = None
    ) -> None:
        """Keep the model, and expect `n_rows` rows of the given shape; files must be those of the start of the run."""
        for before in self.inputs.values():
            if isinstance(before, dict):
                check_unchanged(before)
        self._note({"inputs": self.inputs, "bytes": 0})  # so that all that ever is in the file is known to be ours
        write(model, part_of(self.output, ".model"))
        self.file.truncate(0)
        self.file.seek(0)
        dtype = np.dtype(dtype).str
        header = {"descr": dtype, "fortran_order": False, "shape": (n_rows, *row_shape)}
        np.lib.format.write_array_header_1_0(self.file, header)
        state = {"inputs": self.inputs, "n_rows": n_rows, "rows": 0, "bytes": self.file.tell()}
        self._note({**state, "dtype": dtype, "totals": totals or {}})
        remove(part_of(self.output, ".learning"))

    def append(self, values: Array, totals: Totals | None = None) -> None:
        """Add rows, and the numbers about all rows so far; both are there afterwards, or neither is."""
        state = self._begun
        self.file.seek(state["bytes"])
        self.file.write(np.ascontiguousarray(values, dtype=state["dtype"]).tobytes())
        rows = self.rows + len(values)
        self._note({**state, "rows": rows, "bytes": self.file.tell(), "totals": totals or self.totals})

    def first(self, count: int) -> Array:
        """The first `count` rows, of those that are there."""
        rows = np.array(np.lib.format.open_memmap(part_of(self.output), mode="r")[: min(count, self.rows)])
        return rows.reshape(len(rows), -1)

    def finish(self, kind: str, frame: Frame) -> None:
        """Turn the rows into the output."""
        if self.rows != self.n_rows:
            raise FileError(
                f"{how_many(self.n_rows, 'row')} expected, {self.rows} came: the input has changed. Run again."
            )
        self.file.truncate(self._begun["bytes"])
        part = part_of(self.output)
        with self.making(self.output) as aside:
            if kind == ".npy":
                fill_from(part, aside)
            else:
                write_frame(aside, _matrices(part, self.n_rows), frame, kind, self.output)

    @contextmanager
    def making(self, path: Path) -> Iterator[Path]:
        """As `replacing`, with a note of which file is about to take the name: the same run may replace it later."""
        with replacing(path) as aside:
            yield aside
            made = {**self._begun.get("made", {}), os.path.realpath(path): aside.stat().st_ino}
            self._note({**self._begun, "made": made})

    def close(self) -> None:
        """Remove all files next to the output: everything is made."""
        _discard(self.output)

    @property
    def _begun(self) -> dict[str, Any]:
        assert self.state is not None and "n_rows" in self.state
        return self.state

    def _note(self, state: dict[str, Any]) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())  # the rows first, then the note that they are there
        with replacing(part_of(self.output, ".json")) as aside:
            aside.write_text(json.dumps(state), encoding="utf-8")
        self.state = state


# Where the rows of a run go.
Sink: TypeAlias = HeldOutput | PartialOutput


@contextmanager
def partial_output(output: Path, inputs: dict[str, Any], resume: bool) -> Iterator[PartialOutput]:
    """A `PartialOutput`: what an interrupted run with the same inputs left, or an empty one; closed when all went well.

    Without `resume` the remains of earlier runs are removed. A run that fails for its data before it has a model, or
    before anything worth keeping is learned, leaves nothing.
    """
    existed = part_of(output).exists()
    file = _locked(output)
    try:
        if not resume and existed:
            # Not to be emptied: it may have become the output already, under another name of the same file.
            remove(part_of(output))
            file.close()
            file = _locked(output)
        if not (resume and existed):  # a note without rows: the run was killed between its last two steps
            _discard(output, but_part=True)
        partial = PartialOutput(output, inputs, file, _checked_state(output, inputs, file) if resume else None)
        try:
            yield partial
            partial.close()
        except (FileError, DataError):
            if not partial.is_begun:
                partial.state = None  # the same data would fail again
            raise
        finally:
            if partial.state is None:
                _discard(output)
    finally:
        file.close()
        remove_unfinished(output)  # such a file may be another name of the one that was locked until now


def write_rows(
    source: Source,
    sink: Sink,
    chunk_rows: int,
    step: Step,
    name: str,
    tell: Callable[[str], None],
    with_missing: bool = False,
) -> None:
    """Append the rows of ``step`` for every chunk that is not there yet; chunks may have gaps if `with_missing`."""
    if sink.rows:
        tell(f"Continuing after row {sink.rows:,} of {sink.n_rows:,}.")
    with stage(name, sink.n_rows, sink.rows) as advance:
        for chunk in source.chunks(chunk_rows, sink.rows, with_missing):
            if sink.rows + len(chunk) > sink.n_rows:
                raise FileError(f"{source.path} has more rows than before: it has changed. Run the command again.")
            sink.append(*step(chunk.astype(sink.dtype, copy=False), sink.totals, advance))
    if isinstance(sink, PartialOutput) and source.identity() != sink.inputs["input"]:
        raise FileError(f"{source.path} has changed while it was read. Start anew with --no-resume.")


def inputs_of(command: str, source: Source, chunk_rows: int, **more: Any) -> dict[str, Any]:
    """What a result depends on, in JSON's types: files, their columns, and what the user said about them and else."""
    said = ((name, value) for name, value in asdict(source.options).items() if value != getattr(DEFAULTS, name))
    return {
        "command": command,
        "version": preimage.__version__,
        "input": source.identity(),
        "columns": source.labels,
        "chunk rows": chunk_rows,
        **{f"--{name.replace('_', '-')}": list(value) if isinstance(value, tuple) else value for name, value in said},
        **more,
    }


def remains(output: Path) -> str:
    """What an interrupted run left, in words for the user."""
    is_resumable = part_of(output).exists() and part_of(output, ".json").exists()
    return "run the same command to continue." if is_resumable else NOTHING


def is_own(output: Path, path: Path) -> bool:
    """Whether a file was made by an interrupted run that wanted to write `output`, which may then replace it."""
    try:
        made = json.loads(part_of(output, ".json").read_text(encoding="utf-8"))["made"]
        return made[os.path.realpath(path)] == path.stat().st_ino
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _checked_state(output: Path, inputs: dict[str, Any], file: BinaryIO) -> dict[str, Any] | None:
    """What an earlier run noted, if it fits; None when there was none."""
    part, note = part_of(output), part_of(output, ".json")
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


def _discard(output: Path, but_part: bool = False) -> None:
    # The rows first: a note without rows says that all is done, and rows without a note say nothing.
    for end in (".json", ".model", ".learning") if but_part else ("", ".json", ".model", ".learning"):
        remove(part_of(output, end))


def _matrices(part: Path, n_rows: int) -> Iterator[Array]:
    for first in range(0, n_rows, EXPORT_ROWS):
        # A map of its own each time: pages of a map that stays open count as memory of this process.
        rows = np.array(np.lib.format.open_memmap(part, mode="r")[first : first + EXPORT_ROWS])
        yield rows.reshape(len(rows), -1)
