"""Random data of all shapes and conditions: tiny, huge, far from zero, repeated, empty, flat, in single precision."""

import numpy as np

# What may be wrong with data, each on its own with this probability.
TWIST = 0.15


def random_rows(rng):
    """Training rows and queries, both of one dtype; queries are new rows, training rows, and rows far from all."""
    n, d = int(rng.integers(2, 37)), int(rng.integers(1, 7))
    X = rng.normal(size=(n, d)) if rng.random() < 0.8 else rng.integers(-2, 3, (n, d)).astype(float)
    twisted = lambda: rng.random() < TWIST
    if twisted():  # two groups, further from each other than the rows of one
        X[rng.random(n) < 0.5] += 10.0 ** rng.uniform(0, 2)
    if twisted():  # one row far from all others
        X[rng.integers(n)] *= 10.0 ** rng.uniform(1, 3)
    if twisted():
        X = X[rng.integers(0, max(1, n // 3), n)]  # repeated rows
    if twisted():
        X[rng.random(n) < 0.3] = 0.0
    if twisted():
        X[:, rng.integers(d)] = rng.normal()  # a constant column
    if twisted() and d > 1:
        X = X[:, :1] * rng.normal(size=d)  # a line
    if twisted():
        X = np.abs(X)
    if twisted():  # columns of different units
        X = X * 10.0 ** rng.uniform(-3, 3, d)
    if twisted():
        X = X + 10.0 ** rng.uniform(0, 4) * np.abs(X).max()
    if rng.random() < 0.3:
        X = X * 10.0 ** rng.uniform(-8, 8)
    spread = X.std(axis=0) + 1e-3 * np.abs(X).max()
    near = X[rng.integers(0, n, 4)] + 0.3 * spread * rng.normal(size=(4, d))
    far = X[rng.integers(0, n, 1)] + 5.0 * spread * rng.normal(size=(1, d))
    Z = np.vstack([near, X[:2], far])
    if X.min() >= 0:
        Z = np.abs(Z)
    dtype = np.float32 if rng.random() < 0.2 else np.float64
    return X.astype(dtype), Z.astype(dtype)


def random_labels(rng, X):
    """Two to four classes, each with a row, that have something to do with the rows, or nothing."""
    n = len(X)
    classes = int(rng.integers(2, min(4, n) + 1))
    if rng.random() < 0.7:
        order = np.argsort(np.argsort(X[:, 0] + 0.5 * X[:, 0].std() * rng.normal(size=n)))
        y = order * classes // n
    else:
        y = rng.integers(0, classes, n)
    y[rng.permutation(n)[:classes]] = np.arange(classes)
    return y


def random_targets(rng, X):
    """A smooth function of the first column with noise, at some scale."""
    width = X[:, 0].astype(float).std() or 1.0
    y = np.sin(X[:, 0].astype(float) / width) + 0.1 * rng.normal(size=len(X))
    return y * 10.0 ** rng.uniform(-3, 3)
