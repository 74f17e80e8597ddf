"""Kernel PCA on landmarks: one pass over the data, then a problem of the size of the landmarks."""

from dataclasses import dataclass, replace
from typing import Any

from preimage._arrays import (
    array_namespace,
    as_points,
    concat_rows,
    device_kwargs,
    epsilon,
    from_numpy,
    in_double,
    is_host,
    is_lazy,
)
from preimage._linalg import (
    determined_count,
    fix_signs,
    no_variance,
    numerical_rank,
    require_variance,
    top_eigh,
    whitening_factor,
)
from preimage._rows import cut, sum_rows
from preimage._validation import check_finite_block
from preimage._warnings import warn_user
from preimage.components._principal import PrincipalSubspace, kept_of, padded, wanted_count, zeros_wanted
from preimage.eigensolvers._eigensolver import EigenResult
from preimage.exceptions import RankWarning
from preimage.feature_space import Expansion, Gram, Moments, Subspace
from preimage.kernels import Kernel

# Rows whose kernel values are summed together: enough that adding up m × m matrices costs little beside making them.
BLOCK = 4096
# Rows whose kernel values are computed together: they stay in the cache with the points.
TILE = 256


@dataclass(frozen=True)
class KernelMoments:
    """Moments of the vectors k_P(x) = (k(p₁, x), …, k(p_m, x)) over data, and the sum of k(x, x).

    All that kernel PCA on the landmarks P needs to know of the data; `a + b` are the moments of both sets of data.
    Sums are in double precision whatever that of the data: they are divided by small eigenvalues later.
    """

    kernel: Kernel
    points: Any
    values: Moments
    trace: float

    @classmethod
    def of(cls, kernel, points, X, *, weights=None, to_home=None):
        """One pass over X: an array, a memory map, a Dask array.

        Parameters
        ----------
        kernel : Kernel
        points : array of shape (m, d)
            The landmarks, on the device where the work is done.
        X : array of shape (n, d)
        weights : NumPy array of shape (n,), optional
            How often each row counts; once by default.
        to_home : callable, optional
            Brings a block of rows of X to that device.
        """
        values_of = kernel.against(points)
        checked = (lambda rows: check_finite_block("KernelPCA", as_points(rows))) if is_lazy(X) else (lambda rows: rows)
        bring = checked if to_home is None else (lambda rows: to_home(checked(rows)))
        block = lambda rows, weights: _BlockSums.of(kernel, values_of, bring(rows), weights)
        sums = sum_rows(block, X, weights, rows=BLOCK if to_home is None else 8 * BLOCK, device_of=points)
        xp = array_namespace(sums.values.mean)
        if not bool(xp.all(xp.isfinite(sums.values.mean))):
            raise ValueError(
                "Input X contains NaN or infinity, or values so large that the kernel overflows. Impute or drop such "
                "rows, and scale the data."
            )
        return cls(kernel, points, sums.values, sums.trace)

    def __add__(self, other):
        return replace(self, values=self.values + other.values, trace=self.trace + other.trace)

    def extended(self, points):
        """The moments on more landmarks, as if no datum so far had a part along the new ones alone."""
        xp = array_namespace(self.values.mean)
        gram = in_double(Gram(self.kernel, self.points).dense())
        cross = in_double(self.kernel(self.points, points))
        factor = whitening_factor(gram, self.kernel.value_type(self.points))
        old = xp.eye(gram.shape[0], dtype=gram.dtype, **device_kwargs(gram))
        A = xp.concat([old, factor @ (factor.T @ cross)], axis=1)  # k̃_P'(x) = k_P(x) A
        values = Moments(self.values.count, self.values.mean @ A, A.T @ self.values.scatter @ A)
        return KernelMoments(self.kernel, concat_rows(self.points, points), values, self.trace)


@dataclass(frozen=True)
class _BlockSums:
    values: Moments
    trace: float

    @classmethod
    def of(cls, kernel, values_of, rows, weights=None):
        rows = rows if kernel.points_are_row_numbers else as_points(rows)
        if weights is not None:
            return cls._weighted(kernel, in_double(values_of(rows)), rows, weights)
        first, *others = cut(rows.shape[0], TILE if is_host(rows) else max(1, rows.shape[0]))
        tile = in_double(values_of(rows[first, :]))
        xp = array_namespace(tile)
        shift = xp.mean(tile, axis=0)
        # Shifted while a tile is in the cache: a centred copy of the whole block would cost a third of its product.
        values = xp.empty((rows.shape[0], tile.shape[1]), dtype=tile.dtype, **device_kwargs(tile))
        values[first, :] = tile - shift
        for part in others:
            values[part, :] = in_double(values_of(rows[part, :])) - shift
        return cls(Moments.about(shift, values), float(xp.sum(in_double(kernel.diagonal(rows)))))

    @classmethod
    def _weighted(cls, kernel, values, rows, weights):
        xp = array_namespace(values)
        weights = from_numpy(weights, values)
        if not bool(xp.any(weights > 0)):
            zero = xp.zeros_like(values[0, :])
            return cls(Moments(0.0, zero, zero[:, None] * zero), 0.0)
        return cls(Moments.of(values, weights), float(xp.sum(weights * in_double(kernel.diagonal(rows)))))

    def __add__(self, other):
        if self.values.count == 0 or other.values.count == 0:  # a block without weight has no mean to merge
            return self if other.values.count == 0 else other
        return _BlockSums(self.values + other.values, self.trace + other.trace)


def landmark_subspace(moments, n_components, *, with_zeros=False):
    """Kernel PCA restricted to the span of the images of landmarks, from `KernelMoments`.

    With an orthonormal frame F of the span, Fᵀ W F = I, coordinates of data are Fᵀ k_P(x); the leading eigenvectors of
    their scatter are the axes (S16). Equal to kernel PCA with the kernel K̃ of the landmarks. Zeros stand for what a
    number of components asks beyond that, where they are wanted (`padded`).

    Returns
    -------
    PrincipalSubspace
    """
    kernel, points = moments.kernel, moments.points
    dtype = kernel.value_type(points)
    gram = in_double(Gram(kernel, points).dense())
    xp = array_namespace(gram)
    factor = whitening_factor(gram, dtype)
    mean, count = factor.T @ moments.values.mean, moments.values.count
    scatter = factor.T @ moments.values.scatter @ factor
    values, vectors = top_eigh(scatter, min(n_components, scatter.shape[0]) if isinstance(n_components, int) else None)
    inside = float(xp.linalg.trace(scatter))
    total = max(moments.trace - count * float(mean @ mean), inside)
    coefficients = factor @ vectors
    deviations = xp.sqrt(xp.clip(values, min=0.0) / count)
    # Coordinates are sums of kernel values times coefficients, and have the rounding errors of these.
    lengths = xp.sqrt(xp.sum(coefficients * coefficients, axis=0))
    rounding = epsilon(dtype) * float(xp.max(xp.abs(gram))) * lengths
    require_variance(kernel, float(values[0]), abs(moments.trace), values.dtype)
    if 3 * float(rounding[0]) > float(deviations[0]):  # a third of the spread along the first is rounding
        raise no_variance(kernel)
    exact = determined_count(rounding, deviations, dtype)
    residual = max(0.0, moments.trace - count * float(mean @ mean) - inside)
    keep = _kept(values, exact, n_components, total, moments, with_zeros)
    values, vectors, coefficients = values[:keep], vectors[:, :keep], coefficients[:, :keep]
    signs = fix_signs(gram @ coefficients - vectors.T @ mean)  # by coordinates, as in the exact route
    narrow = lambda array: xp.astype(array, dtype, copy=False)
    frame = Expansion(kernel, points, narrow(coefficients * signs))
    subspace = Subspace(
        frame,
        Expansion(kernel, points, narrow(factor @ mean)[:, None]),
        offset=narrow((vectors * signs).T @ mean),
        origin_squared_norm=float(mean @ mean),
    )
    report = EigenResult(values, None, None, xp.zeros_like(values), True, points.shape[0], "dense")
    result = PrincipalSubspace(subspace, narrow(values), None, total, count, report, residual)
    return padded(result, n_components) if zeros_wanted(n_components, with_zeros) else result


def _kept(values, exact, n_components, total, moments, with_zeros):
    n_points = moments.points.shape[0]
    # At least one: where rounding errors show in the first there is no better.
    rank = max(1, min(exact, numerical_rank(values, n_points, abs(moments.trace))))
    wanted = wanted_count(values, n_components, total)
    if isinstance(n_components, int) and rank < wanted:
        warn_user(
            f"{n_components} components were asked for, but {n_points} landmarks hold only {rank} with a variance "
            f"above rounding errors; {kept_of(rank, with_zeros)}. More landmarks, or another kernel width, give more.",
            RankWarning,
        )
    keep = min(rank, wanted)
    xp = array_namespace(values)
    reached = float(xp.sum(values[:keep])) / total
    if isinstance(n_components, float) and reached < n_components * (1 - 1e-9):
        warn_user(
            f"{n_components:.0%} of the variance were asked for; the {n_points} landmarks hold {reached:.0%}. More "
            "landmarks hold more.",
            RankWarning,
        )
    return keep
