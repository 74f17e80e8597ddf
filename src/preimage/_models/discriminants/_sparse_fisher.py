"""Discriminants with few coefficients: the path of an L1 penalty."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from warnings import catch_warnings

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram

from preimage._engine.finite import refuse_overflowing_fit
from preimage._engine.typing import Array
from preimage._engine.warnings import filters_in_use, warn_user
from preimage._models.discriminants._scatter_fisher import ScatterFisher

# Class means that differ by less than this fraction of the deviation within classes are equal up to rounding.
SAME = 1e-12
# Size of the linear term of the Lasso, whose quadratic term has diagonal entries around one. Least angle regression
# ends at a penalty of 1e-7, which is then 1e-10 of the first one. With 1 it would end before small ridges matter, with
# 1e6 it would follow rounding errors.
LENGTH = 1e3
# Coefficients on a path that count as zero, as a fraction of the largest at the same penalty: a thousand ε.
ROUNDING = 1e-12
# Relative differences that give equally good points an order: above rounding errors, and too small to matter.
TIES = 1e-10
# A path that ends above this fraction of its first penalty was broken off by rounding errors. Complete paths end at
# 1e-10; ten times larger, paths that lack their last few coefficients would pass without a warning.
END = 1e-5
# Steps of least angle regression for each coefficient, and in addition: coefficients leave the path and come back.
STEPS_PER_COEFFICIENT, MORE_STEPS = 4, 16


@dataclass(frozen=True)
class SparseFisherPath:
    r"""Solutions of (F7): :math:`\alpha^\top N_\mu \alpha + \lambda \|\alpha\|_1 \to \min`, :math:`\alpha^\top\mu = 1`.

    Attributes
    ----------
    penalties : array of shape (s,)
        λ where the set of nonzero coefficients changes, descending.
    coefficients : array of shape (m, s)
        α at each of them.
    n_nonzero : integer array of shape (s,)
    """

    penalties: Array
    coefficients: Array
    n_nonzero: Array

    def at(self, penalty: float) -> Array:
        """α for a given λ: exact between changes; beyond the end of the path, its last solution."""
        if penalty >= self.penalties[0]:
            return self.coefficients[:, 0]
        after = int(np.searchsorted(-self.penalties, -penalty))
        if after == self.penalties.size:
            return self.coefficients[:, -1]
        # With b = tα, a = λt/2 the path is linear in (a, b), so α is a weighted mean of its neighbours. The weight
        # follows because λ is the same mean of its own neighbours. See `sparse_fisher_path`.
        (left, right), A = self.penalties[after - 1 : after + 1], self.coefficients[:, after - 1 : after + 1]
        fraction = (left - penalty) / (left - right)
        return A @ np.array([1 - fraction, fraction])

    def support(self, n_nonzero: int) -> Array:
        """Indices of the nonzero coefficients where the path has most of them, but at most `n_nonzero`.

        Where several become nonzero at the same penalty and all of them would be too many, the largest are taken.
        """
        counts = np.where(self.n_nonzero <= n_nonzero, self.n_nonzero, 0)
        last = counts.size - 1 - int(np.argmax(counts[::-1]))
        beyond = np.flatnonzero(self.n_nonzero > n_nonzero)
        sizes = np.abs(self.coefficients[:, beyond[0]]) if beyond.size else np.zeros(len(self.coefficients))
        sizes = np.where((counts[last] > 0) & (self.coefficients[:, last] != 0), np.inf, sizes)
        order = np.argsort(-sizes, kind="stable")[:n_nonzero]
        return np.sort(order[sizes[order] > 0])

    def on(self, indices: Array, m: int) -> "SparseFisherPath":
        """The same path with coefficients of m points, zero for those that are not among `indices`."""
        coefficients = np.zeros((m, self.coefficients.shape[1]))
        coefficients[indices] = self.coefficients
        return SparseFisherPath(self.penalties, coefficients, self.n_nonzero)


def sparse_fisher_path(noise: Array, contrast: Array, max_nonzero: int | None = None) -> SparseFisherPath:
    r"""The path of sparse discriminants between two classes, from one coefficient to all.

    With the regularised scatter :math:`N_\mu` and the difference of class means :math:`\mu`, the optimality conditions
    of (F7) are those of the Lasso
    :math:`\frac12 b^\top (N_\mu + \kappa \mu \mu^\top) b - \kappa \mu^\top b + a \|b\|_1` with :math:`b = t \alpha`,
    :math:`t = b^\top \mu`, :math:`\lambda = 2 a / t`. Least angle regression therefore gives the whole path exactly, in
    the time of a few factorisations.

    Parameters
    ----------
    noise : array of shape (m, m)
        N_μ, positive definite.
    contrast : array of shape (m,)
        μ.
    max_nonzero : int or None, default=None
        Stop when more coefficients than that are nonzero.

    Returns
    -------
    SparseFisherPath

    Examples
    --------
    >>> import numpy as np
    >>> from preimage._models.discriminants._sparse_fisher import sparse_fisher_path
    >>> path = sparse_fisher_path(np.diag([1.0, 2.0]), np.array([2.0, 1.0]))
    >>> path.n_nonzero, path.coefficients[:, 0]
    (array([1, 2]), array([0.5, 0. ]))
    """
    for values in (noise, contrast):
        refuse_overflowing_fit("scatter of kernel values", values)
    if contrast @ contrast <= (SAME**2) * np.trace(noise):
        raise ValueError(
            "Two classes have the same mean in feature space, so no sparse discriminant tells them apart. Another "
            "kernel, or another width, may see a difference; sparsity=None predicts the more frequent class."
        )
    most = contrast.size if max_nonzero is None else min(contrast.size, max_nonzero)
    # Tolerances of least angle regression are absolute, so the quadratic term gets diagonal entries around one, and
    # the linear term a size that puts the absolute end of the path, ε of single precision, far below what matters.
    scale, size = np.trace(noise) / contrast.size, np.max(np.abs(contrast))
    direction = contrast / size
    # Points that are equally good would join the path together, with no solution between one of them and all.
    ordered = direction * (1 - TIES * np.arange(contrast.size) / contrast.size)
    limits, b = _least_angles(noise / scale + np.outer(direction, direction), LENGTH * ordered, most)
    sums = direction @ b
    # All but the first step, where b = 0. Equally good points enter one by one at one penalty, with b near zero.
    steps = np.flatnonzero(sums > 0)
    counts = np.count_nonzero(b[:, steps], axis=0)
    beyond = np.flatnonzero(counts > most)
    steps = steps[: beyond[0] + 1] if beyond.size else steps
    if not beyond.size and limits[-1] > END * limits[0]:
        warn_user(
            f"The path of sparse discriminants ended early, at {limits[-1] / limits[0]:.1g} of its first penalty and "
            f"with {counts[-1] if counts.size else 0} of {most} coefficients: images of the points depend on each "
            "other up to rounding. A larger alpha, a narrower kernel or fewer points may help.",
            ConvergenceWarning,
        )
    coefficients = b[:, steps] / (size * sums[steps])
    # λ = 2a/t descends along the path; at its end, rounding errors of t may hide that.
    penalties = np.minimum.accumulate(2 * scale * limits[steps] / (size * sums[steps]))
    return SparseFisherPath(penalties, coefficients, np.count_nonzero(coefficients, axis=0))


def _least_angles(gram: Array, products: Array, most: int) -> tuple[Array, Array]:
    """Penalties and solutions of the Lasso, at least until more than `most` coefficients are nonzero."""
    n_steps = STEPS_PER_COEFFICIENT * most + MORE_STEPS
    while True:
        # The last penalty tells whether the path came to its end.
        with filters_in_use, catch_warnings(action="ignore", category=ConvergenceWarning):
            limits, _, b = lars_path_gram(products, gram, n_samples=1, method="lasso", max_iter=n_steps)
        # A coefficient that reaches zero again is left with a rounding error.
        b = np.where(np.abs(b) <= ROUNDING * np.abs(b).max(axis=0), 0.0, b)
        if len(limits) <= n_steps or np.any(np.count_nonzero(b, axis=0) > most):
            return limits, b
        n_steps *= 2


def polished(noise: Array, contrast: Array, support: Array) -> Array:
    """The discriminant on the points of `support` without the shrinkage of the L1 penalty; zero elsewhere."""
    alpha = np.zeros(contrast.size)
    if support.size == 0:
        return alpha
    part = linalg.solve(noise[np.ix_(support, support)], contrast[support], assume_a="pos")
    alpha[support] = part / (contrast[support] @ part)
    return alpha


def sparse_paths(
    problem: ScatterFisher, ridge: float, max_nonzero: int | None = None
) -> Iterator[tuple[SparseFisherPath, Array, Array, Array]]:
    """Paths of sparse discriminants of two classes, or of each class against the rest.

    Points with the same image share one coefficient, that of the first of them; the others stay at zero. Least angle
    regression would otherwise spend its coefficients on copies, and stop where it cannot tell them apart.

    Yields
    ------
    path : SparseFisherPath on distinct points
    noise : array of shape (u, u)
    contrast : array of shape (u,)
    first : integer array of shape (u,)
        Indices of the distinct points.
    """
    n_classes, counts = problem.n_classes, problem.moments.counts
    noise_within, means, between, first = problem.on_distinct_points(ridge)
    for c in [1] if n_classes == 2 else range(n_classes):
        rest = np.arange(n_classes) != c
        if counts[c] == 0 or not counts[rest].any():  # a fold, or the beginning of a stream, without the class
            nothing = np.zeros((first.size, 1))
            yield SparseFisherPath(np.zeros(1), nothing, np.zeros(1, dtype=int)), noise_within, nothing[:, 0], first
            continue
        contrast = means[c] - counts[rest] @ means[rest] / counts[rest].sum()
        noise = noise_within
        if n_classes > 2:  # differences between the other classes count as scatter within the rest
            factor = counts[c] * counts[rest].sum() / counts.sum()
            noise = noise_within + between @ between.T - factor * np.outer(contrast, contrast)
        yield sparse_fisher_path(noise, contrast, max_nonzero), noise, contrast, first


def sparse_discriminants(problem: ScatterFisher, ridge: float, sparsity: float) -> Array:
    """Coefficients (m, k) of sparse discriminants.

    An integer `sparsity` is the largest number of nonzero coefficients, solved for without the penalty; a float is λ.
    """
    by_count = isinstance(sparsity, Integral)
    columns = []
    for path, noise, contrast, first in sparse_paths(problem, ridge, int(sparsity) if by_count else None):
        column = np.zeros(problem.coordinates.gram.shape[0])
        column[first] = polished(noise, contrast, path.support(int(sparsity))) if by_count else path.at(sparsity)
        columns.append(column)
    return np.column_stack(columns)
