"""Embedding of files, chunk by chunk."""

from dataclasses import asdict, dataclass
from typing import Any

import preimage
from preimage._progress import stage
from preimage.cli._console import DataError
from preimage.cli.runs._large_model import fit_file, read_model
from preimage.cli.runs._learning import LearningNotes
from preimage.cli.runs._partial import partial_output
from preimage.cli.runs._survey import survey
from preimage.cli.tables._sources import identity_of
from preimage.kernels import as_kernel


@dataclass(frozen=True)
class Embedding:
    """What the user said about an embedding.

    Attributes
    ----------
    components : int or float in (0, 1)
    kernel : str
    gamma : str or float
    degree : int
    coef0 : float
    landmarks : int, "auto" or None
    method : str
        How landmarks are chosen.
    seed : int
    """

    components: Any = 10
    kernel: str = "rbf"
    gamma: Any = "median"
    degree: int = 3
    coef0: float = 1.0
    landmarks: Any = 500
    method: str = "auto"
    seed: int = 0

    def resolved_kernel(self, sample):
        return as_kernel(self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0).resolve(sample)


def embed(source, output, kind, wish, chunk_rows, resume, model_path=None, tell=lambda text: None):
    """Write the coordinates of the rows of a file, and return the model and the number of rows.

    Parameters
    ----------
    source : Source
    output : Path
    kind : str
        Format of the output.
    wish : Embedding
    chunk_rows : int
    resume : bool
        Whether to continue an interrupted run.
    model_path : Path or None
        A model from an earlier run, in place of `wish`.
    tell : callable
        Takes a message for the user.
    """
    ready = None if model_path is None else read_model(model_path)
    inputs = {
        "command": "embed",
        "version": preimage.__version__,
        "input": source.identity(),
        "columns": source.labels,
        "chunk rows": chunk_rows,
        **(asdict(wish) if model_path is None else {"model": identity_of(model_path)}),
    }
    with partial_output(output, inputs, resume) as partial:
        if not partial.is_begun:
            n_rows, model = _counted(source, ready, chunk_rows) if ready else _fitted(source, wish, chunk_rows, partial)
            partial.begin(model, n_rows, (len(model.subspace),), model.points.dtype)
        model = partial.model()

        def step(chunk, totals, advance):
            values = model.subspace.coordinates(chunk)
            advance(len(chunk))
            return values, totals

        write_rows(source, partial, chunk_rows, step, "Embedding rows", tell)
        partial.finish(kind, [f"kernelpca{number}" for number in range(len(model.subspace))])
        return model, partial.n_rows


def write_rows(source, partial, chunk_rows, step, name, tell):
    """Append ``step(chunk, totals, advance)`` for every chunk that is not there yet.

    A step returns rows and new totals, and calls ``advance(rows)`` along the way.
    """
    model_dtype = partial.state["dtype"]
    if partial.rows:
        tell(f"Continuing after row {partial.rows:,} of {partial.n_rows:,}.")
    with stage(name, partial.n_rows, partial.rows) as advance:
        for chunk in source.chunks(chunk_rows, partial.rows):
            if partial.rows + len(chunk) > partial.n_rows:
                raise DataError(f"{source.path} has more rows than before: it has changed. Run the command again.")
            partial.append(*step(chunk.astype(model_dtype, copy=False), partial.totals, advance))
    if source.identity() != partial.inputs["input"]:
        raise DataError(f"{source.path} has changed while it was read. Start anew with --no-resume.")


def count_rows(source, chunk_rows):
    """Rows of a file, all of which are read and found finite."""
    with stage("Reading rows", source.n_rows) as advance:
        n_rows = survey(source, chunk_rows, 0, 0, advance).n_rows
    if n_rows == 0:
        raise DataError(f"{source.path} has no rows.")
    return n_rows


def _counted(source, model, chunk_rows):
    model.check_source(source)
    return count_rows(source, chunk_rows), model


def _fitted(source, wish, chunk_rows, partial):
    kernel, notes = wish.resolved_kernel, LearningNotes(partial)
    return fit_file(source, chunk_rows, kernel, wish.components, wish.landmarks, wish.method, wish.seed, notes)
