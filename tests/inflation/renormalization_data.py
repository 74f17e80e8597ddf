"""Data that tests of corrections share."""

import numpy as np
from sklearn.datasets import make_classification


def high_dimensional(n=60, share=0.25, d=400, seed=0, n_new=400):
    """A small class, signal in few of many columns: (X, y), (X_new, y_new)."""
    rng = np.random.default_rng(seed)
    y = np.arange(n + n_new) % round(1 / share) == 0
    X = rng.normal(size=(n + n_new, d))
    X[y, :10] += 1.5
    return (X[:n], y[:n].astype(int)), (X[n:], y[n:].astype(int))


def overlapping(n=120, seed=0, n_classes=2):
    X, y = make_classification(
        n, 5, n_informative=4, n_redundant=0, n_classes=n_classes, n_clusters_per_class=1, random_state=seed
    )
    return X, y
