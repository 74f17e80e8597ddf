"""The command ``preimage compress``: models from files made small on data from files, and measured."""

import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from rich.table import Table

from preimage._engine.output_files import replacing
from preimage._engine.typing import Array
from preimage.cli import _options
from preimage.cli._console import console, how_many
from preimage.cli._errors import DataError, UsageError
from preimage.cli._options import argument, one_of, option
from preimage.cli._outputs import check_outputs, chosen_format, save_figure, wrote
from preimage.cli.runs._learning import data_errors
from preimage.cli.runs._model_files import MODEL_FORMATS, OUTPUT_FORMATS, format_of_model, read_model, write_model
from preimage.cli.runs._partial import claimed
from preimage.cli.tables._files import read
from preimage.cli.tables._paths import FORMATS
from preimage.cli.tables._sources import Source
from preimage.estimators import compress
from preimage.interop._pipeline import final_step
from preimage.plotting._command_figures import draw_compression
from preimage.reduced_sets import REDUCERS

# Predictions are timed for this long, and the fastest run counts.
SECONDS = 0.3

METHODS = REDUCERS.on_command_line()
HELP_OF_METHODS = "; ".join(f"{part.name}: {part.help}" for part in REDUCERS.parts if part.on_command_line) + "."
# What is compared, before, after, how many times less.
Row = tuple[str, str, str, str]


@dataclass(frozen=True, kw_only=True)
class Compress(_options.Options):
    """Make a kernel machine small: the same predictions from a few dozen points.

    Takes support vector machines, calibrated or not, kernel ridge regression, Gaussian processes, kernel PCA, and
    pipelines in which kernel PCA feeds a linear machine, from files of `preimage.save` or skops.
    """

    model: Annotated[
        Path, argument("MODEL", f"A fitted kernel machine: {' or '.join(MODEL_FORMATS)}; no unknown code is run.")
    ]
    output: Annotated[Path, argument("OUT", f"The small model: {', '.join(OUTPUT_FORMATS)}.")]
    points: Annotated[int | None, option("N", "Points to keep. (Default: as few as --tolerance allows.)", min=1)] = None
    data: Annotated[Path | None, option("FILE", f"Rows like those to be predicted: {FORMATS}.")] = None
    label: Annotated[
        str | None, option("COLUMN", "Column of the data with labels. (Default: what MODEL predicts.)")
    ] = None
    tolerance: Annotated[
        float | None, option("T", "Accepted drop of the score, or error without --data. (Default: 0.005.)", min=0)
    ] = None
    method: Annotated[Any, one_of(METHODS, HELP_OF_METHODS)] = "auto"
    float32: Annotated[bool, option(None, "Single precision: half the size.", None, "--float32")] = False
    plot: _options.Plot = None
    array: _options.ArrayName = None
    output_format: _options.OutputFormat = None

    WITHOUT = ("keep", "standardize", "impute")
    EXAMPLES = (
        "preimage compress model.skops small.skops --points 40",
        "preimage compress model.skops small.safetensors --data validation.csv --label class --tolerance 0.01",
        "preimage compress model.skops small.onnx --points 40 --float32",
    )

    def run(self) -> None:
        """Compress MODEL."""
        if self.data is None and (self.label is not None or self.plot is not None):
            raise UsageError("--label and --plot need --data FILE.")
        wanted = self.output_format
        if wanted is None:
            kind = format_of_model(self.output, OUTPUT_FORMATS, "OUT")
        else:
            kind = chosen_format(wanted, OUTPUT_FORMATS)
        outputs = check_outputs({"OUT": self.output, "--plot": self.plot}, (self.model, self.data), self.force)
        with claimed(self.output):
            original = read_model(self.model)
            X = y = None
            if self.data is not None:
                source = read(self.data, self.array, self.label, options=self.table)
                if source.is_table:
                    self.say(source.described())
                X, y = inputs_for(original, source), _labels(original, source)
            with self._status("Compressing"):
                small = self._small(original, X, y)
            rows = _summary(original, small, X, y)
            with replacing(self.output) as aside:
                write_model(aside, small, kind)
                before, after = self.model.stat().st_size, aside.stat().st_size
                sizes = f"{before / 1000:.1f} kB", f"{after / 1000:.1f} kB"
                rows.append(("file size", *sizes, f"{before / after:.1f} × smaller"))
            with self._status("Drawing"):
                drawn = lambda: draw_compression(original, small, X, y)
                save_figure(self.plot, drawn, f"The compressed model is in {self.output}.")
        if not self.quiet:
            _print(rows)
        self.say(wrote(outputs))

    def _small(self, model: Any, X: Array | None, y: Array | None) -> Any:
        """The model on few points."""
        if X is None and self.points is None and self.tolerance is None:
            raise UsageError("Give --points N, or --data FILE on which to find the smallest number of points.")
        dtype = "float32" if self.float32 else None
        about: dict[str, Any] = {
            "tolerance": self.tolerance,
            "method": self.method,
            "dtype": dtype,
            "random_state": self.seed,
        }
        with data_errors(), _without_name_warnings():
            return compress(model, self.points, X=X, y=y, **about)

    def _status(self, text: str) -> AbstractContextManager[Any]:
        return nullcontext() if self.quiet else console.status(text)


def inputs_for(model: Any, source: Source) -> Array:
    """Rows with the columns that a model wants, in its order."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and source.names is not None:
        places = {name: place for place, name in enumerate(source.names)}
        missing = [str(name) for name in names if name not in places]
        if missing:
            raise DataError(f"The model needs columns that the data lack: {', '.join(missing)[:200]}.")
        return source.values[:, [places[name] for name in names]]
    expected = getattr(model, "n_features_in_", source.n_columns)
    if source.n_columns != expected:
        raise DataError(
            f"The model takes {expected} columns; the data have {source.n_columns}. "
            "If one of them holds labels, name it: --label COLUMN."
        )
    return source.values


def _labels(model: Any, source: Source) -> Array | None:
    y, classes = source.classes, getattr(model, "classes_", None)
    if y is None or classes is None:
        return y
    y = y.astype(str) if classes.dtype.kind in "UO" and y.dtype.kind != "U" else y
    unknown = sorted(set(y.tolist()) - set(classes.tolist()))
    if unknown:
        raise DataError(f"The labels have classes that the model lacks: {', '.join(map(repr, unknown))[:200]}.")
    return y


def _summary(model: Any, small: Any, X: Array | None, y: Array | None) -> list[Row]:
    """Rows of a table."""
    last = final_step(small)
    before, after = last.n_original_points_, last.n_points_
    rows: list[Row] = [("points", str(before), str(after), f"{before / after:.1f} × fewer")]
    rows.append(("multiplications per row", "", "", f"{last.work_ratio_:.1f} × fewer"))
    if np.isfinite(last.error_):
        rows.append(("relative error", "", f"{last.error_:.3g}", ""))
    if last.scores_ is not None:
        rows.append((last._score_name(), f"{last.scores_[0]:.4f}", f"{last.scores_[1]:.4f}", ""))
    if last.left_out_scores_ is not None:
        before, after = last.left_out_scores_
        error = f"± {last.left_out_standard_error_:.4f}"
        rows.append((f"{last._score_name()}, rows left out", f"{before:.4f}", f"{after:.4f}", error))
    if X is not None:
        slow, fast = _seconds_to_predict(model, X), _seconds_to_predict(small, X)
        times = f"{1000 * slow:.3g} ms", f"{1000 * fast:.3g} ms"
        rows.append((f"time for {how_many(len(X), 'row')}", *times, f"{slow / fast:.1f} × faster"))
    return rows


def _seconds_to_predict(model: Any, X: Array) -> float:
    """Time of one prediction of all rows, the fastest of many."""
    predict = model.predict if hasattr(model, "predict") else model.transform
    best, spent = np.inf, 0.0
    with _without_name_warnings():
        while spent < SECONDS:
            started = time.perf_counter()
            predict(X)
            taken = time.perf_counter() - started
            best, spent = min(best, taken), spent + taken
    return best


@contextmanager
def _without_name_warnings() -> Iterator[None]:
    """Columns have been compared by name above; scikit-learn only sees an array."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*valid feature names.*")
        yield


def _print(rows: list[Row]) -> None:
    table = Table("", "original", "compressed", "", box=None, header_style="bold")
    for column in (1, 2):
        table.columns[column].justify = "right"
    for row in rows:
        table.add_row(*row)
    console.print(table)
