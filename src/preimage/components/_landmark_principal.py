"""Kernel PCA on landmarks: one pass over the data, then a problem of the size of the landmarks."""

from preimage._arrays import (
    array_namespace,
    epsilon,
    in_double,
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
from preimage._warnings import warn_user
from preimage.components._principal import PrincipalSubspace, kept_of, padded, wanted_count, zeros_wanted
from preimage.eigensolvers._eigensolver import EigenResult
from preimage.exceptions import RankWarning
from preimage.feature_space import Expansion, Gram, Subspace


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
