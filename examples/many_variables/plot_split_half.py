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

import matplotlib.pyplot as plt
import numpy as np

from preimage import KernelPCA, PenalizedDiscriminant
from preimage.datasets import make_scans
from preimage.kernels import resolve_gamma
from preimage.model_selection import pr_curve, split_half_null
from preimage.plotting import MapDisplay, SplitHalfDisplay

scans = make_scans(n_runs=8, n_times=30, size=16, snr=0.5, random_state=0)
data = scans.X, scans.y, scans.run
model = PenalizedDiscriminant()
denoiser = KernelPCA(32, gamma=resolve_gamma("median", scans.X) / 50)  # a wide kernel, which suits such scans

pipelines = {
    "raw": {},
    "denoised, basis per half": {"denoiser": denoiser},
    "denoised, basis shared": {"denoiser": denoiser, "shared_basis": True},
}
curves = {name: pr_curve(model, *data, n_splits=8, **options) for name, options in pipelines.items()}
SplitHalfDisplay.from_curves(curves)
plt.show()

# %%
# Permuted labels show how to read these numbers: with them prediction is at chance, but reproducibility is not zero,
# because maps of few components are correlated. A shared basis increases |r| for any labels.

for name, options in pipelines.items():
    alpha = curves[name].param_values[curves[name].best_index]
    null = split_half_null(model.set_params(alpha=alpha), *data, n_permutations=50, n_splits=8, **options)
    found = null.p_values(curves[name].best)
    print(
        f"{name:26}permuted labels: p = {null.prediction.mean():.2f}, |r| = {np.abs(null.reproducibility).mean():.2f}; "
        f"p-values {found['prediction']:.2f}, {found['reproducibility']:.2f}"
    )

# %%
# The pattern in which the halves agree, in units of the noise in which they differ, rSPI(Z). Values below the threshold
# for a false discovery rate of 5 % are drawn faintly.

best = curves["raw"].best
MapDisplay.from_maps(
    {
        "truth": np.ptp(scans.patterns, axis=0) * np.sign(scans.patterns[1] - scans.patterns[0]) * best.map.max(),
        "rSPI(Z), raw": best.map,
        "per half": curves["denoised, basis per half"].best.map,
    },
    image_shape=scans.image_shape,
    threshold=best.threshold(),
)
plt.show()
