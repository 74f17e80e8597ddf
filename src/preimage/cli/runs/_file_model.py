"""Kernel PCA of a file that is read in chunks: once to draw a sample, and once more to learn from all rows."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from preimage._engine.memory import free_memory
from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage._models.components import LandmarkModel, Wanted, select_landmarks
from preimage.cli._console import DataError, FileError, one_line
from preimage.cli._options import AUTO
from preimage.cli.runs._partial import PartialOutput
from preimage.cli.runs._preparation import AS_THEY_ARE, ColumnMoments, Preparation, Wishes
from preimage.cli.tables._sources import Source
from preimage.estimators import KernelImputer, KernelPCA
from preimage.estimators._cross_fit import FoldMoments
from preimage.estimators._kernel_input import DEFAULT_LANDMARKS, landmark_inputs, too_large_for_exact
from preimage.feature_space import KernelMoments, Subspace
from preimage.interop._pipeline import taken_apart
from preimage.landmarks import LandmarkSelector, as_landmarks
from preimage.persistence import load

# One part in this many of the free memory may be taken by the rows of a file: models and kernel values need the rest.
MEMORY_PARTS = 4
# Most rows of exact kernel PCA: its time grows with their square, and is some hours here.
MOST_EXACT = 50_000
# Rows of the sample on which widths are found and landmarks chosen, and bytes that it may take where rows are long.
SAMPLE_ROWS, SAMPLE_BYTES = 10_000, 2**26
# Candidates per landmark, at least and at most: with fewer, selection has little choice; more hardly improve it.
FEWEST_CANDIDATES, MOST_CANDIDATES = 5, 10

IMPUTERS = (SimpleImputer, KernelImputer)
# Steps before kernel PCA in the pipelines that `embed` writes.
PREPARED = ((), (StandardScaler,), *((kind, *more) for kind in IMPUTERS for more in ((), (StandardScaler,))))

# From a sample of rows to a model with all parameters given, not fitted.
Choose: TypeAlias = Callable[[Array], KernelPCA]
# From numbers of components and rows to a number of folds for cross-fitting, or None.


@dataclass(frozen=True)
class Reading:
    """How a file is read and learned from.

    Attributes
    ----------
    chunk_rows : int
        Rows in memory at a time.
    landmarks : int, "auto" or None
    method : str
        How landmarks are chosen.
    seed : int
    wishes : Wishes
        What is done to rows before.
    """

    chunk_rows: int
    landmarks: Any = AUTO
    method: str = AUTO
    seed: int = 0
    wishes: Wishes = AS_THEY_ARE

    def selector(self, number: int) -> LandmarkSelector:
        return as_landmarks(number) if self.method == AUTO else type(as_landmarks(self.method))(number)


@dataclass(frozen=True)
class FileModel:
    """Kernel PCA of a file, and what cross-fitting needs.

    Attributes
    ----------
    model : KernelPCA
    n_folds : int or None
        In how many folds rows of the training data are denoised.
    folds : dict of int to Subspace
        For each fold the subspace of the rows of all others.
    preparation : Preparation
        What is done to rows before.
    of_training_rows : KernelPCA or None
        Another model of all rows, for rows of the training data.
    """

    model: KernelPCA
    n_folds: int | None = None
    folds: dict[int, Subspace] = field(default_factory=dict)
    preparation: Preparation = field(default_factory=Preparation)
    of_training_rows: KernelPCA | None = None


def fit_file(
    source: Source,
    reading: Reading,
    choose: Choose,
    partial: PartialOutput,
    n_folds: int | None = None,
    tell: Callable[[str], None] = lambda text: None,
    fit_rows: Callable[[Array], FileModel] | None = None,
) -> tuple[int, FileModel]:
    """The number of rows of a file, and kernel PCA of them.

    Parameters
    ----------
    source : Source
    reading : Reading
    choose : callable
        From a sample of the rows to an unfitted `KernelPCA` with a resolved kernel.
    partial : PartialOutput
        Where to keep what is learned on the way.
    n_folds : int or None
        In which rows are denoised by models on landmarks; None for no folds.
    tell : callable
        Takes a message for the user.
    fit_rows : callable or None
        From all rows to exact models of them, where these are made as if the rows had been in memory from the start;
        None fits the model of `choose`.
    """
    surveyed = _sample(source, reading)
    n_rows, sample = surveyed.n_rows, surveyed.sample
    if n_rows < 2:
        raise DataError(f"{source.path} has {n_rows} rows. Kernel PCA learns from many.")
    preparation = Preparation.of(reading.wishes, surveyed.moments, sample, source.labels, tell)
    source, sample = preparation.applied(source), preparation(sample)
    number = reading.landmarks
    if number == AUTO:
        # By the number of rows alone: how much memory is free must not change the answer.
        number = DEFAULT_LANDMARKS if too_large_for_exact(n_rows, sys.maxsize) else None
    try:
        if number is None:
            found = _fit_exactly(choose, sample, source, n_rows, reading, fit_rows)
        else:
            model = choose(sample)
            model.set_params(landmarks=reading.selector(number))
            found = _fit_landmarks(model, source, sample, n_rows, reading, partial, n_folds)
    except (ValueError, TypeError) as error:
        raise DataError(one_line(error)) from error
    if source.names is not None:
        found.model.feature_names_in_ = np.array(source.names, dtype=object)
    return n_rows, replace(found, preparation=preparation)


def count_rows(source: Source, chunk_rows: int) -> int:
    """Rows of a file, all of which are read and found finite."""
    n_rows = survey(source, chunk_rows, 0, 0).n_rows
    if n_rows == 0:
        raise DataError(f"{source.path} has no rows.")
    return n_rows


@dataclass(frozen=True)
class Survey:
    """The number of rows of a file, a sample of them, and the moments of columns."""

    n_rows: int
    sample: Array
    moments: ColumnMoments


def survey(source: Source, chunk_rows: int, sample_rows: int, seed: int, with_missing: bool = False) -> Survey:
    """Read a file once: the number of rows, and a sample of them without replacement, in the order of the file.

    Every row draws a number, and those with the smallest are the sample: it depends on the rows and the seed, not on
    chunks or the format of the file.
    """
    rng, n, moments = np.random.default_rng(seed), 0, None
    rows, draws = np.empty((0, source.n_columns), source.dtype), np.empty(0)
    numbers = np.empty(0, dtype=np.int64)
    with stage("Reading rows", source.n_rows) as advance:
        for chunk in source.chunks(chunk_rows, with_missing=with_missing):
            of_chunk = ColumnMoments.of(chunk)
            moments = of_chunk if moments is None else moments + of_chunk
            drawn = rng.random(len(chunk))
            limit = draws.max() if len(draws) and len(draws) == sample_rows else np.inf
            new = np.flatnonzero(drawn < limit)
            if sample_rows and len(new):
                # `rows`, `draws` and `numbers` belong together, row by row, and rows of earlier chunks come first.
                draws, numbers = np.concatenate([draws, drawn[new]]), np.concatenate([numbers, n + new])
                best = np.sort(np.argsort(draws, kind="stable")[:sample_rows])
                kept = best[best < len(rows)]
                rows = np.concatenate([rows[kept], chunk[new[best[len(kept) :] - len(rows)]]])
                draws, numbers = draws[best], numbers[best]
            n += len(chunk)
            advance(len(chunk))
    return Survey(n, rows[np.argsort(numbers)], moments or ColumnMoments.of(rows))


def load_model(path: Path) -> Any:
    """What a file of `save` holds."""
    try:
        return load(path)
    except FileNotFoundError as error:
        raise FileError(f"{path} does not exist.") from error
    except (OSError, ValueError, ImportError) as error:
        raise FileError(f"{path} is no model that preimage wrote, or damaged: {one_line(error)}") from error


def read_model(path: Path) -> tuple[KernelPCA, Preparation]:
    """A fitted `KernelPCA` from a file of its `save`, and what is done to rows before: it may be part of a pipeline."""
    model, preparation = load_model(path), Preparation()
    steps, last = taken_apart(model, opened=lambda each: each)
    before = [step for _, step in steps]
    if tuple(map(type, before)) in PREPARED and all(hasattr(step, "n_features_in_") for step in before):
        imputers = [step for step in before if isinstance(step, IMPUTERS)]
        scalers = [step for step in before if isinstance(step, StandardScaler)]
        preparation, model = Preparation.of_steps(*(found[0] if found else None for found in (imputers, scalers))), last
        if before and hasattr(before[0], "feature_names_in_"):
            model.feature_names_in_ = before[0].feature_names_in_
    if not isinstance(model, KernelPCA) or not hasattr(model, "subspace_"):
        found = "one that was not fitted" if isinstance(model, KernelPCA) else type(model).__name__
        raise FileError(f"{path} holds no fitted KernelPCA, but {found}.")
    return model, preparation


def _sample(source: Source, reading: Reading) -> Survey:
    n_landmarks = DEFAULT_LANDMARKS if reading.landmarks == AUTO else reading.landmarks or 0
    affordable = SAMPLE_BYTES // (source.n_columns * source.dtype.itemsize)
    wanted = min(max(SAMPLE_ROWS, MOST_CANDIDATES * n_landmarks), affordable)
    sample_rows, with_missing = max(FEWEST_CANDIDATES * n_landmarks, wanted), reading.wishes.impute is not None
    return survey(source, reading.chunk_rows, sample_rows, reading.seed, with_missing)


def _fit_landmarks(
    model: KernelPCA,
    source: Source,
    sample: Array,
    n_rows: int,
    reading: Reading,
    partial: PartialOutput,
    wanted_folds: int | None,
) -> FileModel:
    kernel = landmark_inputs(model, sample).kernel
    landmarks = select_landmarks(model.landmarks, kernel, sample, np.random.default_rng(reading.seed))
    wanted = Wanted.of(model.n_components)
    n_folds = wanted_folds or 1
    # Moments of an interrupted run are continued if they were learned with the same kernel, landmarks and folds.
    moments = partial.learned()
    if moments is None or not _are_of(moments, kernel, landmarks.points, n_folds):
        moments = FoldMoments(n_folds, {})
    like = moments.total if moments.count else KernelMoments.nothing(kernel, landmarks.points, wanted.number)
    known = int(moments.count)
    with stage("Learning from rows", n_rows, known) as advance:
        for chunk in source.chunks(reading.chunk_rows, known):
            moments = moments + FoldMoments.of(like, chunk, n_folds)
            partial.note_learning(moments)
            advance(len(chunk))
    if moments.count != n_rows:
        raise DataError(f"{source.path} has changed while it was read. Run the command again.")
    model._store_landmarks(LandmarkModel.of(landmarks, moments.total, wanted), landmarks.points, n_rows)
    return FileModel(model, wanted_folds, {} if wanted_folds is None else moments.subspaces(wanted))


def _are_of(moments: FoldMoments, kernel: Any, points: Array, n_folds: int) -> bool:
    """Whether moments that an interrupted run noted are what this run would compute."""
    total = moments.total
    return moments.n_folds == n_folds and repr(total.kernel) == repr(kernel) and np.array_equal(total.points, points)


def _fit_exactly(
    choose: Choose,
    sample: Array,
    source: Source,
    n_rows: int,
    reading: Reading,
    fit_rows: Callable[[Array], FileModel] | None,
) -> FileModel:
    X = _all_rows(source, n_rows, reading.chunk_rows)
    with stage("Learning"):
        return FileModel(choose(sample).fit(X)) if fit_rows is None else fit_rows(X)


def _all_rows(source: Source, n_rows: int, chunk_rows: int) -> Array:
    X = np.empty((0, source.n_columns), source.dtype)
    size, free = n_rows * source.n_columns * source.dtype.itemsize, free_memory(X)
    if size > free // MEMORY_PARTS:
        raise DataError(
            f"Exact kernel PCA needs all rows of {source.path} in memory: {size / 1e9:.1f} GB, and "
            f"{free / 1e9:.1f} GB are free. Give --landmarks 500, say."
        )
    if n_rows > MOST_EXACT:
        raise DataError(
            f"Exact kernel PCA of {n_rows:,} rows takes hours; {MOST_EXACT:,} are the most that are done. "
            "Give --landmarks 500, say."
        )
    X = np.empty((n_rows, source.n_columns), source.dtype)
    for number, chunk in enumerate(source.chunks(chunk_rows)):
        X[number * chunk_rows : number * chunk_rows + len(chunk)] = chunk
    return X
