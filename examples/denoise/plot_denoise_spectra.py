"""
Take noise out of spectra, without a clean one
==============================================

Peaks that move are hard for linear methods, because every position needs its own components. Kernel PCA describes the
family of spectra as a curved surface. Here all spectra are noisy, and `DenoisingSearch` chooses the model from them
alone, by Stein's unbiased estimate of the error.
"""

# %%
# Six hundred spectra of 100 channels: a peak whose position and height vary, and a smaller, broader one that moves in
# the opposite direction. The deviation of the noise is 0.15; the search estimates it.

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import savgol_filter
from sklearn.decomposition import PCA

from preimage.kernels import squared_distance_percentile
from preimage.model_selection import DenoisingSearch

rng = np.random.default_rng(0)
channels = np.linspace(0, 1, 100)


def peak(place, width):
    return np.exp(-(((channels - place[:, None]) / width) ** 2) / 2)


place, height = rng.uniform(0.25, 0.6, size=600), rng.uniform(0.6, 1, size=(600, 1))
clean = height * peak(place, 0.035) + 0.6 * peak(1 - 0.5 * place, 0.07)
noisy = clean + rng.normal(scale=0.15, size=clean.shape)

median = squared_distance_percentile(noisy, 50)
gammas = 1 / (median * np.array([1 / 4, 1 / 2, 1, 2]))
search = DenoisingSearch(gammas=gammas, max_queries=120).fit(noisy)
print(
    f"estimated noise {search.noise_:.3f}, chosen for these spectra "
    f"{search.training_params_}"
)

# %%
# Two other methods, each with the parameters that are best for the clean spectra, which are not known in practice:
# linear PCA, and the Savitzky-Golay filter, which smooths each spectrum by itself.


def error(output):
    return np.mean((output - clean) ** 2)


def linear_pca(count):
    model = PCA(count).fit(noisy)
    return model.inverse_transform(model.transform(noisy))


outputs = {
    "Savitzky-Golay filter": min(
        (savgol_filter(noisy, window, 3) for window in range(5, 41, 2)), key=error
    ),
    "linear PCA": min((linear_pca(count) for count in range(1, 30)), key=error),
    "kernel PCA": search.denoise(noisy),
}
for name, output in {"noisy": noisy, **outputs}.items():
    print(f"{name:22} mean squared error {error(output):.5f}")

# %%
# Three of the spectra, one per column. The filter flattens the narrow peak and oscillates where there is no peak.
# Linear PCA leaves ripples. Kernel PCA follows the peaks and is flat between them.

COLORS = {"Savitzky-Golay filter": "C2", "linear PCA": "C1", "kernel PCA": "C0"}
figure, axes = plt.subplots(
    3, 3, figsize=(9, 6), layout="constrained", sharex=True, sharey=True
)
shown = np.argsort(place)[[60, 300, 540]]
for row, (name, output) in zip(axes, outputs.items()):
    row[0].set_ylabel(f"{name}\nMSE {error(output):.4f}")
    for ax, spectrum in zip(row, shown):
        ax.plot(channels, noisy[spectrum], color="0.78", linewidth=1, label="noisy")
        ax.plot(
            channels,
            output[spectrum],
            color=COLORS[name],
            linewidth=2,
            label="denoised",
        )
        ax.plot(
            channels,
            clean[spectrum],
            color="black",
            linewidth=1,
            linestyle="--",
            label="clean",
        )
for ax, title in zip(
    axes[0], ("peaks far apart", "peaks nearer", "peaks that overlap")
):
    ax.set_title(title)
axes[-1, 1].set_xlabel("Wavelength (arbitrary units)")
figure.suptitle("Kernel PCA follows peaks that move; linear PCA leaves ripples")
handles, labels = axes[-1, 0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=3)
plt.show()

# %%
# **Read on:** :doc:`/guides/denoise`, and :doc:`/guides/choose_a_width` on how the width is chosen.
