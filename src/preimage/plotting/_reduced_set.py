"""The vectors of a compressed model, as pictures."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from preimage._engine.arrays import to_numpy
from preimage._engine.typing import Array
from preimage._models.machines import Binary, Calibrated, Logistic, OneVsOne, OneVsRest
from preimage.interop import machine_of
from preimage.plotting._matplotlib import Display, as_images, panels


@dataclass(kw_only=True, eq=False, repr=False)
class ReducedSetDisplay(Display):
    """The vectors of a kernel machine as pictures in a grid, those with the largest coefficients first.

    Vectors are ordered by the length of their coefficients. Titles give the class that a vector supports most, or,
    where there are no classes, its coefficient.

    Parameters
    ----------
    images : array of shape (n, height, width)
        In the order in which they are drawn.
    titles : list of n str
        What is written above each picture.
    weights : array of shape (n,)
        Lengths of the coefficients.
    limits : two floats
        What is drawn white and what black.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        One for each vector.
    images_ : list of matplotlib images
    figure_ : matplotlib Figure

    See Also
    --------
    preimage.compress : Makes such machines.
    CompressionDisplay : Errors against the number of points.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from preimage import compress
    >>> from preimage.plotting import ReducedSetDisplay
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> small = compress(SVC(gamma=0.001).fit(X[:200], y[:200]), 6, X=X[:200])
    >>> display = ReducedSetDisplay.from_estimator(small, image_shape=(8, 8))
    >>> display.images.shape
    (6, 8, 8)
    """

    images: Any
    titles: Any
    weights: Any
    limits: Any

    @classmethod
    def from_estimator(
        cls, estimator: Any, image_shape: Any, *, n_images: int | None = None, ax: Any = None, **image_kw: Any
    ) -> "ReducedSetDisplay":
        """Draw the vectors of a compressed model, or of any kernel machine on pictures.

        Parameters
        ----------
        estimator : compressed model, KernelMachine, or fitted estimator that `machine_of` knows
        image_shape : two ints
            Height and width.
        n_images : int or None, default=None
            How many vectors to draw; None draws all.
        ax, **image_kw
            As in `plot`.

        Returns
        -------
        ReducedSetDisplay
        """
        machine = machine_of(estimator)
        coefficients: Array = to_numpy(machine.expansion.coefficients)
        output: Any = machine.output
        if output.kind == "transformer":
            coefficients = coefficients[:, : output.n_components]
        images = as_images("ReducedSetDisplay", "points_", machine.expansion.inputs, image_shape)
        weights = np.sqrt(np.sum(coefficients**2, axis=1))
        order = np.argsort(-weights, kind="stable")[:n_images]
        titles = _titles(machine.output, coefficients)
        # Pixels of new vectors may be far out, below the background most of all; the rest should keep its contrast.
        limits = tuple(np.percentile(images, [10, 99]).tolist())
        display = cls(
            images=images[order],
            titles=[titles[number] for number in order],
            weights=weights[order],
            limits=limits,
        )
        return display.plot(ax=ax, **image_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        n_columns: int | None = 10,
        cmap: Any = "gray_r",
        picture_size: float = 0.8,
        **image_kw: Any,
    ) -> "ReducedSetDisplay":
        """Draw one panel per vector.

        Parameters
        ----------
        ax : as many matplotlib Axes as vectors, or None, default=None
            None makes a new figure.
        n_columns : int, default=10
            Vectors side by side in a new figure.
        cmap : str or matplotlib Colormap, default="gray_r"
        picture_size : float, default=0.8
            Height of a picture in a new figure, in inches.
        **image_kw
            Passed to `matplotlib.axes.Axes.imshow`.

        Returns
        -------
        self
        """
        n, height, width = self.images.shape
        size = (picture_size * width / height * 1.08, picture_size + 0.25)
        self.axes_ = panels("ReducedSetDisplay", ax, n, n_columns=n_columns, panel_size=size)
        self.figure_ = self.axes_[0].figure
        style = {"cmap": cmap, "vmin": self.limits[0], "vmax": self.limits[1], "interpolation": "nearest"} | image_kw
        self.images_ = [panel.imshow(image, **style) for panel, image in zip(self.axes_, self.images)]
        for panel, title in zip(self.axes_, self.titles):
            panel.set_title(title, fontsize="small", pad=3)
            panel.set(xticks=[], yticks=[])
            panel.spines[:].set(color="0.7", linewidth=0.6)
        return self


def _titles(output: Any, coefficients: Array) -> Any:
    contributions = _contributions(output, coefficients)
    if contributions is None:
        largest = np.argmax(np.abs(coefficients), axis=1)
        return [f"{row[column]:+.2g}" for row, column in zip(coefficients, largest)]
    return [str(output.classes[number]) for number in np.argmax(contributions, axis=1)]


def _contributions(output: Any, coefficients: Array) -> Any:
    """Contributions of each vector to the decision for each class, shape (n, n_classes); None without classes."""
    if isinstance(output, Calibrated):
        return _contributions(output.classifier, coefficients)
    if isinstance(output, (Binary, Logistic, OneVsRest)):
        is_pair = output.n_functions == 1 and output.classes.size == 2
        return np.concatenate([-coefficients, coefficients], axis=1) if is_pair else coefficients
    if not isinstance(output, OneVsOne):
        return None
    contributions = np.zeros((coefficients.shape[0], output.classes.size))
    for column, (first, second) in enumerate(combinations(range(output.classes.size), 2)):
        contributions[:, first] += coefficients[:, column]
        contributions[:, second] -= coefficients[:, column]
    return contributions
