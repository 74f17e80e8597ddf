"""
Explore spectra in a browser
============================

How do measured curves change, and with what? This script makes one web page of 800 synthetic absorption spectra. One
band moves with the temperature, another grows with the concentration. Linear components need a new pattern for every
place of a band; on the map of kernel PCA the temperature is an arc, along which the pointer moves the band.

Run ``python explore_spectra.py spectra.html`` to make it yourself.
"""

# %%
# The spectra: bands at 1740/cm, less 1.5/cm for every degree above 20 °C, and at 1150/cm; a broad one between them; and
# noise.

# sphinx_gallery_thumbnail_path = 'images/explorer_spectra.png'

import sys

import numpy as np

from preimage import KernelPCA, explore

PAGE = sys.argv[1] if len(sys.argv) > 1 else "spectra.html"

rng = np.random.default_rng(0)
wavenumbers = np.linspace(900, 1800, 181)
temperature = rng.uniform(20, 60, size=800)
concentration = rng.uniform(0.4, 1, size=800)


def band(centers, width):
    return np.exp(-(((wavenumbers - np.reshape(centers, (-1, 1))) / width) ** 2) / 2)


X = band(1740 - 1.5 * (temperature - 20), 22) + 0.8 * concentration[:, None] * band(
    1150, 30
)
X += 0.25 * band(1350 + rng.normal(scale=10, size=800), 60) + rng.normal(
    scale=0.02, size=X.shape
)
ranges = np.array(["20 to 30 °C", "30 to 40 °C", "40 to 50 °C", "50 to 60 °C"])[
    np.digitize(temperature, [30, 40, 50])
]

# %%
# The page. Labels have a legend that filters; `colors` are further columns to colour by. Move the pointer along the arc
# and watch the band move. The third component is the concentration: see Components.

model = KernelPCA(12, gamma="median", landmarks=200, random_state=0).fit(X)
page = explore(
    model,
    X,
    ranges,
    label_name="temperature range",
    axis=wavenumbers,
    axis_label="wavenumber (1/cm)",
    value_label="absorbance",
    colors={"temperature (°C)": temperature, "concentration": concentration},
    title="Absorption spectra at different temperatures",
)
page.save(PAGE)
print(page)

# %%
# **Read on:** :doc:`/guides/explore`.
