"""
Clusters in feature space, and what their centres look like
===========================================================

k-means cuts the plane along straight lines. In the feature space of a Gaussian kernel the same algorithm has curved
boundaries: `KernelKMeans` tells two rings apart. Its centres are vectors of feature space; their pre-images are inputs,
so that the clusters of digits can be displayed.
"""

# %%
# Two rings. Shades show which centre is the nearest one, for every point of the plane; crosses are the centres of
# k-means. The index is the adjusted Rand index, 1 where clusters and rings agree. The width matters: with γ = 0.5 the
# result is as poor as that of k-means.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_circles
from sklearn.metrics import adjusted_rand_score

from preimage import KernelKMeans
from preimage.plotting import DenoisingDisplay

X, rings = make_circles(600, factor=0.35, noise=0.06, random_state=0)
models = {
    "k-means": KMeans(2, n_init=10, random_state=0),
    "kernel k-means, γ = 0.5": KernelKMeans(2, gamma=0.5),
    "kernel k-means, γ = 5": KernelKMeans(2, gamma=5),
}
side = np.linspace(-1.45, 1.45, 150)
plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
colors, shades = ["C0", "C1"], ListedColormap(["#cfe3f2", "#f9dcc9"])

figure, axes = plt.subplots(
    1, 3, figsize=(9.5, 4.3), layout="constrained", sharex=True, sharey=True
)
for ax, (name, model) in zip(axes, models.items()):
    labels = model.fit_predict(X)
    index = round(adjusted_rand_score(rings, labels), 2) + 0.0
    print(f"{name:26} adjusted Rand index {index:.2f}")
    ax.pcolormesh(
        side,
        side,
        model.predict(plane).reshape(150, 150),
        cmap=shades,
        shading="nearest",
        rasterized=True,
    )
    for number, color in enumerate(colors):
        ax.scatter(
            *X[labels == number].T, s=7, color=color, label=f"cluster {number + 1}"
        )
    if isinstance(model, KMeans):
        ax.plot(
            *model.cluster_centers_.T,
            "kX",
            markersize=10,
            markeredgecolor="white",
            markeredgewidth=1,
        )
    ax.set(
        title=f"{name}\nadjusted Rand index {index:.2f}",
        aspect="equal",
        xticks=[-1, 0, 1],
        yticks=[-1, 0, 1],
    )
    ax.set(xlabel="$x_1$", ylabel="$x_2$")
    ax.label_outer()
figure.suptitle("With the right width, kernel k-means tells the rings apart")
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2)
plt.show()

# %%
# Ten clusters of handwritten digits. The centre of a cluster is a mean of images of digits in feature space; its
# pre-image is the input whose image comes nearest. Below it, the average of the same digits in input space, and the
# four digits that are nearest to the centre. The Gaussian pre-image is a weighted mean in which typical members have
# the largest weights: it is slightly sharper than the average.

digits = load_digits()
images, truth = digits.data / 16, digits.target
model = KernelKMeans(10, gamma=0.3).fit(images)
print(
    f"digits: adjusted Rand index {adjusted_rand_score(truth, model.labels_):.2f}, "
    f"{model.n_iter_} iterations"
)

preimages, distances = model.cluster_preimages(), model.transform(images)
common = [
    np.bincount(truth[model.labels_ == number], minlength=10) for number in range(10)
]
order = np.argsort([np.argmax(counts) for counts in common], kind="stable")

members = [np.flatnonzero(model.labels_ == number) for number in order]
near = [
    rows[np.argsort(distances[rows, number])[:4]]
    for rows, number in zip(members, order)
]
rows = {
    "pre-image": preimages[order],
    "average": np.stack([images[each].mean(axis=0) for each in members]),
}
rows |= {
    name: images[[each[rank] for each in near]]
    for rank, name in enumerate(["nearest", "2nd", "3rd", "4th"])
}
pictures = {name: found.reshape(-1, 8, 8) for name, found in rows.items()}

figure, axes = plt.subplots(len(rows), 1, figsize=(8.4, 6), layout="constrained")
DenoisingDisplay(rows=pictures, limits=(0, 1)).plot(ax=axes, cmap="gray_r")
for place, (number, each) in enumerate(zip(order, members)):
    digit, fraction = np.argmax(common[number]), common[number].max() / len(each)
    text = f"{len(each)} digits\n{fraction:.0%} are {digit}"
    axes[0].text(9 * place + 3.5, -1, text, fontsize=8, ha="center", va="bottom")
figure.suptitle(
    "Ten clusters of digits: their centres as pictures, and the digits nearest to them"
)
plt.show()

# %%
# **Read on:** :doc:`/guides/classes_and_clusters`.
