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

X, rings = make_circles(600, factor=0.35, noise=0.06, random_state=0)
models = {
    "k-means": KMeans(2, n_init=10, random_state=0),
    "kernel k-means, γ = 0.5": KernelKMeans(2, gamma=0.5),
    "kernel k-means, γ = 5": KernelKMeans(2, gamma=5),
}
side = np.linspace(-1.45, 1.45, 150)
plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
colors, shades = ["#0072B2", "#D55E00"], ListedColormap(["#cfe3f2", "#f9dcc9"])

figure, axes = plt.subplots(1, 3, figsize=(10.5, 4.3), layout="constrained", sharex=True, sharey=True)
for ax, (name, model) in zip(axes, models.items()):
    labels = model.fit_predict(X)
    index = round(adjusted_rand_score(rings, labels), 2) + 0.0
    print(f"{name:26} adjusted Rand index {index:.2f}")
    ax.pcolormesh(side, side, model.predict(plane).reshape(150, 150), cmap=shades, shading="nearest", rasterized=True)
    for number, color in enumerate(colors):
        ax.plot(*X[labels == number].T, "o", color=color, markersize=2.5)
    if isinstance(model, KMeans):
        ax.plot(*model.cluster_centers_.T, "kX", markersize=10, markeredgecolor="white")
    ax.set(title=f"{name}\nadjusted Rand index {index:.2f}", aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
plt.show()

# %%
# Ten clusters of handwritten digits. The centre of a cluster is a mean of images of digits in feature space; its
# pre-image is the input whose image comes nearest. Below it, the average of the same digits in input space, and the
# five digits that are nearest to the centre. The Gaussian pre-image is a weighted mean in which typical members have
# the largest weights: it is slightly sharper than the average.

digits = load_digits()
images, truth = digits.data / 16, digits.target
model = KernelKMeans(10, gamma=0.3).fit(images)
print(f"digits: adjusted Rand index {adjusted_rand_score(truth, model.labels_):.2f}, {model.n_iter_} iterations")

preimages, distances = model.cluster_preimages(), model.transform(images)
common = [np.bincount(truth[model.labels_ == number], minlength=10) for number in range(10)]
order = np.argsort([np.argmax(counts) for counts in common], kind="stable")

figure, axes = plt.subplots(7, 10, figsize=(8.6, 6.6), layout="constrained")
for column, number in zip(axes.T, order):
    members = np.flatnonzero(model.labels_ == number)
    near = members[np.argsort(distances[members, number])[:5]]
    for ax, image in zip(column, [preimages[number], images[members].mean(axis=0), *images[near]]):
        ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
    majority = common[number].max() / members.size
    column[0].set_title(f"{members.size} digits\n{majority:.0%} are {np.argmax(common[number])}", fontsize=8)
for row, name in {0: "pre-image", 1: "average", 4: "nearest digits"}.items():
    axes[row, 0].set_ylabel(name, fontsize=9)
plt.show()
