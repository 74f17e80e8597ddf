"""
The shape of feature space
==========================

A kernel maps the plane to a surface in feature space. The surface has a geometry of its own: how much a small area is
magnified, and whether it is curved. Both follow from derivatives of the kernel on the diagonal, without features [1]_.
Here they are drawn for polynomial kernels (x·y + c)^p.

.. [1] B. Schölkopf et al., "Input space versus feature space in kernel-based methods", IEEE Transactions on Neural
   Networks 10, 1999.
"""

# %%
# Curvature
# ---------
# The upper row has c = 1. These surfaces are curved like saddles (the scalar curvature is negative), most of all at the
# origin, where it is −2(p − 1)/p, and the more tightly around it the higher the degree. The lower row has c = 0:
# homogeneous kernels of two inputs are flat, with a singular point at the origin, like cones.
#
# The lines are geodesics, the straightest paths on the surface, all of the same length in feature space. Far from the
# origin the kernel stretches distances, so that the path between two points is curved towards the origin. In the lower
# row this holds although the surface is flat: unrolled, the lines are straight. But the cone has an angle of 2π√p, more
# than the full angle 2π of the plane, and no straight line from this point reaches the region behind its tip.

import matplotlib.pyplot as plt
import numpy as np

from preimage.geometry import mercer_report, scalar_curvature
from preimage.kernels import Gaussian, Normalized, Polynomial, Sigmoid
from preimage.plotting import KernelGeometryDisplay

degrees = [2, 3, 4]
figure, axes = plt.subplots(
    2, 3, figsize=(9, 6), sharex=True, sharey=True, layout="constrained"
)
for constant, row in zip([1.0, 0.0], axes):
    for degree, panel in zip(degrees, row):
        display = KernelGeometryDisplay.from_kernel(
            Polynomial(degree, coef0=constant),
            1.5,
            grid_resolution=60,
            geodesics_from=[0.7, 0.35],
            ax=panel,
            limits=(-1.5, 1.5),
            colorbar=False,
        )
        panel.set_title(f"$(x·y{' + 1' if constant else ''})^{degree}$")
figure.colorbar(display.mesh_, ax=axes, label="scalar curvature", shrink=0.6)
figure.supxlabel("$x_1$")
figure.supylabel("$x_2$")
figure.suptitle(
    "Curved like saddles with a constant (above), flat like cones without (below)"
)
plt.show()

# %%
# Magnification
# -------------
# By how much does the map enlarge areas? Contour lines of log √det g. For c = 0 areas vanish at the origin and the
# logarithm is unbounded below: data near the origin are contracted, which is a reason to prefer c > 0.

figure, axes = plt.subplots(
    2, 3, figsize=(9, 6), sharex=True, sharey=True, layout="constrained"
)
for constant, row in zip([1.0, 0.0], axes):
    for degree, panel in zip(degrees, row):
        display = KernelGeometryDisplay.from_kernel(
            Polynomial(degree, coef0=constant),
            1.5,
            quantity="log_volume_element",
            grid_resolution=60,
            ax=panel,
            limits=(-4, 7),
            levels=10,
            colorbar=False,
        )
        panel.set_title(f"$(x·y{' + 1' if constant else ''})^{degree}$")
figure.colorbar(
    display.mesh_, ax=axes, label="log of the magnification of areas", shrink=0.6
)
figure.supxlabel("$x_1$")
figure.supylabel("$x_2$")
figure.suptitle(
    "Areas grow with the distance from the origin, and vanish there without a constant"
)
plt.show()

# %%
# More inputs
# -----------
# With three or more inputs, homogeneous surfaces are curved too, and the curvature is unbounded near the origin. For
# all dot-product kernels the curvature is described by two numbers per point, whatever the dimension: one for planes
# perpendicular to x, one for planes that contain x. So it is cheap for images as well.

radii = np.linspace(0.05, 1.5, 100)
X = np.column_stack([radii, np.zeros((100, 2))])
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, layout="constrained")
for constant, ax in zip([1.0, 0.0], axes):
    for degree, marker in zip(degrees, "os^"):
        R = scalar_curvature(Polynomial(degree, coef0=constant), X)
        ax.plot(radii, -R, marker=marker, markevery=12, label=f"degree {degree}")
    ax.set(xlabel="Distance from the origin, ‖x‖", xlim=(0, 1.5))
    ax.grid()
axes[0].set(title="$(x·y + 1)^p$: bounded by its value at the origin", ylim=(0, None))
axes[1].set(title="$(x·y)^p$: no bound near the origin", yscale="log")
axes[0].set_ylabel("Negative scalar curvature, −R")
figure.suptitle(
    "Three inputs: without a constant the curvature grows without bound at the origin"
)
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3)
plt.show()

# %%
# Surfaces of radial kernels are flat everywhere; those of kernels that are normalised to unit length lie on a sphere.

x = [[0.3, -0.2, 0.5]]
print("Gaussian:", scalar_curvature(Gaussian(2.0), x)[0])
print(
    "x·y + 1 scaled to unit length, a sphere:",
    round(scalar_curvature(Normalized(Polynomial(1)), x)[0], 10),
)

# %%
# Is it a kernel at all?
# ----------------------
# The metric of an inner product is never negative. That of the sigmoid is negative from s = ‖x‖² = 0.772 on: it is not
# a positive semidefinite kernel.

print(mercer_report(Sigmoid(1.0, 0.0), np.random.default_rng(0).normal(size=(50, 2))))

# %%
# **Read on:** :doc:`/guides/geometry`, and :doc:`/guides/choose_a_kernel`.
