"""
Groups by projection pursuit in feature space
=============================================

Kernel PCA orders directions of feature space by their variance. What is interesting about data, groups or rare events,
need not have a large variance. Projection pursuit searches directions whose projections are least like a Gaussian: with
a large fourth moment where few points lie far from all others, with a small one where points fall into two groups. The
first report on kernel PCA names this as a use of its coordinates [1]_.

.. [1] B. Schölkopf, A. Smola, K.-R. Müller, "Nonlinear component analysis as a kernel eigenvalue problem",
   Technical Report 44, Max-Planck-Institut für biologische Kybernetik, 1996, section 7.1.
"""

# %%
# The data: a ring of 300 points, and two small groups, one inside of it and one outside.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from preimage import KernelPCA, KernelProjectionPursuit
from preimage.plotting import ComponentContourDisplay, DenoisingDisplay

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, size=300)
ring = 3 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(
    scale=0.25, size=(300, 2)
)
inside = rng.normal(scale=0.25, size=(20, 2))
outside = rng.normal(4, scale=0.25, size=(15, 2))
X, group = np.vstack([ring, inside, outside]), np.repeat([0, 1, 2], [300, 20, 15])

# %%
# The first two principal components go around the ring, because most of the variance is there. The two directions of
# largest fourth moment, among the combinations of ten principal axes, are the two groups.

components = KernelPCA(2, gamma=0.2).fit(X)
pursuit = KernelProjectionPursuit(2, gamma=0.2, n_principal=10, extreme="largest").fit(
    X
)

figure, axes = plt.subplots(
    2, 2, figsize=(7, 7.4), sharex=True, sharey=True, layout="constrained"
)
ComponentContourDisplay.from_estimator(components, X, ax=axes[0], levels=8)
ComponentContourDisplay.from_estimator(pursuit, X, ax=axes[1], levels=8)
for panel, ratio in zip(axes[0], components.explained_variance_ratio_):
    panel.set_title(f"kernel PCA, {ratio:.0%} of the variance")
for panel, contrast in zip(axes[1], pursuit.contrasts_):
    panel.set_title(f"projection pursuit, excess kurtosis {contrast:.1f}")
for panel in axes.flat:
    panel.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    panel.label_outer()
figure.suptitle("Variance follows the ring; kurtosis finds the two small groups")
plt.show()

for number, feature in enumerate(pursuit.transform(X).T, start=1):
    best = max((1, 2), key=lambda each: feature[group == each].mean())
    print(
        f"feature {number}: smallest value in group {best} "
        f"{feature[group == best].min():.2f}, "
        f"largest of all others {feature[group != best].max():.2f}"
    )

# %%
# Digits: features of large kurtosis respond to few images each. Rows show the images with the largest values of four
# features.

digits = load_digits().data / 16
model = KernelProjectionPursuit(4, gamma=0.02, n_principal=15, extreme="largest").fit(
    digits[:800]
)
values = model.transform(digits[800:])

rows = {
    f"feature {number}\nkurtosis {contrast:.1f}": digits[
        800 + np.argsort(-feature)[:8]
    ].reshape(-1, 8, 8)
    for number, (contrast, feature) in enumerate(
        zip(model.contrasts_, values.T), start=1
    )
}
figure, axes = plt.subplots(4, 1, figsize=(7.2, 4), layout="constrained")
DenoisingDisplay(rows=rows, limits=(0, 1)).plot(ax=axes, cmap="gray_r")
figure.suptitle(
    "New digits with the largest values: each feature responds to one style"
)
plt.show()

# %%
# Extreme moments of the training set are partly chance: among many axes, some direction always has a large one. Moments
# of other rows along the same directions say how much of them is real: all of it with five axes, a third with 45.

for n_principal in (5, 15, 45, 135):
    model = KernelProjectionPursuit(
        4, gamma=0.02, n_principal=n_principal, algorithm="deflation"
    ).fit(digits[:800])
    print(
        f"{n_principal:3} axes: mean |excess kurtosis| "
        f"{np.abs(model.contrasts_).mean():6.2f} on the training set, "
        f"{model.score(digits[800:]):6.2f} on other digits"
    )

# %%
# **Read on:** :doc:`/guides/classes_and_clusters`, and :doc:`/theory/kernel_pca`.
