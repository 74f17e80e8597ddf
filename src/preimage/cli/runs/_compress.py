"""Compression as the command line does it: models from files, measured, and written to files."""

import time
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from preimage._typing import Array
from preimage.cli._console import DataError, FileError, one_line
from preimage.cli.tables._files import Dataset
from preimage.estimators import compress
from preimage.estimators.compressed._models import standalone
from preimage.interop import SKOPS_TYPES
from preimage.persistence import load

MODEL_FORMATS = (".skops", ".safetensors")
OUTPUT_FORMATS = (".skops", ".safetensors", ".onnx")
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


def read_model(path: Path) -> Any:
    """A model from a skops file of trusted types, or from a file of `save`."""
    if not path.exists():
        raise FileError(f"{path} does not exist.")
    kind = format_of_model(path, MODEL_FORMATS, "MODEL")
    if kind == ".safetensors":
        try:
            return load(path)
        except (ValueError, ImportError) as error:
            raise FileError(str(error)) from error
    skops = _skops()
    try:
        untrusted = sorted(set(skops.get_untrusted_types(file=path)) - set(SKOPS_TYPES))
        if untrusted:
            raise FileError(
                f"{path} holds types that are not trusted, and was not loaded: {', '.join(untrusted)}. Load it in "
                "Python with skops.io.load(path, trusted=[...]) if you know them, and use preimage.compress there."
            )
        return skops.load(path, trusted=SKOPS_TYPES)
    except (zipfile.BadZipFile, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(f"{path} is damaged or not a skops file: {one_line(error)}") from error


def write_model(path: Path, model: Any, kind: str) -> None:
    """Write a compressed model in the format of `kind`."""
    if kind == ".skops":
        _skops().dump(model, path, compression=zipfile.ZIP_DEFLATED)
        return
    try:
        model = standalone(model)
    except TypeError as error:
        raise FileError(
            f"Only scalers before a kernel machine can be written as {kind}; use .skops. {one_line(error)}"
        ) from error
    try:
        if kind == ".safetensors":
            model.save(path)
        else:
            path.write_bytes(model.to_onnx().SerializeToString())
    except (ValueError, TypeError, ImportError) as error:
        raise FileError(f"The model cannot be written as {kind}: {one_line(error)}") from error


def format_of_model(path: Path, formats: tuple[str, ...], what: str) -> str:
    """The suffix of a model's file, one of `formats`."""
    suffix = path.suffix.lower()
    if suffix not in formats:
        raise FileError(f"{what} is a file {', '.join(formats[:-1])} or {formats[-1]}; got {path}.")
    return suffix


def small_model(model: Any, data: Dataset | None, wish: Wish) -> tuple[Any, Array | None, Array | None]:
    """The model on few points, and its inputs and labels in the order that the model wants."""
    X, y = (None, None) if data is None else (_inputs(model, data), _labels(model, data))
    if X is None and wish.n_points is None and wish.tolerance is None:
        raise DataError("Give --points N, or --data FILE on which to find the smallest number of points.")
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
    last = small[-1] if isinstance(small, Pipeline) else small
    before, after = last.n_original_points_, last.n_points_
    rows: list[tuple[str, Any, Any, str]] = [("points", str(before), str(after), f"{before / after:.1f} × fewer")]
    rows.append(("multiplications per row", "", "", f"{last.work_ratio_:.1f} × fewer"))
    if np.isfinite(last.error_):
        rows.append(("relative error", "", f"{last.error_:.3g}", ""))
    if last.scores_ is not None:
        rows.append((last._score_name(), f"{last.scores_[0]:.4f}", f"{last.scores_[1]:.4f}", ""))
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


def _inputs(model: Any, data: Dataset) -> Array:
    names = getattr(model, "feature_names_in_", None)
    if names is not None and data.columns is not None:
        missing = [str(name) for name in names if name not in data.columns]
        if missing:
            raise DataError(f"The model needs columns that the data lack: {', '.join(missing)[:200]}.")
        return data.values[:, [data.columns.index(name) for name in names]]
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


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise FileError(
            'skops files need skops, which is not installed. Type: pip install "preimage[persist]"'
        ) from error
    return skops.io


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms"


def _kilobytes(size: int) -> str:
    return f"{size / 1000:.1f} kB"
