"""
Repair digits that are partly covered
=====================================

Denoising by projection assumes that all pixels have noise of the same size. A sticker on a picture is not like that:
most pixels are right, some are entirely wrong, and the projection of the whole picture follows the wrong ones. With a
robust loss, ``denoise(X, loss=...)`` looks for the picture near the principal subspace that agrees with *most* pixels,

.. math:: \\min_z \\|\\varphi(z) - P\\varphi(z)\\|^2 + \\lambda s^2 \\sum_j \\rho\\big((z_j - x_j)/s\\big),

and says which ones it did not believe.
"""

# %%
# Clean digits to learn from, and two kinds of gross errors on others: a block of ink over 4 × 4 pixels, and salt and
# pepper on every fifth pixel.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.feature_extraction.image import grid_to_graph

from preimage import KernelPCA

rng = np.random.default_rng(3)
X = rng.permutation(load_digits().data) / 16
X_train, X_test = X[:1000], X[1000:1100]

covered = X_test.copy()
for image in covered.reshape(-1, 8, 8):
    top, left = rng.integers(0, 5, size=2)
    image[top : top + 4, left : left + 4] = 1

peppered = np.where(rng.random(X_test.shape) < 0.2, rng.integers(0, 2, X_test.shape), X_test)

# %%
# Projections get the width and the number of components that are best on these very digits. The losses get a wider
# kernel, whose subspace still knows what a digit is when a quarter of it is unknown. Pixels under a block are wrong
# together, and `connectivity` says which pixels are neighbours; the scale s is found from each picture.

narrow, wide = KernelPCA(512, gamma=0.3).fit(X_train), KernelPCA(512, gamma=0.1).fit(X_train)


def projected(spoiled):
    outputs = [
        model.denoise(spoiled, n_components=count) for model in (narrow, wide) for count in (8, 16, 32, 128, 512)
    ]
    return min(outputs, key=lambda output: np.mean((output - X_test) ** 2))


repaired = {
    "A block of ink": (
        covered,
        wide.denoise(covered, loss="tukey", connectivity=grid_to_graph(8, 8), return_outliers=True),
    ),
    "Salt and pepper": (peppered, wide.denoise(peppered, loss="cauchy", return_outliers=True)),
}

# %%
# In the last row, pixels that were distrusted are orange.

shown = slice(0, 14)
for title, (spoiled, (output, outliers)) in repaired.items():
    plain = projected(spoiled)
    error = lambda Z: np.mean((Z - X_test) ** 2)
    rows = {
        "clean": X_test,
        f"spoiled\n{error(spoiled):.3f}": spoiled,
        f"projected\n{error(plain):.3f}": plain,
        f"robust loss\n{error(output):.3f}": output,
    }
    figure, axes = plt.subplots(5, 14, figsize=(10, 4.1), layout="constrained")
    for line, (name, images) in zip(axes, rows.items()):
        for ax, image in zip(line, images[shown]):
            ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
    for ax, image, wrong in zip(axes[-1], spoiled[shown], outliers[shown]):
        picture = np.repeat(1 - image.reshape(8, 8, 1), 3, axis=2)
        picture[wrong.reshape(8, 8)] = np.array([0.90, 0.62, 0.0])
        ax.imshow(picture)
    axes[-1, 0].set_ylabel("distrusted", rotation=0, ha="right", va="center")
    for ax in axes.flat:
        ax.set(xticks=[], yticks=[])
    figure.suptitle(f"{title}: mean squared errors of 100 digits")
    plt.show()
