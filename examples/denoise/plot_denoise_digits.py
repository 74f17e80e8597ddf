"""
Take noise out of digits
========================

A noisy picture is projected on the principal subspace of clean ones in feature space; the pre-image of the projection
is the denoised picture [1]_. `DenoisingSearch` chooses the width of the kernel, the number of components and the
penalty on the distance to the noisy picture. All it needs is a function that adds the expected noise: here Gaussian
noise, or pixels that are lost.

.. [1] S. Mika et al., "Kernel PCA and de-noising in feature spaces",
   NIPS 11, 1999.
"""

# %%
# Clean digits to learn from, and two kinds of noise.

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
# Linear PCA gets the number of components that is best on the test digits, which would not be known in practice. Each
# row is labelled with its mean squared error (MSE) over all 997 test digits, of which ten are drawn.


def best_linear_pca(noisy):
    models = [PCA(count).fit(X_train) for count in range(4, 40, 4)]
    outputs = [model.inverse_transform(model.transform(noisy)) for model in models]
    return min(outputs, key=lambda output: np.mean((output - X_test) ** 2))


gammas = 1 / (
    squared_distance_percentile(X_train, 50) * np.array([1 / 8, 1 / 4, 1 / 2])
)
for name, add_noise in {
    "Gaussian noise": gaussian,
    "Every fifth pixel lost": salt_and_pepper,
}.items():
    noisy = add_noise(X_test, np.random.default_rng(1))
    search = DenoisingSearch(added_noise=add_noise, gammas=gammas, max_queries=100).fit(
        X_train
    )
    outputs = {
        "linear PCA": best_linear_pca(noisy),
        "kernel PCA": search.denoise(noisy),
    }
    display = DenoisingDisplay.from_images(
        noisy, outputs, (8, 8), clean=X_test, cmap="gray_r", picture_size=0.65
    )
    ratio = display.errors["kernel PCA"] / display.errors["linear PCA"]
    display.figure_.set_figheight(
        display.figure_.get_figheight() + 0.4
    )  # room for a title
    display.figure_.suptitle(
        f"{name}: kernel PCA has {ratio:.2f} times the error of linear PCA"
    )
    plt.show()
    print(
        name,
        {key: round(float(value), 3) for key, value in search.best_params_.items()},
    )

# %%
# How the error depends on the model: the search keeps every candidate in `cv_results_`. These are the ones of the last
# search, for lost pixels. Many components are needed, more than the 64 pixels, which are all that a linear method has.

results = search.cv_results_
figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
for gamma, color in zip(np.unique(results["gamma"]), ["C0", "C5", "C6"]):
    chosen = (results["gamma"] == gamma) & (results["penalty"] == 0)
    label = f"kernel PCA, γ = {gamma:.2g}"
    ax.plot(
        results["n_components"][chosen],
        results["error"][chosen],
        "o-",
        color=color,
        label=label,
    )
ax.axhline(
    display.errors["linear PCA"], color="C1", linestyle="--", label="linear PCA, best"
)
ax.set_xscale("log", base=2)
ax.set_xticks(np.unique(results["n_components"]), np.unique(results["n_components"]))
ax.set(
    xlabel="Number of components",
    ylabel="Mean squared error of held-out digits",
    ylim=(0, None),
)
ax.set_title("A wide kernel with hundreds of components denoises best")
ax.grid()
figure.legend(loc="outside right center")
plt.show()

# %%
# **Read on:** :doc:`/guides/denoise` has the same for tables, for noisy training data and for gross errors.
