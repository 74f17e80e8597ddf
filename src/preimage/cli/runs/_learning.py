"""What is learned from a table: a sample, what its columns need, and kernel PCA of all rows, in memory or in chunks."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from preimage._engine.column_moments import ColumnMoments
from preimage._engine.finite import INPUTS
from preimage._engine.memory import free_memory
from preimage._engine.progress import stage
from preimage._engine.robust import location_and_scale
from preimage._engine.typing import Array
from preimage._models.components import LandmarkModel, Wanted, select_landmarks
from preimage.cli._console import how_many, one_line
from preimage.cli._errors import CommandError, DataError, FileError
from preimage.cli._options import AUTO, TableOptions
from preimage.cli.runs._partial import Sink
from preimage.cli.tables._columns import listed
from preimage.cli.tables._paths import format_of
from preimage.cli.tables._sources import OPENERS, Source, exceeds, open_source, regrouped
from preimage.estimators import KernelImputer, KernelImputerCV, KernelPCA
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
from preimage.interop._pipeline import taken_apart
from preimage.landmarks import as_landmarks
from preimage.persistence import load
from preimage.solvers import PreimageResult

# Columns are standardised where the largest of their deviations is more than so many times the smallest: the kernel
# would see little but that column.
SPREAD = 10
# With fewer rows no parameters of an imputer are chosen: there are too few values to hide.
FEWEST_ROWS_TO_CHOOSE = 20
# One part in this many of the free memory may be taken by the rows of a file: models and kernel values need the rest.
MEMORY_PARTS = 4
# Most rows of exact kernel PCA: its time grows with their square, and is some hours here.
MOST_EXACT = 50_000
# Rows of the sample on which widths are found and landmarks chosen, and bytes that it may take where rows are long.
SAMPLE_ROWS, SAMPLE_BYTES = 10_000, 2**26
# Candidates per landmark, at least and at most: with fewer, selection has little choice; more hardly improve it.
FEWEST_CANDIDATES, MOST_CANDIDATES = 5, 10
# What is told about gaps, by the option --impute.
WAYS = {
    "mean": "with the mean of their column",
    "median": "with the median of their column",
    "kernel": "from similar rows",
}
IMPUTERS = (SimpleImputer, KernelImputer)

# Takes a message for the user.
Tell: TypeAlias = Callable[[str], None]


@dataclass(frozen=True)
class Survey:
    """The number of rows of a file, a sample of them, and the moments of columns."""

    n_rows: int
    sample: Array
    moments: ColumnMoments

    def of_columns(self, columns: Array) -> "Survey":
        """The same of some columns."""
        return Survey(self.n_rows, np.take(self.sample, columns, axis=1), self.moments.of_columns(columns))


def survey(source: Source, chunk_rows: int, sample_rows: int, seed: int, with_missing: bool = False) -> Survey:
    """Read a file once: the number of rows, and a sample of them without replacement, in the order of the file.

    Every row draws a number, and those with the smallest are the sample: it depends on the rows and the seed, not on
    chunks or the format of the file. Rows in memory are all taken.
    """
    if source.values is not None:
        return Survey(source.n_rows, source.values, ColumnMoments.of(source.values))
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


def count_rows(source: Source, chunk_rows: int) -> int:
    """Rows of a file, all of which are read and found finite."""
    n_rows = survey(source, chunk_rows, 0, 0).n_rows
    if n_rows == 0:
        raise DataError(f"{source.path} has no rows.")
    return n_rows


@dataclass(frozen=True)
class Preparation:
    """What is done to rows before a model sees them: gaps filled in, columns standardised; None for what is not done.

    Attributes
    ----------
    imputer : SimpleImputer, KernelImputer or None
        Fitted.
    mean, scale : arrays of shape (p,) or None
        Of columns that are standardised.
    varying : int array of shape (p,) or None
        The columns that the model sees, where constant ones are left out; all other attributes are about these.
    """

    imputer: Any = None
    mean: Array | None = None
    scale: Array | None = None
    varying: Array | None = None

    @classmethod
    def of(
        cls,
        source: Source,
        found: Survey,
        why_not: str = "",
        tell: Tell = lambda text: None,
        leave_out: bool = True,
    ) -> "Preparation":
        """What the rows of a source need; arrays are not standardised unless the user says so.

        `why_not` says why columns are not standardised unless the user wants it; empty if they may be. Scales and
        medians are those of the sample, whatever single values do. Constant columns of tables are left out, unless
        `leave_out` says no, and come back as they are.
        """
        varying = _varying(source, found, tell) if leave_out else None
        if varying is not None:
            source, found = _narrowed(source, varying), found.of_columns(varying)
        impute, moments, labels = source.options.impute, found.moments, source.labels
        imputer = _imputer(impute, moments, found.sample, labels)
        if moments.n_missing and impute is not None:
            are = "is" if moments.n_missing == 1 else "are"
            tell(f"{how_many(moments.n_missing, 'missing value')} {are} filled in {WAYS[impute]}.")
        location, scale = _scales(found, source.dtype)
        standardize = source.options.standardize
        if standardize is None:
            standardize = source.is_table and _is_wanted(scale, labels, why_not, tell)
        if not standardize:
            location, scale = np.zeros(len(scale)), np.ones(len(scale))
        scale = np.where(scale > 0, scale, 1.0)
        _check_range(source, moments, location, scale)
        return cls(imputer, location, scale, varying) if standardize else cls(imputer, varying=varying)

    @classmethod
    def of_steps(cls, steps: list[Any]) -> "Preparation":
        """What fitted steps of a pipeline do."""
        imputer = next((step for step in steps if isinstance(step, IMPUTERS)), None)
        scaler = next((step for step in steps if isinstance(step, StandardScaler)), None)
        if scaler is None:
            return cls(imputer)
        width = scaler.n_features_in_
        mean = scaler.mean_ if scaler.with_mean else np.zeros(width)
        return cls(imputer, mean, scaler.scale_ if scaler.with_std else np.ones(width))

    @property
    def is_standardizing(self) -> bool:
        return self.mean is not None

    def __call__(self, rows: Array) -> Array:
        dtype = rows.dtype
        if self.varying is not None:
            rows = np.take(rows, self.varying, axis=1)
        if self.imputer is not None:
            rows = with_gaps_filled(self.imputer, rows)
        if self.mean is not None and self.scale is not None:
            rows = (rows - self.mean) / self.scale
        return rows.astype(dtype, copy=False)

    def undone(self, rows: Array, before: Array | None = None) -> Array:
        """Rows in the units of the data, with the columns that were left out from the rows `before`, if given."""
        if self.mean is not None and self.scale is not None:
            rows = (rows * self.scale + self.mean).astype(rows.dtype, copy=False)
        if self.varying is None or before is None:
            return rows
        whole = before.astype(rows.dtype)
        whole[:, self.varying] = rows
        return whole

    def narrowed(self, source: Source) -> Source:
        """A source without the columns that are left out."""
        return source if self.varying is None else _narrowed(source, self.varying)

    def applied(self, source: Source) -> Source:
        """A source whose rows are prepared."""
        if self.imputer is None and self.mean is None:
            return self.narrowed(source)
        plain, source = replace(self, varying=None), self.narrowed(source)
        if source.values is not None:
            values = plain(source.values)
            return replace(source, values=values, blocks=lambda start, rows: iter([values[start:]]))
        # In whole chunks: a row that is filled in with others must have the same ones after an interruption.
        return replace(source, blocks=lambda start, rows: map(plain, regrouped(source.blocks(start, rows), rows)))

    def steps(self, names: list[str] | None, n_rows: int) -> list[tuple[str, Any]]:
        """scikit-learn's estimators that do the same, for a pipeline; the first one has the names of the columns."""
        steps: list[tuple[str, Any]] = []
        if self.imputer is not None:
            steps.append(("impute", copy(self.imputer)))
        if self.mean is not None and self.scale is not None:
            scaler = StandardScaler()
            scaler.mean_, scaler.scale_, scaler.var_ = self.mean, self.scale, self.scale**2
            scaler.n_samples_seen_, scaler.n_features_in_ = np.int64(n_rows), len(self.mean)
            steps.append(("standardize", scaler))
        if steps and names is not None:
            steps[0][1].feature_names_in_ = np.array(names, dtype=object)
        return steps


def _varying(source: Source, found: Survey, tell: Tell) -> Array | None:
    """The columns of a table that are not constant, where some are; their names are told."""
    constant = found.moments.is_constant(source.dtype) & (found.moments.count == found.n_rows)
    if not source.is_table or not constant.any() or found.n_rows < 2:
        return None
    names = [source.labels[column] for column in np.flatnonzero(constant)]
    if constant.all():
        raise DataError(f"{source.path} has the same values in all rows, from which nothing can be learned.")
    tell(f"Constant, and left out of the model: {listed(names)}.")
    return np.flatnonzero(~constant)


def _narrowed(source: Source, columns: Array) -> Source:
    """A source that takes only some of its columns."""
    layout = replace(source.layout, taken=tuple(source.layout.taken[column] for column in columns))
    values = None if source.values is None else np.take(source.values, columns, axis=1)
    blocks = lambda start, rows: (np.take(block, columns, axis=1) for block in source.blocks(start, rows))
    return replace(source, layout=layout, values=values, blocks=blocks, row_shape=None)


def _scales(found: Survey, dtype: Any) -> tuple[Array, Array]:
    """Where the columns lie and how far they reach, by the sample; 0 for those that are constant.

    A column that is constant in the sample and not in the file has its mean and deviation.
    """
    moments = found.moments
    location, scale = location_and_scale(found.sample)
    is_seen = np.isfinite(scale) & (scale > 0)
    is_constant = moments.is_constant(dtype)
    scale = np.where(is_constant, 0.0, np.where(is_seen, scale, moments.deviation))
    return np.where(is_seen, location, np.where(is_constant, moments.lowest, moments.mean)), scale


def _check_range(source: Source, moments: ColumnMoments, location: Array, scale: Array) -> None:
    """Refuse a column with values whose distances a model cannot compute with."""
    with np.errstate(over="ignore", invalid="ignore"):
        farthest = np.maximum(moments.highest - location, location - moments.lowest) / scale
        limit = min(INPUTS[8], np.finfo(source.dtype).max)
    if (bad := np.flatnonzero((moments.count > 0) & ~(farthest <= limit))).size:
        name, low, high = (each[bad[0]] for each in (source.labels, moments.lowest, moments.highest))
        raise DataError(
            f"{source.path} has values from {low:.3g} to {high:.3g} in column {name!r}, whose squares leave the range "
            f"of numbers. Correct such values, or leave the column out: --exclude {name}"
        )


def with_gaps_filled(imputer: Any, rows: Array) -> Array:
    """Rows with numbers of a fitted imputer in their gaps; what is there stays, to the last bit."""
    gaps = np.isnan(rows)
    numbers = np.flatnonzero(gaps.any(axis=1))
    if not len(numbers):
        return rows
    filled, known = rows.copy(), rows[numbers]
    for column, codes in codes_of(imputer).items():
        # Of categories that it has not seen, an imputer cannot say what they are like.
        known[~np.isin(known[:, column], codes.astype(rows.dtype)), column] = np.nan
    filled[numbers] = np.where(gaps[numbers], np.asarray(imputer.transform(known)), rows[numbers])
    return filled


def codes_of(imputer: Any) -> dict[int, Array]:
    """The categories of a fitted imputer, by their column."""
    is_code = getattr(imputer, "is_categorical_", None)
    return {} if is_code is None else dict(zip(np.flatnonzero(is_code).tolist(), imputer.categories_, strict=True))


def fitted_imputer(X: Array, seed: int, parameters: dict[str, Any], codes: list[int] | None = None) -> KernelImputer:
    """A model of rows, all columns of which have values; without parameters, those that restore hidden values best.

    Columns with the numbers in `codes` are categories.
    """
    shared: dict[str, Any] = {"keep_empty_features": True, "random_state": seed, "categorical_features": codes or None}
    if not parameters and len(X) >= FEWEST_ROWS_TO_CHOOSE:
        return KernelImputerCV(**shared).fit(X).best_estimator_
    return KernelImputer(**shared, **parameters).fit(X)


def constant_imputer(strategy: str, values: Array) -> SimpleImputer:
    """An imputer that fills in these values of columns."""
    imputer = SimpleImputer(strategy=strategy, keep_empty_features=True).fit(values[None, :])
    imputer.statistics_ = values  # not rounded by taking their mean
    return imputer


def _imputer(impute: str | None, moments: ColumnMoments, sample: Array, labels: list[str]) -> Any:
    """An imputer that is fitted to a sample, or has the means of all rows; None where nothing is to be filled in."""
    if impute is None:
        return None
    empty = np.flatnonzero(moments.count == 0)
    if len(empty):
        name = labels[empty[0]]
        raise DataError(f"Column {name!r} has no values at all to fill in from. Leave it out: --exclude {name}")
    if impute == "kernel":
        with stage("Learning to fill gaps in"):
            return fitted_imputer(sample, 0, {})
    values = moments.mean
    if impute == "median":
        known = (column[~np.isnan(column)] for column in sample.T)
        # A column with few values may have none in the sample.
        values = np.array([np.median(column) if len(column) else mean for column, mean in zip(known, moments.mean)])
    return constant_imputer(impute, values)


def _is_wanted(deviation: Array, labels: list[str], why_not: str, tell: Tell) -> bool:
    """Whether columns are standardised where the user says nothing."""
    positive = np.flatnonzero(deviation > 0)
    if len(positive) < 2:
        return False
    least, most = (int(positive[place(deviation[positive])]) for place in (np.argmin, np.argmax))
    if deviation[most] <= SPREAD * deviation[least]:
        return False
    scales = f"from {deviation[least]:.3g} ({labels[least]}) to {deviation[most]:.3g} ({labels[most]})"
    if why_not:
        tell(f"Deviations of columns go {scales}; they are left so, since {why_not}. See --standardize.")
        return False
    tell(f"Deviations of columns go {scales}, so columns are standardised; --no-standardize leaves them as they are.")
    return True


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
    """What a command says about kernel PCA."""

    @property
    def seed(self) -> int: ...

    def check(self, X: Array, path: Path) -> None:
        """Refuse rows of a file that are too few to learn from."""

    def unfitted(self, sample: Array) -> KernelPCA:
        """A model with all parameters given, or chosen on a sample of the rows, and a resolved kernel."""

    def exactly(self, sample: Array, X: Array) -> Learned:
        """Models of all rows."""


def learn(
    source: Source,
    learner: Learner,
    landmarks: Any,
    chunk_rows: int,
    notes: Sink,
    *,
    method: str = AUTO,
    n_folds: int | None = None,
    why_not: str = "",
    tell: Tell = lambda text: None,
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
    method : str
        How landmarks are chosen.
    n_folds : int or None
        In which rows are denoised by models on landmarks; None for no folds.
    why_not : str
        Why columns are not standardised unless the user says so.
    tell : callable
        Takes a message for the user.
    """
    found = _surveyed(source, DEFAULT_LANDMARKS if landmarks == AUTO else landmarks or 0, chunk_rows, learner.seed)
    n_rows = found.n_rows
    learner.check(found.sample, source.path)
    preparation = Preparation.of(source, found, why_not, tell)
    source, sample = preparation.applied(source), preparation(found.sample)
    if landmarks == AUTO:
        # By the number of rows alone: how much memory is free must not change the answer.
        landmarks = DEFAULT_LANDMARKS if too_large_for_exact(n_rows, sys.maxsize) else None
    with data_errors():
        if landmarks is None:
            X = _all_rows(source, n_rows, chunk_rows)
            with stage("Learning"):
                learned = learner.exactly(sample, X)
        else:
            model = learner.unfitted(sample)
            selector = as_landmarks(landmarks) if method == AUTO else type(as_landmarks(method))(landmarks)
            model.set_params(landmarks=selector)
            learned = _on_landmarks(model, source, sample, n_rows, chunk_rows, learner.seed, notes, n_folds)
    if source.names is not None:
        learned.model.feature_names_in_ = np.array(source.names, dtype=object)
    return n_rows, replace(learned, preparation=preparation)


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
    model: KernelPCA,
    source: Source,
    sample: Array,
    n_rows: int,
    chunk_rows: int,
    seed: int,
    notes: Sink,
    wanted_folds: int | None,
) -> Learned:
    kernel = landmark_inputs(model, sample).kernel
    landmarks = select_landmarks(model.landmarks, kernel, sample, np.random.default_rng(seed))
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


def load_model(path: Path) -> Any:
    """What a file of `save` holds."""
    try:
        return load(path)
    except FileNotFoundError as error:
        raise FileError(f"{path} does not exist.") from error
    except (OSError, ValueError, ImportError) as error:
        raise FileError(f"{path} is no model that preimage wrote, or damaged: {one_line(error)}") from error


def check_fitted(path: Path, model: Any, kind: type, attribute: str) -> None:
    """Refuse a file that does not hold a fitted model of some kind."""
    if not isinstance(model, kind) or not hasattr(model, attribute):
        found = "one that was not fitted" if isinstance(model, kind) else type(model).__name__
        raise FileError(f"{path} holds no fitted {kind.__name__}, but {found}.")


def check_columns(model: Any, source: Source) -> None:
    """Refuse a table with other columns than those of the training data."""
    if source.n_columns != model.n_features_in_:
        raise DataError(
            f"The model takes {model.n_features_in_} columns; {source.path} has {source.n_columns}. "
            "Choose with --columns or --exclude."
        )


def read_learned(path: Path) -> Learned:
    """A fitted `KernelPCA` from a file of its `save`, and what is done to rows before: it may be part of a pipeline."""
    model, preparation = load_model(path), Preparation()
    before, last = taken_apart(model)
    kinds = [next((kind for kind in (IMPUTERS, StandardScaler) if isinstance(step, kind)), None) for _, step in before]
    is_known = kinds in ([], [IMPUTERS], [StandardScaler], [IMPUTERS, StandardScaler])
    if is_known and all(hasattr(step, "n_features_in_") for _, step in before):
        preparation, model = Preparation.of_steps([step for _, step in before]), last
        if before and hasattr(before[0][1], "feature_names_in_"):
            model.feature_names_in_ = before[0][1].feature_names_in_
    check_fitted(path, model, KernelPCA, "subspace_")
    return Learned(model, preparation=preparation)


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
