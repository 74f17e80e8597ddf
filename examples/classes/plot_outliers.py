"""
Outliers that cannot hide in their own model
============================================

A model follows the rows that it was fitted to. Where it measures these rows afterwards, an outlier may look more normal
than the rest, because a component of the model may describe that row alone. `KernelNoveltyDetector` measures each row of the
training set by all others.
"""

# %%
# Zeros, and a few other digits among them. The reconstruction error of kernel PCA ranks its training rows by how well
# the model has followed them; that of models of other rows (``cross_fit``) ranks them by how unusual they are. The
# detector needs neither a number of components nor folds.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from preimage import KernelNoveltyDetector, KernelPCA

images, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
zeros, others = rng.permutation(images[y == 0]), rng.permutation(images[y != 0])
X = np.vstack([zeros[:162], others[:18]])
is_other = np.arange(len(X)) >= 162

components = KernelPCA(0.95, gamma="median").fit(X)
detector = KernelNoveltyDetector(contamination=0.1).fit(X)
scores = {
    "kernel PCA,\nits own rows": components.reconstruction_error(X),
    "kernel PCA,\nten folds": components.reconstruction_error(X, cross_fit=10),
    "the detector,\nrows left out": -detector.score_samples(X),
}
for name, score in scores.items():
    print(
        f"{' '.join(name.split()):28} area under the ROC curve "
        f"{roc_auc_score(is_other, score):.3f}"
    )

# %%
# Scores of all rows, smallest to largest. Only where rows are left out do the other digits have large ones.

figure, axes = plt.subplots(1, 3, figsize=(9, 3.6), layout="constrained", sharey=True)
for ax, (name, score) in zip(axes, scores.items()):
    places, score = (
        rng.uniform(-0.3, 0.3, len(X)),
        (score - score.min()) / np.ptp(score),
    )
    for group, (label, marker) in enumerate(
        {"zeros": ".", "other digits": "x"}.items()
    ):
        rows = is_other == bool(group)
        ax.plot(group + places[rows], score[rows], marker, label=label, alpha=0.8)
    ax.set(title=name, xticks=[0, 1], xticklabels=["zeros", "others"], xlim=(-0.6, 1.6))
axes[0].set_ylabel("score, smallest = 0, largest = 1")
figure.suptitle("Rows measured by others show which of them do not belong")
plt.show()

# %%
# The rows with the largest scores, and the labels that the detector gives: here it is right about all.

worst = np.argsort(detector.score_samples(X))[:18]
figure, axes = plt.subplots(2, 9, figsize=(9, 2.6), layout="constrained")
for ax, row in zip(axes.flat, worst):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(color="C1" if is_other[row] else "C0", linewidth=3)
figure.suptitle(
    "The most unusual rows; zeros have a blue frame, other digits an orange one"
)
plt.show()

found = np.mean(detector.predict(X)[is_other] == -1)
print(f"other digits found: {found:.0%}")

# %%
# **Read on:** :doc:`/guides/find_novelties`, with thresholds, new rows and many rows.
