"""Discriminants with few coefficients: the path of an L1 penalty."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram

from preimage._warnings import warn_user

# Means that differ by less than this share of the deviation within classes do not differ.
SAME = 1e-12
# Size of the linear term of the Lasso, whose quadratic term has diagonal entries around one. Least angle regression
# ends at a penalty of 1e-7, which is then 1e-10 of the first one. With 1 it would end before small ridges matter, with
# 1e6 it would follow rounding errors.
LENGTH = 1e3
# Coefficients on a path that count as zero, as a fraction of the largest beside them.
ROUNDING = 1e-12
# Relative differences that order points which are equally good: above rounding errors, and too small to matter.
TIES = 1e-10
# A path that ends above this fraction of its first penalty was broken off.
END = 1e-5


@dataclass(frozen=True)
class SparseFisherPath:
    r"""Solutions of :math:`\alpha^\top N_\mu \alpha + \lambda \|\alpha\|_1 \to \min`, :math:`\alpha^\top \mu = 1`.

    Attributes
    ----------
    penalties : array of shape (s,)
        λ where the set of nonzero coefficients changes, falling.
    coefficients : array of shape (m, s)
        α at each of them.
    n_nonzero : integer array of shape (s,)
    """

    penalties: Any
    coefficients: Any
    n_nonzero: Any

    def at(self, penalty):
        """α for a given λ; between changes it is found exactly, beyond the path its end is returned."""
        if penalty >= self.penalties[0]:
            return self.coefficients[:, 0]
        after = int(np.searchsorted(-self.penalties, -penalty))
        if after == self.penalties.size:
            return self.coefficients[:, -1]
        # With b = tα, a = λt/2 the path is linear in (a, b), hence α is a mean of its neighbours; its weight follows
        # from λ being the same mean. See `sparse_fisher_path`.
        (left, right), A = self.penalties[after - 1 : after + 1], self.coefficients[:, after - 1 : after + 1]
        share = (left - penalty) / (left - right)
        return A @ np.array([1 - share, share])

    def support(self, n_nonzero):
        """Numbers of the coefficients that are nonzero where the path has most of them, but at most so many.

        Where several come at the same penalty, which would be too many, the largest of them fill the number up.
        """
        counts = np.where(self.n_nonzero <= n_nonzero, self.n_nonzero, 0)
        last = counts.size - 1 - int(np.argmax(counts[::-1]))
        beyond = np.flatnonzero(self.n_nonzero > n_nonzero)
        sizes = np.abs(self.coefficients[:, beyond[0]]) if beyond.size else np.zeros(len(self.coefficients))
        sizes = np.where((counts[last] > 0) & (self.coefficients[:, last] != 0), np.inf, sizes)
        order = np.argsort(-sizes, kind="stable")[:n_nonzero]
        return np.sort(order[sizes[order] > 0])

    def on(self, numbers, m):
        """The same path among m points, of which it has those with the given numbers."""
        coefficients = np.zeros((m, self.coefficients.shape[1]))
        coefficients[numbers] = self.coefficients
        return SparseFisherPath(self.penalties, coefficients, self.n_nonzero)


def sparse_fisher_path(noise, contrast, max_nonzero=None):
    r"""The path of sparse discriminants between two classes, from one coefficient to all.

    With the regularised scatter :math:`N_\mu` and the difference of class means :math:`\mu`, the optimality conditions
    are those of the Lasso :math:`\frac12 b^\top (N_\mu + \kappa \mu \mu^\top) b - \kappa \mu^\top b + a \|b\|_1` with
    :math:`b = t \alpha`, :math:`t = b^\top \mu`, :math:`\lambda = 2 a / t`. So the whole path comes from least angle
    regression, exactly and in time of a few factorisations.

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
    >>> from preimage.discriminants import sparse_fisher_path
    >>> path = sparse_fisher_path(np.diag([1.0, 2.0]), np.array([2.0, 1.0]))
    >>> path.n_nonzero, path.coefficients[:, 0]
    (array([1, 2]), array([0.5, 0. ]))
    """
    if contrast @ contrast <= (SAME**2) * np.trace(noise):
        raise ValueError(
            "Two classes have the same mean in feature space, so no sparse discriminant tells them apart. Another "
            "kernel, or another width, may see a difference; sparsity=None predicts the more frequent class."
        )
    most = contrast.size if max_nonzero is None else min(contrast.size, max_nonzero)
    # Tolerances of least angle regression are absolute, so the quadratic term gets diagonal entries around one, and
    # the linear one a size that puts the absolute end of the path, ε of single precision, far below what matters.
    scale, size = np.trace(noise) / contrast.size, np.max(np.abs(contrast))
    direction = contrast / size
    # Points that are equally good would join the path together, with no solution between one of them and all.
    ordered = direction * (1 - TIES * np.arange(contrast.size) / contrast.size)
    limits, b = _least_angles(noise / scale + np.outer(direction, direction), LENGTH * ordered, most)
    sums = direction @ b
    # All but the first, where b = 0. Points that are equally good come one by one at one penalty, with b near zero.
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
    penalties = 2 * scale * limits[steps] / (size * sums[steps])
    return SparseFisherPath(penalties, coefficients, np.count_nonzero(coefficients, axis=0))


def _least_angles(gram, products, most):
    """Penalties and solutions of the Lasso, at least until more than `most` coefficients are nonzero."""
    n_steps = 4 * most + 16  # coefficients come and go
    while True:
        with warnings.catch_warnings():
            # Whether the path came to its end is seen from its last penalty.
            warnings.simplefilter("ignore", ConvergenceWarning)
            limits, _, b = lars_path_gram(products, gram, n_samples=1, method="lasso", max_iter=n_steps)
        # Where a coefficient reaches zero again it is a rounding error there.
        b = np.where(np.abs(b) <= ROUNDING * np.abs(b).max(axis=0), 0.0, b)
        if len(limits) <= n_steps or np.any(np.count_nonzero(b, axis=0) > most):
            return limits, b
        n_steps *= 2


def polished(noise, contrast, support):
    """The discriminant on the points of `support`, without the shrinkage of the L1 penalty; zeros elsewhere."""
    alpha = np.zeros(contrast.size)
    part = linalg.solve(noise[np.ix_(support, support)], contrast[support], assume_a="pos")
    alpha[support] = part / (contrast[support] @ part)
    return alpha
