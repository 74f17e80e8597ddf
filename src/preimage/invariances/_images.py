"""Transformations of images on a pixel grid and of signals: shifts, rotations, scalings, and thicker lines."""

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates

from preimage._engine.arrays import as_points, from_numpy, to_numpy
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import Interval, check_parameters
from preimage.invariances._transformation import Amount, Transformation, check_amount, check_rows

# Step of the derivative of a spline warp, in pixels: central differences then err by its square, about a millionth.
SPLINE_STEP = 1e-3
# Imaginary step of the derivative of a flow, whose errors are its square, far below rounding.
COMPLEX_STEP = 1e-30

IMAGE_CONSTRAINTS = {
    "image_shape": [tuple, list, np.ndarray],
    "smoothing": [Interval(Real, 0, None, closed="left")],
}


class Warp(Transformation):
    r"""Images resampled along a flow of the plane, :math:`(L_t I)(p) = I(F_t p)`.

    A subclass gives the flow :math:`F_t` of the points at which the image is read. With its velocity
    :math:`(a, b) = \frac{d}{dt} F_t p` at t = 0 tangents are :math:`\tau = a\,\partial_u I + b\,\partial_v I`, in
    coordinates u (to the right) and v (down) from the middle of the image. The unit of t is a pixel.
    """

    _parameter_constraints = {**IMAGE_CONSTRAINTS, "exact": ["boolean"]}

    def __init__(self, image_shape: tuple[int, ...], smoothing: float = 0.9, exact: bool = False) -> None:
        self.image_shape = image_shape
        self.smoothing = smoothing
        self.exact = exact

    @abstractmethod
    def flow(self, u: Array, v: Array, t: Array) -> tuple[Array, Array]:
        """Where the image is read: coordinates F_t(u, v)."""

    @gives_finite_numbers()
    def apply(self, X: Rows, t: Amount) -> Array:
        """The images moved by t pixels, as rows: along the tangent, or warped when `exact`."""
        check_parameters(self)
        if not self.exact:
            return moved_along(self, X, t, self.tangents(X))
        images, channels = as_images(self, X, self._shape(X))
        amounts = np.asarray(check_amount(self, t, len(images) // channels))
        if amounts.ndim:  # all channels of an image move together
            amounts = np.repeat(amounts, channels)
        return as_rows(self._warped(images, amounts[..., None, None]), X, channels)

    @gives_finite_numbers()
    def tangents(self, X: Rows) -> Array:
        """The tangents τ(x), shape (n, d): derivatives of smoothed images, or of spline warps when `exact`."""
        check_parameters(self)
        images, channels = as_images(self, X, self._shape(X))
        if self.exact:
            ahead, behind = (self._warped(images, t) for t in (SPLINE_STEP, -SPLINE_STEP))
            return as_rows((ahead - behind) / (2 * SPLINE_STEP), X, channels)
        du, dv = derivatives(images, self._widths())
        a, b = (np.imag(each) / COMPLEX_STEP for each in self.flow(*coordinates(images), COMPLEX_STEP * 1j))
        return as_rows(a * du + b * dv, X, channels)

    def _shape(self, X: Rows) -> tuple[int, ...]:
        return self.image_shape

    def _widths(self) -> float | tuple[float, float]:
        """Standard deviations of the Gaussian that smooths images before they are differentiated."""
        return self.smoothing

    def _radius(self) -> float:
        """Half the longer side, in pixels."""
        return max(self.image_shape[:2]) / 2

    def _warped(self, images: np.ndarray, t: Amount) -> np.ndarray:
        """Values of cubic splines through the images where they are read; the border continues outside."""
        u, v = np.broadcast_arrays(*self.flow(*coordinates(images), t))
        shape = images.shape[1:]
        rows, columns = v + (shape[0] - 1) / 2, u + (shape[1] - 1) / 2
        places = np.broadcast_to(np.stack([rows, columns], axis=-3), (len(images), 2, *shape))
        return np.stack([map_coordinates(image, at, order=3, mode="nearest") for image, at in zip(images, places)])


class TranslateX(Warp):
    r"""Move images to the right by t pixels: :math:`\tau = -\partial_u I`.

    Parameters
    ----------
    image_shape : (int, int) or (int, int, int)
        Height and width in pixels; images are rows of height · width values, line by line. Images in colour have a
        third number, the channels: rows of height · width · channels values, those of a pixel together, as in arrays
        that Pillow and scikit-image give. All channels move alike.
    smoothing : float, default=0.9
        Standard deviation, in pixels, of the Gaussian that smooths images before they are differentiated.
    exact : bool, default=False
        False moves along the tangent, :math:`L_t x = x + t\tau(x)`: right for t up to about a pixel. True resamples
        the image by cubic splines: right for any t, slower, and without `smoothing`. Pixels from outside
        the image have the value of the nearest one inside.

    See Also
    --------
    TranslateY : Moves down.
    Rotate : Turns.
    TangentCovariance : Makes models that ignore small shifts.
    VirtualExamples : Adds shifted images to data.
    preimage.OrientedKernelPCA : Features that do not change with shifts.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.invariances import TranslateX
    >>> image = np.array([[0.0, 0.0, 1.0, 0.0, 0.0]])
    >>> TranslateX((1, 5), exact=True).apply(image, 1).round(12) + 0
    array([[0., 0., 0., 1., 0.]])
    """

    def flow(self, u: Array, v: Array, t: Array) -> tuple[Array, Array]:
        return u - t, v


class TranslateY(Warp):
    r"""Move images down by t pixels: :math:`\tau = -\partial_v I`.

    Parameters
    ----------
    image_shape, smoothing, exact
        As in `TranslateX`.

    See Also
    --------
    TranslateX : Moves to the right; describes the parameters.
    Rotate : Turns.
    VirtualExamples : Adds shifted images to data.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.invariances import TranslateY
    >>> image = np.array([[0.0, 0.0, 1.0, 0.0, 0.0]])
    >>> TranslateY((5, 1), exact=True).apply(image, 1).round(12) + 0
    array([[0., 0., 0., 1., 0.]])
    """

    def flow(self, u: Array, v: Array, t: Array) -> tuple[Array, Array]:
        return u, v - t


class Rotate(Warp):
    r"""Turn images clockwise: :math:`\tau = (v\,\partial_u I - u\,\partial_v I) / r`.

    The amount t is the path, in pixels, of a point at the distance r from the middle, half the longer side, so that t
    means the same as for translations: the angle is t/r radians.

    Parameters
    ----------
    image_shape, smoothing, exact
        As in `TranslateX`.

    See Also
    --------
    Scale : Enlarges.
    TranslateX : Moves; describes the parameters.
    TangentCovariance : Makes models that ignore rotations.
    VirtualExamples : Adds rotated images to data.

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

    def amount(self, degrees: float) -> float:
        """The t that rotates by an angle in degrees."""
        return np.deg2rad(degrees) * self._radius()

    def flow(self, u: Array, v: Array, t: Array) -> tuple[Array, Array]:
        angle = t / self._radius()
        return u * np.cos(angle) + v * np.sin(angle), v * np.cos(angle) - u * np.sin(angle)


class Scale(Warp):
    r"""Enlarge images from the middle: :math:`\tau = -(u\,\partial_u I + v\,\partial_v I) / r`.

    The factor is :math:`e^{t/r}` with r half the longer side: near t = 0, what is at the border moves by t pixels.

    Parameters
    ----------
    image_shape, smoothing, exact
        As in `TranslateX`.

    See Also
    --------
    Rotate : Turns.
    Thicken : Makes lines thicker without moving them.
    TranslateX : Moves; describes the parameters.
    VirtualExamples : Adds enlarged images to data.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.invariances import Scale
    >>> image = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    >>> larger = Scale((1, 7), exact=True).apply(image, 1.0)
    >>> bool(larger.sum() > image.sum())
    True
    """

    def flow(self, u: Array, v: Array, t: Array) -> tuple[Array, Array]:
        factor = np.exp(-t / self._radius())
        return u * factor, v * factor


class TimeShift(Warp):
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

    def flow(self, u: Array, v: Array, t: Array) -> tuple[Array, Array]:
        return u - t, v

    def _shape(self, X: Rows) -> tuple[int, ...]:
        """Signals are lines of an image."""
        n_columns = check_rows(self, X).shape[1]
        length, rest = divmod(n_columns, self.n_channels)
        if rest:
            raise ValueError(
                f"TimeShift cuts rows into {self.n_channels} signals of equal length; X has {n_columns} columns. "
                "Set `n_channels` to a divisor of it."
            )
        return self.n_channels, length

    def _widths(self) -> tuple[float, float]:
        return 0.0, self.smoothing


class Thicken(Transformation):
    r"""Thicken bright lines on dark ground: :math:`\tau = (\partial_u I)^2 + (\partial_v I)^2`.

    The only one among the usual transformations of digits that does not move pixels. It has no exact form:
    :math:`L_t x = x + t \tau(x)`. Its tangent is quadratic in the image, so t = 1 means a pixel where grey values
    range over one.

    Parameters
    ----------
    image_shape : (int, int) or (int, int, int)
        Height and width in pixels, and the number of channels of images in colour, each of which thickens by itself.
    smoothing : float, default=0.9
        Standard deviation, in pixels, of the Gaussian that smooths images before they are differentiated.

    See Also
    --------
    Scale : Enlarges the whole image.
    TranslateX : Moves.
    VirtualExamples : Adds such images to data.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.invariances import Thicken
    >>> line = np.array([[0.0, 0.0, 1.0, 0.0, 0.0]])
    >>> bool(Thicken((1, 5)).apply(line, 1.0).sum() > line.sum())
    True
    """

    _parameter_constraints = IMAGE_CONSTRAINTS

    def __init__(self, image_shape: tuple[int, ...], smoothing: float = 0.9) -> None:
        self.image_shape = image_shape
        self.smoothing = smoothing

    @gives_finite_numbers()
    def apply(self, X: Rows, t: Amount) -> Array:
        return moved_along(self, X, t, self.tangents(X))

    @gives_finite_numbers()
    def tangents(self, X: Rows) -> Array:
        check_parameters(self)
        images, channels = as_images(self, X, self.image_shape)
        du, dv = derivatives(images, self.smoothing)
        return as_rows(du**2 + dv**2, X, channels)


def as_images(transformation: Transformation, X: Rows, image_shape: Sequence[int]) -> tuple[np.ndarray, int]:
    """Rows of X as NumPy images, shape (n · channels, h, w), in double precision, and the number of channels.

    The channels of a row follow it.
    """
    name, sides = type(transformation).__name__, tuple(image_shape) if hasattr(image_shape, "__len__") else ()
    if len(sides) not in (2, 3) or not all(isinstance(side, Integral) and side > 0 for side in sides):
        raise ValueError(
            f"{name} needs `image_shape` as two positive numbers, height and width in pixels, such as (16, 16), or "
            f"three for images in colour, such as (16, 16, 3); got {image_shape!r}."
        )
    h, w, channels = (*sides, 1)[:3]
    X = check_rows(transformation, X)
    if X.shape[1] != h * w * channels:
        pixels = f"{h} × {w} = {h * w} pixels"
        values = pixels if channels == 1 else f"{pixels} with {channels} channels, {h * w * channels} values"
        raise ValueError(
            f"{name} works on images of {values}; X has {X.shape[1]} columns. Give the shape "
            "of the images as `image_shape`: height and width, and the number of channels where there are several."
        )
    images = to_numpy(X).astype(np.float64).reshape(-1, h, w, channels)
    return images.transpose(0, 3, 1, 2).reshape(-1, h, w), channels


def as_rows(images: np.ndarray, like: Rows, channels: int) -> Array:
    """Images as rows, in the precision, array library and device of the rows `like`; double precision for integers.

    Every `channels` images in succession are one in colour, put together pixel by pixel.
    """
    h, w = images.shape[1:]
    together = images.reshape(-1, channels, h, w).transpose(0, 2, 3, 1)
    return from_numpy(np.ascontiguousarray(together).reshape(-1, h * w * channels), as_points(like))


def coordinates(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates u (to the right) and v (down) of the pixels, zero in the middle of the image."""
    h, w = images.shape[1:]
    v, u = np.meshgrid(np.arange(h) - (h - 1) / 2, np.arange(w) - (w - 1) / 2, indexing="ij")
    return u, v


def derivatives(images: np.ndarray, smoothing: float | tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """∂I/∂u and ∂I/∂v of images smoothed by a Gaussian, so that derivatives exist; zero along sides of one pixel."""
    smooth = gaussian_filter(images, (0, *np.broadcast_to(smoothing, 2))) if np.any(smoothing) else images
    derivative = lambda axis: np.gradient(smooth, axis=axis) if smooth.shape[axis] > 1 else np.zeros_like(smooth)
    return derivative(2), derivative(1)


def moved_along(transformation: Transformation, X: Rows, t: Amount, tangents: Array) -> Array:
    """x + tτ(x): every transformation to first order in t."""
    X = check_rows(transformation, X)
    t = check_amount(transformation, t, X.shape[0])
    step = t if isinstance(t, float) else from_numpy(t, X)[:, None]
    return X + step * tangents
