"""Tables of the comparison of widths per column: five regressions, of rows for training and others for testing."""

import numpy as np
from data import load_abalone, load_boston
from sklearn.datasets import make_friedman1

N_TEST = 10_000


def abalone(seed):
    return _split(load_abalone(), seed)


def boston(seed):
    return _split(load_boston(), seed)


def _split(table, seed):
    X, y = np.asarray(table.X, dtype=float), np.asarray(table.y, dtype=float)
    order = np.random.default_rng(seed).permutation(len(y))
    n = int(0.75 * len(y))
    return X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]]


def housing(seed, n=15_000):
    """Like the Californian districts: income, age, rooms, bedrooms, people, occupancy and two coordinates.

    Prices depend on the distances to five cities and to the coast, and are cut off at the top, as those are.
    """
    return _drawn(_housing, seed, n)


def _housing(rng, n):
    cities = np.array([[34.05, -118.25], [37.77, -122.4], [32.7, -117.2], [38.6, -121.5], [36.7, -119.8]])
    place = cities[rng.choice(5, n, p=[0.4, 0.25, 0.15, 0.1, 0.1])] + rng.normal(size=(n, 2)) * [0.35, 0.4]
    income = np.exp(1.25 + 0.45 * rng.normal(size=n))
    age = np.minimum(52, rng.gamma(4, 7, n))
    rooms = np.exp(1.65 + 0.25 * rng.normal(size=n) + 0.1 * np.log(income))
    bedrooms = rooms * np.exp(-1.6 + 0.1 * rng.normal(size=n))
    people, occupancy = np.exp(7 + 0.7 * rng.normal(size=n)), np.exp(1.05 + 0.25 * rng.normal(size=n))
    distances = np.linalg.norm(place[:, None] - cities, axis=2)
    location = np.exp(-((distances / 0.35) ** 1.2)) @ np.array([1.2, 1.6, 0.9, 0.2, -0.1])
    coast = np.maximum(0, 1.5 - np.abs(place[:, 1] + 118 + 0.8 * (place[:, 0] - 34)))
    logarithm = 0.45 * np.log(income) + 0.5 * location + 0.35 * coast - 0.35 * np.log(occupancy)
    logarithm += 0.15 * np.log(5 * bedrooms / rooms) + 0.004 * age * (income > 4) + 0.22 * rng.normal(size=n)
    return np.column_stack([income, age, rooms, bedrooms, people, occupancy, place]), np.minimum(np.exp(logarithm), 5)


def spatial(seed, n=15_000):
    """A sum of thirty bumps on a map, a curve and a step of other columns, and three columns of noise."""
    return _drawn(_spatial, seed, n)


def _spatial(rng, n):
    X = rng.uniform(size=(n, 8))
    bumps = np.random.default_rng(99)  # the map is the same for training and testing
    centers, heights, widths = (
        bumps.uniform(0, 10, size=(30, 2)),
        bumps.normal(size=30),
        bumps.uniform(0.3, 1.2, size=30),
    )
    squared = np.sum((10 * X[:, None, :2] - centers) ** 2, axis=2)
    y = 3 * np.exp(-squared / (2 * widths**2)) @ heights + 2 * np.log1p(5 * X[:, 2]) + (X[:, 3] > 0.6) * X[:, 4]
    X[:, 5:] = np.column_stack([rng.normal(size=n), rng.exponential(size=n), rng.integers(0, 5, n)])
    return X, y + 0.5 * rng.normal(size=n)


def friedman(seed, n=50_000):
    """Friedman's function of five of ten columns, with noise of deviation 1."""
    draw = lambda rng, count: make_friedman1(count, noise=1.0, random_state=int(rng.integers(2**31)))
    return _drawn(draw, seed, n)


def _drawn(draw, seed, n):
    rng = np.random.default_rng(seed)
    return *draw(rng, n), *draw(rng, N_TEST)


#: Name of the table, what makes it from a seed, and numbers of points of machines on landmarks.
SETS = {
    "Abalone": (abalone, 300),
    "Boston": (boston, 300),
    "housing, made": (housing, 500),
    "spatial, made": (spatial, 500),
    "Friedman": (friedman, 500),
}
