"""Rows as images on a pixel grid: coordinates, smoothing, derivatives."""

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates

from preimage._arrays import as_points, from_numpy, to_numpy
from preimage._typing import Array, Rows
from preimage.invariances._transformation import Amount, Transformation, check_amount, check_rows


def as_images(transformation: Transformation, X: Rows, image_shape: Sequence[int]) -> np.ndarray:
    """Rows of X as NumPy images, shape (n, h, w), in double precision."""
    h, w = _checked_shape(transformation, image_shape)
    X = check_rows(transformation, X)
    if X.shape[1] != h * w:
        raise ValueError(
            f"{type(transformation).__name__} works on images of {h} × {w} = {h * w} pixels; X has {X.shape[1]} "
            "columns. Give the shape of the images as `image_shape`."
        )
    return to_numpy(X).astype(np.float64).reshape(-1, h, w)


def as_rows(images: np.ndarray, like: Rows) -> Array:
    """Images as rows, in the precision, array library and device of the rows `like`; double precision for integers."""
    return from_numpy(images.reshape(images.shape[0], -1), as_points(like))


def centered_coordinates(image_shape: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates u (to the right) and v (down) of the pixels, zero in the middle of the image."""
    h, w = image_shape
    v, u = np.meshgrid(np.arange(h) - (h - 1) / 2, np.arange(w) - (w - 1) / 2, indexing="ij")
    return u, v


def radius(image_shape: Sequence[int]) -> float:
    """Half the longer side, in pixels."""
    return max(image_shape) / 2


def derivatives(images: np.ndarray, smoothing: float | tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """∂I/∂u and ∂I/∂v of images smoothed by a Gaussian, so that derivatives exist; zero along sides of one pixel."""
    smooth = gaussian_filter(images, (0, *np.broadcast_to(smoothing, 2))) if np.any(smoothing) else images
    derivative = lambda axis: np.gradient(smooth, axis=axis) if smooth.shape[axis] > 1 else np.zeros_like(smooth)
    return derivative(2), derivative(1)


def sampled(images: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Values of cubic splines through the images at coordinates (n, h, w) or (h, w); the border continues outside."""
    shape = images.shape[1:]
    rows, columns = v + (shape[0] - 1) / 2, u + (shape[1] - 1) / 2
    places = np.broadcast_to(np.stack([rows, columns], axis=-3), (len(images), 2, *shape))
    return np.stack([map_coordinates(image, at, order=3, mode="nearest") for image, at in zip(images, places)])


def moved_along(transformation: Transformation, X: Rows, t: Amount, tangents: Array) -> Array:
    """x + tτ(x): every transformation to first order in t."""
    X = check_rows(transformation, X)
    t = check_amount(transformation, t, X.shape[0])
    step = t if isinstance(t, float) else from_numpy(t, X)[:, None]
    return X + step * tangents


def _checked_shape(transformation: Transformation, image_shape: Sequence[int]) -> tuple[int, int]:
    sides = tuple(image_shape) if hasattr(image_shape, "__len__") else ()
    if len(sides) != 2 or not all(isinstance(side, Integral) and side > 0 for side in sides):
        raise ValueError(
            f"{type(transformation).__name__} needs `image_shape` as two positive numbers, height and width in "
            f"pixels, such as (16, 16); got {image_shape!r}."
        )
    return sides[0], sides[1]
