"""Thickening of lines in images."""

from preimage._typing import Array, Rows
from preimage._validation import check_parameters
from preimage.invariances._grid import as_images, as_rows, derivatives, moved_along
from preimage.invariances._transformation import Amount, Transformation
from preimage.invariances._warps import IMAGE_CONSTRAINTS


class Thicken(Transformation):
    r"""Thicken bright lines on dark ground: :math:`\tau = (\partial_u I)^2 + (\partial_v I)^2`.

    The only one among the usual transformations of digits that does not move pixels. It has no exact form:
    :math:`L_t x = x + t \tau(x)`. Its tangent is quadratic in the image, so t = 1 means a pixel where grey values
    range over one.

    Parameters
    ----------
    image_shape : (int, int)
        Height and width in pixels.
    smoothing : float, default=0.9
        Standard deviation, in pixels, of the Gaussian that smooths images before they are differentiated.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.invariances import Thicken
    >>> line = np.array([[0.0, 0.0, 1.0, 0.0, 0.0]])
    >>> bool(Thicken((1, 5)).apply(line, 1.0).sum() > line.sum())
    True
    """

    _parameter_constraints = IMAGE_CONSTRAINTS

    def __init__(self, image_shape: tuple[int, int], smoothing: float = 0.9) -> None:
        self.image_shape = image_shape
        self.smoothing = smoothing

    def apply(self, X: Rows, t: Amount) -> Array:
        return moved_along(self, X, t, self.tangents(X))

    def tangents(self, X: Rows) -> Array:
        check_parameters(self)
        du, dv = derivatives(as_images(self, X, self.image_shape), self.smoothing)
        return as_rows(du**2 + dv**2, X)
