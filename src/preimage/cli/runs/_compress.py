"""Compression as the command line does it: models made small on data from files, and measured."""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from preimage._engine.typing import Array
from preimage.cli._console import one_line
from preimage.cli._errors import DataError, UsageError
from preimage.cli.tables._files import Dataset
from preimage.estimators import compress
from preimage.interop._pipeline import final_step

# Predictions are timed for this long, and the fastest run counts.
SECONDS = 0.3


@dataclass(frozen=True)
class Wish:
    """What the user said about the small model; None is chosen by `compress`."""

    n_points: int | None = None
    tolerance: float | None = None
    method: str = "auto"
    dtype: str | None = None
    seed: int = 0


def small_model(model: Any, data: Dataset | None, wish: Wish) -> tuple[Any, Array | None, Array | None]:
    """The model on few points, and its inputs and labels in the order that the model wants."""
    X, y = (None, None) if data is None else (inputs_for(model, data), _labels(model, data))
    if X is None and wish.n_points is None and wish.tolerance is None:
        raise UsageError("Give --points N, or --data FILE on which to find the smallest number of points.")
    try:
        with _without_name_warnings():
            small = compress(
                model,
                wish.n_points,
                X=X,
                y=y,
                tolerance=wish.tolerance,
                method=wish.method,
                dtype=wish.dtype,
                random_state=wish.seed,
            )
    except (ValueError, TypeError) as error:
        raise DataError(one_line(error)) from error
    return small, X, y


def summarize(model: Any, small: Any, X: Array | None, y: Array | None) -> list[tuple[str, str, str, str]]:
    """Rows of a table: what is compared, before, after, how many times less."""
    last = final_step(small)
    before, after = last.n_original_points_, last.n_points_
    rows: list[tuple[str, Any, Any, str]] = [("points", str(before), str(after), f"{before / after:.1f} × fewer")]
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
        slow, fast = seconds_to_predict(model, X), seconds_to_predict(small, X)
        rows.append(
            (f"time for {len(X)} rows", _milliseconds(slow), _milliseconds(fast), f"{slow / fast:.1f} × faster")
        )
    return rows


def seconds_to_predict(model: Any, X: Array) -> float:
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


def size_row(before: Path, after: Path) -> tuple[str, str, str, str]:
    """A row of the table: sizes of two files."""
    larger, smaller = before.stat().st_size, after.stat().st_size
    return ("file size", _kilobytes(larger), _kilobytes(smaller), f"{larger / smaller:.1f} × smaller")


def inputs_for(model: Any, data: Dataset) -> Array:
    """Rows with the columns that a model wants, in its order."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None and data.columns is not None:
        places = {name: place for place, name in enumerate(data.columns)}
        missing = [str(name) for name in names if name not in places]
        if missing:
            raise DataError(f"The model needs columns that the data lack: {', '.join(missing)[:200]}.")
        return data.values[:, [places[name] for name in names]]
    expected = getattr(model, "n_features_in_", data.values.shape[1])
    if data.values.shape[1] != expected:
        raise DataError(
            f"The model takes {expected} columns; the data have {data.values.shape[1]}. "
            "If one of them holds labels, name it: --label COLUMN."
        )
    return data.values


def _labels(model: Any, data: Dataset) -> Array | None:
    y, classes = data.labels, getattr(model, "classes_", None)
    if y is None or classes is None:
        return y
    y = y.astype(str) if classes.dtype.kind in "UO" and y.dtype.kind != "U" else y
    unknown = sorted(set(y.tolist()) - set(classes.tolist()))
    if unknown:
        raise DataError(f"The labels have classes that the model lacks: {', '.join(map(repr, unknown))[:200]}.")
    return y


@contextmanager
def _without_name_warnings() -> Iterator[None]:
    """Columns have been compared by name above; scikit-learn only sees an array."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*valid feature names.*")
        yield


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms"


def _kilobytes(size: int) -> str:
    return f"{size / 1000:.1f} kB"
