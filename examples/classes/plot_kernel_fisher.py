"""
A discriminant in feature space, and with few points
====================================================

`KernelFisherDiscriminant` looks for the direction of feature space along which two classes lie farthest apart, in units
of their own width. As a function of the inputs it separates the classes by its value, and its distance from the
threshold measures the confidence.
"""

# %%
# Figure 1 of Mika et al. [1]_, on data of its kind: the paper does not print how they were drawn. Two classes lie on
# parallel parabolas, which no straight line separates. Both methods use the polynomial kernel of degree two, and the
# discriminant adds 10⁻³ to the within-class scatter (the penalty of the paper is on coefficients).
#
# .. [1] S. Mika et al., "Invariant feature extraction and classification in kernel spaces",
#    NIPS 12, 1999.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from preimage import KernelFisherDiscriminant, KernelPCA
from preimage.kernels import Polynomial
from preimage.plotting import ComponentContourDisplay

rng = np.random.default_rng(0)


def draw(n):
    y = rng.integers(0, 2, size=n)
    x = rng.uniform(-1, 1, size=n)
    return np.column_stack([x, x**2 + 0.2 * (2 * y - 1)]) + 0.1 * rng.normal(
        size=(n, 2)
    ), y


X, y = draw(200)
X_test, y_test = draw(2000)
kernel = Polynomial(2, gamma=1.0, coef0=1.0)
linear = KernelFisherDiscriminant(kernel="linear").fit(X, y)
quadratic = KernelFisherDiscriminant(
    kernel=kernel, alpha=1e-3, alpha_scale="absolute", regularizer="identity"
)
quadratic.fit(X, y)
for name, model in (("linear", linear), ("polynomial of degree two", quadratic)):
    print(f"{name:25} {model.score(X_test, y_test):.1%} correct")

# %%
# Lines of equal value. The discriminant (left) changes across the parabolas, from one class to the other. The first
# kernel principal component (right), which knows nothing of classes, changes along them, where most of the variance is:
# it finds the nonlinear structure that both classes share.

components = KernelPCA(1, kernel=kernel).fit(X)
CLASSES = (
    ("class 0", {"color": "black"}),
    ("class 1", {"color": "white", "edgecolors": "black", "linewidths": 0.7}),
)


def draw_points(ax, X, y):
    for number, (name, style) in enumerate(CLASSES):
        ax.scatter(*X[y == number].T, s=17, zorder=3, label=name, **style)
    ax.set(xlabel="$x_1$", ylabel="$x_2$")


figure, axes = plt.subplots(
    1, 2, figsize=(8.5, 4.8), sharex=True, sharey=True, layout="constrained"
)
for ax, model, title in (
    (axes[0], quadratic, "kernel Fisher discriminant"),
    (axes[1], components, "first component of kernel PCA"),
):
    ComponentContourDisplay.from_estimator(
        model, X, ax=[ax], levels=12, scatter_kw={"s": 0}
    )
    draw_points(ax, X, y)
    ax.set_title(title)
    ax.label_outer()
figure.suptitle(
    "The discriminant changes from class to class, the component along both"
)
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2)
plt.show()

# %%
# Two crescents need a Gaussian kernel, whose discriminant has a coefficient for each of the 300 points. The path of an
# L1 penalty begins with one point and adds others in turn: a few are enough. For each number of points the discriminant
# is fitted again without the penalty, as it is with an integer `sparsity`.

moons, sides = make_moons(300, noise=0.25, random_state=0)
new_moons, new_sides = make_moons(3000, noise=0.25, random_state=1)
gaussian = KernelFisherDiscriminant(gamma=2, alpha=1e-2)
(path,) = gaussian.sparse_path(moons, sides)
print(
    f"the path has {path.n_nonzero.size} steps, from {path.n_nonzero[0]} point to "
    f"{path.n_nonzero[-1]}"
)
numbers = np.array([1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40])
models = [
    KernelFisherDiscriminant(gamma=2, alpha=1e-2, sparsity=int(n)).fit(moons, sides)
    for n in numbers
]
errors = np.array([1 - model.score(new_moons, new_sides) for model in models])
full_error = 1 - gaussian.fit(moons, sides).score(new_moons, new_sides)
small = models[7]
print(
    f"all 300 points: {full_error:.1%} wrong; {len(small.expansion_.points)} points: "
    f"{errors[7]:.1%} wrong"
)

# %%
# Left: the discriminant on ten points, which have orange rings; the boundary is drawn in black. Right: error on new
# points against the number of points kept.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(9.5, 4.6), width_ratios=(1.25, 1), layout="constrained"
)
low, high = moons.min(axis=0) - 0.3, moons.max(axis=0) + 0.3
grid = np.stack(
    np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 90)),
    axis=-1,
)
height = small.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
limit = np.abs(height).max()
u, v = np.moveaxis(grid, -1, 0)
left.contourf(
    u, v, height, levels=np.linspace(-limit, limit, 25), cmap="PuOr", alpha=0.6
)
left.contour(u, v, height, levels=[0], colors="black", linewidths=1.6)
draw_points(left, moons, sides)
ring = {"facecolors": "none", "edgecolors": "C1", "linewidths": 2, "zorder": 4}
left.scatter(*small.expansion_.points.T, s=110, label="point that is kept", **ring)
left.set(title="discriminant on 10 of 300 points", aspect="equal")
right.plot(numbers, 100 * errors, "o-", label="sparse discriminant")
right.axhline(
    100 * full_error, color="0.4", linestyle="--", linewidth=1.2, label="all 300 points"
)
right.set(
    xlabel="Points kept",
    ylabel="Test error in percent",
    title="error on new points",
    xscale="log",
)
right.set(ylim=(0, None))
right.set_xticks([1, 2, 5, 10, 20, 40], labels=["1", "2", "5", "10", "20", "40"])
right.minorticks_off()
right.grid()
figure.suptitle("Ten points are nearly as good as all three hundred")
figure.legend(loc="outside lower center", ncols=5, columnspacing=1.2)
plt.show()

# %%
# **Read on:** :doc:`/guides/classes_and_clusters`; results on thirteen data sets are under :doc:`/results/index`.
