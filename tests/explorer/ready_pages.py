"""Small pages of each kind, made once for all tests of a process."""

from functools import cache

import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from preimage import KernelPCA, explore


@cache
def digits_data(n=120):
    X, y = load_digits(return_X_y=True)
    return X[:n] / 16, y[:n]


@cache
def digits_model():
    return KernelPCA(8, kernel="rbf", gamma=0.05).fit(digits_data()[0])


@cache
def digits():
    """Images: 120 digits of 8 × 8 pixels, and a model with eight components."""
    return explore(digits_model(), *digits_data(), image_shape=(8, 8), title="Digits").to_html()


@cache
def digits_of_three_widths():
    """The same with three widths to choose from."""
    X, y = digits_data()
    model = KernelPCA(6, kernel="rbf", gamma=0.05).fit(X)
    return explore(model, X, y, image_shape=(8, 8), widths=[0.01, 0.05, 0.2], title="Widths").to_html()


@cache
def wine():
    """A table: measurements with names, through a scaler, with a further column to colour by."""
    data = load_wine()
    model = make_pipeline(StandardScaler(), KernelPCA(6, kernel="rbf", gamma=0.05)).fit(data.data)
    y = data.target_names[data.target]
    return explore(model, data.data, y, names=list(data.feature_names), colors={"proline": data.data[:, -1]}).to_html()


@cache
def curves():
    """Spectra: two bands whose positions differ, with an axis."""
    random = np.random.default_rng(0)
    axis = np.linspace(900, 1700, 80)
    centres = 1100 + 60 * random.normal(size=(100, 1))
    second = 1400 + 40 * random.normal(size=(100, 1))
    X = np.exp(-(((axis - centres) / 60) ** 2)) + 0.6 * np.exp(-(((axis - second) / 90) ** 2))
    model = KernelPCA(5, kernel="rbf", gamma=0.1).fit(X)
    return explore(model, X, kind="curve", axis=axis, title="Spectra").to_html()


@cache
def volume():
    """Slices of a masked ball of 6 × 7 × 5 voxels."""
    random = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, size) for size in (6, 7, 5)], indexing="ij"))
    mask = (grid**2).sum(0) < 1.2
    places = random.normal(size=(60, 3))
    X = np.stack([np.exp(-((grid - place[:, None, None, None]) ** 2).sum(0))[mask] for place in places / 2])
    model = KernelPCA(4, kernel="rbf", gamma=0.1).fit(X)
    return explore(model, X, mask=mask, title="Volume").to_html()


PAGES = {"images": digits, "widths": digits_of_three_widths, "table": wine, "curves": curves, "volume": volume}
