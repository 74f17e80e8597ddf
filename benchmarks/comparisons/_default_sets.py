"""Sets on which defaults are compared: clean rows with noise, rows with classes, and pictures of 8 bits."""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_sample_image,
    load_wine,
    make_blobs,
    make_circles,
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_moons,
    make_swiss_roll,
)
from sklearn.feature_extraction.image import extract_patches_2d
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).parents[1]))
from data import load_coil20, load_ida, load_mnist, load_usps

# Rows of the sets that are judged: enough for differences of half a per cent, few enough for a minute per question.
MOST_JUDGED = 1500


def some(rows, n, rng):
    return rows[rng.permutation(len(rows))[:n]]


# Clean rows, and the deviation of the noise that is added to them.


def digits(rng, n=200):
    return some(load_digits().data / 16, n, rng), 0.25


def spectra(rng, n=150, d=60):
    """Two peaks each."""
    t = np.linspace(0, 1, d)
    places, widths = rng.uniform(0.2, 0.8, (2, n, 1)), rng.uniform(0.03, 0.1, (2, n, 1))
    return np.exp(-((t - places) ** 2) / 2 / widths**2).sum(axis=0), 0.15


def sheet(rng, n=300):
    """A surface of two parameters in ten dimensions."""
    u = rng.uniform(-1, 1, (n, 2))
    return np.column_stack([u, u**2, u[:, :1] * u[:, 1:]]) @ rng.normal(size=(5, 10)) / 2, 0.3


def half_circle(rng, n=200):
    angle = rng.uniform(0, np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]), 0.1


def lognormal(rng, n=150):
    return np.exp(0.7 * rng.normal(size=(n, 3))) @ rng.normal(size=(3, 6)), 0.3


def low_rank(rng, n=36, d=20):
    return rng.normal(size=(n, 3)) @ rng.normal(size=(3, d)), 0.7


def usps(rng, n=300):
    return (some(load_usps().X_train, n, rng) + 1) / 2, 0.3


def patches(rng, n=200, size=12, picture="china.jpg"):
    grey = load_sample_image(picture).mean(axis=2)[::2, ::2] / 255
    found = extract_patches_2d(grey, (size, size), max_patches=n, random_state=int(rng.integers(2**31)))
    return found.reshape(n, -1), 0.1


def roll(rng, n=300, d=None):
    X = make_swiss_roll(n, random_state=int(rng.integers(2**31)))[0]
    X = X / X.std(axis=0)
    return (X, 0.1) if d is None else (X @ rng.normal(size=(3, d)), 0.5)


def heavy_tails(rng, n=120, d=8):
    return rng.standard_t(3, size=(n, 3)) @ rng.normal(size=(3, d)), 0.5


def objects(rng, n=100):
    return some(load_coil20().X / 255, n, rng), 0.2


def scans(rng, n=60, d=800):
    """Four slow time courses times maps, weak beside their noise."""
    courses = np.cumsum(rng.normal(size=(n, 4)), axis=0)
    return ((courses - courses.mean(axis=0)) / courses.std(axis=0)) @ rng.normal(size=(4, d)) / 2, 1.0


# Rows with classes.


def benchmark(name, n=None):
    """A realisation of an IDA set: training rows and labels, other rows and labels."""

    def draw(seed):
        X, y, train, test = load_realisation(name, seed)
        return X[train][:n], y[train][:n], X[test][:MOST_JUDGED], y[test][:MOST_JUDGED]

    return draw


def load_realisation(name, number):
    data = load_ida(name)
    train = np.asarray(data.is_train[number])
    return np.asarray(data.X, dtype=float), np.asarray(data.y), train, ~train


def halves(load, scale=True, n=None, classes=None):
    """Random halves of a set; columns standardised by the first, or all values divided by their largest."""

    def draw(seed):
        X, y = load(return_X_y=True)
        if classes is not None:
            X, y = X[np.isin(y, classes)], y[np.isin(y, classes)]
        order = np.random.default_rng(seed).permutation(len(X))[:n]
        X, y, half = X[order], y[order], len(order) // 2
        X = StandardScaler().fit(X[:half]).transform(X) if scale else X / X.max()
        return X[:half], y[:half], X[half:], y[half:]

    return draw


def usps_digits(n, classes=range(10)):
    def draw(seed):
        data, rng = load_usps(), np.random.default_rng(seed)
        rows = some(np.flatnonzero(np.isin(data.y_train, classes)), 2 * n, rng)
        X, y = data.X_train[rows].astype(float), data.y_train[rows]
        return X[:n], y[:n], X[n:], y[n:]

    return draw


def drawn(make, **options):
    """200 rows of a generator of scikit-learn's, and 200 others."""

    def draw(seed):
        X, y = make(400, random_state=seed, **options)
        return X[:200], y[:200], X[200:], y[200:]

    return draw


def together(draw, factor=1.0):
    """Both parts of a set as one, its values multiplied by a factor: for units that nobody has chosen."""

    def both(seed):
        A, a, B, b = draw(seed)
        order = np.random.default_rng(seed).permutation(len(A) + len(B))[:300]
        return factor * np.concatenate([A, B])[order], np.concatenate([a, b])[order]

    return both


def six_objects(factor):
    def draw(seed):
        data = load_coil20()
        rows = some(np.flatnonzero(data.y <= 6), 250, np.random.default_rng(seed))
        return factor * data.X[rows].astype(float), data.y[rows]

    return draw


WINE, IRIS, CANCER = halves(load_wine), halves(load_iris), halves(load_breast_cancer)
DIGITS = halves(load_digits, scale=False, n=1400)
MOONS, CIRCLES = drawn(make_moons, noise=0.1), drawn(make_circles, noise=0.08, factor=0.5)
BLOBS = drawn(make_blobs, n_features=6, centers=4, cluster_std=1.5)


# Rows with values.


def values_of(load):
    """Shuffled rows of a set, at most 200, and others; columns and values standardised by the first."""

    def draw(seed):
        X, y = load(seed)
        order = np.random.default_rng(seed).permutation(len(X))
        first = min(200, 2 * len(order) // 3)
        X = StandardScaler().fit(X[order[:first]]).transform(X[order])
        y = StandardScaler().fit(y[order[:first], None]).transform(y[order, None])[:, 0]
        return X[:first], y[:first], X[first:][:MOST_JUDGED], y[first:][:MOST_JUDGED]

    return draw


def sinc(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-5, 5, (1500, 1))
    return X, np.sinc(X[:, 0]) + 0.1 * rng.normal(size=len(X))


def heavy_errors(seed):
    """A curved function of four columns, with errors of heavy tails."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1500, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.standard_t(3, size=len(X))


SINC, HEAVY_ERRORS = values_of(sinc), values_of(heavy_errors)
DIABETES = values_of(lambda seed: load_diabetes(return_X_y=True))
PETAL_WIDTHS = values_of(lambda seed: (load_iris().data[:, :3], load_iris().data[:, 3]))
ALCOHOL = values_of(lambda seed: (load_wine().data[:, 1:], load_wine().data[:, 0]))
FRIEDMAN_1 = values_of(lambda seed: make_friedman1(1500, noise=1.0, random_state=seed))
FRIEDMAN_2 = values_of(lambda seed: make_friedman2(1500, noise=100.0, random_state=seed))
FRIEDMAN_3 = values_of(lambda seed: make_friedman3(1500, noise=0.1, random_state=seed))


# Pictures with noise, clipped to 0 … 255 and rounded.


def eight_bits(make, deviation):
    """Clean pictures with values from 0 to 255, noisy ones as files have them, and the deviation before clipping."""

    def draw(seed):
        rng = np.random.default_rng(seed)
        clean = 255 * make(rng)[0]
        noisy = np.rint(clean + 255 * deviation * rng.normal(size=clean.shape))
        return clean, np.clip(noisy, 0, 255).astype(np.uint8), 255 * deviation

    return draw


def with_noise(make):
    def draw(seed):
        rng = np.random.default_rng(seed)
        clean, deviation = make(rng)
        return clean, clean + deviation * rng.normal(size=clean.shape), deviation

    return draw


def small_mnist(rng, n=300):
    X = some(load_mnist().X_train[:5000], n, rng) / 255
    return X.reshape(n, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(n, 196), 0.3
