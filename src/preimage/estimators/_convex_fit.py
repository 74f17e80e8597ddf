"""Fits of convex losses on landmarks, as estimators store and report them."""

from typing import Any

import numpy as np

from preimage._engine.finite import refuse_overflowing_fit
from preimage._engine.warnings import warn_user
from preimage._models.regression import ConvexMachine, Loss
from preimage.estimators._landmark_machine import LabelledRows
from preimage.exceptions import ConvergenceWarning
from preimage.landmarks import Landmarks


def minimized(
    estimator: Any,
    rows: LabelledRows,
    landmarks: Landmarks,
    targets: np.ndarray,
    loss: Loss,
    *,
    alpha: float | str | np.ndarray,
    intercept: bool,
    unit: float,
    start: np.ndarray | None = None,
    warns: bool = True,
) -> ConvexMachine:
    """The minimum on landmarks, to the tolerance of an estimator, which gets the attributes that say how it went.

    Fits on the way to others do not warn where they end early.
    """
    fitted = ConvexMachine.fit(
        rows.kernel,
        landmarks.required().points,
        rows.inputs,
        targets,
        rows.weights,
        loss,
        alpha=alpha,
        intercept=intercept,
        tol=float(estimator.tol),
        max_iter=int(estimator.max_iter),
        max_memory=estimator.max_memory,
        unit=unit,
        start=start,
    )
    refuse_overflowing_fit("objective_", fitted.objective)
    if warns and not fitted.converged:
        warn_user(
            f"{type(estimator).__name__} stopped after {fitted.n_iter} iterations with an objective that may be "
            f"{np.max(fitted.gap):.1e} of itself above the minimum, more than tol={estimator.tol:g}. Raise `max_iter` "
            "if that was reached; otherwise rounding errors decide: choose a larger penalty, or scale the data.",
            ConvergenceWarning,
        )
    estimator.objective_, estimator.duality_gap_, estimator.n_iter_ = fitted.objective, fitted.gap, fitted.n_iter
    return fitted
