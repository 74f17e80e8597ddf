"""Random data of all shapes and conditions: tiny, huge, far from zero, repeated, empty, flat, in single precision."""

import numpy as np

# What may be wrong with data, each on its own with this probability.
TWIST = 0.15


def _groups(rng, X):
    X[rng.random(len(X)) < 0.5] += 10.0 ** rng.uniform(0, 2)
    return X


def _far_row(rng, X):
    X[rng.integers(len(X))] *= 10.0 ** rng.uniform(1, 3)
    return X


def _zero_rows(rng, X):
    X[rng.random(len(X)) < 0.3] = 0.0
    return X


def _constant_column(rng, X):
    X[:, rng.integers(X.shape[1])] = rng.normal()
    return X


def _line(rng, X):
    return X[:, :1] * rng.normal(size=X.shape[1]) if X.shape[1] > 1 else X


# What may be unusual about rows, by name; each takes a generator and rows, and may change the rows it is given.
TWISTS = {
    "groups": _groups,  # two, further from each other than the rows of one
    "far row": _far_row,
    "repeated rows": lambda rng, X: X[rng.integers(0, max(1, len(X) // 3), len(X))],
    "zero rows": _zero_rows,
    "constant column": _constant_column,
    "line": _line,
    "non-negative": lambda rng, X: np.abs(X),
    "units": lambda rng, X: X * 10.0 ** rng.uniform(-3, 3, X.shape[1]),
    "far from zero": lambda rng, X: X + 10.0 ** rng.uniform(0, 4) * np.abs(X).max(),
}


def random_rows(rng):
    """Training rows and queries, both of one dtype; queries are new rows, training rows, and rows far from all."""
    n, d = int(rng.integers(2, 37)), int(rng.integers(1, 7))
    X = rng.normal(size=(n, d)) if rng.random() < 0.8 else rng.integers(-2, 3, (n, d)).astype(float)
    for twist in TWISTS.values():
        if rng.random() < TWIST:
            X = twist(rng, X)
    if rng.random() < 0.3:
        X = X * 10.0 ** rng.uniform(-8, 8)
    Z = near_rows(rng, X)
    dtype = np.float32 if rng.random() < 0.2 else np.float64
    return X.astype(dtype), Z.astype(dtype)


def near_rows(rng, X):
    """Queries for rows X: new rows near them, two of them, and one a few spreads away; not negative if none is."""
    n, d = X.shape
    spread = X.std(axis=0) + 1e-3 * np.abs(X).max()
    near = X[rng.integers(0, n, 4)] + 0.3 * spread * rng.normal(size=(4, d))
    far = X[rng.integers(0, n, 1)] + 5.0 * spread * rng.normal(size=(1, d))
    Z = np.vstack([near, X[:2], far])
    return np.abs(Z) if X.min() >= 0 else Z


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
