"""Data for the tests of interop: noisy enough for many support vectors, with rows that occur twice."""

import warnings

import numpy as np

LABELS = {
    "binary": [0, 1],
    "binary strings": ["yes", "no"],
    "binary bools": [True, False],
    "three": [7, -2, 30],
    "three strings": np.array(["cat", "a long name", "b"], dtype=object),
    "five": [4, 3, 2, 1, 0],
}


def inputs(seed, n=90, d=4):
    """Rows to fit on, the last ten of which repeat the first, and rows to ask for."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return np.concatenate([X[:-10], X[:10]]), rng.normal(size=(60, d))


def labels(X, seed, names):
    """Classes by noisy sectors of the first two columns; the first class is twice as large as the others."""
    rng = np.random.default_rng(seed + 100)
    angle = np.arctan2(X[:, 0], X[:, 1]) / (2 * np.pi) + 0.5 + 0.1 * rng.normal(size=X.shape[0])
    numbers = np.clip((angle * (len(names) + 1)).astype(int) - 1, 0, len(names) - 1)
    numbers[: len(names)] = np.arange(len(names))
    return np.asarray(names)[numbers]


def targets(X, seed, n_outputs=None):
    rng = np.random.default_rng(seed + 200)
    shape = X.shape[0] if n_outputs is None else (X.shape[0], n_outputs)
    clean = np.sin(2 * X[:, 0]) if n_outputs is None else np.sin(2 * X[:, :n_outputs])
    return 5 + clean + 0.1 * rng.normal(size=shape)


def quietly(estimator, *data):
    """Fit; scikit-learn warns of the end of probability=True, of constant labels and of bounds of length scales."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(*data)
