"""Probabilistic kernel PCA of rows with missing entries: axes, variances and noise, and fillings in turn with fits."""

from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import array_namespace, take_rows, to_numpy, with_rows
from preimage._engine.linalg import rank_tolerance
from preimage._engine.memory import memory_budget
from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage._engine.warnings import ignored
from preimage._models.completion._energy import SubspaceEnergy, fill, noisy_energy
from preimage._models.components import (
    PrincipalSubspace,
    Wanted,
    landmark_subspace,
    principal_subspace,
    select_landmarks,
)
from preimage.descent import Box
from preimage.eigensolvers import EigenOptions, EigenResult
from preimage.exceptions import RankWarning
from preimage.feature_space import Expansion, Gram, KernelMoments, Subspace, require_finite
from preimage.kernels import Kernel
from preimage.landmarks import LandmarkSelector, as_landmarks

DEFAULT_OPTIONS = EigenOptions()
# Rows up to which the first sweeps go by folds, how many folds, and how many sweeps. More folds leave more rows to
# learn from, and cost as many fits: on tables of 200 and 600 rows two folds give errors larger by a twentieth. Of more
# rows few landmarks do as well, in less time. After these numbers of sweeps errors change by a hundredth.
FOLDED_ROWS, FOLDS, FOLD_SWEEPS = 700, 5, 2
ROUGH_LANDMARKS, LANDMARK_SWEEPS = 200, 2
# Fraction of the variance that first sweeps on landmarks keep at most where the noise follows from it: axes beyond it
# matter for the last digits only. With noise that is given, and wide kernels, they matter: errors on tables grow by a
# quarter without them.
ROUGH_FRACTION = 0.95
# Tolerance of `fill` in the first sweeps, three times that of the joint rounds that follow.
ROUGH_TOLERANCE = 3e-3


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
        if landmarks is None and _are_equal(Z):
            return NoisySubspace(_single_point(self.kernel, Z), 0.0)
        with ignored(RankWarning):  # components that the data do not determine are not needed
            if landmarks is None:
                gram, rng = Gram(self.kernel, Z), np.random.default_rng(self.seed)
                gram = gram.held() if gram.fits(memory_budget(self.options.max_bytes, Z)) else gram
                principal = principal_subspace(gram, self.wanted, rng, options=self.options)
            else:
                count = self.wanted.number
                moments = KernelMoments.of(self.kernel, landmarks, Z, n_components=count, who="KernelImputer")
                principal = landmark_subspace(moments, self.wanted)
        if self.noise_variance is not None:
            return NoisySubspace(principal, self.noise_variance)
        return NoisySubspace.of(principal, self.noise)

    def like(self, model: NoisySubspace) -> "SubspaceFit":
        """The same with as many components as `model` has, and with its noise unless the most likely one is wanted."""
        variance = None if self.noise is None else model.noise
        return replace(self, wanted=Wanted(number=len(model.principal.subspace)), noise_variance=variance)


@dataclass(frozen=True)
class IncompleteFit:
    """A subspace fitted to rows with missing entries, and the rows as they were filled.

    Attributes
    ----------
    model : NoisySubspace
    rows : array of shape (n, d)
    path : list of float
        The objective `NoisySubspace.objective` before the joint rounds and after each; it never rises.
    converged : bool
        Whether the last round lowered the objective by less than the tolerance.
    """

    model: NoisySubspace
    rows: Array
    path: list[float]
    converged: bool

    @property
    def n_rounds(self) -> int:
        """Joint rounds of filling and fitting."""
        return max(0, len(self.path) - 1)


def fit_incomplete(
    fit: SubspaceFit,
    observed: Array,
    start: Array,
    *,
    box: Box,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
) -> IncompleteFit:
    r"""Fit a subspace to rows of which some entries are missing, and fill them.

    Joint rounds fill all rows given the subspace, which lowers every energy E, and fit the subspace to the filled rows,
    which lowers :math:`\sum_i \log\lambda_i + (n - 1 - k)\log\sigma^2 + \frac{1}{n\sigma^2}\sum_j E(z_j)` (without
    noise, the mean of E) over mean, axes, variances and noise. The kernel, the number of components and landmarks stay
    the same, so the objective never rises. Rounds end when it falls by less than `tol` per dimension.

    The image of a row is itself among those that its subspace is fitted to, and holds the row where it is: joint rounds
    move slowly. So the first sweeps fill the rows of each fold with a subspace of the others.

    Parameters
    ----------
    fit : SubspaceFit
    observed : boolean array of shape (n, d)
    start : array of shape (n, d)
        Known entries, and a first guess of the others.
    box : Box
        Bounds on missing entries.
    tol : float
    max_iter : int
        Joint rounds at most.
    rng : numpy.random.Generator
        Draws the folds.

    Returns
    -------
    IncompleteFit
    """
    xp = array_namespace(start)
    incomplete = np.flatnonzero(~to_numpy(xp.all(observed, axis=1)))
    if not incomplete.size:
        return IncompleteFit(fit(start), start, [], True)
    rows = _first_filled(fit, observed, start, incomplete, box, rng)
    landmarks = fit.landmarks(rows)
    model = fit.on(landmarks, rows)
    same = fit.like(model)
    known = take_rows(observed, incomplete)
    path = [model.objective()]
    with stage("Filling and fitting", max_iter) as advance:
        for _ in range(max_iter):
            found = fill(model.energy, known, take_rows(rows, incomplete), box=box)
            filled = with_rows(rows, incomplete, found.points)
            refitted = same.on(landmarks, filled)
            advance()
            if refitted.objective() <= path[-1]:  # not so by rounding errors, where the kernel hardly tells rows apart
                rows, model = filled, refitted
            path.append(model.objective())
            # Decreases are compared with the number of dimensions or, without noise, with the mean energy itself.
            if path[-2] - path[-1] <= tol * (model.principal.count - 1 if model.noise else abs(path[-1])):
                return IncompleteFit(model, rows, path, True)
    return IncompleteFit(model, rows, path, False)


def _first_filled(
    fit: SubspaceFit, observed: Array, start: Array, incomplete: np.ndarray, box: Box, rng: np.random.Generator
) -> Array:
    """Rows after the first sweeps, in which no row is held by its own image."""
    n = start.shape[0]
    everything = np.arange(n)
    if n > FOLDED_ROWS and fit.kernel.is_positive_semidefinite:
        if fit.wanted.number is None and fit.noise is None:
            wanted = Wanted(fraction=min(ROUGH_FRACTION, fit.wanted.fraction or ROUGH_FRACTION))
            fit = replace(fit, wanted=wanted)
        fit = replace(fit, selector=as_landmarks(ROUGH_LANDMARKS))
        pairs, n_sweeps = [(everything, incomplete)], LANDMARK_SWEEPS
    else:
        parts = np.array_split(rng.permutation(incomplete), min(FOLDS, incomplete.size))
        pairs = [(np.setdiff1d(everything, part), np.sort(part)) for part in parts]
        n_sweeps = FOLD_SWEEPS if min(others.size for others, _ in pairs) > 1 else 0
    rows = start
    for _ in range(n_sweeps):
        for others, part in pairs:
            model = fit(take_rows(rows, others))
            known, first = take_rows(observed, part), take_rows(rows, part)
            found = fill(model.energy, known, first, box=box, tol=ROUGH_TOLERANCE)
            rows = with_rows(rows, part, found.points)
    return rows


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
