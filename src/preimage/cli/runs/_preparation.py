"""What the columns of a table need before a model sees them: a survey of its rows, filled gaps, scales."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from preimage._engine.column_moments import ColumnMoments
from preimage._engine.finite import INPUTS
from preimage._engine.progress import stage
from preimage._engine.robust import location_and_scale
from preimage._engine.row_sample import RowSample
from preimage._engine.typing import Array
from preimage.cli._console import how_many
from preimage.cli._errors import DataError
from preimage.cli.tables._columns import listed
from preimage.cli.tables._sources import Source, regrouped
from preimage.estimators import KernelImputer, KernelImputerCV

# Columns are standardised where the largest of their deviations is more than so many times the smallest: the kernel
# would see little but that column.
SPREAD = 10
# With fewer rows no parameters of an imputer are chosen: there are too few values to hide.
FEWEST_ROWS_TO_CHOOSE = 20
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
    """Read a file once: the number of rows, and a sample of them, see `RowSample`. Rows in memory are all taken."""
    if source.values is not None:
        return Survey(source.n_rows, source.values, ColumnMoments.of(source.values))
    sample, moments = RowSample(sample_rows, source.n_columns, source.dtype, seed), None
    with stage("Reading rows", source.n_rows) as advance:
        for chunk in source.chunks(chunk_rows, with_missing=with_missing):
            of_chunk = ColumnMoments.of(chunk)
            moments = of_chunk if moments is None else moments + of_chunk
            sample.add(chunk)
            advance(len(chunk))
    return Survey(sample.n_seen, sample.rows, moments or ColumnMoments.of(sample.rows))


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
