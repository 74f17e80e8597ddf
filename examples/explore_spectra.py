"""
Explore spectra in a browser
============================

``python examples/explore_spectra.py spectra.html`` makes one page of 900 synthetic absorption spectra. Three substances
have bands of their own, of which one moves with the temperature. Kernel PCA sees the temperature as a curve in feature
space; on the page one walks along it. The spectra are coloured by substance, temperature or concentration.
"""

import sys

import numpy as np

from preimage import KernelPCA, explore

PAGE = sys.argv[1] if len(sys.argv) > 1 else "spectra.html"

# %%
# A band that stays, a band that moves by 2 per degree, and a broad background; the noise is one percent of the highest.

rng = np.random.default_rng(0)
wavenumbers = np.linspace(900, 1800, 181)
substance = np.repeat(["ester", "acid", "amide"], 300)
temperature = rng.uniform(20, 60, size=900)
concentration = rng.uniform(0.4, 1, size=900)
FIXED = {"ester": 1150.0, "acid": 1280.0, "amide": 1540.0}
MOVING = {"ester": 1735.0, "acid": 1700.0, "amide": 1640.0}


def band(centers, width):
    return np.exp(-(((wavenumbers - np.reshape(centers, (-1, 1))) / width) ** 2) / 2)


fixed = band([FIXED[name] for name in substance], 25)
moving = band([MOVING[name] for name in substance] - 2 * (temperature - 20), 18)
background = 0.3 * band(1000 + rng.normal(scale=20, size=900), 120)
X = concentration[:, None] * (0.7 * fixed + moving + background) + rng.normal(scale=0.01, size=(900, 181))

# %%
# `axis` is what lines are drawn over.

model = KernelPCA(12, gamma="median", landmarks=200, random_state=0).fit(X)
page = explore(
    model,
    X,
    substance,
    kind="curve",
    axis=wavenumbers,
    axis_label="Wavenumber (1/cm)",
    value_label="Absorbance",
    colors={"temperature (°C)": temperature, "concentration": concentration},
    title="Absorption spectra of three substances",
)
page.save(PAGE)
print(f"Open {PAGE} in a browser.")
