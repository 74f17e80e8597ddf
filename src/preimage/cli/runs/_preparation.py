"""What is done to the rows of a table before a model sees them: missing values filled in, columns standardised."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage.cli._errors import DataError
from preimage.cli.tables._files import Dataset
from preimage.cli.tables._sources import Source, regrouped
from preimage.cli.tables._table_options import TableOptions
from preimage.estimators import KernelImputer, KernelImputerCV

# Columns are standardised where the largest of their deviations is more than so many times the smallest: the kernel
# would see little but that column.
SPREAD = 10
# With fewer rows no parameters of an imputer are chosen: there are too few values to hide.
FEWEST_ROWS_TO_CHOOSE = 20


@dataclass(frozen=True)
class ColumnMoments:
    """Counts, means and sums of squared deviations of columns, without missing values; of two files' parts, a + b."""

    count: Array
    mean: Array
    squares: Array
    n_missing: int = 0

    @classmethod
    def of(cls, rows: Array) -> "ColumnMoments":
        values = np.asarray(rows, dtype=np.float64)
        missing = np.isnan(values)
        count = (~missing).sum(axis=0)
        if not missing.any():
            mean = values.mean(axis=0) if len(values) else np.zeros(values.shape[1])
            return cls(count, mean, ((values - mean) ** 2).sum(axis=0))
        mean = np.where(missing, 0, values).sum(axis=0) / np.maximum(count, 1)
        squares = (np.where(missing, 0, values - mean) ** 2).sum(axis=0)
        return cls(count, mean, squares, int(missing.sum()))

    def __add__(self, other: "ColumnMoments") -> "ColumnMoments":
        count = self.count + other.count
        shift, weight = other.mean - self.mean, other.count / np.maximum(count, 1)
        squares = self.squares + other.squares + shift**2 * self.count * weight
        return ColumnMoments(count, self.mean + shift * weight, squares, self.n_missing + other.n_missing)

    @property
    def deviation(self) -> Array:
        """Deviations; 0 for columns that are constant up to rounding."""
        found = np.sqrt(self.squares / np.maximum(self.count, 1))
        return np.where(found <= 10 * np.finfo(float).eps * np.abs(self.mean), 0, found)


@dataclass(frozen=True)
class Wishes:
    """What the user said about the preparation.

    Attributes
    ----------
    standardize : bool or None
        None decides by the deviations of columns.
    impute : str or None
        "mean", "median" or "kernel".
    why_not : str
        Why columns are not standardised unless the user says so; empty if they may be.
    """

    standardize: bool | None = None
    impute: str | None = None
    why_not: str = ""


# What is told about gaps, by the option --impute.
WAYS = {
    "mean": "with the mean of their column",
    "median": "with the median of their column",
    "kernel": "as in rows that are like theirs",
}

# For rows that nothing is done to.
AS_THEY_ARE = Wishes(standardize=False)


def wishes_for(source: Source, why_not: str = "") -> Wishes:
    """What the options of a table say; arrays are not standardised unless the user says so."""
    said = source.options
    return Wishes(False if said.standardize is None and source.is_array else said.standardize, said.impute, why_not)


def prepared_for(
    data: Dataset, table: TableOptions, tell: Callable[[str], None] = lambda text: None, why_not: str = ""
) -> "Preparation":
    """What rows in memory need; arrays and pictures are not standardised unless the user says so."""
    is_table = data.source is not None
    standardize = table.standardize if is_table or table.standardize is not None else False
    labels = data.source.labels if data.source is not None else [str(n + 1) for n in range(data.values.shape[1])]
    wishes = Wishes(standardize, table.impute, why_not)
    return Preparation.of(wishes, ColumnMoments.of(data.values), data.values, labels, tell)


@dataclass(frozen=True)
class Preparation:
    """What replaces missing values, and means and scales of columns; None for what is not done.

    Attributes
    ----------
    imputer : SimpleImputer, KernelImputer or None
        Fitted.
    mean, scale : arrays of shape (d,) or None
        Of columns that are standardised.
    """

    imputer: Any = None
    mean: Array | None = None
    scale: Array | None = None

    @classmethod
    def of(
        cls,
        wishes: Wishes,
        moments: ColumnMoments,
        sample: Array,
        labels: list[str],
        tell: Callable[[str], None] = lambda text: None,
    ) -> "Preparation":
        """What columns with these moments need; medians are those of a sample of rows."""
        imputer = _imputer(wishes.impute, moments, sample, labels)
        if moments.n_missing and wishes.impute is not None:
            tell(f"{moments.n_missing:,} missing values are filled in {WAYS[wishes.impute]}.")
        deviation = moments.deviation
        if not _is_wanted(wishes, deviation, labels, tell):
            return cls(imputer)
        return cls(imputer, moments.mean, np.where(deviation > 0, deviation, 1.0))

    @classmethod
    def of_steps(cls, imputer: Any, scaler: StandardScaler | None) -> "Preparation":
        """What fitted steps of a pipeline do; None for those that it lacks."""
        if scaler is None:
            return cls(imputer)
        width = scaler.n_features_in_
        mean = scaler.mean_ if scaler.with_mean else np.zeros(width)
        return cls(imputer, mean, scaler.scale_ if scaler.with_std else np.ones(width))

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Preparation":
        return cls(**state)

    @property
    def state(self) -> dict[str, Any]:
        """Plain arrays, for files."""
        return {"imputer": self.imputer, "mean": self.mean, "scale": self.scale}

    @property
    def is_standardizing(self) -> bool:
        return self.mean is not None

    def __call__(self, rows: Array) -> Array:
        dtype = rows.dtype
        if self.imputer is not None:
            rows = with_gaps_filled(self.imputer, rows)
        if self.mean is not None and self.scale is not None:
            rows = (rows - self.mean) / self.scale
        return rows.astype(dtype, copy=False)

    def undone(self, rows: Array) -> Array:
        """Rows in the units of the data."""
        if self.mean is None or self.scale is None:
            return rows
        return (rows * self.scale + self.mean).astype(rows.dtype, copy=False)

    def applied(self, source: Source) -> Source:
        """A source whose rows are prepared."""
        if self.imputer is None and self.mean is None:
            return source
        # In whole chunks: a row that is filled in with others must have the same ones after an interruption.
        return replace(source, blocks=lambda start, rows: map(self, regrouped(source.blocks(start, rows), rows)))

    def steps(self, names: list[str] | None, n_rows: int) -> list[tuple[str, Any]]:
        """scikit-learn's estimators that do the same, for a pipeline; the first one has the names of the columns."""
        steps: list[tuple[str, Any]] = []
        if self.imputer is not None:
            steps.append(("impute", copy(self.imputer)))
        if self.mean is not None and self.scale is not None:
            steps.append(("standardize", _scaler(self.mean, self.scale, n_rows)))
        if steps and names is not None:
            steps[0][1].feature_names_in_ = np.array(names, dtype=object)
        return steps


def with_gaps_filled(imputer: Any, rows: Array) -> Array:
    """Rows with numbers of a fitted imputer in their gaps; what is there stays, to the last bit."""
    gaps = np.isnan(rows)
    numbers = np.flatnonzero(gaps.any(axis=1))
    if not len(numbers):
        return rows
    filled = rows.copy()
    found = np.asarray(imputer.transform(_without_unseen(imputer, rows[numbers])))
    filled[numbers] = np.where(gaps[numbers], found, rows[numbers])
    return filled


def codes_of(imputer: Any) -> dict[int, Array]:
    """The categories of a fitted imputer, by their column."""
    is_code = getattr(imputer, "is_categorical_", None)
    return {} if is_code is None else dict(zip(np.flatnonzero(is_code).tolist(), imputer.categories_, strict=True))


def _without_unseen(imputer: Any, rows: Array) -> Array:
    """Rows without the categories that an imputer has not seen, of which it cannot say what they are like."""
    codes = codes_of(imputer)
    rows = rows.copy() if codes else rows
    for column, known in codes.items():
        rows[~np.isin(rows[:, column], known.astype(rows.dtype)), column] = np.nan
    return rows


def fitted_imputer(X: Array, seed: int, parameters: dict[str, Any], codes: tuple[int, ...] = ()) -> KernelImputer:
    """A model of rows, all columns of which have values; without parameters, those that restore hidden values best.

    Columns with the numbers in `codes` are categories.
    """
    shared: dict[str, Any] = {
        "keep_empty_features": True,
        "random_state": seed,
        "categorical_features": list(codes) or None,
    }
    if not parameters and len(X) >= FEWEST_ROWS_TO_CHOOSE:
        return KernelImputerCV(**shared).fit(X).best_estimator_
    return KernelImputer(**shared, **parameters).fit(X)


def constant_imputer(strategy: str, values: Array) -> SimpleImputer:
    """An imputer that fills in these values of columns."""
    imputer = SimpleImputer(strategy=strategy, keep_empty_features=True).fit(values[None, :])
    imputer.statistics_ = values  # not rounded by taking their mean
    return imputer


def _scaler(mean: Array, scale: Array, n_rows: int) -> StandardScaler:
    """scikit-learn's estimator that standardises alike."""
    scaler = StandardScaler()
    scaler.mean_, scaler.scale_, scaler.var_ = mean, scale, scale**2
    scaler.n_samples_seen_, scaler.n_features_in_ = np.int64(n_rows), len(mean)
    return scaler


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


def _is_wanted(wishes: Wishes, deviation: Array, labels: list[str], tell: Callable[[str], None]) -> bool:
    positive = np.flatnonzero(deviation > 0)
    if wishes.standardize is not None or len(positive) < 2:
        return bool(wishes.standardize)
    least, most = (int(positive[place(deviation[positive])]) for place in (np.argmin, np.argmax))
    if deviation[most] <= SPREAD * deviation[least]:
        return False
    scales = f"from {deviation[least]:.3g} ({labels[least]}) to {deviation[most]:.3g} ({labels[most]})"
    if wishes.why_not:
        tell(f"Deviations of columns go {scales}; they are left so, since {wishes.why_not}. See --standardize.")
        return False
    tell(f"Deviations of columns go {scales}, so columns are standardised; --no-standardize leaves them as they are.")
    return True
