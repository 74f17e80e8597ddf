"""
Take noise out of digits
========================

A noisy picture is projected on the principal subspace of clean ones in feature space; the pre-image of the projection
is the denoised picture [1]_. `DenoisingSearch` chooses the width of the kernel, the number of components and the
penalty on the distance to the noisy picture for the expected noise: Gaussian noise, or pixels that are lost.

.. [1] S. Mika et al., "Kernel PCA and de-noising in feature spaces", NIPS 11, 1999.
"""

# %%
# Clean digits to learn from, and two kinds of noise. The search needs only a function that adds the noise.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from preimage.kernels import squared_distance_percentile
from preimage.model_selection import DenoisingSearch
from preimage.plotting import DenoisingDisplay

X, y = load_digits(return_X_y=True)
X = X[np.random.default_rng(0).permutation(len(X))] / 16
X_train, X_test = X[:800], X[800:]


def gaussian(X, rng):
    return X + rng.normal(scale=0.25, size=X.shape)


def salt_and_pepper(X, rng):
    """Every fifth pixel becomes black or white."""
    lost = rng.uniform(size=X.shape) < 0.2
    return np.where(lost, rng.integers(0, 2, size=X.shape), X)


# %%
# Linear PCA gets the number of components that is best on the test digits, which would not be known in practice.


def best_linear_pca(noisy):
    models = [PCA(count).fit(X_train) for count in range(4, 40, 4)]
    outputs = [model.inverse_transform(model.transform(noisy)) for model in models]
    return min(outputs, key=lambda output: np.mean((output - X_test) ** 2))


gammas = 1 / (squared_distance_percentile(X_train, 50) * np.array([1 / 8, 1 / 4, 1 / 2]))
for name, add_noise in {"Gaussian noise": gaussian, "Every fifth pixel lost": salt_and_pepper}.items():
    noisy = add_noise(X_test, np.random.default_rng(1))
    search = DenoisingSearch(noise=add_noise, gammas=gammas, max_queries=100).fit(X_train)
    outputs = {"linear PCA": best_linear_pca(noisy), "kernel PCA": search.denoise(noisy)}
    display = DenoisingDisplay.from_images(noisy, outputs, (8, 8), clean=X_test, n_images=12, cmap="gray_r")
    chosen = search.best_params_
    display.figure_.set_figheight(display.figure_.get_figheight() + 0.45)  # room for a title
    display.figure_.suptitle(
        f"{name}: {chosen['n_components']} components, γ = {chosen['gamma']:.2g}, penalty {chosen['penalty']:.2g}"
    )
    plt.show()

# %%
# The error as the model varies: the search keeps every candidate in `cv_results_`. Here the last one, for lost pixels.
# Many components are needed, more than there are pixels, which is the largest number that a linear method has.

results = search.cv_results_
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
colors = dict(zip(np.unique(results["gamma"]), ["#56B4E9", "#0072B2", "#000000"]))
for gamma, color in colors.items():
    chosen = (results["gamma"] == gamma) & (results["penalty"] == 0)
    ax.plot(results["n_components"][chosen], results["error"][chosen], "o-", color=color, label=f"γ = {gamma:.2g}")
ax.axhline(np.mean((outputs["linear PCA"] - X_test) ** 2), color="#D55E00", linestyle="--", label="linear PCA, best")
ax.set_xscale("log", base=2)
ax.set_xticks(np.unique(results["n_components"]), np.unique(results["n_components"]))
ax.set(xlabel="Number of components", ylabel="Mean squared error on held-out digits", ylim=(0, None))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
