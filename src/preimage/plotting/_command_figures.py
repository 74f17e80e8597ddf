"""Figures that commands write without a window: of pictures and arrays, compression, inflation and outliers."""

from typing import Any

import numpy as np

from preimage._engine.typing import Array
from preimage.interop._pipeline import final_step
from preimage.plotting._curves import CompressionDisplay
from preimage.plotting._inflation import InflationDisplay
from preimage.plotting._tables import BLUE, GREY

ORANGE = "#D55E00"


def draw_rows(before: Array, after: Array, image_shape: Any = None, names: Any = None, n_samples: int = 8) -> Any:
    """A figure of a few samples: a grid of pictures, a cloud of points, or lines over columns that have an order.

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


def draw_slices(before: Array, after: Array, mask: Array) -> Any:
    """A figure of one slice of some scans without their mean over time, which would hide changes.

    Parameters
    ----------
    before, after : array of shape (n, d)
        Voxels inside the mask.
    mask : bool array of shape (width, depth, height)

    Returns
    -------
    matplotlib Figure
    """
    mean = before.mean(axis=0)
    (before, shape), (after, _) = (slice_pictures(mask, values - mean) for values in (before, after))
    return draw_rows(before, after, shape)


def draw_compression(model: Any, small: Any, X: Array, y: Array) -> Any:
    """A figure of error and score against the number of points, around the number of the small model.

    Returns
    -------
    matplotlib Figure
    """
    from matplotlib.figure import Figure

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


def slice_pictures(mask: Array, values: Array) -> tuple[Array, tuple[int, int]]:
    """The axial slice with most voxels of the mask, front on top: rows (n, height · width) and (height, width)."""
    depth = int(mask.sum(axis=(0, 1)).argmax())
    inside = mask[:, :, depth]
    volume = np.full((*inside.shape, len(values)), np.nan)
    volume[inside] = values[:, mask.nonzero()[2] == depth].T
    rows, columns = (np.flatnonzero(inside.any(axis=axis)) for axis in (1, 0))
    volume = volume[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    pictures = volume.transpose(2, 1, 0)[:, ::-1]
    return pictures.reshape(len(values), -1), pictures.shape[1:]


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
