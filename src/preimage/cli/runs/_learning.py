"""Kernel PCA of a table: of all of its rows in memory, or on landmarks in chunks; what a command says about it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from preimage._engine.memory import free_memory
from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage._models.components import LandmarkModel, Wanted, select_landmarks
from preimage.cli._console import one_line
from preimage.cli._errors import CommandError, DataError
from preimage.cli._options import AUTO, TableOptions
from preimage.cli.runs._partial import Sink
from preimage.cli.runs._preparation import Preparation, Survey, Tell, survey
from preimage.cli.tables._paths import format_of
from preimage.cli.tables._sources import OPENERS, Source, exceeds, open_source
from preimage.estimators import KernelPCA
from preimage.estimators._cross_fit import (
    FoldMoments,
    automatic_folds,
    by_values,
    one_model,
    out_of_fold,
    with_own_model,
)
from preimage.estimators._kernel_input import DEFAULT_LANDMARKS, fitted_to_moments, landmark_inputs, too_large_for_exact
from preimage.estimators._robust_denoise import RobustOptions
from preimage.feature_space import KernelMoments, Subspace
from preimage.landmarks import as_landmarks
from preimage.solvers import PreimageResult

# One part in this many of the free memory may be taken by the rows of a file: models and kernel values need the rest.
MEMORY_PARTS = 4
# Most rows of exact kernel PCA: its time grows with their square, and is some hours here.
MOST_EXACT = 50_000
# Rows of the sample on which widths are found and landmarks chosen, and bytes that it may take where rows are long.
SAMPLE_ROWS, SAMPLE_BYTES = 10_000, 2**26
# Candidates per landmark, at least and at most: with fewer, selection has little choice; more hardly improve it.
FEWEST_CANDIDATES, MOST_CANDIDATES = 5, 10


@dataclass(frozen=True)
class Learned:
    """Kernel PCA of a table, and what cross-fitting needs.

    Attributes
    ----------
    model : KernelPCA
    n_folds : int or None
        In how many folds rows of the training data are denoised.
    folds : dict of int to Subspace
        On landmarks, for each fold the subspace of the rows of all others.
    preparation : Preparation
        What is done to rows before.
    of_training_rows : KernelPCA or None
        Another model of all rows, for rows of the training data.
    criterion, clipped : str and float, or None
        How a search judged, and the fraction of clipped values that it saw.
    noise, expected_error : float or None
        Deviation of the noise that it saw, and the root mean square of the error that it expects for new rows; both in
        the units of prepared rows.
    expected_training_error : float or None
        Likewise, for rows of the training data.
    """

    model: KernelPCA
    n_folds: Any = None
    folds: dict[int, Subspace] = field(default_factory=dict)
    preparation: Preparation = field(default_factory=Preparation)
    of_training_rows: KernelPCA | None = None
    criterion: str | None = None
    clipped: float | None = None
    noise: float | None = None
    expected_error: float | None = None
    expected_training_error: float | None = None

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Learned":
        return cls(**{**state, "preparation": Preparation(**state["preparation"])})

    @property
    def state(self) -> dict[str, Any]:
        """For files."""
        plain = lambda value: {each.name: getattr(value, each.name) for each in fields(value)}
        return {**plain(self), "preparation": plain(self.preparation)}

    def denoiser(self, loss: str | None) -> Callable[[Array], PreimageResult]:
        """From rows to their pre-images, by models that have not seen them if there are folds; as `denoise` does."""
        model, own, folds = self.model, self.of_training_rows, self.folds
        space, solver, dtype = model.subspace_, model.preimage_, model.subspace_.frame.points.dtype
        repair = RobustOptions(loss).repair(space)
        if own is not None:
            models = with_own_model(model, own)
        elif self.n_folds is None:
            models = one_model(space, solver)
        elif model.route_ == "exact":
            models = out_of_fold(model, self.n_folds)
        else:
            models = by_values(self.n_folds, folds, dict.fromkeys(folds, solver))
        return lambda rows: models.solve(rows.astype(dtype, copy=False), repair).preimages


def folds_of(model: KernelPCA, cross_fit: Any) -> Any:
    """In how many folds rows of the training data are denoised by models of others: "auto" asks an exact model."""
    return automatic_folds(model) if cross_fit == AUTO else cross_fit


class Learner(Protocol):
    """What a command says about kernel PCA: options, and models."""

    @property
    def seed(self) -> int: ...

    @property
    def method(self) -> str:
        """How landmarks are chosen."""

    @property
    def why_not(self) -> str:
        """Why columns are not standardised unless the user says so."""

    @property
    def say(self) -> Tell: ...

    def check(self, X: Array, path: Path) -> None:
        """Refuse rows of a file that are too few to learn from."""

    def unfitted(self, sample: Array) -> KernelPCA:
        """A model with all parameters given, or chosen on a sample of the rows, and a resolved kernel."""

    def exactly(self, sample: Array, X: Array) -> Learned:
        """Models of all rows."""


def learn(
    source: Source, learner: Learner, landmarks: Any, chunk_rows: int, notes: Sink, n_folds: int | None = None
) -> tuple[int, Learned]:
    """The number of rows of a table, and kernel PCA of them.

    Parameters
    ----------
    source : Source
    learner : Learner
    landmarks : int, "auto" or None
        None learns from all rows at once, and needs them in memory.
    chunk_rows : int
        Rows in memory at a time.
    notes : Sink
        Where what is learned on the way is kept.
    n_folds : int or None
        In which rows are denoised by models on landmarks; None for no folds.
    """
    found = _surveyed(source, DEFAULT_LANDMARKS if landmarks == AUTO else landmarks or 0, chunk_rows, learner.seed)
    learner.check(found.sample, source.path)
    preparation = Preparation.of(source, found, learner.why_not, learner.say)
    source, found = preparation.applied(source), replace(found, sample=preparation(found.sample))
    if landmarks == AUTO:
        # By the number of rows alone: how much memory is free must not change the answer.
        landmarks = DEFAULT_LANDMARKS if too_large_for_exact(found.n_rows, sys.maxsize) else None
    with data_errors():
        if landmarks is None:
            X = _all_rows(source, found.n_rows, chunk_rows)
            with stage("Learning"):
                learned = learner.exactly(found.sample, X)
        else:
            method, model = learner.method, learner.unfitted(found.sample)
            selector = as_landmarks(landmarks) if method == AUTO else type(as_landmarks(method))(landmarks)
            model.set_params(landmarks=selector)
            learned = _on_landmarks(model, source, found, chunk_rows, learner.seed, notes, n_folds)
    if source.names is not None:
        learned.model.feature_names_in_ = np.array(source.names, dtype=object)
    return found.n_rows, replace(learned, preparation=preparation)


@contextmanager
def data_errors() -> Iterator[None]:
    """What the library refuses is about the data, or about options."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise DataError(one_line(error)) from error


def _surveyed(source: Source, n_landmarks: int, chunk_rows: int, seed: int) -> Survey:
    affordable = SAMPLE_BYTES // (source.n_columns * source.dtype.itemsize)
    wanted = min(max(SAMPLE_ROWS, MOST_CANDIDATES * n_landmarks), affordable)
    sample_rows = max(FEWEST_CANDIDATES * n_landmarks, wanted)
    return survey(source, chunk_rows, sample_rows, seed, source.options.impute is not None)


def _on_landmarks(
    model: KernelPCA, source: Source, found: Survey, chunk_rows: int, seed: int, notes: Sink, wanted_folds: int | None
) -> Learned:
    n_rows, kernel = found.n_rows, landmark_inputs(model, found.sample).kernel
    landmarks = select_landmarks(model.landmarks, kernel, found.sample, np.random.default_rng(seed))
    wanted, n_folds = Wanted.of(model.n_components), wanted_folds or 1
    # Moments of an interrupted run are continued if they were learned with the same kernel, landmarks and folds.
    moments = notes.learned()
    if moments is None or not _are_of(moments, kernel, landmarks.points, n_folds):
        moments = FoldMoments(n_folds, {})
    like = moments.total if moments.count else KernelMoments.nothing(kernel, landmarks.points, wanted.number)
    known = int(moments.count)
    with stage("Learning from rows", n_rows, known) as advance:
        for chunk in source.chunks(chunk_rows, known):
            moments = moments + FoldMoments.of(like, chunk, n_folds)
            notes.note_learning(moments)
            advance(len(chunk))
    if moments.count != n_rows:
        raise DataError(f"{source.path} has changed while it was read. Run the command again.")
    fitted_to_moments(model, LandmarkModel.of(landmarks, moments.total, wanted), n_rows)
    return Learned(model, wanted_folds, {} if wanted_folds is None else moments.subspaces(wanted))


def _are_of(moments: FoldMoments, kernel: Any, points: Array, n_folds: int) -> bool:
    """Whether moments that an interrupted run noted are what this run would compute."""
    total = moments.total
    return moments.n_folds == n_folds and repr(total.kernel) == repr(kernel) and np.array_equal(total.points, points)


def _all_rows(source: Source, n_rows: int, chunk_rows: int) -> Array:
    if source.values is not None:
        return source.values
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


def is_large(path: Path) -> bool:
    """Whether the rows of a file would take more than a quarter of the free memory."""
    return exceeds(path, free_memory(np.empty(0)) // MEMORY_PARTS)


def has_many_rows(path: Path, options: TableOptions) -> bool:
    """Whether a table has more rows than models of all rows are made of unless a user asks for them."""
    try:
        if format_of(path) not in OPENERS:
            return False
        n_rows = open_source(path, options).n_rows
    except CommandError:  # reading it will report what is wrong
        return False
    return too_large_for_exact(n_rows, sys.maxsize)  # whatever the memory, which must not change the answer
