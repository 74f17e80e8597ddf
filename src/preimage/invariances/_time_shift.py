"""Shifts of signals in time."""

from numbers import Integral, Real

import numpy as np

from preimage._engine.finite import gives_finite_numbers
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import Interval, check_parameters
from preimage.invariances._images import (
    SPLINE_STEP,
    as_images,
    as_rows,
    centered_coordinates,
    derivatives,
    moved_along,
    sampled,
)
from preimage.invariances._transformation import Amount, Transformation, check_amount, check_rows


class TimeShift(Transformation):
    r"""Delay signals by t samples: :math:`(L_t x)(s) = x(s - t)`, :math:`\tau = -dx/ds`.

    Parameters
    ----------
    n_channels : int, default=1
        A row consists of this many signals of equal length, one after the other, which move together.
    smoothing : float, default=0.9
        Standard deviation, in samples, of the Gaussian that smooths signals before they are differentiated.
    exact : bool, default=False
        False moves along the tangent, :math:`x + t\tau(x)`; True shifts by cubic splines, where `smoothing` is not
        used. Before the first and after the last sample a signal keeps its value.

    See Also
    --------
    FunctionTransformation : Other changes of signals, from a function.
    TangentCovariance : Makes models that ignore delays.
    VirtualExamples : Adds delayed signals to data.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.invariances import TimeShift
    >>> TimeShift(exact=True).apply(np.array([[0.0, 0.0, 1.0, 0.0, 0.0]]), 1).round(12) + 0
    array([[0., 0., 0., 1., 0.]])
    """

    _parameter_constraints = {
        "n_channels": [Interval(Integral, 1, None, closed="left")],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "exact": ["boolean"],
    }

    def __init__(self, n_channels: int = 1, smoothing: float = 0.9, exact: bool = False) -> None:
        self.n_channels = n_channels
        self.smoothing = smoothing
        self.exact = exact

    @gives_finite_numbers()
    def apply(self, X: Rows, t: Amount) -> Array:
        check_parameters(self)
        if not self.exact:
            return moved_along(self, X, t, self.tangents(X))
        signals = self._signals(X)
        return as_rows(_delayed(signals, check_amount(self, t, len(signals))), X)

    @gives_finite_numbers()
    def tangents(self, X: Rows) -> Array:
        check_parameters(self)
        signals = self._signals(X)
        if self.exact:
            ahead, behind = (_delayed(signals, t) for t in (SPLINE_STEP, -SPLINE_STEP))
            return as_rows((ahead - behind) / (2 * SPLINE_STEP), X)
        return as_rows(-derivatives(signals, (0, self.smoothing))[0], X)

    def _signals(self, X: Rows) -> np.ndarray:
        """Signals as images with a line for each channel: shape (n, n_channels, length)."""
        X = check_rows(self, X)
        length, rest = divmod(X.shape[1], self.n_channels)
        if rest:
            raise ValueError(
                f"TimeShift cuts rows into {self.n_channels} signals of equal length; X has {X.shape[1]} columns. "
                "Set `n_channels` to a divisor of it."
            )
        return as_images(self, X, (self.n_channels, length))


def _delayed(signals: np.ndarray, t: Amount) -> np.ndarray:
    u, v = centered_coordinates(signals.shape[1:])
    return sampled(signals, *np.broadcast_arrays(u - np.asarray(t)[..., None, None], v))
