"""Rows as pictures: noisy and denoised ones, walks through feature space, and the vectors of machines."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import as_points, to_numpy
from preimage._engine.typing import Array, Rows
from preimage._models.machines import Binary, Calibrated, Logistic, OneVsOne, OneVsRest
from preimage.interop import machine_of
from preimage.plotting._matplotlib import Display
from preimage.solvers._walks import walk_fractions


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
        if clean is None:
            errors, judging = None, np.concatenate([rows[name] for name in rows if name != "noisy"] or [rows["noisy"]])
        else:
            judging = rows["clean"]
            errors = {name: float(np.mean((rows[name] - judging) ** 2)) for name in rows if name != "clean"}
        drawn = {name: images[:n_images] for name, images in rows.items()}
        return cls(rows=drawn, errors=errors, limits=_range(judging)).plot(ax=ax, **image_kw)

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
        self.axes_ = self._panels(ax, len(self.rows), n_columns=1, panel_size=size)
        lowest, highest = self.limits or _range(list(self.rows.values())[-1])
        style = {"cmap": cmap, "vmin": lowest, "vmax": highest} | image_kw
        self.images_ = [draw_strip(panel, images, **style) for panel, images in zip(self.axes_, self.rows.values())]
        for panel, name in zip(self.axes_, self.rows):
            label = f"{name}\nMSE {self.errors[name]:.4f}" if name in (self.errors or ()) else name
            panel.set_ylabel(label, rotation=0, ha="right", va="center", fontsize="medium")
        return self


def _range(images: Any) -> Any:
    return float(images.min()), float(images.max())


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
        (self.ax_,) = self._panels(ax, 1, n_columns=1, panel_size=size)
        self.image_ = draw_strip(self.ax_, self.images, **({"cmap": cmap} | image_kw))
        fractions = np.linspace(0, 1, count) if self.fractions is None else np.asarray(self.fractions)
        labels = [f"{fraction:.2g}" for fraction in fractions]
        if self.names is not None:
            for end, name in enumerate(self.names):
                labels[int(np.argmin(np.abs(fractions - end)))] = name
        self.ax_.set_xticks(np.arange(count) * (width + _gap(width)) + (width - 1) / 2, labels)
        self.ax_.tick_params(length=0)
        return self


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
        contributions = _contributions(output, coefficients)
        if contributions is None:
            titles = [f"{row[np.argmax(np.abs(row))]:+.2g}" for row in coefficients]
        else:
            titles = [str(output.classes[number]) for number in np.argmax(contributions, axis=1)]
        # Pixels of new vectors may be far out, below the background most of all; the rest should keep its contrast.
        limits = tuple(np.percentile(images, [10, 99]).tolist())
        titles = [titles[number] for number in order]
        display = cls(images=images[order], titles=titles, weights=weights[order], limits=limits)
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
        self.axes_ = self._panels(ax, n, n_columns=n_columns, panel_size=size)
        style = {"cmap": cmap, "vmin": self.limits[0], "vmax": self.limits[1], "interpolation": "nearest"} | image_kw
        self.images_ = [panel.imshow(image, **style) for panel, image in zip(self.axes_, self.images)]
        for panel, title in zip(self.axes_, self.titles):
            panel.set_title(title, fontsize="small", pad=3)
            panel.set(xticks=[], yticks=[])
            panel.spines[:].set(color="0.7", linewidth=0.6)
        return self


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


def draw_strip(ax: Any, images: Any, **image_kw: Any) -> Any:
    """Draw pictures side by side, with gaps of NaN and without a frame; returns matplotlib's image."""
    n, height, width = images.shape
    framed = np.full((n, height, width + _gap(width)), np.nan)
    framed[:, :, :width] = images
    strip = framed.transpose(1, 0, 2).reshape(height, -1)[:, : -_gap(width)]
    image = ax.imshow(strip, interpolation="nearest", **image_kw)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_anchor("W")  # rows and their labels line up, and layouts keep room for the labels
    return image


def strip_width(images: Any, picture_size: float) -> float:
    """Width of a strip whose pictures are `picture_size` high."""
    n, height, width = images.shape
    return picture_size * (n * (width + _gap(width)) - _gap(width)) / height


def _gap(width: int) -> int:
    return max(1, width // 8)
