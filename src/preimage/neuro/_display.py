"""Prediction against reproducibility, and maps of the brain."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._engine.typing import Array
from preimage.plotting._matplotlib import Display, legend_place, panels

COLORS = ("0.45", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")


@dataclass(kw_only=True, eq=False, repr=False)
class SplitHalfDisplay(Display):
    """Curves of prediction and reproducibility by split halves, one per pipeline; the best corner is (1, 1).

    Each curve runs over the values of a parameter, a penalty for instance; the point nearest to (1, 1) is marked.

    Parameters
    ----------
    curves : dict of str to SplitHalfCurve
        Under the names of the pipelines.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict of str to matplotlib Line2D

    See Also
    --------
    preimage.neuro.pr_curve : The curves.
    MapDisplay : The maps themselves.

    Examples
    --------
    >>> from preimage import PenalizedDiscriminant
    >>> from preimage.neuro import make_scans
    >>> from preimage.neuro import pr_curve
    >>> from preimage.neuro import SplitHalfDisplay
    >>> scans = make_scans(n_runs=4, n_times=30, size=12, snr=0.7)
    >>> curve = pr_curve(PenalizedDiscriminant(), scans.X, scans.y, scans.run)
    >>> display = SplitHalfDisplay.from_curves({"raw": curve})
    >>> display.ax_.get_xlabel()
    'Prediction'
    """

    curves: Any

    @classmethod
    def from_curves(cls, curves: Any, *, ax: Any = None, **line_kw: Any) -> "SplitHalfDisplay":
        """Draw curves under their names.

        Parameters
        ----------
        curves : dict of str to SplitHalfCurve, or a SplitHalfCurve
        ax, **line_kw
            As in `plot`.

        Returns
        -------
        SplitHalfDisplay
        """
        curves = dict(curves) if hasattr(curves, "keys") else {getattr(curves, "param_name", ""): curves}
        if not curves or not all(hasattr(curve, "param_values") for curve in curves.values()):
            raise ValueError(f"SplitHalfDisplay needs at least one curve, as `pr_curve` gives them; got {curves!r}.")
        return cls(curves=curves).plot(ax=ax, **line_kw)

    def plot(self, ax: Any = None, **line_kw: Any) -> "SplitHalfDisplay":
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.
        **line_kw
            Passed to `matplotlib.axes.Axes.plot`.

        Returns
        -------
        self
        """
        (self.ax_,) = panels("SplitHalfDisplay", ax, 1, n_columns=1, panel_size=(7.6, 4.4))
        self.figure_ = self.ax_.figure
        self.lines_ = {}
        for number, (name, curve) in enumerate(self.curves.items()):
            p, r = curve.prediction.mean(axis=0), curve.reproducibility.mean(axis=0)
            distance = curve.distance.mean(axis=0)[curve.best_index]
            style = {"color": COLORS[number % len(COLORS)], "marker": ".", "linewidth": 1.4} | line_kw
            (self.lines_[name],) = self.ax_.plot(p, r, label=f"{name} ({distance:.3f})", **style)
            self.ax_.plot(
                p[curve.best_index],
                r[curve.best_index],
                "o",
                markersize=9,
                markerfacecolor="none",
                markeredgecolor=style["color"],
                markeredgewidth=1.6,
            )
        self.ax_.plot(1, 1, "*", color="black", markersize=10, clip_on=False)
        self.ax_.set(xlabel="Prediction", ylabel="Reproducibility")
        self.ax_.legend(frameon=False, title="Distance to (1, 1)", **legend_place(ax))
        self.ax_.spines[["top", "right"]].set_visible(False)
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class MapDisplay(Display):
    """Maps of weights as slices of a volume or as pictures, one panel each, the same colours for both signs.

    Parameters
    ----------
    pictures : dict of str to array of shape (height, width)
        NaN where there is no variable.
    threshold : float or None, default=None
        Values of smaller modulus are drawn faint.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
    images_ : list of matplotlib images
    colorbar_ : matplotlib Colorbar
        ``display.colorbar_.set_label("…")`` says what the values are.
    figure_ : matplotlib Figure

    See Also
    --------
    preimage.neuro.sensitivity_map : Maps of kernel machines.
    SplitHalfDisplay : How well maps reproduce.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.neuro import MapDisplay
    >>> display = MapDisplay.from_maps({"weights": np.arange(6.0)}, image_shape=(2, 3))
    >>> len(display.axes_)
    1
    """

    pictures: Any
    threshold: Any = None

    @classmethod
    def from_maps(
        cls,
        maps: Any,
        *,
        image_shape: Any = None,
        mask: Any = None,
        slices: Any = None,
        threshold: Any = None,
        ax: Any = None,
        **image_kw: Any,
    ) -> "MapDisplay":
        """Draw maps that are vectors over the pixels of a picture or the voxels of a mask.

        Parameters
        ----------
        maps : dict of str to array of shape (d,)
        image_shape : two ints, optional
            Height and width, when variables are pixels row by row.
        mask : boolean array of shape (x, y, z), optional
            Where in a volume the variables lie, in the order of ``volume[mask]``.
        slices : sequence of int, optional
            Which axial slices of the mask to draw; None is the one with most voxels. Front is on top.
        threshold : float or None, default=None
            For instance ``SplitHalf.threshold()``.
        ax, **image_kw
            As in `plot`.

        Returns
        -------
        MapDisplay
        """
        if (image_shape is None) == (mask is None):
            raise ValueError("MapDisplay needs either `image_shape`, of pictures, or `mask`, of volumes.")
        if not hasattr(maps, "items") or not maps:
            raise ValueError("MapDisplay needs a dict of names to maps, with one map at least.")
        pictures = {}
        for name, values in maps.items():
            values = np.asarray(values, dtype=float)
            if mask is None:
                pictures[name] = _picture(name, values, image_shape)
            else:
                pictures |= _slices(name, values, np.asarray(mask, dtype=bool), slices)
        return cls(pictures=pictures, threshold=threshold).plot(ax=ax, **image_kw)

    def plot(
        self, ax: Any = None, *, cmap: Any = "PuOr_r", n_columns: int | None = 4, panel_size: Any = 2.4, **image_kw: Any
    ) -> "MapDisplay":
        """Draw one panel per picture, and one bar of colours.

        Parameters
        ----------
        ax : as many matplotlib Axes as pictures, or None, default=None
            None makes a new figure.
        cmap : str or matplotlib Colormap, default="PuOr_r"
            Its middle is zero.
        n_columns : int, default=4
            Panels side by side in a new figure.
        panel_size : float, default=2.4
            In inches.
        **image_kw
            Passed to `matplotlib.axes.Axes.imshow`.

        Returns
        -------
        self
        """
        size = (panel_size, panel_size + 0.3)
        self.axes_ = panels("MapDisplay", ax, len(self.pictures), n_columns=n_columns, panel_size=size)
        self.figure_ = self.axes_[0].figure
        bound = max((np.nanmax(np.abs(picture), initial=0.0) for picture in self.pictures.values()), default=0.0) or 1.0
        style = {"cmap": cmap, "vmin": -bound, "vmax": bound, "interpolation": "nearest"} | image_kw
        self.images_ = []
        for panel, (name, picture) in zip(self.axes_, self.pictures.items()):
            alpha = None
            if self.threshold is not None:
                alpha = np.where(np.abs(np.nan_to_num(picture)) >= self.threshold, 1.0, 0.3)
            panel.set_facecolor("0.92")
            self.images_.append(panel.imshow(picture, alpha=alpha, **style))
            panel.set(xticks=[], yticks=[], title=name)
            panel.title.set_fontsize("medium")
            panel.spines[:].set_visible(False)
        self.colorbar_ = self.figure_.colorbar(self.images_[0], ax=list(self.axes_), shrink=0.8, pad=0.02)
        return self


def _picture(name: str, values: Array, image_shape: Any) -> Any:
    height, width = image_shape
    if values.shape != (height * width,):
        raise ValueError(
            f"MapDisplay was told that pictures are {height} × {width} = {height * width} pixels; the map {name!r} has "
            f"shape {values.shape}."
        )
    return values.reshape(height, width)


def _slices(name: str, values: Array, mask: Any, slices: Any) -> Any:
    if mask.ndim != 3 or values.shape != (int(mask.sum()),):
        raise ValueError(
            f"MapDisplay needs one value per voxel of a 3D mask; the mask of shape {mask.shape} has {int(mask.sum())}, "
            f"the map {name!r} has shape {values.shape}."
        )
    if not mask.any() or not all(0 <= depth < mask.shape[2] for depth in slices or ()):
        raise ValueError(f"MapDisplay needs a mask with voxels, and slices below {mask.shape[2]}; got {slices!r}.")
    volume = np.full(mask.shape, np.nan)
    volume[mask] = values
    x, y = np.flatnonzero(mask.any(axis=(1, 2))), np.flatnonzero(mask.any(axis=(0, 2)))
    volume = volume[x[0] : x[-1] + 1, y[0] : y[-1] + 1]
    depths = [int(mask.sum(axis=(0, 1)).argmax())] if slices is None else [int(depth) for depth in slices]
    label = lambda depth: name if slices is None else f"{name}, z = {depth}"
    return {label(depth): volume[:, :, depth].T[::-1] for depth in depths}
