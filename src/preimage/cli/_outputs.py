"""The files that a command makes: checks before any work is done, formats, summaries and figures."""

import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from preimage._engine.output_files import are_distinct, check_not_inputs, check_writable, replacing
from preimage._engine.typing import Array
from preimage.cli._console import one_line
from preimage.cli._errors import FileError, UsageError
from preimage.cli.runs._partial import Making, is_own
from preimage.cli.tables._paths import PICTURES, format_of
from preimage.interop._pipeline import final_step

FIGURES = (".png", ".pdf", ".svg")
# Formats of tables that are written.
TABLES = (".csv", ".npy", ".parquet", ".xlsx")
GREY, BLUE, ORANGE = "0.6", "#0072B2", "#D55E00"


def check_outputs(
    outputs: Mapping[str, Path | None], inputs: Sequence[Path | None], force: bool, is_folder: bool = False
) -> list[Path]:
    """Refuse what could not or should not be written; return the files that a run will make.

    Parameters
    ----------
    outputs : dict of str to Path or None
        By the name of their argument or option; None are not asked for.
    inputs : sequence of Path or None
        What is read and must not be replaced.
    force : bool
        Whether existing files may be replaced.
    is_folder : bool
        Whether the first output is a folder.
    """
    paths = [path for path in outputs.values() if path is not None]
    _check_figure(outputs.get("--plot"))
    check_not_inputs(paths, inputs, PICTURES)
    if not are_distinct(paths):
        names = [name for name, path in outputs.items() if path is not None]
        raise UsageError(f"{', '.join(names[:-1])} and {names[-1]} need different names.")
    for number, path in enumerate(paths):
        may_replace = force or is_own(paths[0], path)
        check_writable(path, may_replace, PICTURES if is_folder and number == 0 else ())
    model = outputs.get("--save-model")
    if model is not None and model.suffix.lower() != ".safetensors":
        raise FileError(f"{model} is not a model file; its name ends in .safetensors.")
    return paths


def wrote(paths: Sequence[Path]) -> str:
    return "Wrote " + ", ".join(map(str, paths)) + "."


def write_json(path: Path, record: dict[str, Any], making: Making = replacing) -> None:
    with making(path) as aside:
        aside.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def save_figure(path: Path | None, draw: Callable[[], Any], what_is_there: str, making: Making = replacing) -> None:
    """Write what `draw` draws; say what is written already, whatever matplotlib and its fonts have to complain of."""
    if path is None:
        return
    with making(path) as aside:
        try:
            draw().savefig(aside, dpi=150, bbox_inches="tight")
        except Exception as error:
            raise FileError(f"{path} could not be drawn: {one_line(error).rstrip('.')}. {what_is_there}") from error


def can_draw() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def table_format(wanted: str | None, output: Path, what: str = "tables") -> str:
    """The format of a table, by --output-format or the suffix of its name; `what` it has, for the error."""
    kind = format_of(output) if wanted is None else wanted
    if wanted is None and kind not in TABLES:
        suffix = "no suffix" if kind == "folder" else f"the suffix {kind}"
        raise FileError(f"{output} has {suffix}; {what} are written as .csv, .tsv, .parquet, .xlsx or .npy.")
    return chosen_format(kind, TABLES)


def chosen_format(wanted: str, formats: Sequence[str]) -> str:
    """The format that --output-format says, one of `formats`."""
    if wanted not in formats:
        known = ", ".join(name.removeprefix(".") for name in formats)
        raise UsageError(f"--output-format {wanted.removeprefix('.')} is not one that can be written here: {known}.")
    return wanted


def _check_figure(path: Path | None) -> None:
    if path is None:
        return
    if not can_draw():
        raise FileError('--plot needs matplotlib, which is not installed. Type: pip install "preimage[plot]"')
    if path.suffix.lower() not in FIGURES:
        raise FileError(f"{path} is not a figure file. Use {', '.join(FIGURES[:-1])} or {FIGURES[-1]}.")


def draw(before: Array, after: Array, image_shape: Any = None, names: Any = None, n_samples: int = 8) -> Any:
    """A figure of a few samples: a grid of pictures, a cloud of points, or lines over the columns.

    Parameters
    ----------
    before, after : array of shape (n, d)
    image_shape : two or three ints or None
        Of rows that are pictures.
    names : list of str or None
        Of columns.

    Returns
    -------
    matplotlib Figure
    """
    from matplotlib.figure import Figure  # no window is opened, whatever the backend

    if image_shape is not None:
        return _pictures(Figure, before, after, image_shape, n_samples)
    if before.shape[1] == 2:
        return _cloud(Figure, before, after, names)
    return _lines(Figure, before, after, names, n_samples // 2)


def draw_compression(model: Any, small: Any, X: Array, y: Array) -> Any:
    """A figure of error and score against the number of points, around the number of the small model.

    Returns
    -------
    matplotlib Figure
    """
    from matplotlib.figure import Figure

    from preimage.plotting import CompressionDisplay

    last = final_step(small)
    around = {max(1, int(last.n_points_ * factor)) for factor in (0.25, 0.5, 1, 2)}
    sizes = sorted(size for size in around if size <= last.n_original_points_)
    kernel = last.machine_.expansion.kernel
    methods: tuple[str, ...] = ("distill",)
    if kernel.is_positive_semidefinite:
        methods = ("select", "construct", "distill") if kernel.has_gradient else ("select",)
    axes = Figure(figsize=(9.2, 3.4), layout="constrained").subplots(1, 2)
    return CompressionDisplay.from_estimator(model, X, y, sizes=sizes, methods=methods, ax=axes).figure_


def draw_inflation(report: Any) -> Any:
    """A figure of training, left-out and corrected values of an `InflationReport`.

    Returns
    -------
    matplotlib Figure
    """
    from matplotlib.figure import Figure

    from preimage.plotting import InflationDisplay

    count = min(4, len(report.names))
    axes = Figure(figsize=(1.5 + 3.2 * count, 3.4), layout="constrained").subplots(1, count, squeeze=False)[0]
    display = InflationDisplay.from_report(report, n_components=count, ax=axes)
    if display.legend_ is not None:  # it would hide points inside the first of the panels
        display.legend_.remove()
        handles = axes[0].get_legend_handles_labels()
        unique = dict(zip(handles[1], handles[0]))
        where = {"loc": "outside lower center", "ncols": len(unique), "title": "class"}
        display.figure_.legend(unique.values(), unique.keys(), frameon=False, fontsize="small", **where)
    return display.figure_


def draw_outliers(novelty: Array, threshold: float) -> Any:
    """A figure of how unusual each row is, with the threshold.

    Returns
    -------
    matplotlib Figure
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3.2), layout="constrained")
    ax = figure.subplots()
    rows, are_outliers = np.arange(1, len(novelty) + 1), novelty > threshold
    for chosen, color, label in ((~are_outliers, GREY, "other rows"), (are_outliers, ORANGE, "outliers")):
        ax.scatter(rows[chosen], novelty[chosen], s=10, color=color, linewidths=0, label=label)
    ax.axhline(threshold, color=ORANGE, linewidth=1, linestyle="--", label="threshold")
    ax.set(xlabel="Row", ylabel="Novelty")
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper right", ncols=3, frameon=False)
    return figure


def _pictures(Figure: Any, before: Array, after: Array, shape: tuple[int, ...], n_samples: int) -> Any:
    chosen = _spread(len(before), n_samples)
    figure = Figure(figsize=(len(chosen) * shape[1] / shape[0] + 0.8, 2.1), layout="constrained")
    axes = figure.subplots(2, len(chosen), squeeze=False)
    # What is drawn black and white: 0 and 1 for colours of pictures, else the extremes of the result.
    low, high = float(np.nanmin(after)), float(np.nanmax(after))
    if len(shape) == 3 and before.min() >= 0 and before.max() <= 1:
        low, high = 0.0, 1.0
    elif high <= low:
        low, high = low - 0.5, low + 0.5
    for row, (label, values) in zip(axes, [("before", before), ("after", after)]):
        for ax, picture in zip(row, values[chosen]):
            levels = np.clip((picture - low) / (high - low), 0, 1)  # of colours, Matplotlib takes no others
            ax.imshow(levels.reshape(shape), cmap="gray", vmin=0, vmax=1)
            ax.set(xticks=[], yticks=[])
        row[0].set_ylabel(label)
    return figure


def _cloud(Figure: Any, before: Array, after: Array, names: list[str] | None) -> Any:
    figure = Figure(figsize=(5, 5), layout="constrained")
    ax = figure.subplots()
    ax.scatter(*before.T, s=10, color=GREY, linewidths=0, label="before")
    ax.scatter(*after.T, s=10, color=BLUE, linewidths=0, label="after")
    x, y = names or ["Column 1", "Column 2"]
    ax.set(xlabel=x, ylabel=y, aspect="equal")
    ax.legend(frameon=False)
    return figure


def _lines(Figure: Any, before: Array, after: Array, names: list[str] | None, n_samples: int) -> Any:
    chosen = _spread(len(before), n_samples)
    figure = Figure(figsize=(7, 1.5 * len(chosen) + 0.6), layout="constrained")
    axes = figure.subplots(len(chosen), 1, sharex=True, squeeze=False)[:, 0]
    numbers = np.arange(1, before.shape[1] + 1)
    marker = "o" if len(numbers) <= 30 else None
    for ax, row in zip(axes, chosen):
        ax.plot(numbers, before[row], color=GREY, linewidth=1, marker=marker, markersize=3, label="before")
        ax.plot(numbers, after[row], color=BLUE, linewidth=1.4, marker=marker, markersize=3, label="after")
        ax.set_ylabel(f"row {row + 1}")
        ax.spines[["top", "right"]].set_visible(False)
    if names is not None and len(numbers) <= 12:
        axes[-1].set_xticks(numbers, names)
    else:
        axes[-1].set_xlabel("Column")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False)
    return figure


def _spread(n: int, count: int) -> Array:
    """Indices of `count` samples from the first to the last."""
    return np.unique(np.linspace(0, n - 1, min(n, count)).astype(int))
