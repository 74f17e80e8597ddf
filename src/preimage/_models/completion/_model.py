"""Probabilistic kernel PCA: a principal subspace, variances along it, and noise around it."""

from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import array_namespace, to_numpy
from preimage._engine.linalg import rank_tolerance
from preimage._engine.memory import memory_budget
from preimage._engine.typing import Array
from preimage._engine.warnings import ignored
from preimage._models.completion._energy import SubspaceEnergy
from preimage._models.components import (
    PrincipalSubspace,
    Wanted,
    landmark_subspace,
    principal_subspace,
    select_landmarks,
)
from preimage.eigensolvers import EigenResult
from preimage.eigensolvers._names import EigenOptions
from preimage.exceptions import RankWarning
from preimage.feature_space import Expansion, Gram, KernelMoments, Subspace, require_finite
from preimage.kernels import Kernel
from preimage.landmarks import LandmarkSelector

DEFAULT_OPTIONS = EigenOptions()


@dataclass(frozen=True)
class NoisySubspace:
    """A principal subspace with the variances λ of its axes, and the variance σ² of the noise along all others.

    Attributes
    ----------
    principal : PrincipalSubspace
    noise : float
        σ² ≥ 0. Zero makes the energy the squared distance to the subspace.
    """

    principal: PrincipalSubspace
    noise: float

    @classmethod
    def of(cls, principal: PrincipalSubspace, noise: float | None) -> "NoisySubspace":
        """With noise of the given fraction of the variance in feature space, or of the most likely variance for None.

        That is the mean of the eigenvalues that are left out, as in probabilistic PCA: of n points in feature space
        there are n − 1, of which the subspace has k.
        """
        variance = principal.total / principal.count
        if noise is not None:
            return cls(principal, noise * variance)
        explained = float(array_namespace(principal.eigenvalues).sum(principal.eigenvalues)) / principal.count
        n_left = max(1.0, principal.count - 1 - principal.eigenvalues.shape[0])
        left = variance - explained
        # Where the subspace has all of the variance, rounding errors would be noise in one round and none in the next.
        if left <= rank_tolerance(int(principal.count), principal.eigenvalues.dtype) * variance:
            left = 0.0
        return cls(principal, left / n_left)

    @property
    def energy(self) -> SubspaceEnergy:
        """The energy of an input, see `SubspaceEnergy`."""
        return noisy_energy(self.principal.subspace, self.principal.variances, self.noise)

    def objective(self) -> float:
        r"""What fits and fillings lower together, at the rows that the subspace was fitted to.

        Minus twice the logarithm of the likelihood, per row and up to a constant,
        :math:`\sum_{i \le k} \log\lambda_i + (n - 1 - k) \log\sigma^2 + \frac{1}{n\sigma^2} \sum_j E(z_j)`; without
        noise the mean of the energies.
        """
        variances = to_numpy(self.principal.variances)
        kept = variances[variances > self.noise]
        # The energies of these rows add up to the variance less the weighted variances along the axes.
        mean = self.principal.total / self.principal.count - float(np.sum(kept - self.noise))
        if not self.noise:
            return mean
        n_left = self.principal.count - 1 - kept.size
        return float(np.sum(np.log(kept))) + n_left * float(np.log(self.noise)) + mean / self.noise


def noisy_energy(subspace: Subspace, variances: Array, noise: float) -> SubspaceEnergy:
    """The energy with weights 1 − σ²/λ, without the axes that have no more variance λ than the noise σ² has.

    Variances are in descending order.
    """
    if not noise:
        return SubspaceEnergy(subspace)
    n_signals = int(np.sum(to_numpy(variances) > noise))
    return SubspaceEnergy(subspace.leading(n_signals), 1 - noise / variances[:n_signals])


@dataclass(frozen=True)
class SubspaceFit:
    """How a subspace is fitted to rows that are complete: the kernel, how many components, which noise, which points.

    Attributes
    ----------
    kernel : Kernel
        With all parameters resolved.
    wanted : Wanted
    noise : float or None
        As in `NoisySubspace.of`.
    selector : LandmarkSelector or None
        Chooses points whose images span the space of the axes; None uses all rows.
    options : EigenOptions
    seed : int
    noise_variance : float or None
        σ² itself, whatever the fraction would be; None is no other than that.
    """

    kernel: Kernel
    wanted: Wanted
    noise: float | None
    selector: LandmarkSelector | None = None
    options: EigenOptions = DEFAULT_OPTIONS
    seed: int = 0
    noise_variance: float | None = None

    def __call__(self, Z: Array) -> NoisySubspace:
        return self.on(self.landmarks(Z), Z)

    def landmarks(self, Z: Array) -> Array | None:
        """Landmarks among the rows of Z; None where all rows are used, or are equal."""
        if self.selector is None or _are_equal(Z):
            return None
        return select_landmarks(self.selector, self.kernel, Z, np.random.default_rng(self.seed)).points

    def on(self, landmarks: Array | None, Z: Array) -> NoisySubspace:
        """The subspace of rows Z on landmarks that were chosen before."""
        return self._exact(Z) if landmarks is None else self._on_landmarks(Z, landmarks)

    def rough(self, fraction: float) -> "SubspaceFit":
        """The same with at most a fraction of the variance; a number of components stays, as does given noise."""
        if self.wanted.number is not None or self.noise is not None:
            return self
        return replace(self, wanted=Wanted(fraction=min(fraction, self.wanted.fraction or fraction)))

    def like(self, model: NoisySubspace) -> "SubspaceFit":
        """The same with as many components as `model` has, and with its noise unless the most likely one is wanted."""
        variance = None if self.noise is None else model.noise
        return replace(self, wanted=Wanted(number=len(model.principal.subspace)), noise_variance=variance)

    def _exact(self, Z: Array) -> NoisySubspace:
        if _are_equal(Z):
            return NoisySubspace(_single_point(self.kernel, Z), 0.0)
        with ignored(RankWarning):  # components that the data do not determine are not needed
            gram = Gram(self.kernel, Z)
            gram = gram.held() if gram.fits(memory_budget(self.options.max_bytes, Z)) else gram
            principal = principal_subspace(gram, self.wanted, np.random.default_rng(self.seed), options=self.options)
        return self._with_noise(principal)

    def _on_landmarks(self, Z: Array, points: Array) -> NoisySubspace:
        with ignored(RankWarning):
            moments = KernelMoments.of(self.kernel, points, Z, n_components=self.wanted.number, who="KernelImputer")
            principal = landmark_subspace(moments, self.wanted)
        return self._with_noise(principal)

    def _with_noise(self, principal: PrincipalSubspace) -> NoisySubspace:
        if self.noise_variance is not None:
            return NoisySubspace(principal, self.noise_variance)
        return NoisySubspace.of(principal, self.noise)


def _are_equal(Z: Array) -> bool:
    """Whether all rows are the same, so that there are no principal axes."""
    return bool(array_namespace(Z).all(Z[:1, :] == Z))


def _single_point(kernel: Kernel, Z: Array) -> PrincipalSubspace:
    """The subspace without axes through the image of rows that are all the same."""
    point, xp = Z[:1, :], array_namespace(Z)
    require_finite(kernel.diagonal(point), kernel)
    axes = xp.zeros_like(point[:, :0])
    nothing = axes[0, :]
    subspace = Subspace(Expansion(kernel, point, axes), Expansion(kernel, point, xp.ones_like(point[:, :1])))
    eigen = EigenResult(nothing, None, None, nothing, True, 0, "all rows are equal")
    return PrincipalSubspace(subspace, nothing, None, total=0.0, count=float(Z.shape[0]), eigen=eigen)
