"""
The width of a kernel without fitting a model
=============================================

With a Gaussian kernel that is too wide, all class means nearly coincide in feature space; with one that is too narrow,
all points are orthogonal to each other, whatever their class. In between, the means lie farthest apart. `WidthSearch`
finds that width from one kernel matrix: no model is fitted, and nothing is held out.
"""

# %%
# Handwritten digits, ten classes. The criterion is the radius of the smallest ball that holds all ten class means; the
# search also computes the curves of the other criteria, in the same pass over the data.

# sphinx_gallery_thumbnail_number = 2

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from preimage import KernelFisherDiscriminant
from preimage.model_selection import WidthSearch

X, y = load_digits(return_X_y=True)
X, y = X[:1000] / 16, y[:1000]
noisy = X + np.random.default_rng(0).normal(scale=0.5, size=X.shape)

folds = StratifiedKFold(5, shuffle=True, random_state=0)
searches, accuracies = {}, {}
for name, data in (("clean", X), ("noisy", noisy)):
    start = time.perf_counter()
    searches[name] = WidthSearch(SVC(C=10)).fit(data, y)
    middle = time.perf_counter()
    gammas = searches[name].gammas_
    accuracies[name] = [
        cross_val_score(SVC(C=10, gamma=gamma), data, y, cv=folds).mean()
        for gamma in gammas
    ]
    ratio = (time.perf_counter() - middle) / (middle - start)
    best = gammas[int(np.argmax(accuracies[name]))]
    print(
        f"{name} digits: cross-validation takes {ratio:.0f} times as long and finds γ "
        f"= {best:.3g}"
    )

# %%
# What a width does: kernel values of 200 digits, sorted by their class. With a kernel that is too wide all digits are
# alike; with one that is too narrow every digit is like itself only. At the chosen width the ten classes are blocks.

sample = np.argsort(y[:200], kind="stable")
figure, panels = plt.subplots(1, 3, figsize=(9.5, 3.7), layout="constrained")
chosen = searches["clean"].best_gamma_
for panel, factor, name in zip(
    panels, (1 / 64, 1, 64), ("too wide", "chosen", "too narrow")
):
    picture = panel.imshow(
        rbf_kernel(X[:200][sample], gamma=factor * chosen), cmap="Blues", vmin=0, vmax=1
    )
    edges = np.flatnonzero(np.diff(y[:200][sample])) + 0.5
    panel.set(
        title=f"{name}: γ = {factor * chosen:.2g}",
        xticks=edges,
        yticks=edges,
        xticklabels=[],
        yticklabels=[],
    )
panels[0].set_ylabel("200 digits, from zeros to nines")
figure.colorbar(picture, ax=panels, label="kernel value", shrink=0.85)
figure.suptitle("Between too wide and too narrow, classes become visible")
plt.show()

# %%
# What each criterion chooses, and the accuracy of a support vector machine there in cross-validation, next to the best
# of the grid and to scikit-learn's `gamma="scale"`, which costs nothing. Here the criteria agree. In general they
# differ: the smallest distance depends only on the two most similar classes, the largest one on a single unusual class,
# and alignment may choose a much wider or a much narrower kernel.

for name, search in searches.items():
    free = cross_val_score(
        SVC(C=10, gamma="scale"), {"clean": X, "noisy": noisy}[name], y, cv=folds
    ).mean()
    print(f"\n{name}: best of the grid {max(accuracies[name]):.1%}, scale {free:.1%}")
    for criterion, curve in search.criteria_.items():
        place = int(np.argmax(curve))
        print(
            f"{criterion:16}  γ = {search.gammas_[place]:.3g}   "
            f"{accuracies[name][place]:.1%}"
        )

# %%
# The ball is determined by the classes whose means lie on its boundary; the others are inside.

ball = searches["clean"].ball_
held_by = [int(c) for c in searches["clean"].classes_[ball.weights > 0]]
print(f"radius {ball.radius:.3f}, held by the digits {', '.join(map(str, held_by))}")

# %%
# Estimators of this library take the rule as their `gamma`, wherever `fit` is given labels.

model = KernelFisherDiscriminant(gamma="enclosing_ball").fit(X[:700], y[:700])
print(
    f"KernelFisherDiscriminant: γ = {model.kernel_.gamma:.3g}, "
    f"{model.score(X[700:], y[700:]):.1%} of new digits right"
)

# %%
# The curves. Above, how far apart the class means lie, as a fraction of the largest value. Below, the accuracy of the
# machine in cross-validation, which the criterion never sees. The vertical line is the width that was chosen. The
# accuracy is nearly constant over a factor of about four around its maximum, which is why a rule is sufficient.

figure, axes = plt.subplots(2, 2, figsize=(9, 6), sharex="col", layout="constrained")
for column, (name, search) in zip(axes.T, searches.items(), strict=True):
    chosen, curve = search.best_gamma_, np.array(search.criteria_["enclosing_ball"])
    reached = np.interp(np.log(chosen), np.log(search.gammas_), accuracies[name])
    style = {"color": "C0", "label": "radius of the ball around class means"}
    (radius,) = column[0].plot(search.gammas_, curve / curve.max(), "o-", **style)
    style = {"color": "C6", "label": "accuracy of the machine"}
    (accuracy,) = column[1].plot(
        search.gammas_, 100 * np.array(accuracies[name]), "s-", **style
    )
    for ax in column:
        line = ax.axvline(
            chosen, color="C1", linewidth=1.5, linestyle="--", label="chosen width"
        )
        ax.set_xscale("log", base=2)
        ax.set_ylim(0, None)
        ax.grid()
    column[0].set_title(f"{name} digits: γ = {chosen:.2g}")
    column[1].set_title(f"{reached:.1%} there, {max(accuracies[name]):.1%} at best")
    column[1].set_xlabel("Inverse squared width, γ")
axes[0, 0].set_ylabel("Fraction of the largest")
axes[1, 0].set_ylabel("Accuracy in percent")
figure.suptitle(
    "The width at which class means lie farthest apart is nearly the best one"
)
figure.legend(handles=[radius, accuracy, line], loc="outside lower center", ncols=3)
plt.show()

# %%
# **Read on:** :doc:`/guides/choose_a_width`. `preimage.plotting.WidthCurveDisplay` draws all criteria of a search.
