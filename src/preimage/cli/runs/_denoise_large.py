"""Denoising of files that do not fit into memory: parameters from a sample, landmarks, chunk by chunk."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import preimage
from preimage._memory import free_memory
from preimage._typing import Array
from preimage.cli._console import DataError
from preimage.cli.runs._denoise import Request, Solve, check_rows, choose, denoise, parameters
from preimage.cli.runs._file_model import MEMORY_PARTS, FileModel, Reading, count_rows, fit_file
from preimage.cli.runs._partial import PartialOutput, partial_output, write_rows
from preimage.cli.tables._files import Dataset
from preimage.cli.tables._sources import Source, exceeds
from preimage.estimators import KernelPCA
from preimage.estimators._cross_fit import denoised_by_folds
from preimage.kernels import Gaussian
from preimage.solvers import FixedPoint, PreimageResult

# Rows on which width, components and penalty are chosen: the search fits exact models of all widths to them, and takes
# about a minute. Its time grows with their square.
CHOICE_ROWS = 2000
# Most rows of a chunk: denoised rows take long, and what an interruption costs should be little.
CHUNK_ROWS = 4096
# Most rows, from the start of the file, that a figure shows.
FIGURE_ROWS = 2000


def is_large(path: Path) -> bool:
    """Whether the rows of a file would take more than a quarter of the free memory."""
    return exceeds(path, free_memory(np.empty(0)) // MEMORY_PARTS)


def denoise_file(
    source: Source,
    train: Source,
    output: Path,
    kind: str,
    request: Request,
    landmarks: Any,
    chunk_rows: int | None,
    resume: bool,
    tell: Callable[[str], None] = lambda text: None,
) -> tuple[dict[str, Any], Dataset, Dataset]:
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
    reading = Reading(chunk_rows or min(CHUNK_ROWS, source.chunk_rows), landmarks, seed=request.seed)
    inputs = {
        "command": "denoise",
        "version": preimage.__version__,
        "input": source.identity(),
        "training data": train.identity(),
        "chunk rows": reading.chunk_rows,
        "landmarks": landmarks,
        **asdict(request),
    }
    with partial_output(output, inputs, resume) as partial:
        found = FileModel(**partial.model()) if partial.is_begun else _begin(source, train, request, reading, partial)
        solve = _solver(found)

        def step(chunk: Array, totals: dict[str, Any], advance: Callable[[int], None]) -> tuple[Array, dict[str, Any]]:
            result = denoise(solve, chunk, advance)
            return result.points, _updated(totals, result)

        write_rows(source, partial, reading.chunk_rows, step, "Denoising rows", tell)
        before = next(source.chunks(min(reading.chunk_rows, FIGURE_ROWS)))
        after = partial.first(len(before)).reshape(len(before), -1)
        partial.finish(kind, source.names)
        return _summary(found, partial), _dataset(source, before), _dataset(source, after)


def _begin(source: Source, train: Source, request: Request, reading: Reading, partial: PartialOutput) -> FileModel:
    """Fit the model, and make ready for the rows."""
    same = train.identity() == source.identity()
    folds_for = request.folds if same else lambda n_components, n_rows: None
    n_rows, found = fit_file(train, reading, lambda sample: _chosen(sample, request, train.path), partial, folds_for)
    n_rows = n_rows if train is source else count_rows(source, reading.chunk_rows)
    shape = source.row_shape or (source.n_columns,)
    state = {"model": found.model, "n_folds": found.n_folds, "folds": found.folds}
    dtype = found.model.subspace_.frame.points.dtype
    partial.begin(state, n_rows, shape, dtype, {"converged": 0, "objective": 0.0, "reasons": []})
    return found


def _chosen(sample: Array, request: Request, path: Path) -> KernelPCA:
    check_rows(sample, request, path)
    choice = choose(sample[np.linspace(0, len(sample) - 1, min(len(sample), CHOICE_ROWS)).astype(int)], request)
    solver = FixedPoint(penalty=float(choice.penalty))
    return KernelPCA(choice.components, kernel=Gaussian(choice.gamma), preimage=solver, random_state=request.seed)


def _solver(found: FileModel) -> Solve:
    """A function from rows to their pre-images, with subspaces that have not seen them if there are folds."""
    solver, space, folds, n_folds = found.model.preimage_, found.model.subspace_, found.folds, found.n_folds
    if n_folds is None:
        return lambda rows: solver.inverse(space, space.coordinates(rows), rows)
    return lambda rows: denoised_by_folds(dict.fromkeys(folds, solver), folds, n_folds, rows)


def _updated(totals: dict[str, Any], result: PreimageResult) -> dict[str, Any]:
    reasons = set(totals["reasons"]) | set(result.reason[~result.converged].tolist())
    return {
        "converged": totals["converged"] + int(np.sum(result.converged)),
        "objective": totals["objective"] + float(np.sum(result.objective)),
        "reasons": sorted(reasons),
    }


def _summary(found: FileModel, partial: PartialOutput) -> dict[str, Any]:
    model, totals = found.model, partial.totals
    return {
        "rows": partial.n_rows,
        "training_rows": model.n_samples_seen_,
        "parameters": parameters(model),
        "cross_fit": found.n_folds,
        "landmarks": len(model.subspace_.frame.points),
        "residual_fraction": None if model.landmarks_ is None else float(model.landmarks_.residual_fraction),
        "explained_variance": float(np.sum(model.explained_variance_ratio_)),
        "objective": totals["objective"] / partial.n_rows,
        "converged": totals["converged"],
        "not_converged": totals["reasons"],
    }


def _dataset(source: Source, values: Array) -> Dataset:
    image_shape = source.row_shape if source.row_shape is not None and len(source.row_shape) == 2 else None
    return Dataset(values, columns=source.names, image_shape=image_shape)
