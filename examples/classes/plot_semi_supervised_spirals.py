"""
Denoising two spirals with a few labels and a graph
===================================================

Kernel PCA with ten components cannot follow two entangled spirals: denoised points are farther from their true
positions than the noisy points are. Two things help [1]_. Labels of some points direct the components towards functions
that separate the spirals. A graph of all points, labelled or not, changes the inner product of feature space: functions
that differ between neighbours get a large norm, so that components vary slowly along the spirals. More components help
as well.

.. [1] T. J. Hansen, T. J. Abrahamsen, L. K. Hansen, "Information-based kernel PCA denoising by semi-supervised manifold
   learning", 2013.
"""

# %%
# Two noisy spirals. Twenty points of 300 have a label; the others have −1, scikit-learn's mark for unlabelled.

import matplotlib.pyplot as plt
import numpy as np

from preimage import SemiSupervisedKernelPCA
from preimage.kernels import Gaussian, Warped
from preimage.solvers import Gradient

NOISE = 0.08


def spirals(n, rng):
    spiral = np.arange(n) % 2
    radius = np.sqrt(rng.uniform(0.05, 1, size=n))
    return position(radius, np.pi * spiral), spiral


def position(radius, turn):
    angle = 3 * np.pi * radius + turn
    return 2 * radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


rng = np.random.default_rng(1)
X, spiral = spirals(300, rng)
X = X + NOISE * rng.normal(size=X.shape)
y = np.where(np.arange(300) < 20, spiral, -1)
clean, _ = spirals(100, rng)
noisy = clean + NOISE * rng.normal(size=clean.shape)

# %%
# Without y the model is kernel PCA. ``Warped`` makes the graph of the points on which it is fitted, here of six
# neighbours of each. The pre-image is penalised: among points whose images are about equally near to the projection,
# those near the noisy point are preferred.

kernel = Gaussian(5.0)
graph = Warped(kernel, laplacian="knn", n_neighbors=6, strength=10.0)
back = {"preimage": Gradient(penalty=0.3)}
models = {
    "kernel PCA": SemiSupervisedKernelPCA(10, kernel=kernel, **back).fit(X),
    "with labels": SemiSupervisedKernelPCA(10, kernel=kernel, **back).fit(X, y),
    "with a graph": SemiSupervisedKernelPCA(10, kernel=graph, **back).fit(X),
    "with graph and labels": SemiSupervisedKernelPCA(10, kernel=graph, **back).fit(
        X, y
    ),
}

# %%
# The first component as a function of the plane, violet where it is positive and orange where it is negative. Below
# each name: for how many of all points the sign of the component tells the spiral. Labels alone have an effect near
# labelled points only; with the graph the effect extends along the spirals, and the sign is right for all points.

figure, axes = plt.subplots(
    2, 2, figsize=(7.5, 8.2), sharex=True, sharey=True, layout="constrained"
)
grid = np.stack(
    np.meshgrid(np.linspace(-2.3, 2.3, 90), np.linspace(-2.3, 2.3, 90)), axis=-1
)
for (name, model), panel in zip(models.items(), axes.flat):
    values = model.transform(grid.reshape(-1, 2))[:, 0].reshape(90, 90)
    limit = np.abs(values).max()
    panel.contourf(
        *np.moveaxis(grid, 2, 0),
        values,
        levels=np.linspace(-limit, limit, 22),
        cmap="PuOr",
        alpha=0.8,
    )
    panel.scatter(*X[y == -1].T, s=6, color="0.35", label="no label")
    for label, color in ((0, "black"), (1, "white")):
        style = {"color": color, "edgecolors": "black", "linewidths": 0.8}
        panel.scatter(
            *X[y == label].T, s=38, label=f"labelled, spiral {label + 1}", **style
        )
    right = np.mean((model.transform(X)[:, 0] > 0) == spiral)
    panel.set(
        title=f"{name}\nsign right for {max(right, 1 - right):.0%}",
        aspect="equal",
        xlabel="$x_1$",
        ylabel="$x_2$",
    )
    panel.label_outer()
figure.suptitle(
    "With twenty labels and a graph, the first component separates the spirals"
)
figure.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=3)
plt.show()

# %%
# Noisy points in grey, denoised ones in blue, thin lines between them, on the true spirals. Kernel PCA and labels alone
# leave the spirals and increase the error; with the graph the points come nearer to them. About half of the noise lies
# along the spirals and cannot be removed.

before = np.mean((noisy - clean) ** 2)
figure, axes = plt.subplots(
    2, 2, figsize=(7.5, 8.2), sharex=True, sharey=True, layout="constrained"
)
for (name, model), panel in zip(models.items(), axes.flat):
    points = model.denoise(noisy)
    for turn in (0, np.pi):
        panel.plot(
            *position(np.linspace(0.22, 1, 200), turn).T,
            color="C4",
            linewidth=2,
            label="true spirals",
        )
    panel.plot(
        *np.stack([noisy, points], axis=2).transpose(1, 2, 0),
        color="0.75",
        linewidth=0.7,
    )
    panel.scatter(*noisy.T, s=9, color="0.55", label="noisy point", zorder=2)
    panel.scatter(*points.T, s=16, color="C0", label="denoised point", zorder=3)
    panel.set(
        title=f"{name}\nmean squared error {np.mean((points - clean) ** 2):.4f}",
        aspect="equal",
    )
    panel.set(xlabel="$x_1$", ylabel="$x_2$")
    panel.label_outer()
legend = dict(zip(*panel.get_legend_handles_labels()[::-1]))
figure.legend(legend.values(), legend, loc="outside lower center", ncols=3)
figure.suptitle(
    f"Ten components follow the spirals only with a graph (noisy: {before:.4f})"
)
plt.show()

# %%
# The effect of the penalty and of more components. With forty components, kernel PCA follows the spirals without labels
# or graph, and no penalty is needed. A graph is useful with few components; labels are useful where components should
# separate classes.

models["40 components, no graph"] = SemiSupervisedKernelPCA(40, kernel=kernel).fit(X)
penalties = (0.0, 0.3, 3.0)
print(f"noisy points: {before:.4f}")
print(f"{'penalty':24}" + "".join(f"{penalty:>10}" for penalty in penalties))
for name, model in models.items():
    errors = []
    for penalty in penalties:
        result = Gradient(penalty=penalty).inverse(
            model.subspace_, model.transform(noisy), noisy
        )
        errors.append(np.mean((result.points - clean) ** 2))
    print(f"{name:24}" + "".join(f"{error:10.4f}" for error in errors))

# %%
# **Read on:** :doc:`/theory/labels_and_noise`, and :doc:`/guides/classes_and_clusters`.
