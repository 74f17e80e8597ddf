"""An output that is written row by row and survives interruptions."""

import json
import os
from contextlib import contextmanager, suppress

import numpy as np

from preimage.cli._console import DataError, FileError
from preimage.cli.runs._large_model import read_model, write_model
from preimage.cli.tables._export import export

try:
    import fcntl
except ImportError:  # Windows: two runs on one output are the user's business there
    fcntl = None  # type: ignore[assignment]


class PartialOutput:
    """Rows of an output as far as they are computed, beside it in a few files.

    ``OUTPUT.part`` is a NumPy file whatever the format of the output: it can be cut off after the last complete chunk
    and continued, which a Parquet file cannot. ``OUTPUT.part.npz`` is the model, ``OUTPUT.part.json`` says how many
    rows are there and what they were computed from. Before there is a model, ``OUTPUT.part.learning.npz`` holds what
    was learned so far.

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

    def __init__(self, output, inputs, file, state):
        self.output = output
        self.inputs = inputs
        self.file = file
        self.state = state

    @property
    def is_begun(self):
        """Whether there is a model, and rows can follow."""
        return self.state is not None and "n_rows" in self.state

    @property
    def learning_path(self):
        return _beside(self.output, ".learning.npz")

    def note_learning(self, **arrays):
        """Keep what was learned so far."""
        temporary = _beside(self.output, ".learning.npz.new")
        with open(temporary, "wb") as file:
            np.savez(file, **arrays)
        os.replace(temporary, self.learning_path)
        self.state = {"inputs": self.inputs, "bytes": 0}
        self._note()

    @property
    def rows(self):
        """Rows that are there."""
        return self.state["rows"]

    @property
    def n_rows(self):
        return self.state["n_rows"]

    @property
    def totals(self):
        """Numbers about the rows so far."""
        return self.state["totals"]

    def model(self):
        return read_model(_beside(self.output, ".npz"))

    def begin(self, model, n_rows, row_shape, dtype, totals=None):
        """Keep the model, and expect `n_rows` rows of the given shape."""
        write_model(_beside(self.output, ".npz"), model)
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
        self.learning_path.unlink(missing_ok=True)

    def append(self, values, totals=None):
        """Add rows, and the numbers about all rows so far; both are there afterwards, or neither is."""
        self.file.seek(self.state["bytes"])
        self.file.write(np.ascontiguousarray(values, dtype=self.state["dtype"]).tobytes())
        rows = self.rows + len(values)
        self.state = {**self.state, "rows": rows, "bytes": self.file.tell(), "totals": totals or self.totals}
        self._note()

    def first(self, count):
        """The first `count` rows, of those that are there."""
        return np.array(np.lib.format.open_memmap(_part(self.output), mode="r")[: min(count, self.rows)])

    def finish(self, kind, names):
        """Turn the rows into the output, under its name at once, and tidy up."""
        if self.rows != self.n_rows:
            raise FileError(f"{self.n_rows} rows were expected and {self.rows} came: the input has changed. Run again.")
        self.file.truncate(self.state["bytes"])
        self.file.close()
        export(_part(self.output), self.output, kind, names)
        _discard(self.output)

    def _note(self):
        self.file.flush()
        os.fsync(self.file.fileno())  # the rows first, then the note that they are there
        note = _beside(self.output, ".json")
        temporary = note.with_name(note.name + ".new")
        temporary.write_text(json.dumps(self.state), encoding="utf-8")
        os.replace(temporary, note)


@contextmanager
def partial_output(output, inputs, resume):
    """A `PartialOutput`: what an interrupted run with the same inputs left, or an empty one.

    Without `resume` the remains of earlier runs are removed. A run that fails for its data before it has a model, or
    before anything worth keeping is learned, leaves nothing.
    """
    part, partial = _part(output), None
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


def remains(output):
    """What an interrupted run left, in words for the user."""
    is_resumable = _part(output).exists() and _beside(output, ".json").exists()
    return "run the same command to continue." if is_resumable else "nothing was written."


def _checked_state(output, inputs, file):
    """What an earlier run noted, if it fits; None when there was none."""
    part, note = _part(output), _beside(output, ".json")
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


def _difference(name, before, now):
    if isinstance(before, dict) and isinstance(now, dict):
        same = before["path"] == now["path"]
        return f"{now['path']} has changed since" if same else f"{name} was {before['path']}, now {now['path']}"
    return f"{name} was {before}, now {now}"


def _lock(file, output):
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise FileError(f"Another run is writing {output} right now.") from error
    except OSError:  # file systems without locks
        return


def _discard(output, but_part=False):
    ends = (".json", ".json.new", ".npz", ".learning.npz", ".learning.npz.new")
    for path in [_beside(output, end) for end in ends] + ([] if but_part else [_part(output)]):
        with suppress(FileNotFoundError):
            path.unlink()


def _part(output):
    return output.with_name(output.name + ".part")


def _beside(output, end):
    return output.with_name(output.name + ".part" + end)
