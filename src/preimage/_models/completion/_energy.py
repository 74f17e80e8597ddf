"""The energy of an input, how far it is from a subspace of feature space, and missing entries that minimise it."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, concat_rows, device_kwargs, epsilon, take_rows, to_dense, to_numpy
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage._models.completion._partial_rows import neighbor_start
from preimage.descent import (
    Box,
    Evaluation,
    Objective,
    PreimageResult,
    QuasiNewton,
    for_query_blocks,
    minimize_rows,
    spread,
    tiles,
)
from preimage.feature_space import Subspace
from preimage.kernels import Kernel, ProfileKernel
from preimage.solvers._fixed_point import has_fixed_point

# Rounding errors of a sum of n products, in units of its largest terms: one per product and addition.
ROUNDING = 4
# Largest rounding error of the energy through one matrix, relative to kernel values: a thousandth of a thousandth of
# the energies of rows with noise of 1e-5, which tell good from bad fillings.
MATRIX_ROUNDING = 1e-9
# A row is done when a gradient step is shorter than this fraction of the spread of the data: errors of imputed entries
# are a hundred times larger. At ten times as much, wide kernels, whose energies are flat, stop at their starts.
TOLERANCE = 1e-3
# Steps of a row at most; images and tables with half of the entries missing take twenty to forty.
MOST_STEPS = 100


@dataclass(frozen=True)
class SubspaceEnergy(Objective):
    r"""The energy :math:`E(z) = \|\tilde\varphi(z)\|^2 - \sum_i w_i \langle v_i, \tilde\varphi(z) \rangle^2`.

    Here :math:`\tilde\varphi(z) = \varphi(z) - \bar\varphi`, and :math:`v_i` is the frame of the subspace. With weights
    of one it is the squared distance of :math:`\varphi(z)` to the subspace. With :math:`w_i = 1 - \sigma^2/\lambda_i`
    it is :math:`\sigma^2` times the squared Mahalanobis length of probabilistic kernel PCA with noise
    :math:`\sigma^2`: coordinates that are large for their variance :math:`\lambda_i` cost energy as well.

    The same function for every row, so that it is an `Objective` of `minimize_rows`. The gradient is that of the
    distance to the fixed vector :math:`\bar\varphi + \sum_i w_i y_i v_i` of the coordinates y at z.

    Parameters
    ----------
    subspace : Subspace
    weights : array of shape (k,) or None, default=None
        One per vector of the frame, at most one; None is ones.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage._models.completion import SubspaceEnergy
    >>> from preimage.feature_space import Expansion, Subspace
    >>> from preimage.kernels import Linear
    >>> axis = Subspace(Expansion(Linear(), np.array([[1.0, 0.0]]), np.array([[1.0]])))
    >>> SubspaceEnergy(axis).at(np.array([[3.0, 2.0]])).value  # the squared distance to the first axis
    array([4.])
    """

    subspace: Subspace
    weights: Array | None = None

    @property
    def kernel(self) -> Kernel:
        return self.subspace.frame.kernel

    @cached_property
    def points(self) -> Array:
        """The points that frame and origin are made of, shape (n, d)."""
        frame, origin = self.subspace.frame, self.subspace.origin
        if origin is None or origin.points is frame.points:
            return frame.points
        return concat_rows(frame.points, origin.points)

    def at(self, Z: Array) -> Evaluation:
        parts = [self._evaluate(Z[tile, :]) for tile in tiles(Z.shape[0], self.points.shape[0], Z)]
        return Evaluation.join(parts)

    def take(self, rows: np.ndarray) -> "SubspaceEnergy":
        return self

    def of_the_mean(self) -> "SubspaceEnergy":
        """The energy without axes, the squared distance to the mean; what is prepared for the points is used again."""
        axes = self.subspace.frame.coefficients
        other = SubspaceEnergy(self.subspace, array_namespace(axes).zeros_like(axes[0, :]))
        prepared = ("points", "_prepared", "_basis")
        other.__dict__.update({name: self.__dict__[name] for name in prepared if name in self.__dict__})
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {"subspace": self.subspace, "weights": self.weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _evaluate(self, Z: Array) -> Evaluation:
        kernel, xp = self.kernel, array_namespace(Z)
        values, contracted = self._prepared.with_gradient(Z)  # (q, n)
        diagonal = kernel.diagonal(Z)
        through = self._through_matrix if self._has_matrix else self._through_frame
        target, quadratic = through(values)
        size = xp.sum(xp.abs(target * values), axis=1)
        gradient = kernel.diagonal_gradient(Z) - 2 * contracted(target)
        noise = ROUNDING * epsilon(Z.dtype) * (xp.abs(diagonal) + 2 * size)
        return Evaluation(diagonal - quadratic, gradient, noise, None, self._first_curvature(Z, gradient))

    def _through_frame(self, values: Array) -> tuple[Array, Array]:
        """Coefficients of the vector whose distance has the gradient of E, and k(z, z) − E, from kernel values."""
        space, xp = self.subspace, array_namespace(values)
        products = values @ self._basis
        coordinates = products[:, :-1] if space.offset is None else products[:, :-1] - space.offset
        weighted = coordinates if self._signed_weights is None else coordinates * self._signed_weights
        target = weighted @ self._basis[:, :-1].T + self._basis[:, -1]
        quadratic = xp.vecdot(weighted, coordinates) + 2 * products[:, -1]
        return target, quadratic if space.origin is None else quadratic - space.origin_squared_norm

    def _through_matrix(self, values: Array) -> tuple[Array, Array]:
        """The same by one product: with M = A diag(w) Aᵀ and h = μ − A diag(w) b they are Mk + h and kᵀ(Mk + 2h) + …"""
        assert self._matrix is not None
        matrix, shift, constant = self._matrix
        target = values @ matrix + shift
        return target, array_namespace(values).vecdot(values, target + shift) + constant

    @property
    def _has_matrix(self) -> bool:
        """Whether one product with an n × n matrix is less work than two with the frame, and precise enough."""
        n, k = self.subspace.frame.coefficients.shape
        return 2 * k > n and self.points.shape[0] == n and self._matrix is not None

    @cached_property
    def _matrix(self) -> tuple[Array, Array, float] | None:
        """M, h and a constant; None where axes of little variance would make rounding errors of kᵀMk too large."""
        space, axes = self.subspace, self._basis[:, :-1]
        xp, weights = array_namespace(axes), 1.0 if self._signed_weights is None else self._signed_weights
        weighted = axes * weights
        matrix, shift = weighted @ axes.T, self._basis[:, -1]
        largest = float(xp.max(xp.abs(self.kernel.diagonal(self.points))))
        if not epsilon(axes.dtype) * float(xp.sum(xp.abs(matrix))) * largest <= MATRIX_ROUNDING:
            return None
        if space.origin is None or space.offset is None:
            return matrix, shift, 0.0
        constant = float((space.offset * weights) @ space.offset) - (space.origin_squared_norm or 0.0)
        return matrix, shift - weighted @ space.offset, constant

    def _first_curvature(self, Z: Array, gradient: Array) -> Array | None:
        """A curvature that the distance to a vector no longer than images are does not exceed by much: first steps.

        Sums of moduli, which other descents use, are far larger: coefficients of weak axes cancel. Where the kernel is
        flat at a row and itself, as a saturated sigmoid is, it is that of a step as long as the spread of the points.
        """
        kernel, xp = self.kernel, array_namespace(Z)
        if not isinstance(kernel, ProfileKernel) or not has_fixed_point(kernel):
            return None
        at_itself = xp.abs(kernel.profile_derivative(kernel.pairwise.diagonal(Z)))
        curvature = (4 if kernel.is_radial else 2) * at_itself
        is_known = xp.isfinite(curvature) & (curvature > 0)
        if bool(xp.all(is_known)):
            return curvature
        slopes = xp.sqrt(xp.vecdot(gradient, gradient)) / spread(self.points)
        slopes = xp.where(xp.isfinite(slopes) & (slopes > 0), slopes, xp.ones_like(slopes))
        return xp.where(is_known, curvature, slopes)

    @cached_property
    def _prepared(self) -> Any:
        self.kernel.require_gradient("Filling missing entries")
        return self.kernel.prepare(self.points)

    @cached_property
    def _basis(self) -> Array:
        """Coefficients of the frame and, in the last column, of the origin, on all points, shape (n, k + 1)."""
        frame, origin = self.subspace.frame, self.subspace.origin
        axes = frame.coefficients
        xp = array_namespace(axes)
        if origin is not None and origin.points is frame.points:
            return xp.concat([axes, origin.coefficients], axis=1)
        above = xp.concat([axes, xp.zeros((axes.shape[0], 1), dtype=axes.dtype, **device_kwargs(axes))], axis=1)
        if origin is None:
            return above
        empty = xp.zeros_like(axes[:1, :] * origin.coefficients)
        return xp.concat([above, xp.concat([empty, origin.coefficients], axis=1)], axis=0)

    @cached_property
    def _signed_weights(self) -> Array | None:
        signature = self.subspace.signature
        if self.weights is None or signature is None:
            return self.weights if signature is None else signature
        return self.weights * signature


def noisy_energy(subspace: Subspace, variances: Array, noise: float) -> SubspaceEnergy:
    """The energy with weights 1 − σ²/λ, without the axes that have no more variance λ than the noise σ² has.

    Variances are in descending order.
    """
    if not noise:
        return SubspaceEnergy(subspace)
    n_signals = int(np.sum(to_numpy(variances) > noise))
    return SubspaceEnergy(subspace.leading(n_signals), 1 - noise / variances[:n_signals])


@dataclass(frozen=True)
class FreeEntries(Objective):
    """An objective of rows of which some entries are held fixed: its gradient is zero along them.

    Attributes
    ----------
    objective : Objective
    free : array of shape (q, d)
        One where an entry may move, zero where it is held.
    """

    objective: Objective
    free: Array

    def at(self, Z: Array) -> Evaluation:
        found = self.objective.at(Z)
        return replace(found, gradient=found.gradient * self.free)

    def take(self, rows: np.ndarray) -> "FreeEntries":
        return FreeEntries(self.objective.take(rows), take_rows(self.free, rows))


@gives_finite_numbers("objective")
def fill(
    energy: SubspaceEnergy,
    observed: Array,
    start: Array,
    *,
    box: Box | None = None,
    tol: float = TOLERANCE,
    max_iter: int = MOST_STEPS,
) -> PreimageResult:
    r"""Minimise the energy of each row over its missing entries, from `start`; known entries stay as they are.

    .. math:: \min_z E(z) \quad\text{with}\quad z_j = x_j \text{ where } x_j \text{ is known}

    by L-BFGS on all rows together (`minimize_rows`): the energy of a row never ends above that of its start. Rows
    without any known entry get the pre-image of the mean in feature space, the minimum of
    :math:`\|\varphi(z) - \bar\varphi\|^2`: nothing says where else on the subspace they should be.

    Parameters
    ----------
    energy : SubspaceEnergy
    observed : boolean array of shape (q, d)
        Which entries of `start` are known.
    start : array of shape (q, d)
        The known entries, and a first guess of the others (see `neighbor_start`).
    box : Box, optional
        Bounds on the missing entries; by default the smallest input of the kernel, where it has one.
    tol : float, default=1e-3
        A row is done when a gradient step is shorter than this fraction of the spread of the points.
    max_iter : int, default=100

    Returns
    -------
    PreimageResult
        `objective` is the energy.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage._models.completion import SubspaceEnergy, fill
    >>> from preimage.feature_space import Expansion, Subspace
    >>> from preimage.kernels import Linear
    >>> diagonal = Expansion(Linear(), np.array([[1.0, 1.0]]), np.array([[0.5**0.5]]))  # points with x = y
    >>> known = np.array([[True, False]])
    >>> fill(SubspaceEnergy(Subspace(diagonal)), known, np.array([[3.0, 0.0]])).points.round(6)
    array([[3., 3.]])
    """
    box = Box.of_inputs(None, None, energy.kernel, start) if box is None else box
    result = _least(energy, observed, start, box, tol, max_iter)
    nothing = np.flatnonzero(~to_numpy(array_namespace(observed).any(observed, axis=1)))
    if nothing.size:
        middle = array_namespace(start).mean(to_dense(energy.points), axis=0)[None, :]
        known = take_rows(observed, nothing[:1])
        mean = _least(energy.of_the_mean(), known, box.clip(middle), box, tol, max_iter)
        result = result.replaced(nothing, mean.take(np.zeros(nothing.size, int)))
    return result


def fill_near(
    energy: SubspaceEnergy, X: Array, observed: Array, points: Array, scale: float, **options: Any
) -> PreimageResult:
    """`fill` from averages over complete points, see `neighbor_start`; options are those of `fill`."""
    return fill(energy, observed, neighbor_start(X, observed, scale, points), **options)


def _least(
    energy: SubspaceEnergy, observed: Array, start: Array, box: Box, tol: float, max_iter: int
) -> PreimageResult:
    xp, rule = array_namespace(start), QuasiNewton(spread(energy.points), tol)
    free = xp.astype(~observed, start.dtype)
    with stage("Filling missing entries", start.shape[0]) as advance:

        def work(rows: slice) -> PreimageResult:
            found = minimize_rows(FreeEntries(energy, free[rows, :]), start[rows, :], box, rule, max_iter)
            advance(rows.stop - rows.start)
            return replace(found, points=xp.where(observed[rows, :], start[rows, :], found.points))

        return PreimageResult.join(for_query_blocks(work, start.shape[0], energy.points, start))
