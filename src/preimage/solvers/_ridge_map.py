"""Kernel ridge regression of several outputs: weights, and the ridge by leave-one-out."""

import numpy as np
from scipy import linalg

from preimage._linalg import eigh_descending, rank_tolerance
from preimage.kernels import Kernel

# Ridges tried by leave-one-out, relative to the largest eigenvalue of the kernel matrix. Smooth maps by wide kernels
# need very small ones; below 1e-14 only rounding errors change.
RIDGES = np.logspace(-14, 1, 46)
# Largest relative error of predictions that rounding may cause, so that data in memory, in chunks and on devices give
# the same map. It is an upper bound; errors that were observed are a thirtieth of it. With ten times more, maps of the
# same data in chunks differ visibly.
ROUNDING = 1e-8


def ridge_weights(kernel: Kernel, Y: np.ndarray, X: np.ndarray, ridge: float) -> np.ndarray:
    """(L + λI)⁻¹ X for the kernel matrix L of Y, shape (n, d); the pseudo-inverse where that is singular."""
    L = kernel(Y)
    if ridge > 0:
        try:
            return linalg.cho_solve(linalg.cho_factor(L + ridge * np.eye(len(L)), check_finite=False), X)
        except linalg.LinAlgError:
            pass  # an indefinite kernel, or a ridge below rounding
    values, vectors = eigh_descending(L)
    raised = _without_rounding(values) + ridge
    # Eigenvalues that are rounding errors have no inverse; with a ridge, however small, that is what is inverted.
    felt = np.abs(raised) > rank_tolerance(1 if ridge > 0 else len(values), raised.dtype) * np.max(np.abs(values))
    inverse = np.where(felt, 1 / np.where(felt, raised, 1.0), 0.0)
    return vectors @ (inverse[:, None] * (vectors.T @ X))


def leave_one_out_ridge(L: np.ndarray, X: np.ndarray) -> float:
    """The ridge with the smallest exact leave-one-out error."""
    ridges = RIDGES * max(float(np.linalg.norm(L, 2)), np.finfo(float).tiny)
    return float(ridges[int(np.argmin(leave_one_out_errors(L, X, ridges)))])


def leave_one_out_errors(L: np.ndarray, X: np.ndarray, ridges: np.ndarray, rounding: float = ROUNDING) -> np.ndarray:
    """Mean squared errors of predicting each row of X from the others, residual/(1 − hᵢᵢ), one per ridge."""
    values, vectors = eigh_descending(L)
    values = _without_rounding(values)
    projected, squares = vectors.T @ X, vectors**2
    lengths = np.sum(projected**2, axis=1)
    errors = []
    for ridge in ridges:
        # Residual and 1 − hᵢᵢ have the factor ridge/(value + ridge); as differences from one, rounding would hide them.
        lost = ridge / (values + ridge)
        errors.append(np.mean((vectors @ (lost[:, None] * projected) / (squares @ lost)[:, None]) ** 2))
    return np.where(sound_ridges(values, lengths, ridges, np.max(np.diagonal(L)), rounding), errors, np.inf)


def sound_ridges(
    values: np.ndarray, lengths: np.ndarray, ridges: np.ndarray, largest: float, rounding: float = ROUNDING
) -> np.ndarray:
    """Which ridges give weights whose cancellation does not amplify rounding errors beyond `rounding`.

    Rounding errors of coordinates and of kernel values are multiplied by the size of the weights. `values` are
    eigenvalues of the kernel matrix, `lengths` the squared lengths of the outputs along its eigenvectors, `largest` the
    largest kernel value, `rounding` the largest relative error.
    """
    weights = np.array([np.sqrt(np.sum(lengths / (np.maximum(values, 0) + ridge) ** 2)) for ridge in ridges])
    noise = np.finfo(float).eps * len(values) * largest * weights
    return noise <= rounding * np.sqrt(np.sum(lengths))


def _without_rounding(values: np.ndarray) -> np.ndarray:
    """Eigenvalues without signs that are rounding errors; those of indefinite kernels stay."""
    noise = rank_tolerance(len(values), values.dtype) * np.max(np.abs(values))
    return np.where(np.abs(values) <= noise, np.maximum(values, 0.0), values)
