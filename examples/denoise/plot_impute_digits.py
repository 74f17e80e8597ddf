"""
Complete half a digit
=====================

Entries that are missing are chosen so that the whole row lies near the principal subspace of the training rows in
feature space; known ones stay. With a Gaussian kernel rows near the subspace follow the data where these curve, so that
a stroke that begins in the upper half of a digit goes on in the lower one. This is ``method="energy"`` of
`KernelImputer`, good where gaps come in blocks; its default averages several estimates of the missing entries.
"""

# %%
# Digits to learn from, and others of which the lower half is hidden, or every second pixel.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.impute import KNNImputer, SimpleImputer

from preimage import KernelImputer
from preimage.plotting import DenoisingDisplay

rng = np.random.default_rng(0)
X, y = load_digits(return_X_y=True)
order = rng.permutation(len(X))
X, y = X[order] / 16, y[order]
X_train, X_test = X[:1000], X[1000:1400]
hidden = {
    "the lower half": np.broadcast_to(np.arange(64) >= 32, X_test.shape),
    "the right half": np.broadcast_to(np.arange(64) % 8 >= 4, X_test.shape),
    "random pixels": rng.random(X_test.shape) < 0.5,
}
imputers = {
    "mean": SimpleImputer(),
    "nearest\nneighbours": KNNImputer(n_neighbors=10, weights="distance"),
    "kernel PCA": KernelImputer(method="energy"),
}
filled = {
    (what, name): imputer.fit(X_train).transform(np.where(missing, np.nan, X_test))
    for what, missing in hidden.items()
    for name, imputer in imputers.items()
}

# %%
# One digit of every class. Means over neighbours blur the pixels in which neighbours differ.

shown = [int(np.flatnonzero(y[1000:1400] == label)[0]) for label in range(10)]
missing = hidden["the lower half"][shown]
rows = {
    "known": np.where(
        missing, 2, X_test[shown]
    ),  # values above one are drawn in orange
    **{name: filled["the lower half", name][shown] for name in imputers},
    "truth": X_test[shown],
}
figure, axes = plt.subplots(len(rows), 1, figsize=(8, 4.6), layout="constrained")
pictures = {name: images.reshape(-1, 8, 8) for name, images in rows.items()}
paper_and_gaps = plt.get_cmap("gray_r").with_extremes(over="#F0C8A0")
DenoisingDisplay(rows=pictures, limits=(0, 1)).plot(ax=axes, cmap=paper_and_gaps)
figure.suptitle(
    "Strokes go on in the hidden half: kernel PCA is sharper than neighbours"
)
plt.show()

# %%
# The error on hidden pixels.

errors = {key: np.mean((Z - X_test)[hidden[key[0]]] ** 2) for key, Z in filled.items()}
figure, ax = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
for number, (name, color) in enumerate(zip(imputers, ["0.65", "C1", "C0"])):
    heights = [errors[what, name] for what in hidden]
    bars = ax.bar(
        np.arange(3) + 0.26 * (number - 1),
        heights,
        0.24,
        color=color,
        label=name.replace("\n", " "),
    )
    ax.bar_label(bars, fmt="%.3f", fontsize="small", padding=2)
ax.set_xticks(range(3), [f"{what} hidden" for what in hidden])
ax.tick_params(axis="x", length=0)
ax.set(ylabel="Mean squared error of hidden pixels")
ax.set_title("Kernel PCA has the smallest error, whatever is hidden")
figure.legend(loc="outside lower center", ncols=3)
plt.show()

# %%
# The digits to learn from may have gaps themselves: they are filled in and learned from in turn, until neither changes.

holes = np.where(rng.random(X_train.shape) < 0.3, np.nan, X_train)
imputer = KernelImputer(method="energy").fit(holes)
Z = imputer.transform(np.where(hidden["random pixels"], np.nan, X_test))
error = np.mean((Z - X_test)[hidden["random pixels"]] ** 2)
print(
    f"Half of the pixels, learned from digits of which 30 % are missing: {error:.4f}, "
    f"after {imputer.n_iter_} rounds"
)
print(f"Learned from complete digits: {errors['random pixels', 'kernel PCA']:.4f}")

# %%
# **Read on:** :doc:`/guides/fill_gaps`, with tables, uncertainty of what is filled in, and the choice of parameters.
