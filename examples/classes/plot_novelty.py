"""
Reconstruction error as a novelty score
=======================================

A point that differs from the training set lies far from the principal subspace in feature space.
`KernelPCA.reconstruction_error` measures that distance; no label and no outlier is needed to fit it. Here one digit at
a time is left out of the training set, and the score has to distinguish its images from new images of the other nine.
"""

# %%
# The scores, which are larger for more unusual points. Kernel PCA and the one-class SVM have the same Gaussian kernel;
# the others run with scikit-learn's defaults. Linear PCA keeps 90 % of the variance.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

from preimage import KernelPCA
from preimage.kernels import resolve_gamma


def kernel_pca(known, Z, gamma):
    return KernelPCA(128, gamma=gamma).fit(known).reconstruction_error(Z)


def one_class_svm(known, Z, gamma):
    return -OneClassSVM(gamma=gamma, nu=0.1).fit(known).decision_function(Z)


def local_outlier_factor(known, Z):
    return -LocalOutlierFactor(novelty=True).fit(known).score_samples(Z)


def linear_pca(known, Z):
    model = PCA(0.9).fit(known)
    return np.sum((Z - model.inverse_transform(model.transform(Z))) ** 2, axis=1)


def isolation_forest(known, Z):
    return -IsolationForest(random_state=0).fit(known).score_samples(Z)


# %%
# Half of the digits for training, without the one left out; all of the other half for testing. The measure is the area
# under the ROC curve: the probability that an unseen digit has a larger score than a known one. A width cannot be tuned
# without novel examples, so we show a range of them, as multiples of the median rule γ = 1 / median ‖x − y‖².

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, test_size=0.5, stratify=y, random_state=0
)
widths = np.array([0.25, 1, 4, 16, 64])


def areas(score):
    """The area under the ROC curve for each digit left out in turn; one row per "
    "digit."""
    return np.array(
        [
            _areas(score, X_train[y_train != digit], y_test == digit)
            for digit in range(10)
        ]
    )


def _areas(score, known, is_novel):
    if score in (kernel_pca, one_class_svm):
        gammas = widths * resolve_gamma("median", known)
        return [
            roc_auc_score(is_novel, score(known, X_test, gamma)) for gamma in gammas
        ]
    return roc_auc_score(is_novel, score(known, X_test))


over_widths = {"kernel PCA": areas(kernel_pca), "one-class SVM": areas(one_class_svm)}
at_median = {name: values[:, 1] for name, values in over_widths.items()}
at_median |= {
    "local outlier factor": areas(local_outlier_factor),
    "linear PCA": areas(linear_pca),
    "isolation forest": areas(isolation_forest),
}

print(
    f"{'digit left out':22}" + "".join(f"{digit:6}" for digit in range(10)) + "    mean"
)
for name, values in at_median.items():
    print(
        f"{name:22}"
        + "".join(f"{value:6.2f}" for value in values)
        + f"{values.mean():8.3f}"
    )
print(f"\n{'multiple of γ':22}" + "".join(f"{width:8}" for width in widths))
for name, values in over_widths.items():
    print(f"{name:22}" + "".join(f"{value:8.3f}" for value in values.mean(axis=0)))

# %%
# Left: every digit, with the median rule. Right: the mean over digits as the width varies, with dashed lines for the
# methods that have none. The reconstruction error is good at every width. The one-class SVM needs a much narrower
# kernel and is then just as good: there both scores compare a point with its nearest neighbours. The local outlier
# factor is a strong and simpler choice; at the median rule it is the best one for some digits.

styles = {
    "kernel PCA": ("C0", "o"),
    "one-class SVM": ("C1", "^"),
    "local outlier factor": ("C2", "s"),
    "linear PCA": ("C3", "D"),
    "isolation forest": ("C6", "v"),
}
figure, (left, right) = plt.subplots(
    1, 2, figsize=(9.5, 4.6), layout="constrained", sharey=True
)
for name, (color, marker) in styles.items():
    left.plot(range(10), at_median[name], marker, color=color, markersize=7, label=name)
    if name in over_widths:
        right.semilogx(
            widths, over_widths[name].mean(axis=0), marker=marker, color=color, base=4
        )
    else:
        right.axhline(
            at_median[name].mean(), color=color, linestyle="--", linewidth=1.2
        )
left.set(
    xlabel="Digit left out of the training set",
    ylabel="Area under the ROC curve",
    xticks=range(10),
)
right.set(
    xlabel="γ, as a multiple of the median rule",
    xticks=widths,
    xticklabels=[f"{width:g}" for width in widths],
)
right.minorticks_off()
for ax, title in ((left, "every digit, median rule"), (right, "mean over digits")):
    ax.axhline(
        0.5,
        color="0.5",
        linewidth=1,
        linestyle=":",
        zorder=0,
        label="chance" if ax is right else None,
    )
    ax.grid(axis="y")
    ax.set_title(title)
figure.suptitle(
    "The reconstruction error finds the unseen digit at every width of the kernel"
)
figure.legend(loc="outside lower center", ncols=6, handletextpad=0.3, columnspacing=1.2)
plt.show()

# %%
# **Read on:** :doc:`/guides/find_novelties`, with thresholds and other data sets.
