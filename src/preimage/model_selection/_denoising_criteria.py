"""Estimated errors of a denoiser: functions of a subspace and a pre-image solver."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._arrays import array_namespace, from_numpy, to_numpy
from preimage._typing import Array
from preimage.feature_space import Subspace
from preimage.solvers import Preimage


def denoised(subspace: Subspace, solver: Preimage, X: Array) -> Array:
    return solver.inverse(subspace, subspace.coordinates(X), X).points


def mean_square(difference: Array) -> float:
    return float(array_namespace(difference).mean(difference * difference))


@dataclass
class AddedNoise:
    """The error on held-out clean rows with noise added."""

    clean: Any
    noisy: Any

    def __call__(self, subspace: Subspace, solver: Preimage) -> float:
        return mean_square(denoised(subspace, solver, self.noisy) - self.clean)


class SteinEstimate:
    """Stein's unbiased estimate of the error on held-out rows with Gaussian noise of known deviation."""

    def __init__(self, noisy: Array, deviation: float, rng: np.random.Generator) -> None:
        self.noisy = noisy
        self.variance = deviation**2
        self.probe = from_numpy(rng.choice([-1.0, 1.0], size=noisy.shape), noisy)
        # A finite difference of the size of the noise averages over kinks of the solver.
        self.step = 0.1 * max(deviation, 1e-8)

        self.moved = noisy + self.step * self.probe

    def __call__(self, subspace: Subspace, solver: Preimage) -> float:
        return self.of_outputs(denoised(subspace, solver, self.noisy), denoised(subspace, solver, self.moved))

    def of_outputs(self, here: Array, there: Array) -> float:
        """The estimate from the outputs for the noisy rows and for the moved ones."""
        xp = array_namespace(self.noisy)
        divergence = float(xp.mean(self.probe * (there - here))) / self.step  # per column
        return mean_square(here - self.noisy) - self.variance + 2 * self.variance * divergence


class JointStein:
    """Stein's estimate of the error on rows of the training set, whose noise is in the model.

    The divergence then has a second part: how the model changes with its rows. Both come from one more fit, to rows
    that were moved along the probe.

    Parameters
    ----------
    X : array of shape (n, d)
    rows : integer array
        Rows of X that judge.
    estimate : SteinEstimate
        For the same rows as if they were new, with the same probe: differences are then less random.
    """

    def __init__(self, X: Array, rows: Array, estimate: SteinEstimate) -> None:
        self.estimate = estimate
        moves = np.zeros(X.shape)
        moves[rows] = estimate.step * to_numpy(estimate.probe)
        self.moved_training_set = X + from_numpy(moves, X)

    def __call__(self, subspace: Subspace, moved_subspace: Subspace, solver: Preimage) -> float:
        return self.estimate.of_outputs(
            denoised(subspace, solver, self.estimate.noisy), denoised(moved_subspace, solver, self.estimate.moved)
        )


class MaskedColumns:
    """The error of predicting noisy columns that the denoiser does not see."""

    def __init__(self, noisy: Array, rest: Array, rng: np.random.Generator, groups: int = 8) -> None:
        xp = array_namespace(noisy)
        d = noisy.shape[1]
        self.noisy = noisy
        self.means = xp.mean(rest, axis=0)
        label = rng.permutation(d) % min(groups, max(d, 1))
        self.masks = [from_numpy((label == group).astype(float), noisy) for group in range(int(label.max()) + 1)]

    def __call__(self, subspace: Subspace, solver: Preimage) -> float:
        xp = array_namespace(self.noisy)
        total = 0.0
        for mask in self.masks:
            # Masked entries are hidden behind column means, and only they are compared: their noise is not in the
            # input.
            blinded = self.noisy * (1 - mask) + self.means * mask
            total += float(xp.sum((mask * (denoised(subspace, solver, blinded) - self.noisy)) ** 2))
        return total / (self.noisy.shape[0] * self.noisy.shape[1])
