"""
A discriminant in feature space, and with few points
====================================================

`KernelFisherDiscriminant` looks for the direction of feature space along which two classes lie farthest apart, in units
of their own width. As a function of the inputs it separates the classes by its value, and its distance from the
threshold measures the confidence.
"""

# %%
# Figure 1 of Mika et al. (1999), on data of its kind: one class is a cluster, the other lies on two sides of it. A
# linear discriminant can separate only one side. With the polynomial kernel of degree two, contour lines are conic
# sections around the cluster.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from preimage import KernelFisherDiscriminant

rng = np.random.default_rng(0)


def draw(n):
    y = rng.integers(0, 2, size=n)
    side = rng.choice([-1.0, 1.0], size=n)
    wings = np.column_stack([0.9 * side, 0.25 * side]) + 0.22 * rng.normal(size=(n, 2))
    return np.where((y == 1)[:, None], wings, 0.22 * rng.normal(size=(n, 2))), y


X, y = draw(200)
X_test, y_test = draw(2000)
linear = KernelFisherDiscriminant(kernel="linear", threshold="empirical").fit(X, y)
quadratic = KernelFisherDiscriminant(kernel="poly", degree=2, gamma=1, coef0=1, alpha=1e-3).fit(X, y)
for name, model in (("linear", linear), ("polynomial of degree two", quadratic)):
    print(f"{name:25} {model.score(X_test, y_test):.1%} correct")

# %%
# Two crescents need a Gaussian kernel, whose discriminant has a coefficient for each of the 300 points. The path of an
# L1 penalty begins with one point and adds others in turn: a few are enough. For each number of points the discriminant
# is fitted again without the penalty, as it is with an integer `sparsity`.

moons, sides = make_moons(300, noise=0.25, random_state=0)
new_moons, new_sides = make_moons(3000, noise=0.25, random_state=1)
gaussian = KernelFisherDiscriminant(gamma=2, alpha=1e-2)
(path,) = gaussian.sparse_path(moons, sides)
print(f"the path has {path.n_nonzero.size} steps, from {path.n_nonzero[0]} point to {path.n_nonzero[-1]}")
numbers = np.array([1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40])
models = [KernelFisherDiscriminant(gamma=2, alpha=1e-2, sparsity=int(n)).fit(moons, sides) for n in numbers]
errors = np.array([1 - model.score(new_moons, new_sides) for model in models])
full_error = 1 - gaussian.fit(moons, sides).score(new_moons, new_sides)
small = models[7]
print(f"all 300 points: {full_error:.1%} wrong; {len(small.expansion_.points)} points: {errors[7]:.1%} wrong")

# %%
# Left: the quadratic discriminant; the boundary is drawn in black. Middle: the one on ten points, which are circled.
# Right: error on new points against the number of points kept.

figure, axes = plt.subplots(1, 3, figsize=(12.5, 4.2), layout="constrained")
pictures = (
    (axes[0], quadratic, X, y, "Polynomial kernel, degree 2"),
    (axes[1], small, moons, sides, "Gaussian kernel, 10 points"),
)
for ax, model, points, labels, title in pictures:
    low, high = points.min(axis=0) - 0.3, points.max(axis=0) + 0.3
    grid = np.stack(np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 90)), axis=-1)
    height = model.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    limit = np.abs(height).max()
    u, v = np.moveaxis(grid, -1, 0)
    ax.contourf(u, v, height, levels=np.linspace(-limit, limit, 25), cmap="RdBu_r", alpha=0.75)
    ax.contour(u, v, height, levels=[0], colors="black", linewidths=1.4)
    for c, color, marker in ((0, "#2166AC", "o"), (1, "#B2182B", "^")):
        ax.scatter(*points[labels == c].T, s=14, c=color, marker=marker, edgecolors="white", linewidths=0.4)
    ax.set(title=title, xlabel="x₁", ylabel="x₂", aspect="equal")
axes[1].scatter(*small.expansion_.points.T, s=90, facecolors="none", edgecolors="black", linewidths=1.4)
axes[2].plot(numbers, 100 * errors, "o-", color="#0072B2", markersize=4, label="sparse")
axes[2].axhline(100 * full_error, color="0.4", linestyle="--", linewidth=1.2, label="all 300 points")
axes[2].set(xlabel="Points kept", ylabel="Test error in %", title="Along the sparse path", xscale="log", ylim=(0, None))
axes[2].set_xticks([1, 2, 5, 10, 20, 40], labels=["1", "2", "5", "10", "20", "40"])
axes[2].minorticks_off()
axes[2].legend(frameon=False)
axes[2].spines[["top", "right"]].set_visible(False)
plt.show()
