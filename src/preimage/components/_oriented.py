"""Oriented kernel PCA: features that vary with a signal and not with a noise."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._arrays import array_namespace, device_kwargs, from_numpy, in_double
from preimage._linalg import (
    eigh_descending,
    fix_signs,
    numerical_rank,
    require_variance,
)
from preimage._rows import sum_rows
from preimage._warnings import warn_user
from preimage.components._rayleigh import rayleigh
from preimage.exceptions import RankWarning
from preimage.feature_space import Expansion, Moments, Subspace

# Rows whose coordinates are summed together.
BLOCK = 1024


@dataclass(frozen=True)
class OrientedFeatures:
    """The result of oriented kernel PCA.

    Attributes
    ----------
    vectors : Expansion of k vectors
        The features w; not orthogonal.
    offset : array of shape (k,)
        ⟨wⱼ, mean⟩, so that features of the data have mean zero.
    ratios : array of shape (k,)
        Signal over noise and ridge, descending; also the variances of the features, whose noise and ridge add to one.
    noise : array of shape (k,)
        ⟨wⱼ, S_N wⱼ⟩, at most one: the rest is ridge.
    subspace : Subspace
        The mean and an orthonormal frame V of the span of the features.
    mixing : array of shape (k, k)
        Upper triangular R with w = V R: features are coordinates in the frame times R.
    """

    vectors: Expansion
    offset: Any
    ratios: Any
    noise: Any
    subspace: Subspace
    mixing: Any


def coordinate_moments(space, X, weights=None):
    """Count, mean and scatter of the coordinates of the rows of X in a subspace; weights are NumPy's, and positive."""
    coordinates = _coordinates_in(space)

    def moments(rows, weights):
        Y = coordinates(rows)
        return Moments.of(Y, None if weights is None else from_numpy(weights, Y))

    return sum_rows(moments, X, weights, rows=BLOCK, device_of=space.frame.coefficients)


def pair_moment(space, X, X_noisy, weights=None):
    """Second moment of φ(x) − φ(x′) in the coordinates of a subspace, shape (r, r)."""
    coordinates = _coordinates_in(space)
    weights = np.ones(X.shape[0]) if weights is None else weights

    def second_moment(rows, noisy, weights):
        change = coordinates(rows) - coordinates(noisy)
        return change.T @ (change * from_numpy(weights, change)[:, None])

    total = sum_rows(second_moment, X, X_noisy, weights, rows=BLOCK, device_of=space.frame.coefficients)
    return total / float(weights.sum())


def oriented_features(space, signal, noise, alpha, n_components=None):
    r"""The vectors of a subspace along which a signal is large against noise.

    Maximises :math:`\langle w, C w\rangle / (\langle w, S_N w\rangle + \alpha \|w\|^2)` over w in `space`. In the
    coordinates of an orthonormal frame :math:`\|w\|` is Euclidean, so that the ridge does not depend on which points
    the frame is made of.

    Parameters
    ----------
    space : Subspace
        Through zero, such as the span of all expansion points.
    signal : Moments
        Of the coordinates of the data.
    noise : array of shape (r, r) or None
        S_N in the coordinates of `space`; None is zero.
    alpha : float
        Weight of ‖w‖², positive.
    n_components : int or None, default=None
        None gives all features whose ratio is more than rounding.

    Returns
    -------
    OrientedFeatures
    """
    covariance, mean = signal.covariance(), signal.mean
    xp = array_namespace(covariance)
    identity = xp.eye(mean.shape[0], dtype=mean.dtype, **device_kwargs(mean))
    noise = xp.zeros_like(identity) if noise is None else noise
    ratios, directions = rayleigh(_root(covariance), noise + alpha * identity, n_components)
    keep = _kept(ratios, signal, n_components, space.frame.kernel)
    ratios, directions = ratios[:keep], directions[:, :keep]
    values = (space.frame @ directions)(space.frame.points) - directions.T @ mean
    directions = directions * fix_signs(values)
    Q, R = xp.linalg.qr(directions)
    return OrientedFeatures(
        space.frame @ directions,
        directions.T @ mean,
        ratios,
        xp.sum(directions * (noise @ directions), axis=0),
        Subspace(
            space.frame @ Q,
            space.frame @ mean[:, None],
            offset=Q.T @ mean,
            origin_squared_norm=float(mean @ mean),
        ),
        R,
    )


def _coordinates_in(space):
    values, factor = space.frame.kernel.against(space.frame.points), space.frame.coefficients
    return lambda rows: values(in_double(rows)) @ factor


def _root(covariance):
    """A with AAᵀ the covariance, of full column rank."""
    xp = array_namespace(covariance)
    values, vectors = eigh_descending(covariance)
    rank = max(1, numerical_rank(values, values.shape[0]))
    return vectors[:, :rank] * xp.sqrt(xp.clip(values[:rank], min=0.0))


def _kept(ratios, signal, n_components, kernel):
    """How many features have a ratio above rounding."""
    xp = array_namespace(ratios)
    variance = float(xp.linalg.trace(signal.covariance()))
    require_variance(kernel, variance, float(signal.mean @ signal.mean), ratios.dtype)
    rank = max(1, numerical_rank(ratios, signal.mean.shape[0]))
    if n_components is not None and rank < n_components:
        warn_user(
            f"{n_components} components were asked for, but the data hold only {rank} with a variance above rounding "
            f"errors; {rank} are kept.",
            RankWarning,
        )
    return rank
