"""The result of a selection of landmarks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preimage._typing import Array

ENOUGH = "number of landmarks reached"
TOLERANCE = "residual below tolerance"
EXHAUSTED = "no independent candidate left"


@dataclass(frozen=True)
class Landmarks:
    r"""Points that span a subspace of feature space, and what it leaves of the kernel matrix.

    The approximation is :math:`\tilde K = C W^{-1} C^\top = G G^\top` (G2) with C the kernel values between all rows
    and the landmarks and W those among landmarks.

    Attributes
    ----------
    points : array of shape (m, d)
        In the order in which they were chosen.
    indices : integer array of shape (m,) or None
        Their row numbers, in NumPy; None when they are no rows of the data.
    residual_trace : float
        tr(K − K̃) over all rows (G4): exact when every row was looked at, otherwise estimated from rows that had no
        part in the selection.
    trace : float
        tr K, exact.
    factor : array of shape (n, m) or None
        G, when it was asked for.
    residuals_path : array of shape (m,) or None
        The residual trace after each landmark, in NumPy; exact or estimated like `residual_trace`. None where later
        batches of data have changed it.
    standard_error : float
        Of the estimate of `residual_trace`; zero when it is exact.
    residual_bound : float
        The true residual trace exceeds it with probability at most 5 % (G12); loose, and equal to `residual_trace`
        when that is exact.
    reason : str
        Why the selection stopped.
    """

    points: Array
    indices: np.ndarray | None
    residual_trace: float
    trace: float
    factor: Array
    residuals_path: Array
    standard_error: float
    residual_bound: float
    reason: str

    def __len__(self) -> int:
        return self.points.shape[0]

    def required(self) -> Landmarks:
        """These landmarks; ValueError where there are none, as for a kernel that vanishes on all rows."""
        if len(self) == 0:
            raise ValueError(
                "There is no landmark: the kernel vanishes on these data, k(x, x) = 0 for all rows. Are the rows "
                "all zero? Check them, or choose another kernel."
            )
        return self

    @property
    def residual_fraction(self) -> float:
        """tr(K − K̃) / tr K, the fraction of the kernel that is lost; zero for a kernel that vanishes."""
        return self.residual_trace / self.trace if self.trace > 0 else 0.0

    @property
    def is_exact(self) -> bool:
        """Whether the residual trace is computed from all rows, not estimated."""
        return self.residual_bound == self.residual_trace

    def __repr__(self) -> str:
        about = "" if self.is_exact else "about "
        return f"Landmarks: {len(self)} points, {about}{self.residual_fraction:.3g} of the trace left; {self.reason}"
