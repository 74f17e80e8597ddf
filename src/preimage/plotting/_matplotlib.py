"""What figures share: the door to matplotlib, which is optional, panels, and rows as pictures side by side."""

from typing import Any

import numpy as np

from preimage._engine.arrays import as_points, to_numpy
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import own_parameters


class Display:
    """Base of figures, which are dataclasses: they keep copies of what they are made from, to be drawn again."""

    def __post_init__(self) -> None:
        for name, part in list(vars(self).items()):
            setattr(self, name, own_parameters(part))


def tidy(ax: Any) -> None:
    """Axes with a faint grid behind the curves, open to the top and to the right."""
    ax.grid(True, color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def pyplot(who: str) -> Any:
    """`matplotlib.pyplot`, or an error that says what to install; `who` needs it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f'{who} draws with matplotlib, which is not installed. Type: pip install "preimage[plot]"'
        ) from error
    return plt


def panels(
    who: str, ax: Any, count: int, *, n_columns: int | None, panel_size: tuple[float, float], **options: Any
) -> Any:
    """`count` axes: those given as `ax`, or those of a new figure with `n_columns` panels side by side."""
    plt = pyplot(who)
    if ax is not None:
        axes = np.ravel(np.asarray(ax, dtype=object))
        if len(axes) != count:
            raise ValueError(f"{who} draws {count} panels and needs as many axes; got {len(axes)}.")
        return axes
    n_columns = count if n_columns is None else min(n_columns, count)
    n_rows = -(-count // n_columns)
    size = (n_columns * panel_size[0], n_rows * panel_size[1])
    _, grid = plt.subplots(n_rows, n_columns, figsize=size, layout="constrained", squeeze=False, **options)
    axes = grid.ravel()
    for unused in axes[count:]:
        unused.remove()
    for lowest in axes[count - n_columns : count]:
        lowest.tick_params(labelbottom=True)
    return axes[:count]


def legend_place(ax: Any) -> dict[str, Any]:
    """Where a legend goes: to the right of the axes in a figure of our own, where there is room in given axes `ax`."""
    return {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)} if ax is None else {"loc": "best"}


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
