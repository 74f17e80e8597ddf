"""Figures of what a command did to a table: distributions of columns, rows that changed most, and a map of rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from preimage._engine.robust import location_and_scale
from preimage._engine.typing import Array
from preimage.plotting._matplotlib import tidy

GREY, BLUE = "0.6", "#0072B2"
# Panels of columns, four next to each other: with more, a figure is higher than a screen.
COLUMNS, ACROSS = 12, 4
# Rows with bars, and columns of each: as many names as fit.
ROWS, BARS = 4, 8
# Up to so many rows are drawn one by one, each as a line from before to after; more are counted in bins.
FEW = 40
MOST_BINS = 30
# The axes of a column reach over so many deviations, and what is beyond is counted in words: with one value of 1e9, all
# others would be in one bin.
REACH = 6.0
# Rows with arrows on the map, and values of rows in the map of gaps: more cannot be told apart.
ARROWS, CELLS = 100, 400
# Signs of names that fit above a panel and next to a bar.
TITLE, LABEL = 26, 18
# Columns whose names fit below the map of gaps.
NAMED = 30


def draw_table(before: Array, after: Array, names: Sequence[str] | None = None, n_rows: int | None = None) -> Any:
    """A figure of a table before and after, or of the gaps of one and what they were filled with.

    Parameters
    ----------
    before, after : arrays of shape (n, d)
        NaN before are gaps, and are all that changed.
    names : sequence of str or None
        Of columns; None numbers them from 1.
    n_rows : int or None
        Rows of the whole table, where these are the first of it.

    Returns
    -------
    matplotlib Figure
    """
    from matplotlib.figure import Figure  # no window is opened, whatever the backend

    n, d = before.shape
    named = [f"column {number + 1}" for number in range(d)] if names is None else [str(name) for name in names]
    gaps, (location, scale) = np.isnan(before), location_and_scale(before)
    unit = np.where(scale > 0, scale, 1.0)
    changed = np.where(gaps, 0.0, np.abs(after - before) / unit)
    order = np.argsort(-(gaps if gaps.any() else changed).mean(axis=0), kind="stable")
    is_told = gaps.any(axis=0) if gaps.any() else (scale > 0) | (changed > 0).any(axis=0)
    candidates = order[is_told[order]] if is_told.any() else order  # of constant columns there is nothing to see
    shown = candidates[:COLUMNS] if len(candidates) > COLUMNS else np.sort(candidates)
    lines = -(-len(shown) // ACROSS)
    figure = Figure(figsize=(11, 1.7 * lines + 4.6), layout="constrained")
    figure.suptitle(_title(gaps, n, n_rows, len(candidates), len(shown)))
    halves: Any = figure.subfigures(2, 1, height_ratios=(1.7 * lines + 0.2, 4.0))
    upper, lower = halves
    panels = np.ravel(upper.subplots(lines, min(ACROSS, len(shown)), squeeze=False))
    for ax, column, title in zip(panels, shown, _short([named[column] for column in shown], shown, TITLE)):
        _draw_column(ax, before[:, column], after[:, column], location[column], unit[column])
        ax.set_title(title, fontsize="medium")
    for ax in panels[len(shown) :]:
        ax.remove()
    handles = panels[0].get_legend_handles_labels()
    upper.legend(*handles, loc="outside lower center", ncols=2, frameon=False)
    if gaps.any():
        columns = np.sort(candidates)
        _draw_gaps(lower, gaps[:, columns], _short([named[column] for column in columns], columns, LABEL))
        return figure
    left, right = lower.subfigures(1, 2, width_ratios=(1.25, 1))
    _draw_rows(left, (after - before) / unit, _short(named, range(d), LABEL))
    _draw_map(right, (before - location) / unit, (after - location) / unit)
    return figure


def _title(gaps: Array, n: int, n_rows: int | None, count: int, shown: int) -> str:
    rows = f"{n:,} row{'' if n == 1 else 's'}"
    rows = rows if n_rows in (None, n) else f"the first {rows} of {n_rows:,}"
    if gaps.any():
        columns = f"{count} column{'' if count == 1 else 's'} with gaps"
        most = f"the {shown} with the most gaps of " if shown < count else ""
        return f"Known and filled values: {most}{columns}, {rows}"
    columns = f"{count} column{'' if count == 1 else 's'}"
    columns = f"{shown} of {columns}, those that changed most" if shown < count else columns
    return f"Before and after: {columns}, {rows}"


def _short(names: Sequence[str], columns: Sequence[int] | Array, most: int) -> list[str]:
    """Names that fit: long ones without their middle, and with the number of their column if that makes some equal."""
    names = [" ".join(name.split()) for name in names]
    short = [_cut(name, most) for name in names]
    if len(set(short)) < len(set(names)):
        short = [
            name if len(name) <= most else f"{column + 1}: {_cut(name, most - len(str(column + 1)) - 2)}"
            for name, column in zip(names, columns)
        ]
    return [name.replace("$", r"\$") for name in short]


def _cut(name: str, most: int) -> str:
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[: most - 1 - half]}…{name[-half:]}"


def _draw_column(ax: Any, before: Array, after: Array, location: float, unit: float) -> None:
    """The distribution of a column before and after, or of its known values and of those in its gaps."""
    gaps = np.isnan(before)
    parts = (before[~gaps], after[gaps] if gaps.any() else after)
    labels = ("known", "filled") if gaps.any() else ("before", "after")
    # Two values in a hundred at each end, at most, are beyond: heavy tails reach farther than outliers are rare.
    ends = np.quantile(parts[0], 0.02, method="higher"), np.quantile(parts[0], 0.98, method="lower")
    low, high = min(location - REACH * unit, ends[0]), max(location + REACH * unit, ends[1])
    inside = [part[(part >= low) & (part <= high)] for part in parts]
    together = np.concatenate([part for part in inside if len(part)] or [np.array([location])])
    low, high = float(together.min()), float(together.max())
    outside = len(parts[0]) - len(inside[0])
    if high <= low:
        half = 0.5 * max(abs(low), 1.0) * 1e-2
        low, high = low - half, high + half
    if len(before) <= FEW and not gaps.any():
        ax.plot(np.vstack(parts), [[1], [0]], color=GREY, linewidth=0.6, zorder=1)
        for part, height, color, label in zip(parts, (1, 0), (GREY, BLUE), labels):
            ax.scatter(part, np.full(len(part), height), s=14, color=color, linewidths=0, label=label, zorder=2)
        ax.set_ylim(-0.3, 1.3)
    else:
        edges = _edges(together, low, high)
        for part, style, label in zip(inside, _styles(), labels):
            weights = np.full(len(part), 1 / max(1, len(part)))
            ax.hist(part, edges, weights=weights, label=label, **style)
    margin = 0.04 * (high - low)
    ax.set_xlim(low - margin, high + margin)
    ax.set_yticks([])
    tidy(ax)
    ax.spines["left"].set_visible(False)
    ax.locator_params(axis="x", nbins=4)
    ax.ticklabel_format(axis="x", scilimits=(-3, 5), useMathText=True)
    if outside:
        text = f"{outside:,} value{'' if outside == 1 else 's'} beyond"
        ax.text(0.99, 0.97, text, ha="right", va="top", fontsize="small", transform=ax.transAxes)


def _styles() -> tuple[dict[str, Any], dict[str, Any]]:
    return ({"color": "0.8"}, {"histtype": "step", "color": BLUE, "linewidth": 1.4})


def _edges(values: Array, low: float, high: float) -> Array:
    """Edges of bins: around the whole numbers where values are few of these, else of equal width."""
    if high - low < MOST_BINS and np.array_equal(values, np.round(values)):
        return np.arange(np.floor(low), np.ceil(high) + 2) - 0.5
    return np.linspace(low, high, min(MOST_BINS, max(6, int(np.sqrt(len(values))))) + 1)


def _draw_rows(figure: Any, changes: Array, names: list[str]) -> None:
    """Bars of the rows that changed most: of each, the columns that changed most, in deviations of these."""
    sizes = np.sqrt(np.mean(changes**2, axis=1))
    rows = np.argsort(-sizes, kind="stable")[:ROWS]
    rows = rows[sizes[rows] > 0]
    if not len(rows):
        figure.text(0.5, 0.5, "No value has changed.", ha="center")
        return
    panels = np.ravel(figure.subplots(-(-len(rows) // 2), min(2, len(rows)), squeeze=False))
    for ax, row in zip(panels, rows):
        columns = np.argsort(-np.abs(changes[row]), kind="stable")[:BARS]
        columns = columns[changes[row, columns] != 0][::-1]
        values = changes[row, columns]
        ax.barh(np.arange(len(columns)), values, color=BLUE)
        ax.set_yticks(np.arange(len(columns)), [names[column] for column in columns], fontsize="small")
        room = max(len(columns), 4) / 2  # one bar alone does not fill its panel
        ax.set_ylim((len(columns) - 1) / 2 - room, (len(columns) - 1) / 2 + room)
        ax.set_title(f"row {row + 1:,}", fontsize="medium")
        ax.axvline(0, color="0.3", linewidth=0.8)
        ax.locator_params(axis="x", nbins=4)
        ax.ticklabel_format(axis="x", scilimits=(-3, 4), useMathText=True)
        tidy(ax)
    for ax in panels[len(rows) :]:
        ax.remove()
    figure.supxlabel("Change of the rows that changed most, in deviations", fontsize="medium")


def _draw_map(figure: Any, before: Array, after: Array) -> None:
    """Rows by the two directions in which they vary most; colour says how much each changed."""
    change = np.sqrt(np.mean((after - before) ** 2, axis=1))
    clipped = [np.clip(values, -REACH, REACH) for values in (before, after)]
    middle = clipped[0].mean(axis=0)
    _, sizes, axes = np.linalg.svd(clipped[0] - middle, full_matrices=False)
    start, end = (np.pad((values - middle) @ axes[:2].T, ((0, 0), (0, max(0, 2 - len(axes))))) for values in clipped)
    parts = sizes**2 / max(float(np.sum(sizes**2)), np.finfo(float).tiny)
    ax = figure.subplots()
    most = np.argsort(-change, kind="stable")[:ARROWS]
    style = {"color": "0.35", "width": 1, "units": "dots", "headwidth": 5, "headlength": 5, "headaxislength": 5}
    if change.max(initial=0) > 0:
        ax.quiver(*start[most].T, *(end - start)[most].T, angles="xy", scale_units="xy", scale=1, zorder=3, **style)
    order = np.argsort(change)  # those that changed most are on top
    low, high = map(float, np.quantile(change, [0.02, 0.98]))
    low, high = (low, high) if high > low else (0.0, max(high, np.finfo(float).tiny))
    look = {"cmap": "viridis_r", "vmin": low, "vmax": high, "s": 14, "linewidths": 0, "zorder": 2}
    dots = ax.scatter(*start[order].T, c=change[order], **look)
    both = np.concatenate([start, end])
    ax.update_datalim(both)
    ax.autoscale_view()
    for name, part, axis in zip(("first", "second"), [*parts[:2], 0.0], (ax.xaxis, ax.yaxis)):
        axis.set_label_text(f"{name} principal component ({part:.0%})")
    ax.set_title("Map of rows; arrows go from before to after", fontsize="medium")
    tidy(ax)
    figure.colorbar(dots, ax=ax, label="Change of a row, in deviations", extend="both" if change.any() else "neither")


def _draw_gaps(figure: Any, gaps: Array, labels: list[str]) -> None:
    """Where the gaps were: rows from top to bottom, several in one line of the map where they are many."""
    n = len(gaps)
    parts = [part.mean(axis=0) for part in np.array_split(gaps.astype(float), min(n, CELLS))]
    ax = figure.subplots()
    extent = (0.5, len(labels) + 0.5, n + 0.5, 0.5)
    image = ax.imshow(np.array(parts), cmap="Blues", vmin=0, aspect="auto", interpolation="nearest", extent=extent)
    ax.set(ylabel="Row")
    ax.set_title("Where the gaps were", fontsize="medium")
    if len(labels) <= NAMED:
        is_wide = sum(map(len, labels)) > 100
        turned = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if is_wide else {}
        ax.set_xticks(np.arange(1, len(labels) + 1), labels, fontsize="small", **turned)
    else:
        ax.set_xlabel("Columns with gaps")
    if n > CELLS:
        figure.colorbar(image, ax=ax, label="Fraction of gaps")
