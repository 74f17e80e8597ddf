"""Kinds of pictures: from stored levels to values, and back to levels of the same kind."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._engine.typing import Array
from preimage.cli.tables._paths import need

# Rows of pixels whose distances to all colours of a palette are held at once: 32 MB for the 256 colours of the largest.
PALETTE_BLOCK = 2**14
# A pixel keeps its transparency: a change of one level of it outweighs every change of colour, at most 3 · 255².
ALPHA_WEIGHT = 3 * 255**2 + 1


@dataclass(frozen=True)
class PixelKind:
    """What the numbers of a pixel mean.

    Attributes
    ----------
    name : str
        As messages say it.
    dtype : str
        NumPy's name of the stored levels.
    white : float or None
        The level that becomes 1.0; None where levels have units of their own and are taken as they are.
    channels : int
        Colours of a pixel, without its transparency.
    has_alpha : bool
        Whether transparency is stored after the colours.
    """

    name: str
    dtype: str
    white: float | None
    channels: int = 1
    has_alpha: bool = False


# By Pillow's names of modes. Palettes are read as their colours.
KINDS = {
    "1": PixelKind("black and white", "bool", 1),
    "L": PixelKind("8-bit grey", "uint8", 255),
    "LA": PixelKind("8-bit grey with transparency", "uint8", 255, 1, True),
    "I;16": PixelKind("16-bit grey", "<u2", 65535),
    "I;16L": PixelKind("16-bit grey", "<u2", 65535),
    "I;16B": PixelKind("16-bit grey", ">u2", 65535),
    "I": PixelKind("32-bit integers", "int32", None),
    "F": PixelKind("floating point", "float32", None),
    "RGB": PixelKind("8-bit colours", "uint8", 255, 3),
    "RGBA": PixelKind("8-bit colours with transparency", "uint8", 255, 3, True),
    "P": PixelKind("colours of a palette", "uint8", 255, 3, True),
}


@dataclass(frozen=True)
class Page:
    """What a picture has besides the values of its pixels.

    Attributes
    ----------
    mode : str
        Pillow's.
    alpha : uint8 array of shape (height, width) or None
        Transparency, which is not denoised.
    palette : uint8 array of shape (colours, 4) or None
        Colours with their transparency.
    """

    mode: str
    alpha: Any = None
    palette: Any = None


def values_of(image: Any) -> tuple[Array, Page]:
    """The values of a picture, of shape (height, width) or (height, width, 3), and the rest of it."""
    kind = KINDS[image.mode]
    palette = _palette(image) if image.mode == "P" else None
    # np.array: a copy, as Pillow's own memory goes when the file is closed.
    levels = palette[np.minimum(np.array(image), len(palette) - 1)] if palette is not None else np.array(image)
    alpha = None
    if kind.has_alpha:
        levels, alpha = levels[..., : kind.channels], np.array(levels[..., kind.channels])
        levels = levels[..., 0] if kind.channels == 1 else levels
    return levels.astype(np.float64) / (kind.white or 1), Page(image.mode, alpha, palette)


def image_of(values: Array, page: Page) -> Any:
    """A picture of the kind of `page`, with values rounded to its levels and clipped to its range."""
    image, kind = need("PIL.Image", "Pictures"), KINDS[page.mode]
    levels = _levels(values, kind)
    if kind.has_alpha:
        levels = np.concatenate([levels.reshape(*page.alpha.shape, kind.channels), page.alpha[..., None]], axis=-1)
    if page.palette is None:
        return image.fromarray(np.ascontiguousarray(levels))
    picture = image.fromarray(_nearest(levels, page.palette))
    picture.putpalette(page.palette[:, :3].tobytes())  # grey levels become numbers of colours
    if (page.palette[:, 3] < 255).any():
        picture.info["transparency"] = page.palette[:, 3].tobytes()
    return picture


def _levels(values: Array, kind: PixelKind) -> Array:
    dtype = np.dtype(kind.dtype)
    if dtype.kind == "f":
        limit = float(np.finfo(dtype).max)
        return np.clip(values, -limit, limit).astype(dtype)
    if dtype.kind == "b":
        return values >= 0.5
    limits = np.iinfo(dtype)
    return np.rint(np.clip(values * (kind.white or 1), limits.min, limits.max)).astype(dtype)


def _palette(image: Any) -> Array:
    """All colours of a palette, with transparency."""
    colours = image.getpalette("RGB")
    table = np.full((len(colours) // 3, 4), 255, dtype=np.uint8)
    table[:, :3] = np.reshape(colours, (-1, 3))
    transparent = image.info.get("transparency")
    if isinstance(transparent, bytes):  # of the first colours; others are opaque
        table[: len(transparent), 3] = np.frombuffer(transparent, dtype=np.uint8)[: len(table)]
    elif transparent is not None and transparent < len(table):
        table[transparent, 3] = 0
    return table


def _nearest(pixels: Array, palette: Array) -> Array:
    """The number of the colour nearest to each pixel, among those of its transparency."""
    flat = pixels.reshape(-1, 4).astype(np.int64)
    weights, colours = np.array([1, 1, 1, ALPHA_WEIGHT]), palette.astype(np.int64)
    found = np.empty(len(flat), dtype=np.uint8)
    for first in range(0, len(flat), PALETTE_BLOCK):
        block = flat[first : first + PALETTE_BLOCK]
        # |p − c|² without |p|², which is the same for all colours.
        distances = (colours**2) @ weights - 2 * (block * weights) @ colours.T
        found[first : first + len(block)] = distances.argmin(axis=1)
    return found.reshape(pixels.shape[:2])
