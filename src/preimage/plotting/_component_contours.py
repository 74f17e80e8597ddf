"""Lines of constant value of kernel principal components in the plane."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import as_points, from_numpy, to_numpy
from preimage._engine.typing import Array, Rows
from preimage.plotting._matplotlib import Display, panels


@dataclass(kw_only=True, eq=False, repr=False)
class ComponentContourDisplay(Display):
    r"""Contour lines of the components of a model of two inputs, with the training points on top.

    One panel per component: where :math:`\beta_k(x) = \langle V_k, \varphi(x) - \bar\varphi \rangle` is constant, the
    projection on the k-th axis of feature space is. Lines are orthogonal to the direction in which a component varies;
    the thick one is zero, the mean. The classic figure of the kernel PCA papers [1]_.

    Parameters
    ----------
    xx0, xx1 : arrays of shape (r, r)
        The grid, as from `numpy.meshgrid`.
    components : array of shape (r, r, k)
        Values of the components on the grid.
    X : array of shape (n, 2)
        The points to draw.
    scores : array of shape (n, k)
        Values of the components at the points; lines are spaced by their range.
    explained_variance_ratio : array of shape (k,) or None, default=None
        Fractions of the variance, written into the titles.
    feature_names : two str or None, default=None
        Labels of the axes.

    Attributes
    ----------
    axes_ : array of k matplotlib Axes
    contours_ : list of k matplotlib contour sets
        The lines of each panel.
    figure_ : matplotlib Figure

    See Also
    --------
    preimage.KernelPCA : The model.
    SpectrumDisplay : How much variance each component has.
    KernelGeometryDisplay : What a kernel makes of the plane.

    References
    ----------
    .. [1] B. Schölkopf, A. Smola, K.-R. Müller, "Nonlinear component analysis as a kernel eigenvalue problem",
       Neural Computation 10, 1998.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from preimage import KernelPCA
    >>> from preimage.plotting import ComponentContourDisplay
    >>> X, y = make_circles(100, factor=0.3, noise=0.05, random_state=0)
    >>> display = ComponentContourDisplay.from_estimator(KernelPCA(4, gamma=5).fit(X), X)
    >>> len(display.axes_)
    4
    """

    xx0: Array
    xx1: Array
    components: Array
    X: Rows
    scores: Any
    explained_variance_ratio: Array | None = None
    feature_names: Any = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Rows,
        *,
        n_components: int | None = None,
        grid_resolution: int = 100,
        margin: float = 0.15,
        ax: Any = None,
        **plot_kw: Any,
    ) -> "ComponentContourDisplay":
        """Evaluate the components of a fitted model on a grid around X, and draw them.

        Parameters
        ----------
        estimator : KernelPCA
            Or another fitted transformer of two inputs, also a pipeline.
        X : array or data frame of shape (n, 2)
            The training points; they are drawn, and span the grid.
        n_components : int or None, default=None
            How many components to draw, from the first; None draws all.
        grid_resolution : int, default=100
            Grid points along each axis.
        margin : float, default=0.15
            How far the grid reaches beyond X on every side, as a fraction of the range of X.
        ax, **plot_kw
            As in `plot`.

        Returns
        -------
        ComponentContourDisplay
        """
        check_is_fitted(estimator)
        points = to_numpy(as_points(X))
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(f"ComponentContourDisplay draws inputs of two dimensions; X has shape {points.shape}.")
        xx0, xx1 = np.meshgrid(*_ranges(points, grid_resolution, margin))
        grid = _like(np.column_stack([xx0.ravel(), xx1.ravel()]), X)
        values = to_numpy(estimator.transform(grid))[:, :n_components]
        ratio = getattr(estimator, "explained_variance_ratio_", None)
        display = cls(
            xx0=xx0,
            xx1=xx1,
            components=values.reshape(*xx0.shape, -1),
            X=points,
            scores=to_numpy(estimator.transform(X))[:, :n_components],
            explained_variance_ratio=None if ratio is None else to_numpy(ratio)[:n_components],
            feature_names=list(X.columns) if hasattr(X, "columns") else None,
        )
        return display.plot(ax=ax, **plot_kw)

    def plot(
        self, ax: Any = None, *, levels: Any = 12, n_columns: int | None = 4, cmap: Any = "PuOr", scatter_kw: Any = None
    ) -> "ComponentContourDisplay":
        """Draw one panel per component.

        Parameters
        ----------
        ax : k matplotlib Axes or None, default=None
            None makes a new figure.
        levels : int, default=12
            Number of steps between lines over the range of the points.
        n_columns : int, default=4
            Panels side by side in a new figure.
        cmap : str or matplotlib Colormap, default="PuOr"
            A diverging map: its middle is the value zero.
        scatter_kw : dict or None, default=None
            How to draw the points, for instance ``{"c": y}``.

        Returns
        -------
        self
        """
        count = self.components.shape[2]
        options = {"sharex": True, "sharey": True} if ax is None else {}
        self.axes_ = panels("ComponentContourDisplay", ax, count, n_columns=n_columns, panel_size=(2.6, 2.6), **options)
        self.figure_ = self.axes_[0].figure
        self.contours_ = [self._plot_component(k, levels, cmap) for k in range(count)]
        for k, panel in enumerate(self.axes_):
            style = {"s": 7, "color": "0.1", "linewidths": 0, "zorder": 3} | (scatter_kw or {})
            if "c" in style:
                style.pop("color")
            panel.scatter(self.X[:, 0], self.X[:, 1], **style)
            panel.set_title(self._title(k), fontsize="medium")
        self._label_axes(new_figure=ax is None)
        return self

    def _plot_component(self, k: int, levels: Any, cmap: Any) -> Any:
        values, scores = self.components[:, :, k], self.scores[:, k]
        step = (scores.max() - scores.min()) / levels
        # Multiples of one step, so that zero is a line. Polynomials grow fast outside the data: lines stop there.
        lowest = max(values.min(), scores.min() - levels * step / 2)
        highest = min(values.max(), scores.max() + levels * step / 2)
        steps = np.arange(np.floor(lowest / step), np.ceil(highest / step) + 1)
        bound = np.abs(scores).max()
        fill = {"cmap": cmap, "vmin": -bound, "vmax": bound, "alpha": 0.6, "extend": "both"}
        lines = {"colors": "0.25", "linestyles": "solid", "linewidths": np.where(steps == 0, 1.6, 0.6)}
        self.axes_[k].contourf(self.xx0, self.xx1, values, levels=step * steps, **fill)
        return self.axes_[k].contour(self.xx0, self.xx1, values, levels=step * steps, **lines)

    def _title(self, k: int) -> str:
        if self.explained_variance_ratio is None:
            return f"Component {k + 1}"
        return f"Component {k + 1} ({self.explained_variance_ratio[k]:.1%})"

    def _label_axes(self, new_figure: bool) -> None:
        if self.feature_names is None:
            return
        if new_figure:
            self.figure_.supxlabel(self.feature_names[0], fontsize="medium")
            self.figure_.supylabel(self.feature_names[1], fontsize="medium")
            return
        for panel in self.axes_:
            panel.set(xlabel=self.feature_names[0], ylabel=self.feature_names[1])


def _ranges(points: Array, resolution: int, margin: float) -> Any:
    lowest, highest = points.min(axis=0), points.max(axis=0)
    reach = margin * (highest - lowest)
    return np.linspace(lowest - reach, highest + reach, resolution).T


def _like(grid: Array, X: Array) -> Array:
    """The grid as the kind of data that X is: a tensor on its device, a pandas frame with its columns, an array."""
    if hasattr(X, "iloc"):
        return type(X)(grid, columns=X.columns)
    return from_numpy(grid, as_points(X))
