"""
A width for each column
=======================

A kernel with one width counts all columns alike: a place on a map, a temperature and a column of noise. With
``gamma="relevance"`` a machine learns how fast the answer changes along each column, and drops those that do not help.
"""

# %%
# Where does a plant grow? Within a few regions of a map, and only in years with enough rain; eight other measurements
# say nothing. Coordinates are in kilometres, rain is in millimetres per year, and no column is scaled.

import matplotlib.pyplot as plt
import numpy as np

from preimage import SparseGreedyClassifier
from preimage.plotting import RelevanceDisplay

rng = np.random.default_rng(0)
NAMES = ["east", "north", "rain", *(f"other {number}" for number in range(1, 9))]
REGIONS = np.array([[20.0, 25.0], [45.0, 70.0], [75.0, 35.0], [80.0, 80.0]])


def likely(place, rain):
    """Whether the plant grows at places in dry and wet years."""
    nearest = np.linalg.norm(place[:, None] - REGIONS, axis=2).min(axis=1)
    return (nearest < 17) & (rain > 700)


def draw(n):
    place, rain = rng.uniform(0, 100, size=(n, 2)), rng.gamma(9, 90, size=n)
    others = rng.normal(size=(n, 8)) * 10.0 ** np.arange(-3, 5)
    grows = likely(place, rain) ^ (rng.uniform(size=n) < 0.03)
    return np.column_stack([place, rain, others]), np.where(grows, "grows", "does not")


X, y = draw(1500)
X_test, y_test = draw(2000)

# %%
# A machine with the same number of points and one width, on scaled columns, is no better than always giving the same
# answer: eleven columns make all rows equally far from each other.

scale = X.std(axis=0)
for gamma in (0.01, 0.1, 1.0):
    model = SparseGreedyClassifier(200, gamma=gamma, alpha="loo").fit(X / scale, y)
    accuracy = model.score(X_test / scale, y_test)
    print(f"one width, γ = {gamma}: {accuracy:.3f} of the answers are right")

model = SparseGreedyClassifier(200, gamma="relevance", alpha="loo").fit(X, y)
print(f"a width per column: {model.score(X_test, y_test):.3f}")
print(f"the same answer for all: {np.mean(y_test == 'does not'):.3f}")

# %%
# Left: how much the decision changes with each column. Right: the decision on the map in a year of 900 mm, with the
# regions as circles. `kernel_` is an ordinary kernel on weighted columns, which other models take as well.

figure, (bars, axes) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
RelevanceDisplay.from_estimator(model, feature_names=NAMES, ax=bars)

ticks = np.linspace(0, 100, 120)
east, north = np.meshgrid(ticks, ticks)
rows = np.tile(X.mean(axis=0), (east.size, 1))
rows[:, 0], rows[:, 1], rows[:, 2] = east.ravel(), north.ravel(), 900
values = model.decision_function(rows).reshape(east.shape)
shown = axes.contourf(
    east, north, values, levels=np.linspace(-1.6, 1.6, 17), cmap="RdBu_r", extend="both"
)
axes.contour(east, north, values, levels=[0], colors="k", linewidths=1)
for center in REGIONS:
    axes.add_patch(plt.Circle(center, 17, fill=False, linestyle="--", color="0.2"))
axes.set(aspect="equal", xlabel="east, km", ylabel="north, km")
figure.colorbar(shown, label="decision, positive where it grows", ax=axes)
figure.suptitle(
    "Relevance of the columns, and the decision in a year of 900 mm of rain"
)
plt.show()

# %%
# **Read on:** :doc:`/guides/train_many_rows`, :doc:`/guides/choose_a_width`. `preimage.plotting.RelevanceDisplay` draws
# the bars alone.
