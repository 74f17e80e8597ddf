"""
From faces to houses through the brain
======================================

Patterns of brain activity while a person looks at pictures [1]_. Kernel PCA learns them; a straight line in feature
space from the mean of the face patterns to the mean of the house patterns, seen through its pre-images, shows what
changes in between, and where.

The volumes are not part of the library. `preimage.datasets.load_haxby` says where it looks for them; without them the
same path is drawn for synthetic scans of a baseline and an active state (`preimage.datasets.make_scans`).

.. [1] J. Haxby et al., "Distributed and overlapping representations of faces and objects in ventral temporal cortex",
   Science 293, 2001.
"""

# %%
# Voxels drift within a run and differ in scale: remove a linear trend and standardise each voxel, run by run. The last
# four of the twelve runs are held out to evaluate the path.

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import detrend
from sklearn.decomposition import PCA
from sklearn.utils import Bunch

from preimage import KernelPCA
from preimage.datasets import load_haxby, make_scans
from preimage.kernels import resolve_gamma
from preimage.plotting import NavigationDisplay

STEPS = 9


def load_scans():
    """Haxby's volumes, or synthetic ones of the same form, and the names of both ends of the path with colours."""
    try:
        return load_haxby(download_if_missing=False), {"face": "#D55E00", "house": "#0072B2"}
    except FileNotFoundError as absent:
        print(absent, "Synthetic scans take their place.")
    made = make_scans(n_runs=12, n_times=60, snr=1.0)
    rows, columns = np.divmod(np.arange(made.X.shape[1]), made.image_shape[1])
    voxels = np.column_stack([columns, made.image_shape[0] - 1 - rows, np.zeros_like(rows)])
    scans = Bunch(X=made.X, y=made.y, run=made.run, label_names=["baseline", "active"], voxel_ijk=voxels)
    return scans, {"baseline": "#D55E00", "active": "#0072B2"}


def standardized(volumes, runs):
    patterns = np.empty(volumes.shape)
    for run in np.unique(runs):
        rows = detrend(volumes[runs == run].astype(float), axis=0)
        patterns[runs == run] = rows / np.maximum(rows.std(axis=0), 1e-12)
    return patterns


def split(scans):
    """Patterns of each kind of picture, for training and for evaluation."""
    X = standardized(scans.X, scans.run)
    known = np.isin(scans.run, np.unique(scans.run)[:8])
    kinds = {str(name): scans.y == number for number, name in enumerate(scans.label_names)}
    return (
        X[known],
        {name: X[known & rows] for name, rows in kinds.items()},
        {name: X[~known & rows] for name, rows in kinds.items()},
    )


# %%
# The path, drawn as the mean over slices of the voxels seen from above, front on top, from low activity in violet to
# high in orange; and how much each pre-image resembles the mean patterns of all kinds of pictures in the other runs.


def seen_from_above(patterns, voxel_ijk):
    """Mean over slices, shape (patterns, height · width), and its image shape; NaN where there is no voxel."""
    i, j, _ = (voxel_ijk - voxel_ijk.min(axis=0)).astype(int).T
    shape = (int(j.max()) + 1, int(i.max()) + 1)
    cell = (shape[0] - 1 - j) * shape[1] + i
    count = np.bincount(cell, minlength=shape[0] * shape[1])
    sums = np.stack([np.bincount(cell, weights=pattern, minlength=len(count)) for pattern in patterns])
    return np.where(count > 0, sums / np.maximum(count, 1), np.nan), shape


def draw_walk(scans, ends):
    X, known, kept = split(scans)
    model = KernelPCA(30, gamma="median").fit(X)
    first, last = ends
    walk = model.navigate(known[first], known[last], STEPS)
    images, shape = seen_from_above(walk[::2], scans.voxel_ijk)
    bound = np.nanmax(np.abs(images))
    colors = plt.get_cmap("PuOr_r").with_extremes(bad="0.9")
    style = {"cmap": colors, "vmin": -bound, "vmax": bound, "picture_size": 1.0}
    display = NavigationDisplay.from_images(images, shape, names=(first, last), **style)
    display.figure_.suptitle(f"Pre-images on the line from {first} to {last}", fontsize="medium")
    plt.show()
    draw_resemblance(walk, kept, ends)


def draw_resemblance(walk, kept, ends):
    ax = plt.figure(figsize=(6.5, 4), layout="constrained").subplots()
    for name, patterns in kept.items():
        values = [np.corrcoef(step, patterns.mean(axis=0))[0, 1] for step in walk]
        color, is_end = ends.get(name, "0.75"), name in ends
        ax.plot(np.linspace(0, 1, STEPS), values, "o-", color=color, zorder=3 if is_end else 2)
        if is_end:
            ax.annotate(name, (1, values[-1]), (8, 0), textcoords="offset points", va="center", color=color)
    if len(kept) > len(ends):
        ax.plot([], [], "o-", color="0.75", label="other kinds of pictures")
        ax.legend(frameon=False, loc="upper center")
    ax.axhline(0, color="0.6", linewidth=0.8, zorder=0)
    ax.set(
        xlabel="Position on the line from {} to {}".format(*ends), ylabel="Correlation with mean patterns of other runs"
    )
    ax.spines[["top", "right"]].set_visible(False)
    plt.show()


# %%
# The same line extended beyond the means, by up to three standard deviations of each class along it, in the plane of
# the first two linear components. With a wide kernel it is straight. With a narrow one the pre-images are concentrated
# where the scans are, and stay far from their targets. At both ends the nearest scan is farther away than at the means:
# these pre-images are extrapolations.


def along_the_line(begin, end):
    """Nine points from three deviations before one class mean to three beyond the other, and their positions."""
    line = end.mean(axis=0) - begin.mean(axis=0)
    length = np.linalg.norm(line)
    unit = line / length
    before, beyond = (np.std(coordinates @ unit) for coordinates in (begin, end))
    places = np.concatenate([-before * np.arange(3, -1, -1), [length / 2], length + beyond * np.arange(4)])
    return begin.mean(axis=0) + places[:, None] * unit, places / length


def walked(model, points):
    """Pre-images, each started at the one before, and how far from their targets they are in feature space."""
    found = []
    for target in points:
        found.append(model.find_preimages(target[None], start=found[-1].points if found else None))
    return np.concatenate([step.points for step in found]), np.concatenate([step.objective for step in found])


def draw_beyond(scans, ends):
    X, known, _ = split(scans)
    first, last = ends
    plane = PCA(2).fit(X)
    figure = plt.figure(figsize=(9.2, 4), layout="constrained")
    picture, report = figure.subplots(1, 2)
    for name, color in ends.items():
        picture.scatter(*plane.transform(known[name]).T, s=12, color=color, alpha=0.5, linewidths=0, label=name)
    unit = resolve_gamma("median", X)
    for name, gamma, style in [("wide kernel", unit / 20, ".--"), ("narrow kernel", 2 * unit, ".-")]:
        model = KernelPCA(30, gamma=gamma).fit(X)
        points, places = along_the_line(model.transform(known[first]), model.transform(known[last]))
        patterns, residuals = walked(model, points)
        picture.plot(*plane.transform(patterns).T, style, color="0.1", label=name)
        gaps = np.linalg.norm(points[:, None] - model.transform(X)[None], axis=2).min(axis=1)
        scale = np.sqrt(model.explained_variance_.sum())  # the typical length of coordinates
        report.plot(places, gaps / scale, style, color="0.1", label=f"to the nearest scan, {name}")
        report.plot(places, np.sqrt(residuals) / scale, style, color="0.6", label=f"to the pre-image, {name}")
    picture.set(xlabel="First linear component", ylabel="Second linear component")
    report.set(xlabel=f"Position on the line: {first} at 0, {last} at 1", ylabel="Distance in feature space")
    report.set_ylim(0, 1.4 * report.get_ylim()[1])  # room for the legend
    for ax in (picture, report):
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize="small")
    plt.show()


# %%
# Along the path, the correlation with one end falls and that with the other rises, in runs that the model has not seen.

scans, ends = load_scans()
draw_walk(scans, ends)
draw_beyond(scans, ends)
