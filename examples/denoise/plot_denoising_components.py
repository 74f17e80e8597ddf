"""
How many components denoise best?
=================================

Linear PCA has as many components as pixels, and the later ones are noise. Kernel PCA has as many as training pictures,
and codes shapes with hundreds of them before it codes noise. These are the two figures on digits of [1]_ (their figures
9 and 10) with the digits that come with scikit-learn: rows of reconstructions from more and more components, and the
error over the number of components, for two kinds of noise.

.. [1] B. Schölkopf et al., "Input space versus feature space in kernel-based methods", IEEE Trans. Neural Networks 10,
   1999.
"""

# %%
# Models of clean digits; new digits with Gaussian noise, and with speckle: every fifth pixel black or white.

# sphinx_gallery_thumbnail_number = 3

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from preimage import KernelPCA
from preimage.plotting import DenoisingDisplay
from preimage.solvers import FixedPoint

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(X))
X, y = X[order] / 16, y[order]
X_train, X_test, y_test = X[:1000], X[1000:], y[1000:]
first_of_each = np.array([np.flatnonzero(y_test == digit)[0] for digit in range(10)])

rng = np.random.default_rng(1)
lost = rng.uniform(size=X_test.shape) < 0.2
NOISY = {
    "Gaussian noise": X_test + rng.normal(scale=0.25, size=X_test.shape),
    "Speckle": np.where(lost, rng.integers(0, 2, size=X_test.shape), X_test),
}
SHOWN = [1, 4, 16, 64, 256]
COUNTS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

# %%
# One model of either kind serves all numbers of components.

linear = PCA().fit(X_train)
kernel = KernelPCA(max(COUNTS), gamma="median", preimage=FixedPoint(tol=1e-4)).fit(
    X_train
)


def linear_denoised(rows, count):
    axes = linear.components_[:count]
    return linear.mean_ + (rows - linear.mean_) @ axes.T @ axes


def kernel_denoised(rows, count):
    count = min(count, kernel.n_components_)
    return kernel.find_preimages(kernel.transform(rows)[:, :count], start=rows).points


# %%
# The first new digit of each kind, and what either method makes of it with 1, 4, 16, 64 and 256 components. Linear PCA
# returns the noisy picture when it uses all of its 64 components.


def rows_of_pictures(noisy):
    yield "clean", X_test
    yield "noisy", noisy
    yield from (
        (f"linear PCA, {count}", linear_denoised(noisy, count))
        for count in SHOWN
        if count <= 64
    )
    yield from (
        (f"kernel PCA, {count}", kernel_denoised(noisy, count)) for count in SHOWN
    )


for name, noisy in NOISY.items():
    rows = {
        label: found[first_of_each].reshape(-1, 8, 8)
        for label, found in rows_of_pictures(noisy)
    }
    display = DenoisingDisplay(rows=rows, limits=(0, 1)).plot(
        cmap="gray_r", picture_size=0.55
    )
    display.figure_.set_figheight(
        display.figure_.get_figheight() + 0.4
    )  # room for a title
    display.figure_.suptitle(
        f"{name}: linear PCA gets the noise back, kernel PCA sharpens"
    )
    plt.show()

# %%
# The error over the number of components. Few components blur for both methods; many pass the noise of linear PCA
# through, and sharpen the pictures of kernel PCA.

figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for panel, (name, noisy) in zip(panels, NOISY.items()):
    methods = {
        "linear PCA": (linear_denoised, [c for c in COUNTS if c <= 64]),
        "kernel PCA": (kernel_denoised, COUNTS),
    }
    for (label, (denoise, counts)), style in zip(methods.items(), ("s-C1", "o-C0")):
        errors = [np.mean((denoise(noisy, count) - X_test) ** 2) for count in counts]
        panel.plot(counts, errors, style, label=label)
        print(
            f"{name}, {label}: smallest error {min(errors):.4f} with "
            f"{counts[int(np.argmin(errors))]} components"
        )
    panel.axhline(
        np.mean((noisy - X_test) ** 2), color="0.5", linestyle=":", label="noisy digits"
    )
    panel.set_xscale("log", base=2)
    panel.set_xticks([1, 4, 16, 64, 256], [1, 4, 16, 64, 256])
    panel.set(title=name, xlabel="Number of components")
    panel.grid()
panels[0].set_ylabel("Mean squared error per pixel")
figure.suptitle(
    "Linear PCA is best with 16 components; kernel PCA gains up to a hundred and stays "
    "good"
)
figure.legend(
    *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3
)
plt.show()

# %%
# **Read on:** :doc:`/guides/denoise`; the published tables are under :doc:`/results/index`.
