"""
More variables than samples: scores that shrink
===============================================

With few samples and many variables, principal components and kernel machines give training samples larger values than
to new ones, because every training sample took part in finding the axes on which it is projected. The scores of new
samples are near zero, and a classifier that was trained on training scores predicts the same class for nearly all of
them. Cross-validation of the whole pipeline shows the effect; this page shows its cause and a correction.
"""

# %%
# Two half circles, turned in a random direction of 500 dimensions, with noise in all of them. The signal is three times
# as strong as all noise together, and 200 samples are more than enough to see it.

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline

from preimage import KernelPCA, Renormalized, inflation_report
from preimage.plotting import InflationDisplay

D = 500
rng = np.random.default_rng(0)
plane = np.linalg.qr(rng.normal(size=(D, 2)))[0].T


def draw(n, snr=3):
    y = (rng.uniform(size=n) > 0.6).astype(int)
    angle = rng.uniform(0, np.pi, size=n)
    upper, lower = (
        np.c_[np.cos(angle), np.sin(angle)],
        np.c_[1 - np.cos(angle), 0.5 - np.sin(angle)],
    )
    points = np.where(y[:, None] == 1, lower, upper)
    noise = np.sqrt(points.var(axis=0).sum() / (D * snr))
    return points @ plane + noise * rng.normal(size=(n, D)), y


X, y = draw(200)
X_new, y_new = draw(500)

# %%
# `inflation_report` needs no test set. It leaves every training sample out in turn, without refits: the covariance
# without a sample is that of all samples, changed by a matrix of rank one. It says whether there is signal, whether
# there is inflation, and whether correction helps, each with its uncertainty.

kernel_pca = KernelPCA(10, gamma=10)
report = inflation_report(kernel_pca, X, y)
print(report)

# %%
# Training samples of the two classes are separated in the figure. Left-out samples, like new ones, are close together
# near zero. Yet their order is right, and a linear function for each component, learned from the left-out samples, maps
# new samples to the range of the training samples.

display = InflationDisplay.from_report(report, X_test=X_new[:200], y_test=y_new[:200])
for ax in display.axes_[2:]:
    ax.set_xlabel("Score on the component")
display.figure_.suptitle("New samples shrink to zero; the correction spreads them")
plt.show()

# %%
# `Renormalized` applies this correction inside a pipeline, to each new sample separately. The discriminant after it is
# trained on the unchanged training scores.

plain = make_pipeline(kernel_pca, LinearDiscriminantAnalysis()).fit(X, y)
corrected = make_pipeline(Renormalized(kernel_pca), LinearDiscriminantAnalysis()).fit(
    X, y
)
print(
    f"as it is:     {1 - plain.score(X_new, y_new):.1%} wrong; the smaller class is "
    f"{y_new.mean():.1%}"
)
print(f"renormalized: {1 - corrected.score(X_new, y_new):.1%} wrong")

# %%
# How many samples does it take? With a wider kernel and more noise, the corrected model needs a small fraction of those
# that kernel PCA alone needs.

sizes = [15, 30, 60, 120, 240]
X_new, y_new = draw(500, snr=1)
errors = np.empty((len(sizes), 2))
for row, size in enumerate(sizes):
    X_train, y_train = draw(size, snr=1)
    few = KernelPCA(min(10, size // 3), gamma=2)
    for column, first in enumerate((few, Renormalized(few))):
        model = make_pipeline(first, LinearDiscriminantAnalysis()).fit(X_train, y_train)
        errors[row, column] = 1 - model.score(X_new, y_new)

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(sizes, 100 * errors[:, 0], "s-", color="C1", label="kernel PCA as it is")
ax.plot(sizes, 100 * errors[:, 1], "o-", color="C0", label="kernel PCA, renormalized")
ax.axhline(
    100 * y_new.mean(),
    color="0.5",
    linestyle="--",
    linewidth=1.2,
    label="always the larger class",
)
ax.set(
    xscale="log",
    xlabel="Number of training samples",
    ylabel="New samples wrong, in percent",
    ylim=(-1, None),
)
ax.set_xticks(sizes, labels=[str(size) for size in sizes])
ax.minorticks_off()
ax.grid()
figure.legend(loc="outside right center")
figure.suptitle("Renormalized, 30 samples give fewer errors than 240 as they are")
plt.show()

# %%
# **Read on:** :doc:`/guides/many_variables`, with what to expect on real data, and when not to use it.
