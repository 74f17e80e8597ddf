"""The command ``preimage impute``: the gaps of a table, filled in chunk by chunk."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone

from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage._engine.warnings import warn_user
from preimage._models.completion import FillingErrors, filling_errors
from preimage.cli import _options
from preimage.cli._console import console
from preimage.cli._errors import DataError, FileError
from preimage.cli._options import AUTO, argument, option
from preimage.cli._outputs import check_outputs, save_figure, table_format, write_json, wrote
from preimage.cli.runs._learning import SAMPLE_BYTES, data_errors
from preimage.cli.runs._model_files import check_columns, check_fitted, load_model
from preimage.cli.runs._partial import PartialOutput, Totals, inputs_of, partial_output, write_rows
from preimage.cli.runs._preparation import Survey, codes_of, fitted_imputer, survey, with_gaps_filled
from preimage.cli.tables._columns import listed
from preimage.cli.tables._frames import Frame
from preimage.cli.tables._kinds import Kind
from preimage.cli.tables._numbers import Words, gaps_of
from preimage.cli.tables._paths import identity_of, next_to
from preimage.cli.tables._sources import SOURCE_FORMATS, Source, coded, open_source, options_like
from preimage.estimators import KernelImputer, KernelImputerCV
from preimage.persistence._file import to_bytes
from preimage.plotting._tables import draw_table

# Columns of which the errors are printed; all of them are in the summary.
SHOWN = 12
# Rows that a model is made of, from the whole file, as many as `KernelImputer` uses of more; fewer where they are long,
# but not below the second number. And rows on which it is judged.
MODEL_ROWS, FEWEST_MODEL_ROWS, JUDGED_ROWS = 10_000, 500, 2000
# Most rows of a chunk: filling rows takes long, and what an interruption costs should be little.
CHUNK_ROWS = 4096
# Rows that are filled in together: enough for products of matrices to be fast, few enough for bars to move.
BLOCK = 256
# Most rows, from the start of the table, that a figure shows.
FIGURE_ROWS = 2000


@dataclass(frozen=True, kw_only=True)
class Impute(_options.Options):
    """Fill in the missing values of a table from similar rows. Known values stay as they are.

    To estimate the errors of filled values, known values are hidden and filled in. An interrupted run leaves
    OUTPUT.part; the same command continues it.
    """

    input: Annotated[Path, argument("INPUT", f"A table with gaps: {SOURCE_FORMATS}.")]
    output: Annotated[Path, argument("OUTPUT", "The same table without: .csv, .tsv, .parquet, .xlsx or .npy.")]
    components: _options.ComponentsOrAuto = AUTO
    gamma: _options.Gamma = AUTO
    round_whole: Annotated[
        bool, option(None, "Fill in whole numbers where all values of a column are whole.", None, "--round")
    ] = False
    categorical: Annotated[
        Any,
        option("A,B,...", "Columns of categories, words or codes: their gaps get one of them.", _options.names),
    ] = None
    fit_to: _options.FitTo = None
    model: Annotated[Path | None, option("FILE", "Fit nothing: use a KernelImputer of --save-model or save(FILE).")] = (
        None
    )
    save_model: _options.SaveModel = None
    plot: _options.Plot = None
    summary: _options.Summary = None
    chunk_rows: _options.ChunkRows = None
    resume: _options.Resume = True
    output_format: _options.OutputFormat = None

    WITHOUT = ("impute", "standardize", "keep")
    OF_THE_FIT = ("components", "gamma", "fit_to", "categorical")
    EXAMPLES = (
        "preimage impute gaps.csv complete.csv",
        "preimage impute gaps.csv complete.csv --round --save-model imputer.safetensors",
        "preimage impute gaps.csv complete.csv --categorical species,site --plot gaps.png",
        "preimage impute more_gaps.csv complete.csv --model imputer.safetensors",
        "preimage impute gaps.csv complete.csv --fit table.csv --columns a,b,c",
    )

    def run(self) -> None:
        """Fill in the gaps of INPUT in chunks."""
        kind = table_format(self.output_format, self.output)
        about = self.summary or next_to(self.output, ".json")
        named = {"OUTPUT": self.output, "--plot": self.plot, "--summary": about, "--save-model": self.save_model}
        written = check_outputs(named, (self.input, self.fit_to, self.model), self.force)
        ready, names, words = (None, None, {}) if self.model is None else _read_imputer(self.model)
        if ready is not None:
            self.warn_of_unused()
        by_name = names is not None and self.table.columns is None
        wanted = words or dict.fromkeys(self.categorical or (), ())
        numeric = None if names is None else tuple(name for name in names if name not in words)
        table = replace(self.table, columns=numeric) if by_name else self.table
        opened = open_source(self.input, table, needs_numbers=not wanted)
        source = train = coded(opened, wanted, names if by_name else None)
        if self.fit_to is not None:
            table = options_like(source, self.fit_to, self.table)
            train = coded(open_source(self.fit_to, table, needs_numbers=not wanted), wanted)
            source = coded(opened, train.words)
        self.say(source.described())
        self._tell_of_gaps(source)
        rows = self.chunk_rows or min(CHUNK_ROWS, source.chunk_rows)
        said = {name: getattr(self, name) for name in ("gamma", "components", "seed")}
        said |= {"rounded": self.round_whole, "categorical": list(self.categorical or ())}
        said |= {"training data": train.identity()} if self.model is None else {"model": identity_of(self.model)}
        with partial_output(self.output, inputs_of("impute", source, rows, **said), self.resume) as sink:
            if sink.is_begun:
                filler = self._with_model(Filler.from_state(sink.model()), train, rows, ready)
            else:
                filler = self._filler(source, train, rows, ready, sink)

            def step(chunk: Array, totals: Totals, advance: Callable[[int], None]) -> tuple[Array, Totals]:
                try:
                    with data_errors():
                        return filler(chunk, self.round_whole, advance), _updated(totals, np.isnan(chunk))
                except DataError:
                    sink.state = None  # the same rows would fail again: nothing is kept
                    raise

            write_rows(source, sink, rows, step, "Filling in gaps", self.say, with_missing=True)
            gaps = [column for column, count in enumerate(sink.totals["gaps"]) if count]
            sink.finish(kind, Frame.of_filled(source, gaps))
            if self.save_model is not None:
                with sink.making(self.save_model) as aside:
                    aside.write_bytes(to_bytes(_for_files(filler.imputer, source)))
            self._draw(source, sink)
            report = self._report(source, filler, sink)
            write_json(about, report, sink.making)
            self._print(report)
        self.say(wrote(written))

    def _filler(
        self, source: Source, train: Source, rows: int, ready: KernelImputer | None, sink: PartialOutput
    ) -> "Filler":
        """Fit and judge a model, and make ready for the rows."""
        of_source = self._surveyed(source, rows)
        width, gaps = source.n_columns, np.isnan(of_source.sample)
        if of_source.n_rows == 0:
            raise DataError(f"{source.path} has no rows.")
        if of_source.moments.n_missing == 0:
            filler = Filler(None, np.zeros(width, dtype=bool), FillingErrors.none(width), 0)
            filler = self._with_model(filler, train, rows, ready)
        elif ready is not None:
            # Judged on the table to fill in, which it has not seen.
            check_columns(ready, source)
            sample = _some(of_source.sample)
            filler = self._judged(ready, of_source.sample, sample, np.isnan(sample), lambda rows: ready, 0)
        else:
            of_train = of_source if train is source else self._surveyed(train, rows)
            X, imputer = of_train.sample, self._learned(train, of_train)
            # With the same parameters: one width and one noise are chosen by thousands of values, those hidden among
            # them. Searching for them again without these would take ten times as long for errors that hardly differ.
            again = lambda rows: clone(imputer).fit(rows)
            with stage("Hiding values and filling them in"):
                filler = self._judged(imputer, X, _some(X), gaps, again, len(X))
        totals = {"gaps": [0] * width, "rows": 0, "empty": 0}
        sink.begin(filler.state, of_source.n_rows, source.row_shape or (width,), source.dtype, totals)
        return filler

    def _with_model(self, filler: "Filler", train: Source, rows: int, ready: KernelImputer | None) -> "Filler":
        """With a model to save, where a table without gaps, or a run that was interrupted, needed none."""
        if self.save_model is None or filler.imputer is not None:
            return filler
        if ready is not None:
            return replace(filler, imputer=ready)
        of_train = self._surveyed(train, rows)
        return replace(filler, imputer=self._learned(train, of_train), training_rows=len(of_train.sample))

    def _learned(self, train: Source, of_train: Survey) -> KernelImputer:
        """A model of the training rows, after a look whether they can teach one."""
        _check_training(train, of_train)
        with stage("Learning from rows"):
            return self._fitted(of_train.sample, train)

    def _judged(
        self, imputer: Any, X: Array, sample: Array, gaps: Array, fit: Callable[[Array], Any], training_rows: int
    ) -> "Filler":
        """A model with its errors for gaps like these; `fit` makes one of the sample without the values hidden."""
        rng = np.random.default_rng([self.seed, 1])
        errors = filling_errors(lambda rows: partial(with_gaps_filled, fit(rows)), sample, gaps, rng, codes_of(imputer))
        whole = (np.isnan(X) | (np.round(X) == X)).all(axis=0)
        return Filler(imputer, whole, errors, training_rows)

    def _surveyed(self, source: Source, chunk_rows: int) -> Survey:
        affordable = SAMPLE_BYTES // (source.n_columns * source.dtype.itemsize)
        rows = max(FEWEST_MODEL_ROWS, min(MODEL_ROWS, affordable))
        return survey(source, chunk_rows, rows, self.seed, with_missing=True)

    def _fitted(self, X: Array, source: Source) -> KernelImputer:
        """A model of X; where nothing is said, with the width and the noise that restore hidden values of X best."""
        said = {"gamma": self.gamma, "n_components": self.components}
        said = {name: value for name, value in said.items() if value != AUTO}
        return fitted_imputer(X, self.seed, said, self._codes(source))

    def _draw(self, source: Source, sink: PartialOutput) -> None:
        """The figure: what columns and gaps were like, in the first rows."""
        if self.plot is not None:
            before = next(source.chunks(FIGURE_ROWS, with_missing=True))
            draw = partial(draw_table, before, sink.first(len(before)), source.names, sink.n_rows)
            save_figure(self.plot, draw, f"{self.output} is complete.", sink.making)

    def _codes(self, source: Source) -> list[int]:
        """Numbers of the columns of categories, and of all columns of words."""
        return sorted({_code_column(name, source) for name in (*(self.categorical or ()), *source.words)})

    def _tell_of_gaps(self, source: Source) -> None:
        """Which columns keep their gaps, as their first rows say, and how to fill them in."""
        layout = source.layout
        if layout.empty:
            empty = listed(layout.called(layout.empty))
            warn_user(f"Columns without any value have nothing to fill in from, and stay empty: {empty}.", UserWarning)
        others, marks = [place for place in layout.passed_over if place not in layout.empty], Words((), source.marks)
        batch = next(source.columns(others), []) if others else []
        stay = [place for place, values in zip(others, batch) if True in gaps_of(values, marks).to_pylist()]
        words = layout.called(place for place in stay if layout.kinds[place] in (Kind.CATEGORY, Kind.TRUTH))
        if stay:
            advice = f" To fill in those of categories: --categorical {','.join(words)}" if words else ""
            self.say(f"Gaps stay in {listed(layout.called(stay))}.{advice}")

    def _report(self, source: Source, filler: "Filler", sink: PartialOutput) -> dict[str, Any]:
        """A summary as plain values."""
        totals, errors, n_rows = sink.totals, filler.errors, sink.n_rows
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
        return self.record(
            self.input,
            self.output,
            n_rows,
            source.n_columns,
            gaps=sum(totals["gaps"]),
            fraction=sum(totals["gaps"]) / (n_rows * source.n_columns),
            rows_with_gaps=totals["rows"],
            empty_rows=totals["empty"],
            filled_columns=columns,
            relative_error=number(errors.relative),
            training_rows=filler.training_rows,
            parameters=_parameters(filler.imputer),
        )

    def _print(self, report: dict[str, Any]) -> None:
        if not report["gaps"]:
            self.say(f"{report['input']} has no gaps: {report['output']} is the same table.")
            return
        filled, n_rows = report["filled_columns"], report["rows"]
        self.say(
            f"Filled in {report['gaps']:,} of {n_rows * report['columns']:,} values ({100 * report['fraction']:.2g} %) "
            f"in {len(filled)} of {report['columns']} columns and {report['rows_with_gaps']:,} of {n_rows:,} rows, in "
            f"{report['seconds']:.1f} s."
        )
        kinds = "root mean squares, or fractions of categories that are wrong, from values that were hidden"
        self.say(f"Expected errors ({kinds}):")
        width = max(len(column["name"]) for column in filled[:SHOWN])
        for column in filled[:SHOWN]:
            self.say(f"  {column['name']:{width}s}  {_error(column)}")
        if (more := len(filled) - SHOWN) > 0:
            self.say(f"  … and {more} more column{'s' if more != 1 else ''}, in the summary.")
        if report["empty_rows"]:
            count = report["empty_rows"]
            have = "1 row has" if count == 1 else f"{count:,} rows have"
            console.print(f"Warning: {have} no value at all; such rows get the same values.", style="yellow")


@dataclass(frozen=True)
class Filler:
    """A model that fills in gaps, and what is known about its results.

    Attributes
    ----------
    imputer : fitted imputer or None
        None where there are no gaps and no model is asked for.
    whole : bool array of shape (d,)
        Columns of whole numbers.
    errors : FillingErrors
    training_rows : int
    """

    imputer: Any
    whole: Array
    errors: FillingErrors
    training_rows: int

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Filler":
        return cls(**{**state, "errors": FillingErrors(**state["errors"])})

    @property
    def state(self) -> dict[str, Any]:
        """For files."""
        return {**vars(self), "errors": vars(self.errors)}

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


def _read_imputer(path: Path) -> tuple[KernelImputer, tuple[str, ...] | None, dict[str, tuple[str, ...]]]:
    """A fitted `KernelImputer`, or the best one of a search, from a file of its `save`; names and words of its columns.

    Columns of words are numbers for it, as they are in a `Source`.
    """
    model: Any = load_model(path)
    model = getattr(model, "best_estimator_", model) if isinstance(model, KernelImputerCV) else model
    check_fitted(path, model, KernelImputer, "n_features_in_")
    names: Any = getattr(model, "feature_names_in_", None)
    empty = np.flatnonzero(~model.valid_features_)
    if empty.size:
        name = empty[0] if names is None else repr(str(names[empty[0]]))
        raise FileError(f"The model of {path} was fitted without any value of column {name}. Fit it to others.")
    imputer = _without_names(model)
    # Gaps of tables are NaN here, whatever stood for them where the model was fitted, and tables keep their columns.
    imputer.missing_values, imputer.add_indicator = np.nan, False
    of_words = lambda found: found.dtype.kind == "O"
    words = {column: found for column, found in codes_of(model).items() if of_words(found)}
    if words and names is None:
        raise FileError(f"The model of {path} has columns of words and no names. Fit it to a table with names.")
    if words:
        imputer.categories_ = [
            np.arange(float(len(each))) if each.dtype.kind == "O" else each for each in model.categories_
        ]
    by_name = {str(names[column]): tuple(map(str, found)) for column, found in words.items()} if words else {}
    return imputer, None if names is None else tuple(map(str, names)), by_name


def _code_column(name: str, source: Source) -> int:
    """The number of a column of categories among those with values."""
    place = source.layout.find(name)
    if place not in source.layout.taken:
        raise DataError(f"{source.path}: column {name!r} of --categorical is not among those with values.")
    return source.layout.taken.index(place)


def _without_names(imputer: KernelImputer) -> KernelImputer:
    """The same model for arrays."""
    plain = copy(imputer)
    plain.__dict__.pop("feature_names_in_", None)
    return plain


def _for_files(imputer: KernelImputer, source: Source) -> KernelImputer:
    """A model for files, which has the names of its columns and the words of categories."""
    named, words = _without_names(imputer), source.words
    if source.names is not None:
        named.feature_names_in_ = np.array(source.names, dtype=object)
    if words and source.names is not None:
        of_columns = [words.get(source.labels[column]) for column in codes_of(imputer)]
        named.categories_ = [
            codes if known is None else np.array([known[int(code)] for code in codes], dtype=object)
            for known, codes in zip(of_columns, imputer.categories_, strict=True)
        ]
    return named


def _check_training(train: Source, found: Survey) -> None:
    """Refuse a table that nothing can be learned from."""
    if found.n_rows < 2:
        raise DataError(f"{train.path} has one row. Imputers learn from many: add rows, or give others: --fit FILE.")
    empty = np.flatnonzero(np.isnan(found.sample).all(axis=0))
    if len(empty):
        name = train.labels[empty[0]]
        raise DataError(f"Column {name!r} has no values to learn from. Leave it out: --exclude {name}")


def _some(X: Array) -> Array:
    """Rows of X at equal distances, on which a model is judged."""
    return X[np.linspace(0, len(X) - 1, min(len(X), JUDGED_ROWS)).astype(int)]


def _updated(totals: Totals, gaps: Array) -> Totals:
    return {
        "gaps": [int(count) for count in np.asarray(totals["gaps"]) + gaps.sum(axis=0)],
        "rows": totals["rows"] + int(gaps.any(axis=1).sum()),
        "empty": totals["empty"] + int(gaps.all(axis=1).sum()),
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


def _error(column: dict[str, Any]) -> str:
    text = f"{column['gaps']:,} filled"
    if column["expected_error"] is None:
        return f"{text}; too few values to hide some"
    expected, of_mean = column["expected_error"], column["error_of_mean"]
    if column["categorical"]:
        return f"{text}, {expected:.0%} of them wrong (with the most frequent category instead: {of_mean:.0%})"
    return f"{text}, expected error {expected:.3g} (with the mean instead: {of_mean:.3g})"
