"""
Features that forget a rotation, or a translation
=================================================

Kernel PCA looks for functions that vary as much as possible on the data. Oriented kernel PCA [1]_ looks for functions
that vary much on the data and little along a transformation which is known not to matter. On two noisy rings the
function that does not change under rotations is the radius; the one that does not change when points move along the
first axis follows the second coordinate. This is our version of Figure 2 of the paper.

.. [1] S. Mika, G. Rätsch, J. Weston, B. Schölkopf, A. Smola, K.-R. Müller, "Invariant feature extraction and
   classification in kernel spaces", NIPS 12, 1999.
"""

# %%
# The data, and two transformations: functions of all rows and an amount t, which change nothing at t = 0. For images
# and signals, ``preimage.invariances`` has rotations, translations, scaling, thickening and time shifts ready.

import matplotlib.pyplot as plt
import numpy as np

from preimage import KernelPCA, OrientedKernelPCA
from preimage.invariances import TangentCovariance
from preimage.kernels import Gaussian
from preimage.plotting import ComponentContourDisplay

rng = np.random.default_rng(1)
radius = np.repeat([1.0, 2.0], 60) + rng.normal(scale=0.08, size=120)
angle = rng.uniform(0, 2 * np.pi, size=120)
X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def rotate(X, t):
    c, s = np.cos(t), np.sin(t)
    return X @ np.array([[c, s], [-s, c]])


def translate(X, t):
    return X + t * np.array([1.0, 0.0])


# %%
# One row per method, one column per feature. The contour lines of kernel PCA cross the rings. Those of the first
# feature that is oriented against rotation are circles; later features must be uncorrelated with it, and few other
# functions do not change under rotation. For the features oriented against translation, contour lines are horizontal
# where the data are.

kernel = Gaussian(1.0)
models = {
    "kernel PCA": KernelPCA(3, kernel=kernel).fit(X),
    "oriented: rotation": OrientedKernelPCA(
        3, kernel=kernel, invariances=rotate, alpha=1e-3
    ).fit(X),
    "oriented: x-translation": OrientedKernelPCA(
        3, kernel=kernel, invariances=translate, alpha=1e-3
    ).fit(X),
}
figure, axes = plt.subplots(
    3, 3, figsize=(8, 8.6), sharex=True, sharey=True, layout="constrained"
)
for (name, model), row in zip(models.items(), axes):
    ComponentContourDisplay.from_estimator(model, X, ax=row, levels=9)
    for number, panel in enumerate(row, start=1):
        panel.set(
            title=f"feature {number}" if name == "kernel PCA" else "", aspect="equal"
        )
    row[0].set_ylabel(f"{name}\n$x_2$")
for panel in axes[-1]:
    panel.set_xlabel("$x_1$")
figure.suptitle(
    "Oriented features are constant along circles (row 2) or horizontal lines (row 3)"
)
plt.show()

# %%
# How much a function changes along a transformation is measured by the tangent covariance: its value at a vector of
# feature space is the mean squared derivative of the function. The larger the ratio of the variance to it, the more
# invariant the feature.

radii = np.linalg.norm(X, axis=1)
print(
    f"{'first feature':26}{'rotation':>10}{'translation':>13}"
    f"{'corr. radius':>14}{'corr. x2':>10}"
)
for name, model in models.items():
    vectors = model.subspace_.frame if name == "kernel PCA" else model.expansion_
    feature = vectors(X)[:, 0]
    tangents = [
        TangentCovariance(each, method="analytic") for each in (rotate, translate)
    ]
    ratios = [feature.var() / each.moment_of(vectors[0], X)[0, 0] for each in tangents]
    correlations = [
        abs(np.corrcoef(feature, partner)[0, 1]) for partner in (radii, X[:, 1])
    ]
    print(
        f"{name:26}{ratios[0]:>10.3g}{ratios[1]:>13.3g}"
        f"{correlations[0]:>14.3f}{correlations[1]:>10.3f}"
    )

# %%
# **Read on:** :doc:`/guides/invariances`, with transformations of pictures and signals.
