"""Denoising of files that do not fit into memory: parameters from a sample, landmarks, chunk by chunk."""

from dataclasses import asdict, replace

import numpy as np

import preimage
from preimage._memory import free_memory
from preimage.cli._console import DataError
from preimage.cli.runs._denoise import check_rows, choose, denoise
from preimage.cli.runs._embed import count_rows, write_rows
from preimage.cli.runs._large_model import SHARE, fit_file
from preimage.cli.runs._learning import LearningNotes
from preimage.cli.runs._partial import partial_output
from preimage.cli.tables._files import Dataset
from preimage.cli.tables._source_parquet import parquet_bytes
from preimage.cli.tables._sources import can_be_chunked
from preimage.estimators._cross_fit import denoised_by_folds
from preimage.kernels import Gaussian
from preimage.solvers import FixedPoint

# Rows on which width, components and penalty are chosen: the search fits exact models of all widths to them.
CHOICE_ROWS = 2000
# Denoised rows take long: chunks are small, so that an interruption costs little.
CHUNK_ROWS = 4096
# Rows from the start of the file that a figure shows at most.
FIGURE_ROWS = 2000


def is_large(path):
    """Whether the rows of a file would take more than a quarter of the free memory."""
    if not can_be_chunked(path):
        return False
    budget = free_memory(np.empty(0)) // SHARE
    try:
        return path.stat().st_size > budget or (path.suffix.lower() == ".parquet" and parquet_bytes(path) > budget)
    except (OSError, ValueError):  # whoever reads it will say what is wrong
        return False


def denoise_file(source, train, output, kind, request, landmarks, chunk_rows, resume, tell=lambda text: None):
    """Write the denoised rows of a file; return a summary, and some rows before and after.

    Parameters
    ----------
    source, train : Source
        What to denoise, and what to learn from; possibly the same.
    output : Path
    kind : str
        Format of the output.
    request : Request
    landmarks : int or "auto"
    chunk_rows : int or None
    resume : bool
        Whether to continue an interrupted run.
    tell : callable
        Takes a message for the user.
    """
    if train.n_columns != source.n_columns:
        raise DataError(
            f"{train.path} has {train.n_columns} columns and {source.path} has {source.n_columns}; they must agree."
        )
    chunk_rows = chunk_rows or min(CHUNK_ROWS, source.chunk_rows)
    inputs = {
        "command": "denoise",
        "version": preimage.__version__,
        "input": source.identity(),
        "training data": train.identity(),
        "chunk rows": chunk_rows,
        "landmarks": landmarks,
        **asdict(request),
    }
    with partial_output(output, inputs, resume) as partial:
        if not partial.is_begun:
            folds_for = request.folds if train.identity() == source.identity() else lambda n_components, n_rows: None
            n_rows, model = _fitted(train, request, landmarks, chunk_rows, partial, folds_for)
            n_rows = n_rows if train is source else count_rows(source, chunk_rows)
            shape = source.row_shape or (source.n_columns,)
            partial.begin(model, n_rows, shape, model.points.dtype, {"converged": 0, "objective": 0.0, "reasons": []})
        model = partial.model()
        solve = _solver(model)

        def step(chunk, totals, advance):
            result = denoise(solve, chunk, advance)
            return result.points, _updated(totals, result)

        write_rows(source, partial, chunk_rows, step, "Denoising rows", tell)
        before = next(source.chunks(min(chunk_rows, FIGURE_ROWS)))
        samples = _dataset(source, before), _dataset(source, partial.first(len(before)).reshape(len(before), -1))
        partial.finish(kind, source.names)
        return _summary(model, partial), *samples


def _solver(model):
    """A function from rows to their `PreimageResult`, with subspaces that have not seen them if there are folds."""
    solver, space, folds = FixedPoint(penalty=model.facts["penalty"]), model.subspace, model.folds
    if not folds:
        return lambda rows: solver.inverse(space, space.coordinates(rows), rows)
    return lambda rows: denoised_by_folds(dict.fromkeys(folds, solver), folds, model.facts["cross_fit"], rows)


def _fitted(train, request, landmarks, chunk_rows, partial, folds_for):
    chosen = {}

    def kernel_of(sample):
        check_rows(sample, request, train.path)
        some = sample[np.linspace(0, len(sample) - 1, min(len(sample), CHOICE_ROWS)).astype(int)]
        chosen["best"] = choose(some, request)
        return Gaussian(chosen["best"].gamma)

    components = lambda: chosen["best"].components
    seed, notes = request.seed, LearningNotes(partial)
    n_rows, model = fit_file(train, chunk_rows, kernel_of, components, landmarks, "auto", seed, notes, folds_for)
    return n_rows, replace(model, facts={**model.facts, "penalty": float(chosen["best"].penalty)})


def _updated(totals, result):
    reasons = set(totals["reasons"]) | set(result.reason[~result.converged].tolist())
    return {
        "converged": totals["converged"] + int(np.sum(result.converged)),
        "objective": totals["objective"] + float(np.sum(result.objective)),
        "reasons": sorted(reasons),
    }


def _summary(model, partial):
    gamma, facts, totals = float(model.kernel.gamma), model.facts, partial.totals
    return {
        "rows": partial.n_rows,
        "training_rows": facts["training_rows"],
        "parameters": {
            "components": len(model.subspace),
            "width": 1 / gamma,
            "gamma": gamma,
            "penalty": facts["penalty"],
        },
        "cross_fit": facts["cross_fit"],
        "landmarks": len(model.points),
        "residual_share": facts["residual_share"],
        "explained_variance": facts["explained_variance"],
        "objective": totals["objective"] / partial.n_rows,
        "converged": totals["converged"],
        "not_converged": totals["reasons"],
    }


def _dataset(source, values):
    image_shape = source.row_shape if source.row_shape is not None and len(source.row_shape) == 2 else None
    return Dataset(values, columns=source.names, image_shape=image_shape)
