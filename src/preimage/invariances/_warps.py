"""Transformations of images that move pixels: translations, rotation, scaling."""

from abc import abstractmethod
from numbers import Real

import numpy as np

from preimage._typing import Array, Rows
from preimage._validation import Interval, check_parameters
from preimage.invariances._grid import (
    as_images,
    as_rows,
    centered_coordinates,
    derivatives,
    moved_along,
    radius,
    sampled,
)
from preimage.invariances._transformation import Amount, Transformation, check_amount

# Step of the derivative of a spline warp, in pixels: central differences then err by its square, about a millionth.
SPLINE_STEP = 1e-3

IMAGE_CONSTRAINTS = {
    "image_shape": [tuple, list, np.ndarray],
    "smoothing": [Interval(Real, 0, None, closed="left")],
}


class Warp(Transformation):
    r"""Images resampled along a flow of the plane, :math:`(L_t I)(p) = I(F_t p)`.

    A subclass gives the flow :math:`F_t` of the points at which the image is read, and its velocity
    :math:`(a, b) = \frac{d}{dt} F_t p` at t = 0, so that :math:`\tau = a\,\partial_u I + b\,\partial_v I`, in
    coordinates u (to the right) and v (down) from the middle of the image. The unit of t is a pixel.
    """

    _parameter_constraints = {**IMAGE_CONSTRAINTS, "exact": ["boolean"]}

    image_shape: tuple[int, int]
    smoothing: float
    exact: bool

    @abstractmethod
    def flow(self, u: Array, v: Array, t: Array) -> tuple[Array, Array]:
        """Where the image is read: coordinates F_t(u, v)."""

    @abstractmethod
    def velocity(self, u: Array, v: Array) -> tuple[Array, Array]:
        """The derivative of `flow` at t = 0."""

    def apply(self, X: Rows, t: Amount) -> Array:
        """The images moved by t pixels, as rows: along the tangent, or warped when `exact`."""
        check_parameters(self)
        if not self.exact:
            return moved_along(self, X, t, self.tangents(X))
        images = as_images(self, X, self.image_shape)
        amounts = np.asarray(check_amount(self, t, len(images)))[..., None, None]
        return as_rows(sampled(images, *self._flow(amounts)), X)

    def tangents(self, X: Rows) -> Array:
        """The tangents τ(x), shape (n, d): derivatives of smoothed images, or of spline warps when `exact`."""
        check_parameters(self)
        images = as_images(self, X, self.image_shape)
        if self.exact:
            ahead, behind = (sampled(images, *self._flow(t)) for t in (SPLINE_STEP, -SPLINE_STEP))
            return as_rows((ahead - behind) / (2 * SPLINE_STEP), X)
        du, dv = derivatives(images, self.smoothing)
        a, b = self.velocity(*centered_coordinates(images.shape[1:]))
        return as_rows(a * du + b * dv, X)

    def _flow(self, t: Amount) -> list[np.ndarray]:
        u, v = centered_coordinates(self.image_shape)
        return list(np.broadcast_arrays(*self.flow(u, v, t)))


class TranslateX(Warp):
    r"""Move images to the right by t pixels: :math:`\tau = -\partial_u I`.

    Parameters
    ----------
    image_shape : (int, int)
        Height and width in pixels; images are rows of height · width values, line by line.
    smoothing : float, default=0.9
        Standard deviation, in pixels, of the Gaussian that smooths images before they are differentiated.
    exact : bool, default=False
        False moves along the tangent, :math:`L_t x = x + t\tau(x)`: right for t up to about a pixel. True resamples
        the image by cubic splines: right for any t, slower, and without `smoothing`. Pixels from outside
        the image have the value of the nearest one inside.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.invariances import TranslateX
    >>> image = np.array([[0.0, 0.0, 1.0, 0.0, 0.0]])
    >>> TranslateX((1, 5), exact=True).apply(image, 1).round(12) + 0
    array([[0., 0., 0., 1., 0.]])
    """

    def __init__(self, image_shape: tuple[int, int], smoothing: float = 0.9, exact: bool = False) -> None:
        self.image_shape = image_shape
        self.smoothing = smoothing
        self.exact = exact

    def flow(self, u: Array, v: Array, t: Array) -> tuple[Array, Array]:
        return u - t, v

    def velocity(self, u: Array, v: Array) -> tuple[Array, Array]:
        return -np.ones_like(u), np.zeros_like(v)


class TranslateY(Warp):
    r"""Move images down by t pixels: :math:`\tau = -\partial_v I`.

    Parameters
    ----------
    image_shape, smoothing, exact
        As in `TranslateX`.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.invariances import TranslateY
    >>> image = np.array([[0.0, 0.0, 1.0, 0.0, 0.0]])
    >>> TranslateY((5, 1), exact=True).apply(image, 1).round(12) + 0
    array([[0., 0., 0., 1., 0.]])
    """

    def __init__(self, image_shape: tuple[int, int], smoothing: float = 0.9, exact: bool = False) -> None:
        self.image_shape = image_shape
        self.smoothing = smoothing
        self.exact = exact

    def flow(self, u: Array, v: Array, t: Array) -> tuple[Array, Array]:
        return u, v - t

    def velocity(self, u: Array, v: Array) -> tuple[Array, Array]:
        return np.zeros_like(u), -np.ones_like(v)


class Rotate(Warp):
    r"""Turn images clockwise: :math:`\tau = (v\,\partial_u I - u\,\partial_v I) / r`.

    The amount t is the path, in pixels, of a point at the distance r from the middle, half the longer side, so that t
    means the same as for translations: the angle is t/r radians.

    Parameters
    ----------
    image_shape, smoothing, exact
        As in `TranslateX`.

    Examples
    --------
    A quarter of a turn brings what is on top to the right:

    >>> import numpy as np
    >>> from preimage.invariances import Rotate
    >>> image = np.zeros((3, 3))
    >>> image[0, 1] = 1
    >>> rotate = Rotate((3, 3), exact=True)
    >>> rotate.apply(image.reshape(1, -1), rotate.amount(90)).round(12).reshape(3, 3) + 0
    array([[0., 0., 0.],
           [0., 0., 1.],
           [0., 0., 0.]])
    """

    def __init__(self, image_shape: tuple[int, int], smoothing: float = 0.9, exact: bool = False) -> None:
        self.image_shape = image_shape
        self.smoothing = smoothing
        self.exact = exact

    def amount(self, degrees: float) -> float:
        """The t that rotates by an angle in degrees."""
        return np.deg2rad(degrees) * radius(self.image_shape)

    def flow(self, u: Array, v: Array, t: Array) -> tuple[Array, Array]:
        angle = t / radius(self.image_shape)
        return u * np.cos(angle) + v * np.sin(angle), v * np.cos(angle) - u * np.sin(angle)

    def velocity(self, u: Array, v: Array) -> tuple[Array, Array]:
        return v / radius(self.image_shape), -u / radius(self.image_shape)


class Scale(Warp):
    r"""Enlarge images from the middle: :math:`\tau = -(u\,\partial_u I + v\,\partial_v I) / r`.

    The factor is :math:`e^{t/r}` with r half the longer side: near t = 0, what is at the border moves by t pixels.

    Parameters
    ----------
    image_shape, smoothing, exact
        As in `TranslateX`.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.invariances import Scale
    >>> image = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    >>> larger = Scale((1, 7), exact=True).apply(image, 1.0)
    >>> bool(larger.sum() > image.sum())
    True
    """

    def __init__(self, image_shape: tuple[int, int], smoothing: float = 0.9, exact: bool = False) -> None:
        self.image_shape = image_shape
        self.smoothing = smoothing
        self.exact = exact

    def flow(self, u: Array, v: Array, t: Array) -> tuple[Array, Array]:
        factor = np.exp(-t / radius(self.image_shape))
        return u * factor, v * factor

    def velocity(self, u: Array, v: Array) -> tuple[Array, Array]:
        return -u / radius(self.image_shape), -v / radius(self.image_shape)
