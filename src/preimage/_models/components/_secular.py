"""A quadratic function on an ellipsoid: its global minimum by a secular equation."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from preimage._engine.arrays import array_namespace, from_numpy, to_numpy
from preimage._engine.linalg import cholesky, eigh, fix_signs, rank_tolerance
from preimage._engine.typing import Array

# Components of b along the best direction whose square, relative to s², is below this are taken as zero: u of `_root`
# is about their ratio, and its square would underflow (the smallest double is 5e-324). s² is limited likewise.
SMALLEST_SQUARE = 1e-200
# Factor between bounds of the root that are tried in turn: u ranges over hundreds of decades, and the solver of the
# root, which works on its logarithm, needs bounds of the right sign only.
BOUND_STEP = 16.0
# Accuracy of log u: that of a double, the smallest relative tolerance that `brentq` accepts.
ROOT_TOLERANCE = {"xtol": 1e-15, "rtol": 8.9e-16, "maxiter": 500}


@dataclass(frozen=True)
class SecularMinimum:
    """The minimum of hᵀCh − 2bᵀh on hᵀPh = s².

    Attributes
    ----------
    point : array of shape (r,)
        h.
    multiplier : float
        λ with (C − λP)h = b.
    limit : float
        δ₁ ≥ λ, the smallest δ with Cx = δPx; C − λP is positive semidefinite exactly below it.
    is_hard : bool
        Whether λ = δ₁: b has no component along the best direction, whose sign is then free.
    """

    point: Array
    multiplier: float
    limit: float
    is_hard: bool


def secular_minimum(C: Array, P: Array, b: Array, squared_size: float) -> SecularMinimum:
    r"""Minimise :math:`h^\top C h - 2 b^\top h` subject to :math:`h^\top P h = s^2`, globally  (L2).

    With both matrices diagonal in one basis, :math:`L^{-1} P L^{-\top} = Q \Theta Q^\top` for :math:`C = L L^\top`, the
    condition :math:`(C - \lambda P) h = b` is :math:`x_i = \tilde b_i / (1 - \lambda\theta_i)`, and the constraint is
    the secular equation [1]_

    .. math:: \varphi(\lambda) = \sum_i \theta_i \tilde b_i^2 / (1 - \lambda\theta_i)^2 = s^2,

    with one root below :math:`\delta_1 = 1/\theta_{max}`, the global minimum. If :math:`\tilde b` vanishes along
    :math:`\theta_{max}` and the others do not fill the constraint, :math:`\lambda = \delta_1` and the rest of s is
    filled along that direction, with the sign that makes its largest entry positive (the hard case).

    Parameters
    ----------
    C : array of shape (r, r)
        Symmetric positive definite.
    P : array of shape (r, r)
        Symmetric positive semidefinite, not zero.
    b : array of shape (r,)
    squared_size : float
        s² > 0, between 1e-200 and 1e200: squares of it have to be numbers.

    Returns
    -------
    SecularMinimum

    References
    ----------
    .. [1] W. Gander, G. H. Golub, U. von Matt, "A constrained eigenvalue problem", Linear Algebra and its
       Applications 114/115, 1989.

    Examples
    --------
    The point of the circle of radius 2 that is nearest to (3, 0):

    >>> import numpy as np
    >>> from preimage._models.components import secular_minimum
    >>> secular_minimum(np.eye(2), np.eye(2), np.array([3.0, 0.0]), 4.0).point.round(9)
    array([2., 0.])
    """
    xp, squared_size = array_namespace(C), float(squared_size)
    if not SMALLEST_SQUARE <= squared_size <= 1 / SMALLEST_SQUARE:
        raise ValueError(f"A constraint hᵀPh = s² needs s² between 1e-200 and 1e200; got {squared_size:.3g}.")
    if (L := cholesky(C)) is None:
        raise ValueError(
            f"A quadratic function needs a positive definite matrix C to have a minimum; that of shape "
            f"{tuple(C.shape)} is not, up to rounding. Lower the weight of labels, or scale the kernel."
        )
    # L⁻¹PL⁻ᵀ; with x = QᵀLᵀh the objective is ‖x‖² − 2b̃·x and the constraint Σ θᵢxᵢ² = s².
    W = xp.linalg.solve(L, xp.linalg.solve(L, P).T)
    values, Q = eigh((W + W.T) / 2)
    theta, b_diagonal = to_numpy(values), to_numpy(Q.T @ xp.linalg.solve(L, b))
    if not theta[-1] > 0:
        raise ValueError("A constraint hᵀPh = s² > 0 cannot be met with P = 0.")
    back = lambda x: xp.linalg.solve(L.T, Q @ from_numpy(x, C))
    x, multiplier, is_hard = _diagonal_minimum(theta, b_diagonal, squared_size)
    if is_hard:
        # Both signs along θmax give the same value; the sign is fixed in the coordinates of h, where users see it.
        lead = np.zeros_like(x)
        lead[-1] = x[-1]
        x = x - lead
        direction = back(lead)
        return SecularMinimum(back(x) + direction * fix_signs(direction[:, None]), multiplier, multiplier, True)
    return SecularMinimum(back(x), multiplier, float(1 / theta[-1]), False)


def _diagonal_minimum(theta: np.ndarray, b: np.ndarray, squared_size: float) -> tuple[np.ndarray, float, bool]:
    """x, λ and whether the case is hard, for ascending θ."""
    top = theta[-1]
    theta = np.where(theta > rank_tolerance(theta.size, theta.dtype) * top, theta, 0.0)
    divisors, multiplier, room = secular_divisors(theta, theta * b**2, squared_size)
    x = b / divisors
    if room is not None:
        x[-1] = np.sqrt(room / top)
    return x, multiplier, room is not None


def secular_divisors(
    theta: np.ndarray, weights: np.ndarray, squared_size: float
) -> tuple[np.ndarray, float, float | None]:
    """1 − λθ and λ of the root of Σ wᵢ/(1 − λθᵢ)² = s² below 1/θmax, for ascending θ.

    Those that differ by rounding errors count as equal. The last result is None, or in the hard case what is left of s²
    for the direction of θmax; the divisors of directions with θmax are infinite then.
    """
    top, tolerance = theta[-1], rank_tolerance(theta.size, theta.dtype)
    relative, gaps = theta / top, (top - theta) / top
    lead = gaps <= tolerance
    gaps = np.where(lead, 0.0, gaps)
    # 1 − λθ = gap + (θ/θmax)u with u = 1 − λθmax: no digits are lost however small u is.
    phi = lambda u: float(np.sum(weights / (gaps + relative * u) ** 2))
    along = float(np.sum(weights[lead]))
    if along <= max(tolerance**2 * float(np.sum(weights)), SMALLEST_SQUARE * squared_size):
        divisors = np.where(lead, np.inf, gaps)
        room = squared_size - float(np.sum(weights / divisors**2))
        if room >= -tolerance * squared_size:
            return divisors, float(1 / top), max(room, 0.0)
        along = 0.0
    u = _root(phi, squared_size, along)
    return gaps + relative * u, float((1 - u) / top), None


def _root(phi: Callable[[float], float], squared_size: float, along: float) -> float:
    """The u > 0 with φ(u) = s²; φ decreases, and is at least `along`/u²."""
    high = 1.0
    while phi(high) > squared_size:
        high *= BOUND_STEP
    low = 0.5 * np.sqrt(along / squared_size) if along > 0 else 1.0
    while phi(low) < squared_size:
        low /= BOUND_STEP
    # 1/√φ is nearly linear in u, and u ranges over hundreds of decades: solve for its logarithm.
    gap = lambda v: phi(np.exp(v)) ** -0.5 - squared_size**-0.5
    return float(np.exp(brentq(gap, np.log(low), np.log(high), **ROOT_TOLERANCE)))
