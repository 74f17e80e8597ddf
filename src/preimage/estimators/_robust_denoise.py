"""Denoising rows with gross errors by a fitted model: losses that few wrong entries cannot dominate."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, is_lazy
from preimage._engine.typing import Array, Rows
from preimage._models.completion import GrossErrors, SubspaceEnergy, as_loss, measured_errors
from preimage._models.completion._gross_errors import RepairedRows
from preimage.descent import Batched
from preimage.estimators._missing_entries import known_entries, map_incomplete
from preimage.estimators._preimages import points_of
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Subspace
from preimage.solvers import Preimage, PreimageResult

ADVICE = "a larger `scale` makes the loss smoother."


@dataclass(frozen=True)
class DenoisedRows(Batched):
    """Denoised rows, and which of their entries were distrusted: None without a robust loss."""

    preimages: PreimageResult
    outliers: Array | None = None


class Repair:
    """Replaces gross errors and missing entries of rows, which are then denoised like any others.

    Parameters
    ----------
    errors : GrossErrors
    """

    def __init__(self, errors: GrossErrors) -> None:
        self.errors = errors
        self.energies: list[SubspaceEnergy] = []

    def __call__(self, subspace: Subspace, X: Array) -> RepairedRows:
        """Rows X, in which NaN is a missing entry, repaired by a subspace: that of the model or of other folds."""
        xp, known = array_namespace(X), known_entries(X, np.nan)
        return self.errors.repaired(self._energy(subspace), xp.where(known, X, xp.zeros_like(X)), known)

    def _energy(self, subspace: Subspace) -> SubspaceEnergy:
        """The energy of a subspace; what it prepares for its points serves all blocks of rows."""
        for energy in self.energies:
            if energy.subspace is subspace:
                return energy
        self.energies.append(SubspaceEnergy(subspace))
        return self.energies[-1]


@dataclass(frozen=True)
class RobustOptions:
    """What `denoise` was asked for.

    Attributes
    ----------
    loss : str or None
    scale : float or None
    connectivity : array, sparse matrix or None
    return_outliers : bool
    """

    loss: Any = None
    scale: Any = None
    connectivity: Any = None
    return_outliers: bool = False

    def check(self) -> bool:
        """Whether a loss was asked for; refuses what belongs to one without it, and scales that are none."""
        if self.loss is None:
            given = [name for name in ("scale", "connectivity") if getattr(self, name) is not None]
            given += ["return_outliers"] if self.return_outliers else []
            if given:
                raise ValueError(f"`{given[0]}` is for a robust loss: denoise(X, loss='cauchy', {given[0]}=...).")
            return False
        as_loss(self.loss)
        is_number = isinstance(self.scale, Real) and not isinstance(self.scale, bool)
        if self.scale is not None and not (is_number and np.isfinite(self.scale) and self.scale > 0):
            raise ValueError(f"`scale` is a residual in units of the inputs, a number above zero; got {self.scale!r}.")
        return True

    def repair(self, subspace: Subspace, count: int | None = None) -> Repair | None:
        """What is done to rows before they are denoised with `count` vectors of a subspace; None without a loss.

        Without a scale it is measured on the points of the subspace, some of which are left out in turn, and is
        remembered by the subspace.
        """
        if self.loss is None:
            return None
        _check_subspace(subspace)
        if self.scale is not None:
            return Repair(GrossErrors(as_loss(self.loss), self.connectivity, float(self.scale)))
        count = len(subspace) if count is None else count
        key = ("gross errors", self.loss, count)
        if self.connectivity is not None or key not in subspace.remembered:
            found = measured_errors(SubspaceEnergy(subspace.leading(count)), as_loss(self.loss), self.connectivity)
            if self.connectivity is not None:
                return Repair(found)
            subspace.remembered[key] = found
        return Repair(subspace.remembered[key])


def denoised(subspace: Subspace, solver: Preimage | None, X: Array, repair: Repair | None = None) -> DenoisedRows:
    """Pre-images of the projections of validated rows on a subspace, of rows repaired before if asked for."""
    assert solver is not None
    if repair is None:
        return DenoisedRows(solver.inverse(subspace, subspace.coordinates(X), X))
    found = repair(subspace, X)
    result = solver.inverse(subspace, subspace.coordinates(found.rows), found.rows)
    # A row counts as done when both its repair and its pre-image are; the reason is that of the first that is not.
    is_repaired, reason = found.converged, np.where(found.converged, result.reason, found.reason)
    return DenoisedRows(replace(result, converged=result.converged & is_repaired, reason=reason), found.outliers)


def all_denoised(model: Any, X: Rows, solve: Callable[[Array], DenoisedRows], options: RobustOptions) -> Any:
    """Validated rows, denoised, and if asked for which entries were distrusted; lazy for lazy rows."""
    is_silent = is_lazy(X)
    if options.loss is None:
        return model._map(lambda rows: solve(rows).preimages.points, X) if is_silent else points_of(solve(X).preimages)
    width = X.shape[1]

    def both(rows: Array, known: Array) -> Array:
        xp, found = array_namespace(rows), solve(rows)
        points = found.preimages.points if is_silent else points_of(found.preimages, ADVICE)
        return xp.concat([points, xp.astype(found.outliers, rows.dtype)], axis=1)

    found = map_incomplete(model, both, X, model.subspace_.frame.coefficients, np.nan)
    points = found[:, :width]
    return (points, found[:, width:] > 0.5) if options.return_outliers else points


def _check_subspace(subspace: Subspace) -> None:
    kernel = subspace.frame.kernel
    if subspace.signature is not None:
        raise UnsupportedKernelError(
            f"A robust loss needs a positive semidefinite kernel, in whose feature space distances to the subspace are "
            f"not negative; {kernel!r} is indefinite. Iterated(kernel) is positive semidefinite; denoise(X) without a "
            "loss works with this one."
        )
    kernel.require_gradient("A robust loss")
