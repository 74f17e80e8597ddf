"""
Would another experiment show the same map?
===========================================

A classifier of brain scans can predict well although its map of weights would not be reproduced by a second experiment.
Split-half resampling (NPAIRS) [1]_ measures both: runs are split into halves, a model of each half predicts the other
(p), and the maps of the two are compared (r). The best pipeline is nearest to (1, 1).

The data are 240 synthetic scans of two states, each with a pattern of activation, in noise that is correlated in space
and time.

.. [1] S. C. Strother et al., "The quantitative evaluation of functional neuroimaging experiments: the NPAIRS data
   analysis framework", NeuroImage 15, 2002.
"""

# %%
# A ridge trades prediction against reproducibility; each curve is over the ridge. Denoising by kernel PCA and
# pre-images is done by two protocols. A separate basis for each half keeps the halves independent. A basis of all scans
# projects both halves on one subspace, so that their maps agree by construction.

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np

from preimage import KernelPCA, PenalizedDiscriminant
from preimage.kernels import resolve_gamma
from preimage.neuro import (
    MapDisplay,
    SplitHalfDisplay,
    make_scans,
    pr_curve,
    split_half_null,
)

scans = make_scans(n_runs=8, n_times=30, size=16, snr=0.5, random_state=0)
data = scans.X, scans.y, scans.run
model = PenalizedDiscriminant()
denoiser = KernelPCA(
    32, gamma=resolve_gamma("median", scans.X) / 50
)  # a wide kernel, which suits such scans

pipelines = {
    "raw": {},
    "denoised, basis per half": {"denoiser": denoiser},
    "denoised, basis shared": {"denoiser": denoiser, "shared_basis": True},
}
curves = {
    name: pr_curve(model, *data, n_splits=8, **options)
    for name, options in pipelines.items()
}
display = SplitHalfDisplay.from_curves(curves)
display.ax_.set(
    xlabel="Prediction, p, of one half by the other",
    ylabel="Reproducibility, r, of the maps",
)
display.ax_.grid()
display.figure_.suptitle(
    "Denoising each half helps prediction; a shared basis looks better than it is"
)
plt.show()

# %%
# Permuted labels show how to read these numbers: with them prediction is at chance, but reproducibility is not zero,
# because maps of few components are correlated. A shared basis increases the modulus of r for any labels.

for name, options in pipelines.items():
    alpha = curves[name].param_values[curves[name].best_index]
    null = split_half_null(
        model.set_params(alpha=alpha), *data, n_permutations=50, n_splits=8, **options
    )
    found = null.p_values(curves[name].best)
    print(
        f"{name:26}permuted labels: p = {null.prediction.mean():.2f}, |r| = "
        f"{np.abs(null.reproducibility).mean():.2f}; "
        f"p-values {found['prediction']:.2f}, {found['reproducibility']:.2f}"
    )

# %%
# The pattern in which the halves agree, divided by the noise in which they differ. Values below the threshold for a
# false discovery rate of 5 % are drawn faintly. The first panel is what was put into the scans, in no units. All maps
# find the three regions. The map of the shared basis has larger values, and so has its noise: its halves agree on
# noise that both took from the basis.

maps = {name: curve.best.map for name, curve in curves.items()}
change = scans.patterns[1] - scans.patterns[0]
truth = change / np.abs(change).max() * np.abs(maps["raw"]).max()
shown = MapDisplay.from_maps(
    {"truth": truth}
    | {name.replace(", ", ",\n"): values for name, values in maps.items()},
    image_shape=scans.image_shape,
    threshold=curves["raw"].best.threshold(),
)
shown.colorbar_.set_label("agreement / noise")
shown.figure_.set_figheight(3.3)
shown.figure_.suptitle(
    "A shared basis inflates the map, and also the noise around the active regions"
)
plt.show()

# %%
# **Read on:** :doc:`/guides/reproducible_maps` and :doc:`/guides/brain_scans`.
