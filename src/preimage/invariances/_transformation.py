"""What every transformation of inputs can do."""

from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from preimage._arrays import array_namespace, as_points, is_foreign, to_dense
from preimage._typing import Array, Rows

# How far a transformation goes: one number for all rows, or an array with one per row.
Amount: TypeAlias = float | Array


class Transformation(BaseEstimator, ABC):
    r"""A one-parameter family of maps :math:`x \mapsto L_t x` with :math:`L_0 x = x`.

    Models should ignore it: what an input means does not change.

    A transformation is a value: parameters in, never changed afterwards. A subclass gives :math:`L_t` and its tangent
    :math:`\tau(x) = \frac{d}{dt} L_t x \big|_{t=0}`; both take and return rows, and keep
    precision and array library; integers become floating-point numbers.
    """

    _parameter_constraints: dict = {}

    @abstractmethod
    def apply(self, X: Rows, t: Amount) -> Array:
        """The rows L_t x.

        Parameters
        ----------
        X : array of shape (n, d)
        t : float or array of shape (n,)
            How far; one number for all rows, or one per row.

        Returns
        -------
        array of shape (n, d)
        """

    @abstractmethod
    def tangents(self, X: Rows) -> Array:
        """The tangents τ(x) = dL_t x/dt at t = 0, shape (n, d)."""


def check_rows(transformation: Transformation, X: Rows) -> Array:
    """X as a dense array of finite rows; error messages name `transformation`."""
    X = to_dense(as_points(X))
    name, xp = type(transformation).__name__, array_namespace(X)
    if X.ndim != 2:
        raise ValueError(f"{name} transforms the rows of a 2D array; got an array of shape {tuple(X.shape)}.")
    if not bool(xp.all(xp.isfinite(X))):
        raise ValueError(f"{name} needs finite values; X contains NaN or infinity. Impute or drop such rows first.")
    return X


def check_amount(transformation: Transformation, t: Amount, n: int) -> float | np.ndarray:
    """The amount as a float, or as a NumPy array with one entry per row."""
    name = type(transformation).__name__
    amounts = np.asarray(t.cpu() if is_foreign(t) and hasattr(t, "cpu") else t, dtype=np.float64)
    if amounts.shape not in ((), (n,)):
        raise ValueError(f"{name} takes one amount, or one for each of {n} rows; got shape {amounts.shape}.")
    if not np.all(np.isfinite(amounts)):
        raise ValueError(f"{name} needs a finite amount t; got {t!r}.")
    return float(amounts) if amounts.ndim == 0 else amounts
