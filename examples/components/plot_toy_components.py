"""
Curved principal components of a parabola
=========================================

Linear PCA of points on a noisy parabola finds two straight directions and has no further components. Kernel PCA with
the kernel (x·y)^d is linear PCA of all products of d coordinates: it has more components than inputs, and its lines of
constant value follow the curve. This is the toy example of the first report on kernel PCA [1]_.

.. [1] B. Schölkopf, A. Smola, K.-R. Müller, "Nonlinear component analysis as a kernel eigenvalue problem",
   Technical Report 44, Max-Planck-Institut für biologische Kybernetik, 1996.
"""

# %%
# The data: x uniform in [−1, 1], y = x² plus normal noise of standard deviation 0.2.

import matplotlib.pyplot as plt
import numpy as np

from preimage import KernelPCA
from preimage.kernels import Polynomial
from preimage.plotting import ComponentContourDisplay

rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, size=150)
X = np.column_stack([x, x**2 + rng.normal(scale=0.2, size=150)])

# %%
# One column per degree, one row per component. Each panel shows contour lines of the component; the thick line is zero,
# the mean, and the number is the fraction of the variance in feature space.
#
# There is no third component for d = 1: two inputs have two. For d = 2 there are three products, x², xy and y²; the
# first two components vary along the parabola, the third across it: it represents the noise. With higher degrees the
# lines are more strongly curved, and there are more components.

degrees = [1, 2, 3, 4]
figure, axes = plt.subplots(
    3, 4, figsize=(9, 7.2), sharex=True, sharey=True, layout="constrained"
)
for degree, column in zip(degrees, axes.T):
    model = KernelPCA(min(3, degree + 1), kernel=Polynomial(degree, coef0=0.0)).fit(X)
    panels = column[: model.n_components_]
    ComponentContourDisplay.from_estimator(model, X, ax=panels, levels=8)
    for panel, fraction in zip(panels, model.explained_variance_ratio_):
        panel.set_title(f"{fraction:.1%} of the variance", fontsize="small")
    column[0].set_title(f"degree {degree}\n{panels[0].get_title()}", fontsize="small")
    column[-1].set_xlabel("$x$")
for number, row in enumerate(axes, start=1):
    row[0].set_ylabel(f"component {number}\n$y$")
axes[2, 0].text(
    0.5,
    0.5,
    "no third\ncomponent",
    transform=axes[2, 0].transAxes,
    ha="center",
    va="center",
    color="0.4",
)
figure.suptitle("Components of higher degree follow the curve of the parabola")
plt.show()

# %%
# The eigenvalues agree with this. A kernel of degree d on two inputs has a feature space of d + 1 dimensions, so that
# all its components fit in this table.

for degree in degrees:
    model = KernelPCA(kernel=Polynomial(degree, coef0=0.0)).fit(X)
    print(
        f"d = {degree}: fractions of the variance",
        np.array2string(model.explained_variance_ratio_, precision=3),
    )

# %%
# **Read on:** :doc:`/theory/kernel_pca`, and :doc:`/guides/choose_a_kernel`.
