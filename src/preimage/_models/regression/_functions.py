"""Functions of numbers that losses consist of, for arrays of any library; SciPy's for NumPy."""

import numpy as np
from scipy import special

from preimage._engine.arrays import array_namespace
from preimage._engine.typing import Array


def sigmoid(F: Array) -> Array:
    """1/(1 + e^(−f)), with all digits of small values."""
    if isinstance(F, np.ndarray):
        return special.expit(F)
    xp = array_namespace(F)
    e = xp.exp(-xp.abs(F))
    return xp.where(F >= 0, xp.ones_like(e), e) / (1 + e)


def soft_plus(F: Array) -> Array:
    """log(1 + e^f)."""
    if isinstance(F, np.ndarray):
        return np.logaddexp(0.0, F)
    xp = array_namespace(F)
    return xp.clip(F, min=0.0) + xp.log1p(xp.exp(-xp.abs(F)))


def log_sum_exp(F: Array) -> Array:
    """The logarithm of Σ e^f of every row, shape (n, 1)."""
    if isinstance(F, np.ndarray):
        return special.logsumexp(F, axis=1, keepdims=True)
    xp = array_namespace(F)
    largest = xp.max(F, axis=1, keepdims=True)
    return largest + xp.log(xp.sum(xp.exp(F - largest), axis=1, keepdims=True))


def soft_max(F: Array) -> Array:
    """e^f / Σ e^f of every row."""
    if isinstance(F, np.ndarray):
        return special.softmax(F, axis=1)
    xp = array_namespace(F)
    e = xp.exp(F - xp.max(F, axis=1, keepdims=True))
    return e / xp.sum(e, axis=1, keepdims=True)


def times_log(P: Array) -> Array:
    """p log p, and zero for p = 0."""
    if isinstance(P, np.ndarray):
        return special.xlogy(P, P)
    xp = array_namespace(P)
    return P * xp.log(xp.where(P > 0, P, xp.ones_like(P)))


def quotient(A: Array, B: Array) -> Array:
    """a/b, and zero where b is none."""
    xp = array_namespace(A, B)
    is_there = B > 0
    return xp.where(is_there, A / xp.where(is_there, B, xp.ones_like(B)), xp.zeros_like(A))
