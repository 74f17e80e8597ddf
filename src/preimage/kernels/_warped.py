"""Kernels warped along a graph of points, and what its Laplacian takes away from a kernel."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from preimage._engine.arrays import (
    array_namespace,
    concat_rows,
    device_kwargs,
    from_numpy,
    in_double,
    to_dense,
    to_device_of,
    to_numpy,
)
from preimage._engine.linalg import cholesky, eigh_descending, is_semidefinite, numerical_rank, semidefinite_tolerance
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import Interval, StrOptions, check_parameters
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels._kernel import KeptRows, Kernel, OfOneKernel, Prepared, written

LAPLACIANS = ("combinatorial", "normalized", "knn")
# Largest difference of L and its transpose, relative to the largest entry: rounding errors of a Laplacian that was
# computed in double precision. A directed graph differs by as much as its entries.
SYMMETRIC = 1e-10


@dataclass(frozen=True)
class Graph:
    """A matrix G with M = GᵀG for the M of `Warped`, and K Gᵀ for the points themselves, in double precision."""

    factor: Array
    images: Array

    @classmethod
    def of(cls, warped: Any, K: Array) -> "Graph":
        """The graph of a `Warped` kernel whose kernel has the values K among the points."""
        xp = array_namespace(K)
        L, scale = _laplacian(warped, K)
        values, vectors = eigh_descending(L)
        if not is_semidefinite(values, allowed=semidefinite_tolerance(K.dtype) * scale):
            raise ValueError(
                f"Warped needs a positive semidefinite Laplacian; the given one has the eigenvalue "
                f"{float(values[-1]):.2g} (largest {float(values[0]):.2g})."
            )
        rank = 0 if warped.strength == 0 else numerical_rank(values, K.shape[0], scale)
        sizes = warped.strength * values[:rank] ** warped.power
        root = xp.sqrt(sizes)[:, None] * vectors[:, :rank].T  # ηL = RᵀR
        inner = xp.eye(rank, dtype=K.dtype, **device_kwargs(K)) + root @ K @ root.T
        if not bool(xp.all(xp.isfinite(inner))):
            raise ValueError(
                f"strength={warped.strength:.3g} and power={warped.power:.3g} of Warped make numbers too large for "
                "double precision. Lower them, or scale the Laplacian down."
            )
        _require_positive(warped, inner)
        # M = Rᵀ(I + RKRᵀ)⁻¹R with a matrix that has no eigenvalue below one; neither K nor L is inverted.
        lower = cholesky(inner)
        if lower is None:
            raise ValueError(
                f"Values of {warped.kernel!r}, up to {float(xp.max(xp.abs(K))):.2g}, have rounding errors above one in "
                "I + LK, which Warped inverts. Scale the inputs or the kernel down, or lower `strength`."
            )
        factor = xp.linalg.solve(lower, root) if rank else root
        return cls(factor, K @ factor.T)


def require_known(laplacian: Any) -> None:
    """Raise for a name that is not among the `LAPLACIANS`."""
    if isinstance(laplacian, str) and laplacian not in LAPLACIANS:
        raise ValueError(f"Warped has the Laplacians {', '.join(LAPLACIANS)}; got {laplacian!r}.")


def _laplacian(warped: Any, K: Array) -> tuple[Array, float]:
    """L, and the size of what it was subtracted from, to which rounding errors are in proportion."""
    xp, kind = array_namespace(K), warped.laplacian
    require_known(kind)
    if not isinstance(kind, str):
        L = in_double(to_device_of(to_dense(kind), K))
        if tuple(L.shape) != tuple(K.shape):
            raise ValueError(f"Warped has {K.shape[0]} points; its Laplacian has shape {tuple(L.shape)}.")
        if not bool(xp.all(xp.isfinite(L))):
            raise ValueError("Warped needs a Laplacian of finite numbers; the given one has NaN or infinite entries.")
        if float(xp.max(xp.abs(L - L.T))) > SYMMETRIC * float(xp.max(xp.abs(L))):
            raise ValueError("Warped needs a symmetric Laplacian.")
        return (L + L.T) / 2, float(xp.max(xp.abs(L)))
    # Kernel values are the weights of the edges. A Laplacian with negative weights would not be positive semidefinite.
    W = xp.clip((K + K.T) / 2, min=0.0)
    if kind == "knn":
        W = W * _neighbors(K, warped.n_neighbors)
    degrees = xp.sum(W, axis=1)
    if kind == "normalized":
        # I − D^{−1/2}WD^{−1/2}; a point without edges has a row of zeros, not a one on the diagonal.
        safe = xp.where(degrees > 0, degrees, xp.ones_like(degrees))
        scales = xp.where(degrees > 0, 1 / xp.sqrt(safe), xp.zeros_like(degrees))
        W, degrees = W * scales[:, None] * scales[None, :], xp.astype(degrees > 0, W.dtype)
    L = degrees[:, None] * xp.eye(K.shape[0], dtype=K.dtype, **device_kwargs(K)) - W
    return L, float(xp.max(degrees))


def _neighbors(K: Array, count: int) -> Array:
    """Ones for pairs of which one is among the `count` nearest of the other in feature space, else zero."""
    values = to_numpy(K)
    lengths = np.diagonal(values)
    distances = lengths[:, None] + lengths[None, :] - 2 * values
    np.fill_diagonal(distances, np.inf)
    count = min(count, len(values) - 1)
    joined = np.zeros(values.shape)
    if count > 0:
        np.put_along_axis(joined, np.argsort(distances, axis=1, kind="stable")[:, :count], 1.0, axis=1)
    return from_numpy(np.maximum(joined, joined.T), K)


def _require_positive(warped: Any, inner: Array) -> None:
    if warped.kernel.is_positive_semidefinite or inner.shape[0] == 0:
        return
    smallest = float(array_namespace(inner).linalg.eigvalsh(inner)[0])
    # With a semidefinite kernel no eigenvalue is below one; this close to zero the Cholesky factor is all rounding.
    if smallest <= semidefinite_tolerance(inner.dtype):
        raise UnsupportedKernelError(
            f"Warped needs a kernel that is positive semidefinite on its points; with {warped.kernel!r} the matrix "
            f"I + LK has the eigenvalue {smallest:.2g}. Iterated(kernel) is a positive semidefinite alternative."
        )


# Points up to which a graph is made of all data without asking: eigenvectors of 5,000 points take about a minute on one
# core, and a thousand times longer with ten times more.
MOST_POINTS = 5000


class Warped(OfOneKernel):
    r"""A kernel changed by a graph of points, such as unlabelled data, so that functions are smooth along it.

    Functions of the graph kernel [1]_ have the squared norm :math:`\|f\|^2 + \eta\, f_P^\top L f_P`: of the kernel k
    itself, plus how much they change between points of P that are neighbours. So

    .. math:: \tilde k(x, y) = k(x, y) - k_x^\top M k_y, \qquad M = (I + \eta L K)^{-1} \eta L,

    with :math:`k_x` the values of k with the points and K those among them; on the points
    :math:`\tilde K = (K^{-1} + \eta L)^{-1}`. With :math:`\eta = 0` it is k. M depends on the points alone, so the
    kernel is defined everywhere; its diagonal is not constant, even where that of k is.

    The graph costs m³ operations and two m × m matrices for m points, once per kernel.

    Parameters
    ----------
    kernel : Kernel
        The kernel k, positive semidefinite on the points.
    points : array of shape (m, d) or None, default=None
        The points of the graph; None takes the data on which the kernel is resolved, i.e. the training set, up to
        5,000 rows. Beyond, give some of them, such as the landmarks of `preimage.landmarks`.
    strength : float, default=1.0
        η ≥ 0. A combinatorial Laplacian grows with the number of points; scale by 1/m to compare sizes.
    laplacian : {"combinatorial", "normalized", "knn"}, array or sparse matrix (m, m), default="combinatorial"
        L = D − W with the degrees D on the diagonal. "combinatorial": edges W are the kernel values, of the paper
        [2]_; "normalized": :math:`I - D^{-1/2} W D^{-1/2}`; "knn": those edges alone that join a point with one of
        its nearest in feature space. Negative kernel values are no edges. An array is L itself, symmetric and
        positive semidefinite.
    n_neighbors : int, default=10
        Nearest points of the "knn" graph.
    power : float, default=1.0
        L to this power: higher ones punish fine structure more, coarse structure less.

    See Also
    --------
    preimage.SemiSupervisedKernelPCA : Components that labels and unlabelled points decide together.
    preimage.landmarks.KMeans : Few points for the graph of a large set.

    References
    ----------
    .. [1] V. Sindhwani, P. Niyogi, M. Belkin, "Beyond the point cloud: from transductive to semi-supervised
       learning", ICML 2005.
    .. [2] T. J. Hansen, T. J. Abrahamsen, L. K. Hansen, "Semi-supervised kernel PCA" and its use for denoising, 2013.
       Their (1) and (25) are corrected here.

    Examples
    --------
    Two pairs of points: neighbours get nearer to each other, in relation to their length.

    >>> import numpy as np
    >>> from preimage.kernels import Gaussian, Warped
    >>> X = np.array([[0.0], [0.5], [3.0], [3.5]])
    >>> kernel = Warped(Gaussian(1.0), strength=5.0).resolve(X)
    >>> cosine = lambda K: K[0, 1] / np.sqrt(K[0, 0] * K[1, 1])
    >>> bool(cosine(kernel(X)) > cosine(Gaussian(1.0)(X)))
    True
    """

    data_parameters = {"points": KeptRows()}
    _parameter_constraints = {
        "kernel": [Kernel],
        "points": ["array-like", "sparse matrix", object, None],
        "strength": [Interval(Real, 0, None, closed="left")],
        "laplacian": [StrOptions(set(LAPLACIANS)), "array-like", object],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "power": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        kernel: Kernel,
        points: Rows = None,
        *,
        strength: float = 1.0,
        laplacian: Any = "combinatorial",
        n_neighbors: int = 10,
        power: float = 1.0,
    ) -> None:
        self.kernel = kernel
        self.points = points
        self.strength = strength
        self.laplacian = laplacian
        self.n_neighbors = n_neighbors
        self.power = power

    def resolve(self, X: Array) -> Self:
        check_parameters(self)
        require_known(self.laplacian)
        if self.kernel.points_are_row_numbers:
            raise TypeError(
                "Warped needs kernel values with its points for any input, which a precomputed kernel lacks. Warp the "
                "matrix, K − K M K, and pass the result, or give Warped the kernel itself."
            )
        if self.points is None and X.shape[0] > MOST_POINTS:
            raise ValueError(
                f"Warped makes a graph of all {X.shape[0]:,} rows, which costs their third power; more than "
                f"{MOST_POINTS:,} it takes only if you say so. Give some of them as `points`, for instance "
                "AutoLandmarks(2000).select(kernel, X).points of preimage.landmarks, or points=X for all."
            )
        columns = () if self.points is None else np.shape(self.points)[1:]
        if columns and columns != tuple(X.shape[1:]):
            raise ValueError(f"Warped has points of {columns[0]} columns; the data have {X.shape[1]}.")
        # A resolved kernel stays itself: a copy would make the graph again.
        return self if self.is_resolved else super().resolve(X)

    def prepare(self, Y: Array) -> Prepared:
        return _PreparedWarp(self, Y)

    def diagonal(self, X: Array) -> Array:
        features = self._graph_features(X)
        return self.kernel.diagonal(X) - array_namespace(features).sum(features * features, axis=1)

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        form = self.unwarped(X)
        return self.kernel.gradient(Z, form.points, form.lift(weights))

    def diagonal_gradient(self, Z: Array) -> Array:
        weights = self._graph_features(Z) @ self._factor(Z)
        return self.kernel.diagonal_gradient(Z) - 2 * self.kernel.gradient(Z, self._graph_points(Z), weights)

    def unwarped(self, X: Array) -> "UnwarpedForm":
        """What vectors on X are under the kernel k itself, see `UnwarpedForm`; prepared for many evaluations."""
        factor, features = self._factor(X), self._graph_features(X)
        graph_points = self._graph_points(X)
        if graph_points is X:
            return UnwarpedForm(X, X.shape[0], factor, features)
        return UnwarpedForm(concat_rows(X, graph_points), X.shape[0], factor, features)

    def set_params(self, **parameters: Any) -> Self:
        self.__dict__.pop("_graph", None)
        return super().set_params(**parameters)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_graph"}

    def _graph_features(self, X: Array) -> Array:
        """G k_x for every row, shape (n, r): vectors whose inner products are subtracted from k."""
        if self._are_points(X) and X.dtype == self._graph.images.dtype:
            return self._graph.images
        factor, tile = self._factor(X), self.kernel.prepare(self._graph_points(X)).tiles(X)
        return map_rows(lambda rows: tile(rows, slice(None)) @ factor.T, range(X.shape[0]), device_of=X)

    def _factor(self, like: Array) -> Array:
        return to_device_of(self._graph.factor, like)

    def _graph_points(self, like: Array) -> Array:
        return like if self._are_points(like) else to_device_of(self.points, like)

    def _are_points(self, X: Array) -> bool:
        """Whether X are the points of the graph (the same array, or a copy), which saves half of the kernel values."""
        if X is self.points:
            return True
        if not isinstance(X, np.ndarray) or not isinstance(self.points, np.ndarray):
            return False
        return X.dtype == self.points.dtype and np.array_equal(X, self.points)

    @cached_property
    def _graph(self) -> Graph:
        if self.points is None:
            raise ValueError("Warped needs the points of its graph: give `points`, or call `resolve(X)` first.")
        points = self.points if hasattr(self.points, "dtype") else np.asarray(self.points, dtype=float)
        K = self.kernel(in_double(points))
        if not bool(array_namespace(K).all(array_namespace(K).isfinite(K))):
            raise ValueError(f"{self.kernel!r} gives NaN or infinite values on the points of Warped. Scale the data.")
        return Graph.of(self, K)


class _PreparedWarp(Prepared):
    """Values of the kernel itself with the points and with those of the graph."""

    def __init__(self, kernel: Warped, points: Array) -> None:
        self.kernel, self.points = kernel, points

    @cached_property
    def _form(self) -> "UnwarpedForm":
        return self.kernel.unwarped(self.points)

    @cached_property
    def _plain(self) -> Prepared:
        return self.kernel.kernel.prepare(self._form.points)

    def __call__(self, Z: Array, out: Array | None = None) -> Array:
        if Z is self.points:  # as symmetric as the kernel itself
            return super().__call__(Z, out)
        return written(self._form.warp(self._plain(Z)), out)

    def tiles(self, X: Array) -> Callable[..., Array]:
        plain = self.kernel.kernel.prepare(self.points).tiles(X)
        right = self.kernel._graph_features(self.points)
        left = right if X is self.points else self.kernel._graph_features(X)
        return lambda rows, columns, out=None: written(plain(rows, columns) - left[rows, :] @ right[columns, :].T, out)

    def with_gradient(self, Z: Array) -> tuple[Array, Callable[[Array], Array]]:
        values, contracted = self._plain.with_gradient(Z)
        return self._form.warp(values), lambda weights: contracted(self._form.lift(weights))


@dataclass(frozen=True)
class UnwarpedForm:
    """Vectors Σ wᵢ φ̃(xᵢ) in terms of the kernel that was warped.

    With the row k of plain kernel values between z and `points` (X, then the points of the graph where they are
    others), Σᵢ wᵢ k̃(z, xᵢ) = k·lift(w) and k̃(z, z) = k(z, z) − k·correction(k).

    Attributes
    ----------
    points : array of shape (l, d)
    count : int
        The first `count` points are X; the last m are those of the graph.
    factor : array of shape (r, m)
        G with M = GᵀG.
    features : array of shape (count, r)
        k(X, P) Gᵀ for the points P of the graph.
    """

    points: Array
    count: int
    factor: Array
    features: Array

    def warp(self, values: Array) -> Array:
        """k̃(Z, X) from k(Z, points)."""
        return values[:, : self.count] - values[:, self._first :] @ self._correction_of_X

    def lift(self, weights: Array) -> Array:
        """Coefficients on the points, shape (q, l), of those on X, (q, n)."""
        taken = weights @ self._correction_of_X.T
        if self._first == 0:
            return weights - taken
        return array_namespace(weights).concat([weights, -taken], axis=1)

    def correction(self, values: Array) -> Array:
        """M k on the points of the graph, and zero on the other points, shape (q, l)."""
        on_graph = values[:, self._first :] @ self._moment
        if self._first == 0:
            return on_graph
        xp = array_namespace(on_graph)
        zeros = xp.zeros((on_graph.shape[0], self._first), dtype=on_graph.dtype, **device_kwargs(on_graph))
        return xp.concat([zeros, on_graph], axis=1)

    def correction_rounding(self, values: Array) -> Array:
        """Σᵢⱼ |kᵢ Mᵢⱼ kⱼ|, or little more, to which rounding errors of k·correction(k) are proportional, shape (q,)."""
        values = values[:, self._first :]
        return (values * values) @ self._sizes  # |kᵢkⱼ| ≤ (kᵢ² + kⱼ²)/2

    @property
    def _first(self) -> int:
        """Number of points before those of the graph."""
        return self.points.shape[0] - self.factor.shape[1]

    @cached_property
    def _correction_of_X(self) -> Array:
        return self.factor.T @ self.features.T  # M k(P, X), (m, n)

    @cached_property
    def _moment(self) -> Array:
        return self.factor.T @ self.factor

    @cached_property
    def _sizes(self) -> Array:
        xp = array_namespace(self._moment)
        return xp.sum(xp.abs(self._moment), axis=1)
