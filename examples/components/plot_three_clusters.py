"""
Components that find clusters, then split them
==============================================

Kernel PCA with a narrow Gaussian kernel on three clusters: the first two components separate the clusters, the next
three split each of them, and three more split them again in the other direction. The panels repeat a figure of
Schölkopf et al. [1]_.

.. [1] B. Schölkopf et al., "Input space versus feature space in kernel-based methods", IEEE Transactions on Neural
   Networks 10, 1999.
"""

# %%
# A hundred points from each of three Gaussians of standard deviation 0.1.

import matplotlib.pyplot as plt
import numpy as np

from preimage import KernelPCA
from preimage.kernels import Gaussian, gamma_from_width
from preimage.plotting import ComponentContourDisplay, SpectrumDisplay

rng = np.random.default_rng(4)
centers = [(-0.5, -0.1), (0.0, 0.7), (0.5, 0.1)]
X = np.concatenate([rng.normal(center, 0.1, size=(100, 2)) for center in centers])

# %%
# The papers write the kernel as exp(−‖x − y‖²/c), here with c = 0.1; `gamma_from_width` translates. Components 3–5 have
# nearly equal eigenvalues, and so have 6–8: within such a group axes may be rotated among each other from sample to
# sample, and one of them may split two clusters at once.

kernel = Gaussian(gamma_from_width(0.1, "c"))
model = KernelPCA(8, kernel=kernel).fit(X)
display = ComponentContourDisplay.from_estimator(model, X)
display.figure_.set_figheight(5.8)
display.figure_.supxlabel("$x_1$")
display.figure_.supylabel("$x_2$")
display.figure_.suptitle(
    "Components 1 and 2 separate three clusters; later ones split each of them"
)
plt.show()

# %%
# The spectrum has the same steps: two eigenvalues for the three clusters (their mean takes one degree of freedom), six
# for the two directions inside each, and so on. A gap between components 2 and 3 is what makes a spectral clustering
# with three clusters work.

display = SpectrumDisplay.from_estimator(KernelPCA(24, kernel=kernel).fit(X))
for panel in display.axes_:
    panel.axvspan(
        0.5, 2.5, color="C0", alpha=0.15, linewidth=0, label="1, 2: which cluster"
    )
    panel.axvspan(
        2.5,
        8.5,
        color="C4",
        alpha=0.18,
        linewidth=0,
        label="3 to 8: where in a cluster",
    )
display.figure_.set_figheight(4)
display.figure_.suptitle(
    "The spectrum falls in steps: two eigenvalues, then six, then the rest"
)
display.figure_.legend(
    *panel.get_legend_handles_labels(), loc="outside lower center", ncols=2
)
plt.show()

# %%
# **Read on:** :doc:`/theory/kernel_pca` on components as functions, :doc:`/guides/classes_and_clusters` on clusters.
