"""A walk through feature space as a strip of pictures."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preimage._engine.typing import Rows
from preimage.plotting._matplotlib import Display, as_images, draw_strip, middles, panels, strip_width
from preimage.solvers._walks import walk_fractions


@dataclass(kw_only=True, eq=False, repr=False)
class NavigationDisplay(Display):
    r"""Pre-images along the straight line between two points of the principal subspace, from left to right.

    Picture t is the pre-image of :math:`(1 - t) P\varphi(a) + t P\varphi(b)`. A straight line in feature space is a
    curve in input space that stays near the data, where the straight line between two inputs shows one picture fading
    into the other.

    Parameters
    ----------
    images : array of shape (steps, height, width)
        The pictures in the order of the walk.
    names : two str or None, default=None
        What the ends are called.
    fractions : array of shape (steps,) or None, default=None
        Where on the line each picture is: 0 and 1 are its ends. None is equal steps from end to end.

    Attributes
    ----------
    ax_ : matplotlib Axes
    image_ : matplotlib image
    figure_ : matplotlib Figure

    See Also
    --------
    preimage.KernelPCA.navigate : The pictures as an array.
    preimage.explore : A page on which one walks with the pointer.
    DenoisingDisplay : Rows before and after denoising.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from preimage import KernelPCA
    >>> from preimage.plotting import NavigationDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KernelPCA(30, gamma=0.05).fit(X[:300] / 16)
    >>> display = NavigationDisplay.from_estimator(model, X[:1] / 16, X[1:2] / 16, (8, 8), steps=7)
    >>> display.images.shape
    (7, 8, 8)
    """

    images: Any
    names: Any = None
    fractions: Any = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        A: Rows,
        B: Rows,
        image_shape: Any,
        steps: int = 10,
        *,
        beyond: float | tuple[float, float] = 0.0,
        names: Any = None,
        ax: Any = None,
        **image_kw: Any,
    ) -> "NavigationDisplay":
        """Walk from A to B with a fitted model, and draw the way.

        Parameters
        ----------
        estimator : KernelPCA
            Or another fitted model with `navigate`.
        A, B : arrays of shape (n, height · width)
            One picture each, or a set each, which stands for its mean in feature space.
        image_shape : two ints
            Height and width.
        steps : int, default=10
            Pictures on the way, both ends included.
        beyond : float or two floats, default=0.0
            How far to go on after each end, as in `KernelPCA.navigate`.
        names, ax, **image_kw
            As in `from_images`.

        Returns
        -------
        NavigationDisplay
        """
        check_is_fitted(estimator)
        fractions = walk_fractions(steps, beyond)
        # Models of others may not be able to go beyond the ends.
        options = {"beyond": beyond} if fractions[0] < 0 or fractions[-1] > 1 else {}
        walk = estimator.navigate(A, B, steps, **options)
        return cls.from_images(walk, image_shape, names=names, fractions=fractions, ax=ax, **image_kw)

    @classmethod
    def from_images(
        cls,
        images: Any,
        image_shape: Any,
        *,
        names: Any = None,
        fractions: Any = None,
        ax: Any = None,
        **image_kw: Any,
    ) -> "NavigationDisplay":
        """Draw a walk that comes from elsewhere, for instance a straight line between two inputs.

        Parameters
        ----------
        images : array of shape (steps, height · width)
            Pictures row by row.
        image_shape : two ints
            Height and width.
        names : two str or None, default=None
            What the ends are called.
        fractions : array of shape (steps,) or None, default=None
            Where on the line each picture is: 0 and 1 are its ends. None is equal steps from end to end.
        ax, **image_kw
            As in `plot`.

        Returns
        -------
        NavigationDisplay
        """
        pictures = as_images("NavigationDisplay", "the walk", images, image_shape)
        if fractions is not None and np.shape(fractions) != (len(pictures),):
            raise ValueError(
                f"NavigationDisplay needs one fraction per picture, shape ({len(pictures)},); got shape "
                f"{np.shape(fractions)}."
            )
        return cls(images=pictures, names=names, fractions=fractions).plot(ax=ax, **image_kw)

    def plot(
        self, ax: Any = None, *, cmap: Any = "gray", picture_size: float = 0.9, **image_kw: Any
    ) -> "NavigationDisplay":
        """Draw the strip.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.
        cmap : str or matplotlib Colormap, default="gray"
            "gray_r" draws dark ink on white paper.
        picture_size : float, default=0.9
            Height of a picture in a new figure, in inches.
        **image_kw
            Passed to `matplotlib.axes.Axes.imshow`.

        Returns
        -------
        self
        """
        count, _, width = self.images.shape
        size = (strip_width(self.images, picture_size), picture_size + 0.35)
        (self.ax_,) = panels("NavigationDisplay", ax, 1, n_columns=1, panel_size=size)
        self.figure_ = self.ax_.figure
        self.image_ = draw_strip(self.ax_, self.images, **({"cmap": cmap} | image_kw))
        self.ax_.set_xticks(middles(count, width), self._labels(count))
        self.ax_.tick_params(length=0)
        return self

    def _labels(self, count: int) -> Any:
        fractions = np.linspace(0, 1, count) if self.fractions is None else np.asarray(self.fractions)
        labels = [f"{fraction:.2g}" for fraction in fractions]
        if self.names is not None:
            for end, name in enumerate(self.names):
                labels[int(np.argmin(np.abs(fractions - end)))] = name
        return labels
