"""
Clusters contract to their sources
==================================

With a Gaussian kernel and few components, denoising moves every point to the centre of its cluster, without being told
that there are clusters. The first part shows it in the plane; the second repeats an experiment of Mika et al. [1]_ with
eleven clusters in ten dimensions.

.. [1] S. Mika et al., "Kernel PCA and de-noising in feature spaces", NIPS 11, 1999.
"""

# %%
# Three clusters, and new points to denoise. All points of a cluster move to one position: near its source with one
# component, to the source itself with two, which is the number of components needed to separate three clusters. More
# components also represent the shape of the clusters, and with it the noise.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from preimage import KernelPCA
from preimage.solvers import FixedPoint

rng = np.random.default_rng(0)
SOURCES = np.array([(-0.5, -0.1), (0.0, 0.7), (0.5, 0.1)])
COLORS = np.array(["#0072B2", "#D55E00", "#009E73"])


def sample(sources, deviation, count):
    labels = np.repeat(np.arange(len(sources)), count)
    return sources[labels] + rng.normal(scale=deviation, size=(len(labels), sources.shape[1])), labels


X, _ = sample(SOURCES, 0.12, 100)
Z, labels = sample(SOURCES, 0.12, 60)

figure, axes = plt.subplots(1, 4, figsize=(11, 3.2), layout="constrained", sharex=True, sharey=True)
for ax, count in zip(axes, [1, 2, 8, 30]):
    denoised = KernelPCA(count, gamma=1 / 0.15).fit(X).denoise(Z)
    segments = np.stack([Z, denoised]).transpose(2, 0, 1)
    ax.plot(*segments, color="0.85", linewidth=0.7, zorder=0)
    ax.scatter(*Z.T, s=5, color="0.65", linewidths=0, zorder=1)
    ax.scatter(*denoised.T, s=22, color=COLORS[labels], linewidths=0, zorder=2)
    ax.scatter(*SOURCES.T, s=70, marker="+", color="black", linewidths=0.8, zorder=3)
    error = np.sqrt(np.mean(np.sum((denoised - SOURCES[labels]) ** 2, axis=1)))
    ax.set_title(f"{count} component{'s' if count > 1 else ''}: error {error:.3f}", fontsize="medium")
    ax.set(aspect="equal", xticks=[], yticks=[])
figure.suptitle(
    "Denoised points; the error is the root mean squared distance to the source (crosses)", fontsize="medium"
)
plt.show()

# %%
# Eleven sources in ten dimensions, a hundred points of each to learn from and 33 to denoise. The width of the kernel is
# the squared distance that two points of one cluster have on average, 2 · 10 · σ². Where the ratio exceeds one, kernel
# PCA is nearer to the sources than linear PCA with the same number of components. For tight clusters its error is
# thousands of times smaller: a few linear directions cannot separate eleven positions, while the localised functions of
# the Gaussian kernel can.

DEVIATIONS, COUNTS = [0.05, 0.1, 0.2, 0.4, 0.8], range(1, 10)
SOLVER = FixedPoint(max_iter=5000)  # a few points take more than the default 500 steps


def ratio(deviation, count, X, Z, truth):
    linear = PCA(count).fit(X)
    errors = [
        np.mean((output - truth) ** 2)
        for output in (
            linear.inverse_transform(linear.transform(Z)),
            KernelPCA(count, gamma=1 / (20 * deviation**2), preimage=SOLVER).fit(X).denoise(Z),
        )
    ]
    return errors[0] / errors[1]


ratios = np.empty((len(DEVIATIONS), len(COUNTS)))
sources = rng.uniform(-1, 1, size=(11, 10))
for row, deviation in enumerate(DEVIATIONS):
    X, _ = sample(sources, deviation, 100)
    Z, labels = sample(sources, deviation, 33)
    ratios[row] = [ratio(deviation, count, X, Z, sources[labels]) for count in COUNTS]

figure, ax = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
ax.imshow(np.log10(ratios), cmap="Purples", vmin=0, vmax=4, aspect="auto")
for (row, column), value in np.ndenumerate(ratios):
    digits = f"{value:.1f}" if value < 10 else f"{value:,.0f}"
    ax.text(column, row, digits, ha="center", va="center", color="white" if value > 100 else "black")
ax.set_xticks(range(len(COUNTS)), COUNTS)
ax.set_yticks(range(len(DEVIATIONS)), DEVIATIONS)
ax.set(xlabel="Number of components", ylabel="σ of the clusters")
ax.set_title("Error of linear PCA divided by error of kernel PCA", fontsize="medium")
ax.spines[:].set_visible(False)
plt.show()
