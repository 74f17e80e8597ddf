"""Fill in the gaps of a table, chunk by chunk."""

from collections.abc import Callable
from copy import copy
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial as with_first
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

import preimage
from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage.cli._console import one_line
from preimage.cli._errors import DataError, FileError
from preimage.cli._options import AUTO
from preimage.cli.runs._file_model import SAMPLE_BYTES, Survey, load_model, survey
from preimage.cli.runs._gaps import Errors, Fill, judged
from preimage.cli.runs._partial import Making, PartialOutput, partial_output, said_about, write_rows
from preimage.cli.runs._preparation import codes_of, fitted_imputer, with_gaps_filled
from preimage.cli.tables._frames import Frame
from preimage.cli.tables._identity import identity_of
from preimage.cli.tables._sources import Source
from preimage.cli.tables._table_options import TableOptions
from preimage.estimators import KernelImputer, KernelImputerCV
from preimage.persistence._file import to_bytes

# Rows that a model is made of, from the whole file, as many as `KernelImputer` uses of more; fewer where they are long,
# but not below the second number. And rows on which it is judged.
MODEL_ROWS, FEWEST_MODEL_ROWS, JUDGED_ROWS = 10_000, 500, 2000
# Most rows of a chunk: filling rows takes long, and what an interruption costs should be little.
CHUNK_ROWS = 4096
# Rows that are filled in together: enough for products of matrices to be fast, few enough for bars to move.
BLOCK = 256


@dataclass(frozen=True)
class Filling:
    """What the user said about the model and the result.

    Attributes
    ----------
    gamma : "auto", a rule such as "median" or "p5", or float
    components : "auto", int or float in (0, 1)
        A number of components, or the fraction of the variance that they should explain.
    rounded : bool
        Whether gaps in columns of whole numbers get whole numbers.
    seed : int
    categorical : list of str
        Columns of numbers that stand for categories.
    """

    gamma: Any = AUTO
    components: Any = AUTO
    rounded: bool = False
    seed: int = 0
    categorical: list[str] = field(default_factory=list)

    def fitted(self, X: Array, source: Source) -> KernelImputer:
        """A model of X; where nothing is said, with the width and the noise that restore hidden values of X best."""
        said = {"gamma": self.gamma, "n_components": self.components}
        said = {name: value for name, value in said.items() if value != AUTO}
        return fitted_imputer(X, self.seed, said, tuple(self._column(name, source) for name in self.categorical))

    def _column(self, name: str, source: Source) -> int:
        """The number of a column of categories among those with values."""
        layout = source.layout
        try:
            place = layout.find(name)
        except DataError as error:
            raise DataError(f"{source.path} {error}") from error
        if place in layout.text:
            raise DataError(
                f"{source.path}: column {name!r} holds words, and --categorical takes numbers. Replace each word by a "
                "number, or fill the table in Python: KernelImputer takes words in data frames."
            )
        if place not in layout.taken:
            raise DataError(f"{source.path}: column {name!r} of --categorical is not among those with values.")
        return layout.taken.index(place)


@dataclass(frozen=True)
class Ready:
    """A model that was fitted before, and its file."""

    path: Path
    imputer: KernelImputer
    names: tuple[str, ...] | None

    def options(self, table: TableOptions) -> TableOptions:
        """Options that take the columns of the model from a table, by their names where it has names."""
        return table if self.names is None or table.columns is not None else replace(table, columns=self.names)

    def check_columns(self, source: Source) -> None:
        """Refuse a table with other columns than those of the training data."""
        if source.n_columns != self.imputer.n_features_in_:
            raise DataError(
                f"The model takes {self.imputer.n_features_in_} columns; {source.path} has {source.n_columns}. "
                "Choose with --columns or --exclude."
            )


def read_imputer(path: Path) -> Ready:
    """A fitted `KernelImputer`, or the best one of a search, from a file of its `save`."""
    model = load_model(path)
    model = getattr(model, "best_estimator_", model) if isinstance(model, KernelImputerCV) else model
    if not isinstance(model, KernelImputer) or not hasattr(model, "n_features_in_"):
        found = "one that was not fitted" if isinstance(model, KernelImputer) else type(model).__name__
        raise FileError(f"{path} holds no fitted KernelImputer, but {found}.")
    names = getattr(model, "feature_names_in_", None)
    empty = np.flatnonzero(~model.valid_features_)
    if empty.size:
        name = empty[0] if names is None else repr(str(names[empty[0]]))
        raise FileError(f"The model of {path} was fitted without any value of column {name}. Fit it to others.")
    imputer = _with_names(model, None)
    # Gaps of tables are NaN here, whatever stood for them where the model was fitted, and tables keep their columns.
    imputer.missing_values, imputer.add_indicator = np.nan, False
    return Ready(path, imputer, None if names is None else tuple(map(str, names)))


@dataclass(frozen=True)
class Filler:
    """A model that fills in gaps, and what is known about its results.

    Attributes
    ----------
    imputer : fitted imputer or None
        None where there are no gaps.
    whole : bool array of shape (d,)
        Columns of whole numbers.
    errors : Errors
    training_rows : int
    """

    imputer: Any
    whole: Array
    errors: Errors
    training_rows: int

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Filler":
        return cls(**{**state, "errors": Errors(**state["errors"])})

    @property
    def state(self) -> dict[str, Any]:
        """For files."""
        errors = {each.name: getattr(self.errors, each.name) for each in fields(self.errors)}
        return {
            "imputer": self.imputer,
            "whole": self.whole,
            "errors": errors,
            "training_rows": self.training_rows,
        }

    def __call__(self, rows: Array, rounded: bool, advance: Callable[[int], None] = lambda count: None) -> Array:
        """Rows without gaps; what is there stays, to the last bit."""
        filled = rows.copy()
        for first in range(0, len(rows), BLOCK):
            block = rows[first : first + BLOCK]
            found = with_gaps_filled(self.imputer, block)
            if rounded:
                found = np.where(np.isnan(block) & self.whole, np.round(found), found)
            filled[first : first + BLOCK] = found
            advance(len(block))
        return filled


# What else is made of a run: takes the summary and `PartialOutput.making`.
Conclude = Callable[[dict[str, Any], Making], None]


def impute_file(
    source: Source,
    train: Source,
    output: Path,
    kind: str,
    wish: Filling,
    chunk_rows: int | None,
    resume: bool,
    ready: Ready | None = None,
    save_model: Path | None = None,
    conclude: Conclude = lambda report, making: None,
    tell: Callable[[str], None] = lambda text: None,
) -> None:
    """Write a table without its gaps.

    Parameters
    ----------
    source, train : Source
        What to fill in, and what to learn from; possibly the same.
    output : Path
    kind : str
        Format of the output.
    wish : Filling
    chunk_rows : int or None
    resume : bool
        Whether to continue an interrupted run.
    ready : Ready or None
        A fitted model, in place of `wish` and `train`.
    save_model : Path or None
        Where the model goes as well.
    conclude : callable
        Writes what else is made.
    tell : callable
        Takes a message for the user.
    """
    rows = chunk_rows or min(CHUNK_ROWS, source.chunk_rows)
    inputs = {
        "command": "impute",
        "version": preimage.__version__,
        "input": source.identity(),
        "columns": source.labels,
        "chunk rows": rows,
        **said_about(source),
        **asdict(wish),
        **({"training data": train.identity()} if ready is None else {"model": identity_of(ready.path)}),
    }
    with partial_output(output, inputs, resume) as partial:
        if partial.is_begun:
            filler = Filler.from_state(partial.model())
        else:
            filler = _begin(source, train, wish, rows, ready, partial)

        def step(chunk: Array, totals: dict[str, Any], advance: Callable[[int], None]) -> tuple[Array, dict[str, Any]]:
            try:
                return filler(chunk, wish.rounded, advance), _updated(totals, np.isnan(chunk))
            except ValueError as error:
                partial.state = None  # the same rows would fail again: nothing is kept
                raise DataError(one_line(error)) from error

        write_rows(source, partial, rows, step, "Filling in gaps", tell, with_missing=True)
        gaps = [column for column, count in enumerate(partial.totals["gaps"]) if count]
        partial.finish(kind, Frame.of_filled(source, gaps, wish.rounded, tuple(codes_of(filler.imputer))))
        if save_model is not None:
            if filler.imputer is None:
                raise DataError(f"{source.path} has no gaps, so that there is no model to save.")
            with partial.making(save_model) as aside:
                aside.write_bytes(to_bytes(_with_names(filler.imputer, source.names)))
        conclude(_summary(source, filler, partial), partial.making)
        partial.close()


def _begin(
    source: Source, train: Source, wish: Filling, chunk_rows: int, ready: Ready | None, partial: PartialOutput
) -> Filler:
    """Fit and judge a model, and make ready for the rows."""
    of_source = _surveyed(source, chunk_rows, wish.seed)
    if of_source.n_rows == 0:
        raise DataError(f"{source.path} has no rows.")
    if of_source.moments.n_missing == 0:
        width = source.n_columns
        filler = Filler(None, np.zeros(width, dtype=bool), Errors.none(width), 0)
    elif ready is not None:
        ready.check_columns(source)
        filler = _judged_model(ready.imputer, of_source, wish.seed)
    else:
        of_train = of_source if train is source else _surveyed(train, chunk_rows, wish.seed)
        filler = _fitted(train, of_train, of_source, wish)
    totals = {"gaps": [0] * source.n_columns, "rows": 0, "empty": 0}
    partial.begin(filler.state, of_source.n_rows, source.row_shape or (source.n_columns,), source.dtype, totals)
    return filler


def _surveyed(source: Source, chunk_rows: int, seed: int) -> Survey:
    affordable = SAMPLE_BYTES // (source.n_columns * source.dtype.itemsize)
    rows = max(FEWEST_MODEL_ROWS, min(MODEL_ROWS, affordable))
    return survey(source, chunk_rows, rows, seed, with_missing=True)


def _fitted(train: Source, of_train: Survey, of_source: Survey, wish: Filling) -> Filler:
    """A model of the rows of a training set, and its errors for gaps like those of the table to fill in."""
    X = of_train.sample
    _check_training(train, of_train)
    gaps = np.isnan(of_source.sample)

    with stage("Learning from rows"):
        imputer = wish.fitted(X, train)

    def fit(rows: Array) -> Fill:
        """With the same parameters: one width and one noise are chosen by thousands of values, those hidden among them.

        Searching for them again without these would take ten times as long for errors that hardly differ.
        """
        return with_first(with_gaps_filled, clone(imputer).fit(rows))

    with stage("Hiding values and filling them in"):
        errors = judged(fit, _some(X, JUDGED_ROWS), gaps, np.random.default_rng([wish.seed, 1]), codes_of(imputer))
    return Filler(imputer, _whole(X), errors, len(X))


def _judged_model(imputer: Any, of_source: Survey, seed: int) -> Filler:
    """A model that was fitted before: judged on the table to fill in, which it has not seen."""
    sample = _some(of_source.sample, JUDGED_ROWS)
    fill, gaps = with_first(with_gaps_filled, imputer), np.isnan(sample)
    errors = judged(lambda rows: fill, sample, gaps, np.random.default_rng([seed, 1]), codes_of(imputer))
    return Filler(imputer, _whole(of_source.sample), errors, 0)


def _with_names(imputer: KernelImputer, names: list[str] | None) -> KernelImputer:
    """A model for files, which has the names of its columns; arrays that it fills in here have none."""
    named = copy(imputer)
    named.__dict__.pop("feature_names_in_", None)
    if names is not None:
        named.feature_names_in_ = np.array(names, dtype=object)
    return named


def _check_training(train: Source, found: Survey) -> None:
    """Refuse a table that nothing can be learned from."""
    if found.n_rows < 2:
        raise DataError(f"{train.path} has one row. Imputers learn from many: add rows, or give others: --fit FILE.")
    empty = np.flatnonzero(np.isnan(found.sample).all(axis=0))
    if len(empty):
        name = train.labels[empty[0]]
        raise DataError(f"Column {name!r} has no values to learn from. Leave it out: --exclude {name}")


def _some(X: Array, most: int) -> Array:
    """Rows of X at equal distances, at most so many."""
    return X[np.linspace(0, len(X) - 1, min(len(X), most)).astype(int)]


def _whole(X: Array) -> Array:
    """Columns all of whose values are whole numbers."""
    return (np.isnan(X) | (np.round(X) == X)).all(axis=0)


def _updated(totals: dict[str, Any], gaps: Array) -> dict[str, Any]:
    return {
        "gaps": [int(count) for count in np.asarray(totals["gaps"]) + gaps.sum(axis=0)],
        "rows": totals["rows"] + int(gaps.any(axis=1).sum()),
        "empty": totals["empty"] + int(gaps.all(axis=1).sum()),
    }


def _summary(source: Source, filler: Filler, partial: PartialOutput) -> dict[str, Any]:
    totals, errors, n_rows = partial.totals, filler.errors, partial.n_rows
    number = lambda value: None if np.isnan(value) else float(value)
    columns = [
        {
            "name": source.labels[column],
            "gaps": count,
            "expected_error": number(errors.filled[column]),
            "error_of_mean": number(errors.mean[column]),
            "hidden": int(errors.hidden[column]),
            "categorical": bool(errors.is_code[column]),
        }
        for column, count in enumerate(totals["gaps"])
        if count
    ]
    return {
        "rows": n_rows,
        "gaps": sum(totals["gaps"]),
        "fraction": sum(totals["gaps"]) / (n_rows * source.n_columns),
        "rows_with_gaps": totals["rows"],
        "empty_rows": totals["empty"],
        "filled_columns": columns,
        "relative_error": number(errors.relative),
        "training_rows": filler.training_rows,
        "parameters": _parameters(filler.imputer),
    }


def _parameters(imputer: KernelImputer | None) -> dict[str, Any] | None:
    """What a model was fitted with, as plain numbers; None without one."""
    if imputer is None:
        return None
    if imputer.method_ == "conditional":
        return {"method": "conditional", "points": int(imputer.points_.shape[0])}
    gamma = getattr(imputer.kernel_, "gamma", None)  # saved models may have kernels without one
    return {
        "method": "energy",
        "components": int(imputer.n_components_),
        "gamma": float(gamma) if isinstance(gamma, Real) else None,
        "noise": float(imputer.noise_variance_),
        "points": len(imputer.subspace_.frame.points),
    }
