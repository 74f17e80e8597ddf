"""Estimated errors of a denoiser: functions of a subspace and a pre-image solver."""

from dataclasses import dataclass
from typing import Any

from preimage._arrays import array_namespace, from_numpy


def denoised(subspace, solver, X):
    return solver.inverse(subspace, subspace.coordinates(X), X).points


def mean_square(difference):
    return float(array_namespace(difference).mean(difference * difference))


@dataclass
class AddedNoise:
    """The error on held-out clean rows with noise added."""

    clean: Any
    noisy: Any

    def __call__(self, subspace, solver):
        return mean_square(denoised(subspace, solver, self.noisy) - self.clean)


class SteinEstimate:
    """Stein's unbiased estimate of the error on held-out rows with Gaussian noise of known deviation."""

    def __init__(self, noisy, deviation, rng):
        self.noisy = noisy
        self.variance = deviation**2
        self.probe = from_numpy(rng.choice([-1.0, 1.0], size=noisy.shape), noisy)
        # A finite difference of the size of the noise averages over kinks of the solver.
        self.step = 0.1 * max(deviation, 1e-8)

    def __call__(self, subspace, solver):
        xp = array_namespace(self.noisy)
        here = denoised(subspace, solver, self.noisy)
        there = denoised(subspace, solver, self.noisy + self.step * self.probe)
        divergence = float(xp.mean(self.probe * (there - here))) / self.step  # a column
        return mean_square(here - self.noisy) - self.variance + 2 * self.variance * divergence


class MaskedColumns:
    """The error of predicting noisy columns that the denoiser does not see."""

    def __init__(self, noisy, rest, rng, groups=8):
        xp = array_namespace(noisy)
        d = noisy.shape[1]
        self.noisy = noisy
        self.means = xp.mean(rest, axis=0)
        label = rng.permutation(d) % min(groups, max(d, 1))
        self.masks = [from_numpy((label == group).astype(float), noisy) for group in range(int(label.max()) + 1)]

    def __call__(self, subspace, solver):
        xp = array_namespace(self.noisy)
        total = 0.0
        for mask in self.masks:
            blinded = self.noisy * (1 - mask) + self.means * mask
            total += float(xp.sum((mask * (denoised(subspace, solver, blinded) - self.noisy)) ** 2))
        return total / (self.noisy.shape[0] * self.noisy.shape[1])
