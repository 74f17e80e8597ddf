"""Rows of a data matrix as pictures side by side."""

from typing import Any

import numpy as np

from preimage._arrays import as_points, to_numpy
from preimage._typing import Array, Rows


def as_images(who: str, name: str, X: Rows, image_shape: Any) -> Array:
    """The rows of X as pictures, shape (n, height, width); `who` needs them."""
    if len(image_shape) != 2:
        raise ValueError(f"{who} draws grey pictures of image_shape (height, width); got {tuple(image_shape)!r}.")
    X = np.asarray(to_numpy(as_points(X)), dtype=float)
    height, width = image_shape
    if X.size != X.shape[0] * height * width:
        raise ValueError(
            f"{who} was told that pictures are {height} × {width} = {height * width} pixels; the rows of {name} have "
            f"{X.size // max(X.shape[0], 1)} values."
        )
    return X.reshape(-1, height, width)


def strip(images: Any) -> Array:
    """Pictures side by side in one array, with gaps of NaN: shape (height, n · width + gaps)."""
    n, height, width = images.shape
    gap = gap_of(width)
    framed = np.full((n, height, width + gap), np.nan)
    framed[:, :, :width] = images
    return framed.transpose(1, 0, 2).reshape(height, -1)[:, :-gap]


def gap_of(width: int) -> int:
    return max(1, width // 8)


def middles(n: int, width: int) -> Array:
    """Where in a `strip` the middle of each picture is."""
    return np.arange(n) * (width + gap_of(width)) + (width - 1) / 2


def draw_strip(ax: Any, images: Any, **image_kw: Any) -> Any:
    """Draw pictures side by side without a frame; returns matplotlib's image."""
    image = ax.imshow(strip(images), interpolation="nearest", **image_kw)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_anchor("W")  # rows and their labels line up, and layouts keep room for the labels
    return image


def strip_width(images: Any, picture_size: float) -> float:
    """Width of a `strip` whose pictures are `picture_size` high."""
    _, height, width = images.shape
    return picture_size * (len(images) * (width + gap_of(width)) - gap_of(width)) / height
