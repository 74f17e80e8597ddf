"""What kernel k-means gives: centres as means of a partition, and the labels that follow from them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

# Inertias closer than this share of their first values are equal.
ROUNDING = 1e-10


@dataclass(frozen=True)
class Partition:
    r"""Clusters of n points in feature space.

    Centres are the weighted means :math:`m_\nu = \sum_{i \in \nu} w_i \varphi(x_i) / n_\nu` of `members`; `labels` are
    the nearest centres, which at convergence are the same.

    Attributes
    ----------
    members : integer array of shape (n,)
        The partition whose means are the centres; −1 belongs to none.
    sizes : array of shape (k,)
        Sums of weights of the clusters.
    squared_norms : array of shape (k,)
        ‖m‖² of the centres.
    labels : integer array of shape (n,)
        The nearest centre of every point.
    inertia : float
        Σ wᵢ ‖φ(xᵢ) − m‖² with the nearest centres.
    path : array of shape (n_iter,)
        The inertia at each iteration; it never increases.
    converged : bool
    """

    members: Any
    sizes: Any
    squared_norms: Any
    labels: Any
    inertia: float
    path: Any
    converged: bool

    @property
    def n_iter(self):
        return len(self.path)

    def coefficients(self, weights):
        """Γ with centres m_ν = Σᵢ γᵢν φ(xᵢ), shape (n, k)."""
        gamma = np.zeros((self.members.size, self.sizes.size))
        rows = np.flatnonzero(self.members >= 0)
        columns = self.members[rows]
        gamma[rows, columns] = weights[rows] / self.sizes[columns]
        return gamma


def best(runs):
    """The first run whose inertia is the smallest up to rounding: runs with equal clusters differ in their numbers."""
    smallest = min(run.inertia for run in runs)
    return next(run for run in runs if run.inertia <= smallest + ROUNDING * max(run.path[0], 0.0))
