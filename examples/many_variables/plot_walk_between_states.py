"""
Walk from one brain state to another
====================================

What changes in the brain between two states, and where? Kernel PCA learns the patterns of brain scans. A straight line
in feature space leads from the mean of one state to the mean of the other, and its pre-images are scans again: a film
of what changes in between.

The scans are synthetic, from rest to activity: `preimage.neuro.make_scans`.
"""

# %%
# The scans. Voxels drift within a run and differ in scale: remove a linear trend and standardise each voxel, run by
# run. The last four of the twelve runs are held out to check the walk.

# sphinx_gallery_thumbnail_number = 1

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import detrend
from sklearn.decomposition import PCA

from preimage import KernelPCA
from preimage.kernels import resolve_gamma
from preimage.neuro import make_scans
from preimage.plotting import NavigationDisplay


def standardized(volumes, runs):
    patterns = np.empty(volumes.shape)
    for run in np.unique(runs):
        rows = detrend(volumes[runs == run].astype(float), axis=0)
        patterns[runs == run] = rows / np.maximum(rows.std(axis=0), 1e-12)
    return patterns


scans, first, last = make_scans(n_runs=12, n_times=60, snr=1.0), "rest", "activity"
X = standardized(scans.X, scans.run)
learned = np.isin(scans.run, np.unique(scans.run)[:8])
states = {first: scans.y == 0, last: scans.y == 1}
begin, end = X[learned & states[first]], X[learned & states[last]]
print(
    f"{learned.sum()} scans of {X.shape[1]} voxels to learn from, {(~learned).sum()} "
    "to check with"
)

# %%
# The walk
# --------
# Five of its nine steps. Voxels that become active turn orange, those that become silent turn violet.

STEPS = 9
model = KernelPCA(30, gamma="median").fit(X[learned])
walk = model.navigate(begin, end, STEPS)


images, shape = walk[::2], scans.image_shape
bound = np.abs(images).max()
figure, ax = plt.subplots(figsize=(9, 2.7), layout="constrained")
style = {"cmap": "PuOr_r", "vmin": -bound, "vmax": bound}
display = NavigationDisplay.from_images(
    images, shape, names=(first, last), ax=ax, **style
)
figure.colorbar(display.image_, label="activity in\nstandard deviations", shrink=0.9)
figure.suptitle(
    f"From {first} to {last}: pre-images on a straight line of feature space"
)
plt.show()

# %%
# Does it mean anything?
# ----------------------
# Every step is compared with the mean scan of each state in the runs that the model has not seen. Along the walk the
# correlation with one end falls and that with the other rises.

figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
places = np.linspace(0, 1, STEPS)
for name, rows in states.items():
    values = [np.corrcoef(step, X[~learned & rows].mean(axis=0))[0, 1] for step in walk]
    ax.plot(places, values, "o-", color="C1" if name == first else "C0", label=name)
ax.axhline(0, color="0.6", linewidth=0.8, zorder=0)
ax.set(
    xlabel=f"Position on the line from {first} to {last}",
    ylabel="Correlation with mean scans of other runs",
)
ax.grid()
figure.legend(loc="outside right center")
figure.suptitle(
    "The walk leaves one state and arrives at the other, in unseen runs too"
)
plt.show()

# %%
# How far can one go?
# -------------------
# The same line, extended beyond the means by up to three standard deviations of each state along it, with a wide and
# with a narrow kernel. Left: where the pre-images lie between the scans. Right: how far each point of the line is from
# the nearest scan, and from the image of its pre-image, relative to the typical length of coordinates. With a wide
# kernel pre-images stay close to their targets; with a narrow one they do not, because the line leaves the curved
# surface on which images lie. At both ends the nearest scan is far away: these pre-images are extrapolations.


def along_the_line(begin, end):
    """Nine points from three deviations before one mean to three beyond the other, "
    "and their positions."""
    line = end.mean(axis=0) - begin.mean(axis=0)
    length = np.linalg.norm(line)
    unit = line / length
    before, beyond = (np.std(coordinates @ unit) for coordinates in (begin, end))
    places = np.concatenate(
        [-before * np.arange(3, -1, -1), [length / 2], length + beyond * np.arange(4)]
    )
    return begin.mean(axis=0) + places[:, None] * unit, places / length


def walked(model, points):
    """Pre-images, each started at the one before, and how far from their targets they "
    "are in feature space."""
    found = []
    for target in points:
        found.append(
            model.find_preimages(
                target[None], start=found[-1].points if found else None
            )
        )
    return np.concatenate([step.points for step in found]), np.concatenate(
        [step.objective for step in found]
    )


line = end.mean(axis=0) - begin.mean(axis=0)
line /= np.linalg.norm(line)
rest = PCA(1).fit(X[learned] - (X[learned] @ line)[:, None] * line).components_[0]
plane = np.column_stack([line, rest])

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.8), layout="constrained")
for name, rows, color in ((first, begin, "C1"), (last, end, "C0")):
    left.scatter(*(rows @ plane).T, s=13, color=color, alpha=0.6, label=f"scan, {name}")
unit = resolve_gamma("median", X[learned])
for name, gamma, color in (
    ("wide kernel", unit / 20, "black"),
    ("narrow kernel", 2 * unit, "C2"),
):
    model = KernelPCA(30, gamma=gamma).fit(X[learned])
    points, places = along_the_line(model.transform(begin), model.transform(end))
    patterns, residuals = walked(model, points)
    left.plot(*(patterns @ plane).T, "o-", color=color, label=f"pre-images, {name}")
    gaps = np.linalg.norm(
        points[:, None] - model.transform(X[learned])[None], axis=2
    ).min(axis=1)
    scale = np.sqrt(
        model.explained_variance_.sum()
    )  # the typical length of coordinates
    right.plot(
        places, gaps / scale, "o-", color=color, label=f"to the nearest scan, {name}"
    )
    right.plot(
        places,
        np.sqrt(residuals) / scale,
        "s--",
        color=color,
        label=f"to the pre-image, {name}",
    )
left.set(
    xlabel=f"Along the difference of {first} and {last}",
    ylabel="Largest component of the rest",
)
right.set(
    xlabel=f"Position on the line: {first} at 0, {last} at 1",
    ylabel="Relative distance in feature space",
)
right.set_ylim(0, None)
right.grid()
figure.suptitle(
    "A wide kernel goes straight on; a narrow one stays where the scans are"
)
figure.legend(loc="outside lower center", ncols=2)
plt.show()

# %%
# **Read on:** :doc:`/guides/brain_scans`, and :doc:`/guides/reconstruct` on pre-images of coordinates.
