"""Oriented kernel PCA: features that vary with a signal and not with a noise."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from preimage._engine.arrays import (
    array_namespace,
    as_points,
    concat_rows,
    device_kwargs,
    epsilon,
    from_numpy,
    take_rows,
)
from preimage._engine.lapack import triangular_solve
from preimage._engine.linalg import (
    cholesky,
    determined_count,
    eigh_descending,
    fix_signs,
    leading_count,
    no_variance,
    numerical_rank,
    require_variance,
    svd,
)
from preimage._engine.rows import sum_rows
from preimage._engine.typing import Array, Rows
from preimage._engine.warnings import warn_user
from preimage._models.components._features import (
    BLOCK,
    Features,
    are_features,
    coordinate_moments,
    coordinates_in,
    largest_value,
)
from preimage._models.components._principal import MOST_ROUNDING, warn_of_rounding
from preimage.exceptions import RankWarning
from preimage.feature_space import Moments, Subspace
from preimage.invariances import TangentCovariance
from preimage.kernels._door import value_rounding


def rayleigh(signal_factor: Array, noise: Array, n_components: int | None = None) -> tuple[Array, Array]:
    r"""Directions of largest ratio of signal to noise.

    Maximises :math:`J(a) = a^\top A A^\top a \,/\, a^\top Q a` over a, and again among those a' with
    :math:`a^\top Q a' = 0`. With the Cholesky factor :math:`Q = L L^\top` they are the columns of
    :math:`L^{-\top} U`, where U are left singular vectors of :math:`L^{-1} A`; unlike the eigenvectors of
    :math:`A A^\top` this does not square the condition of the signal.

    Kernel Fisher discriminants (between and within classes), oriented kernel PCA (signal and noise, or tangents of
    transformations) and kernel PCA (noise of equal size everywhere) are of this form.

    Parameters
    ----------
    signal_factor : array of shape (m, r)
        A; the signal is AAᵀ.
    noise : array of shape (m, m)
        Q, symmetric and positive definite: add a ridge to one that is not.
    n_components : int or None, default=None
        Number of directions; None is all, min(m, r) of them.

    Returns
    -------
    ratios : array of shape (n_components,)
        J of each direction, descending.
    directions : array of shape (m, n_components)
        With aᵀQa = 1; the entry of largest modulus of each is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage._models.components import rayleigh
    >>> ratios, directions = rayleigh(np.array([[2.0], [0.0]]), np.array([[4.0, 0.0], [0.0, 1.0]]))
    >>> ratios, directions
    (array([1.]), array([[0.5],
           [0. ]]))
    """
    factor = cholesky(noise)
    if factor is None:
        raise np.linalg.LinAlgError(
            f"A ratio of signal to noise needs noise in every direction; the noise matrix of shape "
            f"{tuple(noise.shape)} is not positive definite. Add a ridge to it, or a larger one."
        )
    if isinstance(factor, np.ndarray):
        lower, upper = partial(triangular_solve, factor), partial(triangular_solve, factor, transposed=True)
    else:
        solve = array_namespace(factor).linalg.solve
        lower, upper = partial(solve, factor), partial(solve, factor.T)
    U, singular, _ = svd(lower(signal_factor))
    count = singular.shape[0] if n_components is None else min(n_components, singular.shape[0])
    directions = upper(U[:, :count])
    return singular[:count] ** 2, directions * fix_signs(directions)


@dataclass(frozen=True)
class OrientedFeatures(Features):
    """The result of oriented kernel PCA: w = V R, and features are coordinates in the frame times the `mixing` R.

    Attributes
    ----------
    ratios : array of shape (k,)
        Signal over noise plus ridge, descending. They are also the variances of the features, whose noise and ridge
        add up to one.
    noise : array of shape (k,)
        ⟨wⱼ, S_N wⱼ⟩, at most one: the rest is ridge.
    """

    ratios: Array
    noise: Array


@dataclass(frozen=True)
class Noise:
    """What features should not vary with: the sum of what is given; its rows may be memory maps or Dask arrays.

    Attributes
    ----------
    tangents : TangentCovariance or None
        Transformations that should not matter.
    samples : array of shape (p, d), or None
        Points that vary like the noise alone.
    pairs : two arrays of shape (p, d), or None
        Points that features should not tell apart, row by row.
    pair_weights : array of shape (p,), or None
        How often each pair counts; None counts each once.
    """

    tangents: TangentCovariance | None = None
    samples: Array | None = None
    pairs: tuple[Array, Array] | None = None
    pair_weights: np.ndarray | None = None

    def points_with(self, X: Array) -> Array:
        """X and the points that the noise is made of: on their span the features are those of all feature space."""
        more = [] if self.tangents is None else [self.tangents.displaced(X)]
        more += [] if self.samples is None else [self.samples]
        more += [] if self.pairs is None else [rows for rows in self.pairs if rows is not X]
        return concat_rows(X, *more) if more else X

    def sampled(self, X: Rows, numbers: np.ndarray, rng: np.random.Generator) -> tuple[Array, "Noise"]:
        """Some rows of X, given by their numbers, in memory, with partners and as many rows of other noise at most."""
        few = lambda n: numbers if n == X.shape[0] else np.sort(rng.choice(n, min(n, numbers.size), replace=False))
        part = lambda rows, which: as_points(take_rows(rows, which))
        rows, samples, pairs = part(X, numbers), self.samples, self.pairs
        if samples is not None:
            samples = part(samples, few(samples.shape[0]))
        if pairs is not None:
            which = few(pairs[0].shape[0])
            left, right = pairs
            pairs = rows if left is X else part(left, which), part(right, which)
        return rows, replace(self, samples=samples, pairs=pairs, pair_weights=None)

    def moment(self, space: Subspace, X: Rows, weights: np.ndarray | None) -> Array | None:
        """S_N in the coordinates of a subspace, shape (r, r); None where nothing is given."""
        terms = []
        if self.tangents is not None:
            terms.append(self.tangents.moment_of(space.frame, X, weights))
        if self.samples is not None:
            terms.append(coordinate_moments(space, self.samples).covariance())
        if self.pairs is not None:
            terms.append(pair_moment(space, *self.pairs, self.pair_weights))
        return sum(terms[1:], start=terms[0]) if terms else None


def pair_moment(space: Subspace, X: Rows, X_noisy: Rows, weights: np.ndarray | None = None) -> Array:
    """Second moment of φ(x) − φ(x′) in the coordinates of a subspace, shape (r, r); both sets of rows may be lazy."""
    coordinates = coordinates_in(space, X, X_noisy)
    weights = np.ones(X.shape[0]) if weights is None else weights

    def second_moment(rows: Array, noisy: Array, weights: np.ndarray) -> Array:
        change = coordinates(rows) - coordinates(noisy)
        return change.T @ (change * from_numpy(weights, change)[:, None])

    total = sum_rows(second_moment, X, X_noisy, weights, rows=BLOCK, device_of=space.frame.coefficients)
    return total / float(weights.sum())


def oriented_features(
    space: Subspace,
    signal: Moments,
    noise: Array | None,
    alpha: float,
    n_components: int | None = None,
    *,
    points: Array | None = None,
) -> OrientedFeatures:
    r"""The vectors of a subspace along which a signal is large compared with noise.

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
        None gives all features that the data determine (`are_determined`).
    points : array of shape (m, d), optional
        The points of the frame in the precision in which features are evaluated; those of the frame by default.

    Returns
    -------
    OrientedFeatures
    """
    covariance, mean = signal.covariance(), signal.mean
    xp = array_namespace(covariance)
    identity = xp.eye(mean.shape[0], dtype=mean.dtype, **device_kwargs(mean))
    noise = xp.zeros_like(identity) if noise is None else noise
    # Directions are normalised so that ⟨w, S_N w⟩ + α‖w‖² = 1: the ratio is then the variance of the feature.
    ratios, directions = rayleigh(_root(covariance), noise + alpha * identity, n_components)
    keep = _kept(space, signal, ratios, directions, n_components, points)
    ratios, directions = ratios[:keep], directions[:, :keep]
    values = (space.frame @ directions)(space.frame.points) - directions.T @ mean
    directions = directions * fix_signs(values)
    # The features are not orthogonal. Pre-images need an orthonormal frame of their span, Q, and R maps between the
    # two.
    Q, R = xp.linalg.qr(directions)
    return OrientedFeatures(
        space.frame @ directions,
        directions.T @ mean,
        Subspace(
            space.frame @ Q,
            space.frame @ mean[:, None],
            offset=Q.T @ mean,
            origin_squared_norm=float(mean @ mean),
        ),
        R,
        ratios,
        xp.sum(directions * (noise @ directions), axis=0),
    )


def _root(covariance: Array) -> Array:
    """A with AAᵀ the covariance, of full column rank."""
    xp = array_namespace(covariance)
    values, vectors = eigh_descending(covariance)
    rank = max(1, numerical_rank(values, values.shape[0]))
    return vectors[:, :rank] * xp.sqrt(xp.clip(values[:rank], min=0.0))


def _kept(
    space: Subspace,
    signal: Moments,
    ratios: Array,
    directions: Array,
    n_components: int | None,
    points: Array | None,
) -> int:
    """How many leading features the data determine, with a warning where more were asked for."""
    xp, kernel, covariance = array_namespace(ratios), space.frame.kernel, signal.covariance()
    variance = float(xp.linalg.trace(covariance))
    require_variance(kernel, variance, float(signal.mean @ signal.mean), ratios.dtype)
    points = space.frame.points if points is None else points
    vectors, lengths = space.frame @ directions, xp.sum(directions * directions, axis=0)
    # Eigenvalues of the covariance have errors of ε times the largest, so that a variance along w has ε λ₁ ‖w‖².
    sums = determined_count(epsilon(ratios.dtype) * variance * lengths, ratios, kernel.value_type(points))
    count = min(sums, leading_count(are_features(vectors, points, xp.sqrt(ratios), lengths)))
    if count == 0:  # as in kernel PCA, the first is kept where its values are more than rounding errors
        rounding = value_rounding(kernel, points, on_average=True) * largest_value(vectors)
        error = rounding * float(xp.sqrt(xp.sum(vectors.coefficients[:, 0] ** 2)))
        if error > MOST_ROUNDING * float(ratios[0]) ** 0.5:
            raise no_variance(kernel)
        warn_of_rounding(kernel)
        return 1
    if n_components is not None and count < n_components:
        warn_user(
            f"{n_components} components were asked for, but the data determine only {count}: rounding errors decide "
            f"the values of further ones. {count} are kept.",
            RankWarning,
        )
    return count
