"""What a pre-image solver takes and gives."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from preimage._arrays import array_namespace, concat_rows, take_rows, to_numpy
from preimage.solvers._blocks import target_parts
from preimage.solvers._starts import nearest_in_subspace

CONVERGED = "converged"
ITERATION_LIMIT = "iteration limit"
VANISHING = "vanishing kernel values"
# Of an objective without a minimum: the best point within the range of the data.
RESTRICTED = "objective unbounded; restricted to the range of the data"
DIRECT = "direct formula"
NOT_FINITE = "formula undefined"


@dataclass(frozen=True)
class PreimageResult:
    """Pre-images of q targets, and how they were found.

    Attributes
    ----------
    points : array of shape (q, d)
        The pre-images z.
    objective : array of shape (q,)
        ρ(z) = ‖φ(z) − Ψ‖² plus the penalty of the solver.
    n_iter : integer array of shape (q,)
        Iterations of each problem, in NumPy.
    converged : boolean array of shape (q,)
        Whether each problem met its stopping rule, in NumPy.
    reason : array of q strings
        Why each problem stopped, in NumPy.
    """

    points: Any
    objective: Any
    n_iter: Any
    converged: Any
    reason: Any

    @classmethod
    def join(cls, results):
        """One result from the results of consecutive blocks of targets."""
        if len(results) == 1:
            return results[0]
        return cls(
            concat_rows(*(result.points for result in results)),
            concat_rows(*(result.objective for result in results)),
            np.concatenate([result.n_iter for result in results]),
            np.concatenate([result.converged for result in results]),
            np.concatenate([result.reason for result in results]),
        )

    def take(self, rows):
        """The results of the problems with the given NumPy indices."""
        return PreimageResult(
            take_rows(self.points, rows),
            take_rows(self.objective, rows),
            self.n_iter[rows],
            self.converged[rows],
            self.reason[rows],
        )

    def replaced(self, rows, other):
        """This result with the problems `rows` taken from `other`."""
        size = len(self.reason)
        order = np.arange(size)
        order[rows] = size + np.arange(len(rows))
        return PreimageResult.join([self, other]).take(order)

    def better_of(self, other):
        """Problem by problem, the result with the smaller objective."""
        xp = array_namespace(self.points)
        mine = ~(other.objective < self.objective)  # also where the other one is not a number
        chosen = to_numpy(mine)
        pick = lambda a, b: np.where(chosen, a, b)
        return PreimageResult(
            xp.where(mine[:, None], self.points, other.points),
            xp.where(mine, self.objective, other.objective),
            self.n_iter + other.n_iter,
            pick(self.converged, other.converged),
            pick(self.reason, other.reason),
        )


def direct_result(points, objective):
    """The result of a closed formula."""
    finite = np.isfinite(to_numpy(points)).all(axis=1) & np.isfinite(to_numpy(objective))
    reason = np.where(finite, DIRECT, NOT_FINITE).astype(object)
    return PreimageResult(points, objective, np.zeros(len(reason), int), finite, reason)


class Preimage(BaseEstimator, ABC):
    """A way from points of a subspace of feature space back to inputs."""

    _parameter_constraints: dict = {}

    #: Whether `fit` looks at the training inputs.
    learns = False

    def fit(self, subspace, X):
        """The solver with what it learns from the training inputs X; itself when it learns nothing."""
        return self

    def ready(self, subspace, *, with_start):
        """The solver that answers for coordinates in `subspace`, with no more than that takes: copies of it travel."""
        return self

    def for_vectors(self, kernel):
        """The solver for vectors of feature space outside any subspace: itself, unless the kernel decides."""
        return self

    @abstractmethod
    def inverse(self, subspace, Y, start=None):
        """Inputs whose images are near the points of `subspace` with coordinates Y.

        Parameters
        ----------
        subspace : Subspace
        Y : array of shape (q, k)
        start : array of shape (q, d), optional
            Where to start, and what penalties pull towards: the noisy inputs, in denoising.

        Returns
        -------
        PreimageResult
        """


class TargetSolver(Preimage):
    """A solver for any target Ψ = Σ αᵢ φ(xᵢ), whether or not it lies in a subspace."""

    @abstractmethod
    def solve(self, target, start=None, anchor=None):
        """Inputs whose images are near the vectors of `target`, one problem per vector.

        Parameters
        ----------
        target : Expansion of q vectors
        start : array of shape (q, d), optional
            Defaults to the point of `target` with the smallest distance ρ.
        anchor : array of shape (q, d), optional
            What penalties pull towards; the start, by default.

        Returns
        -------
        PreimageResult
        """

    def inverse(self, subspace, Y, start=None):
        start = nearest_in_subspace(subspace, Y) if start is None else start
        # Targets have as many coefficients as there are training points: not all of them at once.
        parts = target_parts(Y, subspace.frame.points)
        return PreimageResult.join([self.solve(subspace.embed(Y[part, :]), start[part, :]) for part in parts])
