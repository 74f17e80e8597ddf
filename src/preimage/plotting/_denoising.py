"""Noisy pictures, and what methods make of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._engine.typing import Array, Rows
from preimage.plotting._matplotlib import Display, as_images, draw_strip, panels, strip_width


@dataclass(kw_only=True, eq=False, repr=False)
class DenoisingDisplay(Display):
    r"""Pictures in columns, one row for the clean ones, the noisy ones, and the output of each method.

    All rows share one grey scale: the range of the clean pictures, or of the outputs where those are not known. Where
    they are, every row is labelled with its mean squared error over all pictures given, also those not drawn.

    Parameters
    ----------
    rows : dict of str to array of shape (n, height, width)
        The pictures of each row, from top to bottom.
    errors : dict of str to float or None, default=None
        Mean squared errors, written next to the names of `rows`.
    limits : two floats or None, default=None
        What is drawn black and what white; None takes the range of the last row.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        One for each row.
    images_ : list of matplotlib images
        One for each row.
    figure_ : matplotlib Figure

    See Also
    --------
    preimage.KernelPCA.denoise : Denoises the rows.
    preimage.model_selection.DenoisingSearch : Chooses the model.
    NavigationDisplay : Pictures between two others.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from preimage import KernelPCA
    >>> from preimage.plotting import DenoisingDisplay
    >>> X = load_digits().data[:200] / 16
    >>> noisy = X + np.random.default_rng(0).normal(scale=0.25, size=X.shape)
    >>> model = KernelPCA(20, gamma=0.05).fit(X)
    >>> display = DenoisingDisplay.from_images(noisy, {"kernel PCA": model.denoise(noisy)}, (8, 8), clean=X)
    >>> list(display.rows)
    ['clean', 'noisy', 'kernel PCA']
    """

    rows: Any
    errors: Any = None
    limits: Any = None

    @classmethod
    def from_images(
        cls,
        noisy: Array,
        denoised: Any,
        image_shape: Any,
        *,
        clean: Rows = None,
        n_images: int = 10,
        ax: Any = None,
        **image_kw: Any,
    ) -> "DenoisingDisplay":
        """Draw the first pictures of each set.

        Parameters
        ----------
        noisy : array of shape (n, height · width)
            Pictures row by row.
        denoised : dict of str to array of shape (n, height · width)
            The output of each method, under its name.
        image_shape : two ints
            Height and width.
        clean : array of shape (n, height · width) or None, default=None
            The truth, where it is known.
        n_images : int, default=10
            How many pictures to draw.
        ax, **image_kw
            As in `plot`.

        Returns
        -------
        DenoisingDisplay
        """
        sets = ({} if clean is None else {"clean": clean}) | {"noisy": noisy} | dict(denoised)
        rows = {name: as_images("DenoisingDisplay", name, X, image_shape) for name, X in sets.items()}
        sizes = {name: len(images) for name, images in rows.items()}
        if len(set(sizes.values())) > 1:
            raise ValueError(f"DenoisingDisplay compares the same pictures in every row; got {sizes}.")
        display = cls(
            rows={name: images[:n_images] for name, images in rows.items()},
            errors=None if clean is None else _errors(rows),
            limits=_limits(rows),
        )
        return display.plot(ax=ax, **image_kw)

    def plot(
        self, ax: Any = None, *, cmap: Any = "gray", picture_size: float = 0.75, **image_kw: Any
    ) -> "DenoisingDisplay":
        """Draw one panel per row.

        Parameters
        ----------
        ax : as many matplotlib Axes as rows, or None, default=None
            None makes a new figure.
        cmap : str or matplotlib Colormap, default="gray"
            "gray_r" draws dark ink on white paper.
        picture_size : float, default=0.75
            Height of a picture in a new figure, in inches.
        **image_kw
            Passed to `matplotlib.axes.Axes.imshow`.

        Returns
        -------
        self
        """
        size = (strip_width(next(iter(self.rows.values())), picture_size) + 1.2, 1.1 * picture_size)
        self.axes_ = panels("DenoisingDisplay", ax, len(self.rows), n_columns=1, panel_size=size)
        self.figure_ = self.axes_[0].figure
        lowest, highest = self.limits or _range(list(self.rows.values())[-1])
        style = {"cmap": cmap, "vmin": lowest, "vmax": highest} | image_kw
        self.images_ = [draw_strip(panel, images, **style) for panel, images in zip(self.axes_, self.rows.values())]
        for panel, name in zip(self.axes_, self.rows):
            panel.set_ylabel(self._label(name), rotation=0, ha="right", va="center", fontsize="medium")
        return self

    def _label(self, name: str) -> str:
        if self.errors is None or name not in self.errors:
            return name
        return f"{name}\nMSE {self.errors[name]:.4f}"


def _errors(rows: Any) -> Any:
    return {name: float(np.mean((images - rows["clean"]) ** 2)) for name, images in rows.items() if name != "clean"}


def _limits(rows: Any) -> Any:
    if "clean" in rows:
        return _range(rows["clean"])
    outputs = [images for name, images in rows.items() if name != "noisy"] or [rows["noisy"]]
    return _range(np.concatenate(outputs))


def _range(images: Any) -> Any:
    return float(images.min()), float(images.max())
