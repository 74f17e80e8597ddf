"""A walk through feature space as a strip of pictures."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from preimage._typing import Rows
from preimage.plotting._matplotlib import as_images, draw_strip, middles, panels, strip_width


class NavigationDisplay:
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

    Attributes
    ----------
    ax_ : matplotlib Axes
    image_ : matplotlib image
    figure_ : matplotlib Figure

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

    def __init__(self, *, images: Any, names: Any = None) -> None:
        self.images = images
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        A: Rows,
        B: Rows,
        image_shape: Any,
        steps: int = 10,
        *,
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
        names, ax, **image_kw
            As in `from_images`.

        Returns
        -------
        NavigationDisplay
        """
        check_is_fitted(estimator)
        return cls.from_images(estimator.navigate(A, B, steps), image_shape, names=names, ax=ax, **image_kw)

    @classmethod
    def from_images(
        cls, images: Any, image_shape: Any, *, names: Any = None, ax: Any = None, **image_kw: Any
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
        ax, **image_kw
            As in `plot`.

        Returns
        -------
        NavigationDisplay
        """
        pictures = as_images("NavigationDisplay", "the walk", images, image_shape)
        return cls(images=pictures, names=names).plot(ax=ax, **image_kw)

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
        labels = [f"{step / (count - 1):.2g}" for step in range(count)]
        if self.names is not None:
            labels[0], labels[-1] = self.names
        return labels
