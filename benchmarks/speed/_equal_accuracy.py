"""Exact kernel PCA by this library and by every solver of scikit-learn, and which of them are equally accurate.

The reference is LAPACK in float64 on the centred kernel matrix of the same points. A fit of scikit-learn counts when it
is as accurate as ours, or as accurate as ours promises to be; what it promises is in `PROMISED`.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from sklearn.datasets import make_blobs, make_swiss_roll
from sklearn.decomposition import KernelPCA as Peer

from preimage import KernelPCA
from preimage.kernels import squared_distance_percentile

OURS = "preimage"
# Random draws decide the last digits of errors: twice ours is as accurate as ours.
AS_ACCURATE = 2.0


@dataclass(frozen=True)
class Errors:
    """The largest errors over the components of a fit.

    Attributes
    ----------
    values : float
        |λ − λ*|/λ*, with λ* from LAPACK.
    residuals : float
        ‖K̃u − λu‖/λ₁ of unit vectors u, with K̃ in float64.
    coordinates : float
        ‖K̃u − λu‖/λ, the relative error of coordinates along the axis.
    """

    values: float
    residuals: float
    coordinates: float

    def within(self, others):
        return all(mine <= other for mine, other in zip(self.numbers, others.numbers, strict=True))

    @property
    def numbers(self):
        return self.values, self.residuals, self.coordinates


# Residuals are the default tolerances of our eigensolvers. Eigenvalues of fits with such residuals are right to 1e-6;
# randomized solvers with few iterations leave 1e-3.
PROMISED = {"float64": Errors(1e-5, 1e-6, 1e-6), "float32": Errors(1e-5, 5e-5, 1e-2)}


def points(name, n, d=30):
    """Points rounded to float32, the same ones for both precisions, and γ = 1/(2 · median squared distance)."""
    if name == "blobs":
        X, _ = make_blobs(n, d, centers=30, cluster_std=3, random_state=0)
    elif name == "isotropic":
        X = np.random.default_rng(0).normal(size=(n, d))
    elif name == "flat":
        X = np.random.default_rng(0).normal(size=(n, 200))
    elif name == "low rank":
        X = np.random.default_rng(0).uniform(size=(n, 2))
    else:
        X, _ = make_swiss_roll(n, noise=0.1, random_state=0)
    X = X.astype(np.float32).astype(np.float64)
    wider = 16 if name == "low rank" else 1
    return X, float(1 / (2 * wider * squared_distance_percentile(X, 50)))


class Reference:
    """The centred kernel matrix in float64, and its leading eigenvalues by LAPACK."""

    def __init__(self, X, gamma, k):
        # Written out, so that an error of either library would show.
        squared = np.einsum("ij,ij->i", X, X)
        K = np.exp(-gamma * np.maximum(squared[:, None] + squared - 2 * (X @ X.T), 0))
        means = K.mean(axis=0)
        self.K = K - means - means[:, None] + means.mean()
        n = len(X)
        self.values = eigh(self.K, eigvals_only=True, subset_by_index=(n - k, n - 1))[::-1]

    def errors(self, values, vectors):
        """`Errors` of eigenpairs; vectors of any length."""
        values = np.asarray(values, np.float64)
        vectors = np.asarray(vectors, np.float64)
        vectors = vectors / np.linalg.norm(vectors, axis=0)
        exact = self.values[: len(values)]
        residuals = np.linalg.norm(self.K @ vectors - vectors * values, axis=0)
        return Errors(
            float(np.max(np.abs(values - exact) / exact)),
            float(np.max(residuals) / exact[0]),
            float(np.max(residuals / exact)),
        )


def our_fit(k, gamma, method="fit"):
    return _fit(lambda: KernelPCA(k, gamma=gamma, landmarks=None, random_state=0), method)


def _fit(make, method):
    def fit(X):
        model = make()
        getattr(model, method)(X)
        return model

    return fit


def peer_fits(k, gamma, dtype, method="fit"):
    """Every solver of scikit-learn: {solver: {setting: function of X that fits}}, the fastest setting first."""

    def fit(**options):
        return _fit(lambda: Peer(k, kernel="rbf", gamma=gamma, random_state=0, **options), method)

    tolerances = (1e-5, 1e-6, 1e-8, 0) if dtype == "float64" else (1e-4, 1e-5, 1e-6, 0)
    return {
        "arpack": {f"arpack, tol={tol:g}": fit(eigen_solver="arpack", tol=tol) for tol in tolerances},
        "randomized": {
            f"randomized, {power}": fit(eigen_solver="randomized", iterated_power=power) for power in ("auto", 10, 20)
        },
        "dense": {"dense": fit(eigen_solver="dense")},
    }


def eigenpairs(model, most):
    """Eigenvalues and vectors of a fit of either library, at most so many."""
    if isinstance(model, Peer):
        return model.eigenvalues_[:most], model.eigenvectors_[:, :most]
    return model.eigenvalues_[:most], model.subspace_.frame.coefficients[:, :most]


def is_equal(errors, ours, dtype):
    """Whether a fit with these errors is as accurate as ours, or as ours promises to be."""
    allowed = [max(AS_ACCURATE * mine, promised) for mine, promised in zip(ours.numbers, PROMISED[dtype].numbers)]
    return errors.within(Errors(*allowed))
