"""
Which template, and how far was it moved?
=========================================

A pre-image in a family of inputs :math:`z = g(t)` can be named: here by a template and two shifts. Digits are moved and
buried in noise; kernel PCA of moved templates projects them, and `preimage.solvers.Parametrized` finds the moved
template whose image is nearest to the projection. Section 4.5 of [1]_ suggests such searches over the parameters of a
transformation.

.. [1] B. Schölkopf, A. Smola, K.-R. Müller, "Nonlinear component analysis as a kernel eigenvalue problem", Technical
   Report 44, Max-Planck-Institut für biologische Kybernetik, 1996.
"""

# %%
# Ten templates, and kernel PCA of 600 moved copies.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from preimage import KernelPCA
from preimage.invariances import TranslateX, TranslateY
from preimage.plotting import DenoisingDisplay
from preimage.solvers import Parametrized, Transformed

digits = load_digits()
templates = (
    np.stack([digits.data[digits.target == digit][0] for digit in range(10)]) / 16
)
moved = Transformed(templates, [TranslateX((8, 8)), TranslateY((8, 8))], reach=1.5)

rng = np.random.default_rng(0)


def random_members(n):
    return np.column_stack(
        [rng.integers(10, size=n), rng.uniform(-1.5, 1.5, size=(n, 2))]
    )


X = moved(random_members(600))
model = KernelPCA(80, gamma=0.05, preimage=Parametrized(moved)).fit(X)

# %%
# New ones with noise, and the parameters that are found.

truth = random_members(12)
clean = moved(truth)
noisy = clean + 0.3 * rng.normal(size=clean.shape)
result = model.find_preimages(model.transform(noisy))

for wanted, found in zip(truth, result.parameters):
    print(
        f"digit {wanted[0]:.0f} moved by ({wanted[1]:+.2f}, {wanted[2]:+.2f}) pixels: "
        f"found {found[0]:.0f} moved by ({found[1]:+.2f}, {found[2]:+.2f})"
    )
right = result.parameters[:, 0] == truth[:, 0]
errors = np.abs(result.parameters - truth)[right, 1:]
print(
    f"{right.sum()} of {len(truth)} templates; median error of the shifts "
    f"{np.median(errors):.2f} pixels"
)

# %%
# The general pre-image of the same projections may be any picture, and keeps some noise. Below each moved template are
# the parameters that were found: the digit, and its shifts in pixels. Ten of the twelve pictures are drawn; mean
# squared errors (MSE) are those of all.

anything = KernelPCA(80, gamma=0.05, preimage="gradient").fit(X).denoise(noisy)
rows = {
    "noisy": noisy,
    "any picture": anything,
    "moved template": result.points,
    "truth": clean,
}


def label(name, found):
    return (
        name if name == "truth" else f"{name}\nMSE {np.mean((found - clean) ** 2):.4f}"
    )


figure, axes = plt.subplots(len(rows), 1, figsize=(9, 3.9), layout="constrained")
pictures = {
    label(name, found): found[:10].reshape(-1, 8, 8) for name, found in rows.items()
}
DenoisingDisplay(rows=pictures, limits=(0, 1)).plot(ax=axes, cmap="gray_r")
for place, (digit, across, down) in enumerate(result.parameters[:10]):
    text = f"{digit:.0f}, {across:+.1f}, {down:+.1f}"
    axes[2].text(
        9 * place + 3.5, 8.4, text, fontsize=7.5, ha="center", va="center", color="C0"
    )
figure.suptitle(
    "Found: which template, and how many pixels it was moved across and down"
)
plt.show()

# %%
# **Read on:** :doc:`/guides/choose_a_solver`, and :doc:`/guides/invariances` for transformations of pictures.
