"""Denoising rows with gross errors by a fitted model: losses that few wrong entries cannot dominate."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from preimage._arrays import array_namespace, is_lazy
from preimage._finite import finite_result
from preimage._typing import Array, Rows
from preimage.completion import SubspaceEnergy, repair
from preimage.completion._losses import as_loss
from preimage.estimators._missing_entries import check_incomplete, map_incomplete
from preimage.estimators._preimages import points_of
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Subspace

ADVICE = "a larger `scale` makes the loss smoother."


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

    def check(self, cross_fit: Any) -> bool:
        """Whether a loss was asked for; refuses what belongs to one without it, and what does not go with it."""
        if self.loss is None:
            given = [name for name in ("scale", "connectivity") if getattr(self, name) is not None]
            given += ["return_outliers"] if self.return_outliers else []
            if given:
                raise ValueError(f"`{given[0]}` is for a robust loss: denoise(X, loss='cauchy', {given[0]}=...).")
            return False
        as_loss(self.loss)
        if cross_fit is not None:
            raise ValueError(
                "A robust loss does not go with `cross_fit`: what is trusted of a row is decided by the model itself. "
                "Fit the model to other rows, or leave out one of the two."
            )
        is_number = isinstance(self.scale, Real) and not isinstance(self.scale, bool)
        if self.scale is not None and not (is_number and np.isfinite(self.scale) and self.scale > 0):
            raise ValueError(f"`scale` is a residual in units of the inputs, a number above zero; got {self.scale!r}.")
        return True


def robustly_denoised(model: Any, X: Rows, subspace: Subspace, options: RobustOptions) -> Any:
    """Rows without gross errors and, if asked for, which entries were distrusted; lazy for lazy rows."""
    like = subspace.frame.coefficients
    _check_subspace(subspace)
    X = check_incomplete(model, X, reset=False, like=like)
    width, energy = X.shape[1], SubspaceEnergy(subspace)

    def both(rows: Array, known: Array, say: Callable[[Any], Array]) -> Array:
        xp = array_namespace(rows)
        rows = xp.where(known, rows, xp.zeros_like(rows))
        found = repair(energy, rows, known, loss=options.loss, scale=options.scale, connectivity=options.connectivity)
        points = finite_result(say(found.preimages), rows)
        return xp.concat([points, xp.astype(found.outliers, rows.dtype)], axis=1)

    say = (lambda result: result.points) if is_lazy(X) else lambda result: points_of(result, ADVICE)
    found = map_incomplete(model, lambda rows, known: both(rows, known, say), X, like, np.nan)
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
