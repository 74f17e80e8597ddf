"""The record of one model: all that a page computes with."""

from typing import Any

import numpy as np

from preimage.explorer._fronts import Front
from preimage.explorer._models import PageModel, width_of
from preimage.explorer._precision import COORDINATE_STEP, in_single, in_steps
from preimage.explorer._solvers import solver_record
from preimage.interop.page import kernel_record
from preimage.kernels import ChiSquaredDistance, Kernel, ManhattanDistance, ProfileKernel, Warped

# Change of coordinates, in standard deviations, up to which points may be rounded to single precision. Pre-images then
# change by about as much of the spread of the data, a hundredth of what users are promised (1e-4).
MOST_ROUNDING = 1e-6
# Rows on which rounding is measured: what is lost is lost on most of them.
ROWS_TO_MEASURE = 256


def model_record(model: PageModel, front: Front, X: np.ndarray, name: str, note: str) -> dict[str, Any]:
    """The entry of a model in the header of a page, for drawn rows X in the units of their user."""
    front = front.shifted(model.shift)
    Z = front(X)
    Y = model.coordinates(Z)
    residuals = model.residuals(Z, Y)
    deviations = model.deviations(Y)
    d = model.kernel.inputs_of_points(model.points).shape[1]
    points = _rounded(model, Z, deviations)
    optional = lambda expansion: None if expansion is None else expansion.coefficients[:, 0]
    return {
        "name": name,
        "width": width_of(model.kernel),
        "note": note,
        "n_features": d,
        "n_rows": None if model.n_rows is None else int(model.n_rows),
        "front": front.record(),
        "kernel": kernel_record(model.kernel, points.astype(np.float64)),
        "points": points,
        "frame": model.functions.coefficients,
        "origin": optional(model.origin),
        "offset": model.offset,
        "origin_squared_norm": model.origin_squared_norm,
        "signature": model.signature,
        "features": model.features,
        "component_names": [f"Component {number + 1}" for number in range(len(model))],
        "eigenvalues": deviations**2 if model.eigenvalues is None else model.eigenvalues,
        "explained": model.explained,
        "deviations": deviations,
        "coordinates": in_single(in_steps(Y, COORDINATE_STEP * deviations), deviations),
        "errors": in_single(residuals, np.max(np.abs(residuals)) or 1.0),
        **solver_record(model.solver, model.kernel, model.kernel.inputs_of_points(model.points), model.shift),
    }


def _rounded(model: PageModel, Z: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """The points in single precision, unless coordinates change by more than rounding may."""
    if isinstance(model.kernel, Warped):
        return model.points  # which the kernel then need not bring once more
    if _has_corners(model.kernel):
        return model.points
    with np.errstate(over="ignore", under="ignore"):
        single = model.points.astype(np.float32)
    if not np.all(np.isfinite(single)):
        return model.points
    inputs = model.kernel.inputs_of_points(model.points)
    rows = np.concatenate([Z[:ROWS_TO_MEASURE], inputs[:ROWS_TO_MEASURE]])
    rough = type(model.functions)(model.kernel, single.astype(np.float64), model.functions.coefficients)
    change = np.max(np.abs(rough(rows) - model.functions(rows)) / deviations)
    return single if change <= MOST_ROUNDING else model.points


def _has_corners(kernel: Kernel) -> bool:
    """Whether a kernel has corners at its points: descents stop there, and moved corners change half of the answers."""
    corners = isinstance(kernel, ProfileKernel) and kernel.pairwise in (ManhattanDistance(), ChiSquaredDistance())
    return corners or any(_has_corners(part) for part in kernel.parts())
