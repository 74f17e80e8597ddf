"""
Noisy curves: a half circle and a square
========================================

Denoising should move points that are scattered about a curve back to it. Four methods are compared in an experiment
after Mika et al. [1]_: linear PCA, an autoencoder, a principal curve and kernel PCA. A good method moves points
perpendicularly to the curve, not along it, and follows its corners.

.. [1] S. Mika et al., "Kernel PCA and de-noising in feature spaces",
   NIPS 11, 1999.
"""

# %%
# Two hundred points on each curve, with Gaussian noise.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from preimage.model_selection import DenoisingSearch


def half_circle(t):
    return np.column_stack([np.cos(np.pi * t), np.sin(np.pi * t)])


def square(t):
    side, along = np.divmod(4 * t, 1)
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)])
    begin, end = corners[side.astype(int) % 4], corners[side.astype(int) % 4 + 1]
    return begin + along[:, None] * (end - begin)


rng = np.random.default_rng(0)
CURVES = {"half circle": half_circle, "square": square}
noisy = {
    name: curve(rng.uniform(size=200)) + rng.normal(scale=0.12, size=(200, 2))
    for name, curve in CURVES.items()
}

# %%
# The methods. Linear PCA and the autoencoder describe every point by one number, since a curve has one parameter; the
# autoencoder is the best of ten starts. The principal curve is Hastie and Stuetzle's: project the points on the curve,
# smooth their coordinates as functions of the position of the projection, and repeat. The width of kernel PCA and its
# number of components come from `DenoisingSearch`, which hides one coordinate of a point and measures the error of its
# prediction. No method sees the true curve.


def linear_pca(X):
    model = PCA(1).fit(X)
    return model.inverse_transform(model.transform(X))


def autoencoder(X):
    networks = [
        MLPRegressor(
            hidden_layer_sizes=(8, 1, 8),
            activation="tanh",
            solver="lbfgs",
            max_iter=1000,
            random_state=seed,
        )
        for seed in range(10)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # some starts never settle; others win
        best = min(
            (network.fit(X, X) for network in networks),
            key=lambda network: network.loss_,
        )
    return best.predict(X)


def principal_curve(X, span=0.06, n_steps=20):
    place = PCA(1).fit_transform(X)[:, 0]
    for _ in range(n_steps):
        rank = np.argsort(np.argsort(place)) / len(X)
        weights = np.exp(-(((np.linspace(0, 1, 200)[:, None] - rank) / span) ** 2) / 2)
        knots = weights @ X / weights.sum(axis=1, keepdims=True)
        place = np.argmin(np.sum((X[:, None, :] - knots) ** 2, axis=2), axis=1)
    return knots[place]


def kernel_pca(X):
    return DenoisingSearch(criterion="masked").fit(X).denoise(X)


METHODS = {
    "linear PCA": linear_pca,
    "autoencoder": autoencoder,
    "principal curve": principal_curve,
    "kernel PCA": kernel_pca,
}

# %%
# Thin lines join each noisy point to its denoised one. The numbers are root mean squared distances to the
# true curve. Linear PCA has only a straight line; the principal curve starts from this line and cannot close around the
# square. Kernel PCA follows both curves and rounds the corners. The autoencoder, the best of many starts, follows them
# too and is slightly nearer to the square, but it has to cut a closed curve at some point.


def distance_to(curve, Z):
    points = curve(np.linspace(0, 1, 1000, endpoint=False))
    return np.sqrt(
        np.mean(np.min(np.sum((Z[:, None, :] - points) ** 2, axis=2), axis=1))
    )


for name, curve in CURVES.items():
    X, truth = noisy[name], curve(np.linspace(0, 1, 1000))
    figure, axes = plt.subplots(
        2, 2, figsize=(8, 5.6 if name == "half circle" else 8.4), layout="constrained"
    )
    for ax, (title, method) in zip(axes.flat, METHODS.items()):
        Z = method(X)
        ax.plot(
            *np.stack([X, Z]).transpose(2, 0, 1), color="0.85", linewidth=0.7, zorder=0
        )
        ax.plot(*truth.T, color="C4", linewidth=2.5, zorder=1, label="true curve")
        ax.scatter(*X.T, s=8, color="0.6", zorder=2, label="noisy point")
        ax.scatter(*Z.T, s=13, color="C0", zorder=3, label="denoised point")
        ax.set_title(f"{title}: {distance_to(curve, Z):.3f}")
        ax.set(xticks=[], yticks=[], aspect="equal", xlim=(-1.5, 1.5))
        ax.spines[:].set_visible(False)
    before = distance_to(curve, X)
    figure.suptitle(f"A {name}: distance from the curve, {before:.3f} before denoising")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    plt.show()

# %%
# **Read on:** :doc:`/guides/denoise`, and :doc:`/guides/choose_a_width` on `DenoisingSearch`.
