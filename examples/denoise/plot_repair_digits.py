"""
Repair digits that are partly covered
=====================================

Denoising by projection assumes that all pixels have noise of the same size. A sticker on a picture is not like that:
most pixels are right, some are entirely wrong, and the projection of the whole picture follows the wrong ones. With a
robust loss, ``denoise(X, loss=...)`` looks for the picture near the principal subspace that agrees with *most* pixels,

.. math:: \\min_z \\|\\varphi(z) - P\\varphi(z)\\|^2 + \\lambda s^2 \\sum_j \\rho\\big((z_j - x_j)/s\\big),

and reports which pixels it treated as wrong.
"""

# %%
# Clean digits to learn from, and two kinds of gross errors on others: a block of ink over 4 × 4 pixels, and salt and
# pepper on every fifth pixel.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.feature_extraction.image import grid_to_graph

from preimage import KernelPCA
from preimage.plotting import DenoisingDisplay

rng = np.random.default_rng(3)
X = rng.permutation(load_digits().data) / 16
X_train, X_test = X[:1000], X[1000:1100]

covered = X_test.copy()
for image in covered.reshape(-1, 8, 8):
    top, left = rng.integers(0, 5, size=2)
    image[top : top + 4, left : left + 4] = 1

peppered = np.where(
    rng.random(X_test.shape) < 0.2, rng.integers(0, 2, X_test.shape), X_test
)

# %%
# Projections get the width and the number of components that are best on these very digits. The losses get a wider
# kernel, whose subspace still knows what a digit is when a quarter of it is unknown. Pixels under a block are wrong
# together, and `connectivity` says which pixels are neighbours; the scale s is found from each picture.

narrow, wide = (
    KernelPCA(512, gamma=0.3).fit(X_train),
    KernelPCA(512, gamma=0.1).fit(X_train),
)


def projected(spoiled):
    outputs = [
        model.denoise(spoiled, n_components=count)
        for model in (narrow, wide)
        for count in (8, 16, 32, 128, 512)
    ]
    return min(outputs, key=lambda output: np.mean((output - X_test) ** 2))


repaired = {
    "A block of ink": (
        covered,
        wide.denoise(
            covered,
            loss="tukey",
            connectivity=grid_to_graph(8, 8),
            return_outliers=True,
        ),
    ),
    "Salt and pepper": (
        peppered,
        wide.denoise(peppered, loss="cauchy", return_outliers=True),
    ),
}

# %%
# Mean squared errors (MSE) are those of all 100 digits, of which ten are drawn. In the last row, the pixels that the
# robust loss treated as wrong are orange: most of the block of ink, and most of the salt and pepper.

paper_and_stains = plt.get_cmap("gray_r").with_extremes(over="#E69F00")
for title, (spoiled, (output, outliers)) in repaired.items():
    plain = projected(spoiled)
    error = lambda Z: np.mean((Z - X_test) ** 2)
    rows = {
        "clean": X_test,
        f"spoiled\nMSE {error(spoiled):.3f}": spoiled,
        f"projected\nMSE {error(plain):.3f}": np.clip(plain, 0, 1),
        f"robust loss\nMSE {error(output):.3f}": np.clip(output, 0, 1),
        "pixels treated\nas wrong": np.where(
            outliers, 2, spoiled
        ),  # values above one are drawn in orange
    }
    figure, axes = plt.subplots(5, 1, figsize=(8.2, 4.4), layout="constrained")
    pictures = {name: images[:10].reshape(-1, 8, 8) for name, images in rows.items()}
    DenoisingDisplay(rows=pictures, limits=(0, 1)).plot(ax=axes, cmap=paper_and_stains)
    figure.suptitle(
        f"{title}: the robust loss ignores the wrong pixels and draws the digit"
    )
    plt.show()

# %%
# **Read on:** :doc:`/guides/denoise` on gross errors, :doc:`/guides/fill_gaps` where the wrong pixels are known.
