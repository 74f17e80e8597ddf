"""Discriminants with few coefficients: the path of an L1 penalty."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path_gram

# Means that differ by less than this share of the deviation within classes do not differ.
SAME = 1e-12


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
        """Numbers of the coefficients that are nonzero where the path has most of them, but at most so many."""
        counts = np.where(self.n_nonzero <= n_nonzero, self.n_nonzero, 0)
        return np.flatnonzero(self.coefficients[:, counts.size - 1 - np.argmax(counts[::-1])])


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
        Stop when so many coefficients are nonzero.

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
    m = contrast.size
    if contrast @ contrast <= (SAME**2) * np.trace(noise):
        raise ValueError(
            "Two classes have the same mean in feature space, so no sparse discriminant tells them apart. Another "
            "kernel, or another width, may see a difference; sparsity=None predicts the more frequent class."
        )
    scales = 1 / np.sqrt(np.trace(noise) / m), 1 / np.max(np.abs(contrast))
    kappa = (scales[1] / scales[0]) ** 2
    gram = noise + kappa * np.outer(contrast, contrast)
    most = m if max_nonzero is None else min(m, max_nonzero)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the path ends before columns depend on each other
        limits, _, b = lars_path_gram(kappa * contrast, gram, n_samples=1, method="lasso", max_iter=8 * most)
    sums = contrast @ b
    steps = np.flatnonzero(sums > 1e-12)  # all but the first, where b = 0
    counts = np.count_nonzero(b[:, steps], axis=0)
    beyond = np.flatnonzero(counts > most)
    steps = steps[: beyond[0]] if beyond.size else steps
    coefficients = b[:, steps] / sums[steps]
    return SparseFisherPath(2 * limits[steps] / sums[steps], coefficients, np.count_nonzero(coefficients, axis=0))


def polished(noise, contrast, support):
    """The discriminant on the points of `support`, without the shrinkage of the L1 penalty; zeros elsewhere."""
    alpha = np.zeros(contrast.size)
    part = linalg.solve(noise[np.ix_(support, support)], contrast[support], assume_a="pos")
    alpha[support] = part / (contrast[support] @ part)
    return alpha
