"""An output that is written row by row and survives interruptions."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from preimage._engine.output_files import fill_from, remove, remove_unfinished, replacing
from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage.cli._console import NOTHING, DataError, FileError, one_line
from preimage.cli.runs._claim import beside, open_locked
from preimage.cli.tables._frames import Frame, write_frame
from preimage.cli.tables._identity import identity_of
from preimage.cli.tables._sources import Source
from preimage.cli.tables._table_options import DEFAULTS
from preimage.persistence._file import read, write

# Seconds between notes of what is learned, each of which holds squares of the number of landmarks: writing them takes
# a small part of the time, and no more than this is lost in an interruption.
SECONDS_BETWEEN_NOTES = 10
# Rows that are converted to CSV or Parquet together, and that make a row group of a Parquet file.
EXPORT_ROWS = 2**15

# Takes a chunk, the totals so far and ``advance(rows)``, which it calls along the way; returns rows and new totals.
Step: TypeAlias = Callable[[Array, dict[str, Any], Callable[[int], None]], tuple[Array, dict[str, Any]]]

# Gives a path to write to, which takes the name of the output when the block succeeds.
Making: TypeAlias = Callable[[Path], AbstractContextManager[Path]]


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
    def totals(self) -> dict[str, Any]:
        """Numbers about the rows so far."""
        return self._begun["totals"]

    def note_learning(self, value: Any) -> None:
        """Keep what was learned so far, if the last note is old enough."""
        if time.monotonic() < self.noted_at + SECONDS_BETWEEN_NOTES:
            return
        write(value, beside(self.output, ".learning"))
        self._note({"inputs": self.inputs, "bytes": 0})
        self.noted_at = time.monotonic()

    def learned(self) -> Any:
        """What the last note has; None without one, or if it is damaged: learning then starts again."""
        try:
            return read(beside(self.output, ".learning"))
        except (OSError, ValueError):
            return None

    def model(self) -> Any:
        """What `begin` was given."""
        try:
            return read(beside(self.output, ".model"))
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
        self._check_inputs()
        self._note({"inputs": self.inputs, "bytes": 0})  # so that all that ever is in the file is known to be ours
        write(model, beside(self.output, ".model"))
        self.file.truncate(0)
        self.file.seek(0)
        header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": (n_rows, *row_shape)}
        np.lib.format.write_array_header_1_0(self.file, header)
        state = {
            "inputs": self.inputs,
            "n_rows": n_rows,
            "rows": 0,
            "bytes": self.file.tell(),
            "dtype": np.dtype(dtype).str,
            "totals": totals or {},
        }
        self._note(state)
        remove(beside(self.output, ".learning"))

    def append(self, values: Array, totals: dict[str, Any] | None = None) -> None:
        """Add rows, and the numbers about all rows so far; both are there afterwards, or neither is."""
        state = self._begun
        self.file.seek(state["bytes"])
        self.file.write(np.ascontiguousarray(values, dtype=state["dtype"]).tobytes())
        rows = self.rows + len(values)
        self._note({**state, "rows": rows, "bytes": self.file.tell(), "totals": totals or self.totals})

    def first(self, count: int) -> Array:
        """The first `count` rows, of those that are there."""
        return np.array(np.lib.format.open_memmap(beside(self.output), mode="r")[: min(count, self.rows)])

    def finish(self, kind: str, frame: Frame) -> None:
        """Turn the rows into the output."""
        if self.rows != self.n_rows:
            raise FileError(f"{self.n_rows} rows were expected and {self.rows} came: the input has changed. Run again.")
        self.file.truncate(self._begun["bytes"])
        with self.making(self.output) as aside:
            _export(beside(self.output), aside, kind, frame, self.output)

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
        with replacing(beside(self.output, ".json")) as aside:
            aside.write_text(json.dumps(state), encoding="utf-8")
        self.state = state

    def _check_inputs(self) -> None:
        """Refuse a model of files that are others now than when the run began."""
        for before in self.inputs.values():
            if isinstance(before, dict) and identity_of(Path(before["path"])) != before:
                raise FileError(f"{before['path']} has changed while it was read. Run the command again.")


@contextmanager
def partial_output(output: Path, inputs: dict[str, Any], resume: bool) -> Iterator[PartialOutput]:
    """A `PartialOutput`: what an interrupted run with the same inputs left, or an empty one.

    Without `resume` the remains of earlier runs are removed. A run that fails for its data before it has a model, or
    before anything worth keeping is learned, leaves nothing.
    """
    existed = beside(output).exists()
    file = open_locked(output)
    try:
        if not resume and existed:
            # Not to be emptied: it may have become the output already, under another name of the same file.
            remove(beside(output))
            file.close()
            file = open_locked(output)
        if not (resume and existed):  # a note without rows: the run was killed between its last two steps
            _discard(output, but_part=True)
        partial = PartialOutput(output, inputs, file, _checked_state(output, inputs, file) if resume else None)
        try:
            yield partial
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
    partial: PartialOutput,
    chunk_rows: int,
    step: Step,
    name: str,
    tell: Callable[[str], None],
    with_missing: bool = False,
) -> None:
    """Append the rows of ``step`` for every chunk that is not there yet; chunks may have gaps if `with_missing`."""
    if partial.rows:
        tell(f"Continuing after row {partial.rows:,} of {partial.n_rows:,}.")
    with stage(name, partial.n_rows, partial.rows) as advance:
        for chunk in source.chunks(chunk_rows, partial.rows, with_missing):
            if partial.rows + len(chunk) > partial.n_rows:
                raise FileError(f"{source.path} has more rows than before: it has changed. Run the command again.")
            partial.append(*step(chunk.astype(partial.dtype, copy=False), partial.totals, advance))
    if source.identity() != partial.inputs["input"]:
        raise FileError(f"{source.path} has changed while it was read. Start anew with --no-resume.")


def said_about(source: Source) -> dict[str, Any]:
    """The options of a table that its user gave, in JSON's types: other ones would give another result."""
    given = ((name, value) for name, value in asdict(source.options).items() if value != getattr(DEFAULTS, name))
    return {f"--{name.replace('_', '-')}": list(value) if isinstance(value, tuple) else value for name, value in given}


def remains(output: Path) -> str:
    """What an interrupted run left, in words for the user."""
    is_resumable = beside(output).exists() and beside(output, ".json").exists()
    return "run the same command to continue." if is_resumable else NOTHING


def is_own(output: Path, path: Path) -> bool:
    """Whether a file was made by an interrupted run that wanted to write `output`, which may then replace it."""
    try:
        made = json.loads(beside(output, ".json").read_text(encoding="utf-8"))["made"]
        return made[os.path.realpath(path)] == path.stat().st_ino
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _checked_state(output: Path, inputs: dict[str, Any], file: BinaryIO) -> dict[str, Any] | None:
    """What an earlier run noted, if it fits; None when there was none."""
    part, note = beside(output), beside(output, ".json")
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
        remove(beside(output, end))


def _export(part: Path, aside: Path, kind: str, frame: Frame, output: Path) -> None:
    """Put the rows of the NumPy file `part` into `aside`, which will be `output`, in the format `kind`."""
    if kind == ".npy":
        fill_from(part, aside)
    else:
        write_frame(aside, _matrices(part), frame, kind, output)


def _matrices(part: Path) -> Iterator[Array]:
    n = len(np.lib.format.open_memmap(part, mode="r"))
    for first in range(0, n, EXPORT_ROWS):
        # A map of its own each time: pages of a map that stays open count as memory of this process.
        rows = np.array(np.lib.format.open_memmap(part, mode="r")[first : first + EXPORT_ROWS])
        yield rows.reshape(len(rows), -1)
