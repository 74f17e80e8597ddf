"""Eigenpairs of Λ − z zᵀ for many vectors z: what principal components become when a point is taken away."""

import numpy as np

from preimage._engine.typing import Array

# Steps of the root finder, which converges quadratically; a step that would leave its bracket halves it instead, and
# 100 halvings resolve any root of double precision.
MAX_ITER = 100
EPSILON = float(np.finfo(float).eps)
# The root finder stops at steps of this many units in the last place of the offset from the nearest pole; ten times
# more would show in the last digit of left-out scores.
STEP_TOLERANCE = 4


class Downdate:
    r"""The eigenpairs of :math:`\Lambda - z_n z_n^\top` with the largest eigenvalues, for every row of Z.

    They are the roots :math:`\mu_k \in (\lambda_{k+1}, \lambda_k)` of the secular equation

    .. math:: 1 - \sum_j \frac{z_j^2}{\lambda_j - \mu} = 0

    and the vectors :math:`v_k \propto (\Lambda - \mu_k)^{-1} z`, for which
    :math:`\langle v_k, z \rangle = 1 / \|(\Lambda - \mu_k)^{-1} z\|`. Roots are kept as offsets from the nearest pole,
    so that differences :math:`\lambda_j - \mu` are accurate also where they are tiny [1]_. The work is
    O(n_rows · n_components · n_poles).

    Parameters
    ----------
    poles : array of shape (r,)
        λ, descending, not negative.
    Z : array of shape (n, r)
    count : int
        How many eigenpairs.

    References
    ----------
    .. [1] R.-C. Li, "Solving Secular Equations Stably and Efficiently", LAPACK Working Note 89, 1993.
    """

    def __init__(self, poles: Array, Z: Array, count: int) -> None:
        self.scale = float(poles[0]) if len(poles) and poles[0] > 0 else 1.0
        self.poles = _spread(np.append(poles, 0.0) / self.scale)  # zero: the eigenvalue of all other directions
        self.count = min(count, len(poles))
        self.Z = _floored(np.concatenate([Z, np.zeros((len(Z), 1))], axis=1) / np.sqrt(self.scale))
        roots = [_roots(self.poles, self.Z**2, k) for k in range(self.count)]
        self.origins = np.stack([origin for origin, _ in roots], axis=1) if roots else np.empty((len(Z), 0), int)
        self.offsets = np.stack([offset for _, offset in roots], axis=1) if roots else np.empty((len(Z), 0))

    @property
    def values(self) -> Array:
        """Eigenvalues μ, shape (n, count)."""
        return self.scale * np.maximum(self.poles[self.origins] + self.offsets, 0)

    def products_and_overlaps(self, n_entries: int) -> tuple[Array, Array]:
        """⟨vₖ, z⟩ > 0, shape (n, count), and the first entries of vₖ, shape (n, count, n_entries), for every row of Z.

        Products come from the secular equation, accurate also where they are tiny.
        """
        products = np.empty(self.offsets.shape)
        overlaps = np.empty((*self.offsets.shape, n_entries))
        for k in range(self.count):
            V = self.Z / _differences(self.poles, self.origins[:, k], self.offsets[:, k], k)
            lengths = np.sqrt(np.einsum("nj,nj->n", V, V))
            products[:, k] = np.sqrt(self.scale) / lengths
            overlaps[:, k] = V[:, :n_entries] / lengths[:, None]
        return products, overlaps

    def eigenvectors_of(self, n: int) -> Array:
        """All eigenvectors for row n of Z, one per column, shape (r, count)."""
        gaps = self.poles[:, None] - self.poles[self.origins[n]] - self.offsets[n]
        V = self.Z[n, :, None] / gaps
        return V[:-1] / np.linalg.norm(V, axis=0)


def _spread(poles: Array) -> Array:
    """Poles moved at least a rounding error apart: between equal poles there is no interval that brackets a root."""
    steps = EPSILON * np.arange(len(poles))
    return np.minimum.accumulate(poles + steps) - steps


def _floored(Z: Array) -> Array:
    """Entries raised to the rounding error of their row, so that every pole has a weight."""
    least = EPSILON * np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), EPSILON)
    return np.where(np.abs(Z) < least, np.where(Z < 0, -least, least), Z)


def _differences(poles: Array, origins: Array, offsets: Array, k: int) -> Array:
    """λⱼ − μ for roots between poles k + 1 and k, given by which of them is nearer and the offset from it: (n, r)."""
    from_both = poles - poles[[k, k + 1], None]
    return from_both[origins - k] - offsets[:, None]


def _roots(poles: Array, weights: Array, k: int) -> tuple[Array, Array]:
    """The root between poles k + 1 and k for every row of weights: nearest pole, and offset from it.

    Invariant: the distance of every root from its origin lies between `low` and `high`.
    """
    gap = poles[k] - poles[k + 1]
    secular = _Secular(poles - poles[k + 1] - gap / 2, weights, k)
    above = secular.value >= 0  # the function falls from +∞ at the lower pole to −∞ at the upper one
    origins = np.where(above, k, k + 1)
    side = np.where(above, -1.0, 1.0)  # the root lies below an origin at the upper pole, above one at the lower
    distances = np.full(len(weights), gap / 2)
    low, high = np.zeros(len(weights)), distances.copy()
    active = np.arange(len(weights))
    for _ in range(MAX_ITER):
        old, sign = distances[active], side[active]
        farther = sign * secular.value > 0
        low[active], high[active] = np.where(farther, old, low[active]), np.where(farther, high[active], old)
        new = secular.next_distance(sign < 0, gap)
        inside = (new > low[active]) & (new < high[active])
        new = np.where(inside, new, (low[active] + high[active]) / 2)
        is_zero = secular.is_zero()
        distances[active] = np.where(is_zero, old, new)
        active = active[~is_zero & (np.abs(new - old) > STEP_TOLERANCE * EPSILON * new)]
        if not active.size:
            break
        gaps = _differences(poles, origins[active], side[active] * distances[active], k)
        secular = _Secular(gaps, weights if active.size == len(weights) else weights[active], k)
    return origins, side * distances


class _Secular:
    """1 − ψ − φ with ψ the sum over poles from k upwards and φ over those below, and their derivatives."""

    def __init__(self, gaps: Array, weights: Array, k: int) -> None:
        inverse = 1 / gaps
        terms = weights * inverse
        inverse = np.broadcast_to(inverse, terms.shape)
        self.upper, self.lower = terms[:, : k + 1].sum(axis=1), terms[:, k + 1 :].sum(axis=1)
        self.upper_derivative, self.lower_derivative = (
            np.einsum("nj,nj->n", terms[:, part], inverse[:, part]) for part in (slice(k + 1), slice(k + 1, None))
        )
        self.value = 1 - self.upper - self.lower
        self.above, self.below = gaps[..., k], gaps[..., k + 1]
        self.n_poles = weights.shape[1]

    def is_zero(self) -> Array:
        """Whether the value is no larger than its rounding error."""
        return np.abs(self.value) <= EPSILON * self.n_poles * (1 + self.upper - self.lower)

    def next_distance(self, from_above: Array, gap: float) -> Array:
        """Distance from the upper or lower pole to the root of a + b/(λₖ − μ) + c/(λₖ₊₁ − μ), which agrees with
        ψ and φ and their derivatives here."""
        constant = self.value + self.above * self.upper_derivative + self.below * self.lower_derivative
        upper, lower = self.above**2 * self.upper_derivative, self.below**2 * self.lower_derivative
        near, constant = np.where(from_above, upper, lower), np.where(from_above, constant, -constant)
        # In the distance t from the nearer pole the interpolant vanishes where constant t² − linear t + near gap = 0.
        linear = constant * gap + upper + lower
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(np.maximum(linear**2 - 4 * constant * near * gap, 0))
            # The form of the smaller root without cancellation depends on the sign of the linear term.
            return np.where(linear >= 0, 2 * near * gap / (linear + root), (linear - root) / (2 * constant))
