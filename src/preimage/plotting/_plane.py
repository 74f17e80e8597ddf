"""Kernels of two inputs: lines of constant value of components, curvature and magnification."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import as_points, from_numpy, to_numpy
from preimage._engine.typing import Array, Rows
from preimage.geometry import arc_length, geodesic, log_volume_element, metric_tensor, scalar_curvature
from preimage.geometry._metric import regularity_tolerance, smallest_relative_eigenvalues
from preimage.kernels import Kernel
from preimage.plotting._matplotlib import Display

# Curvature times k(x, x) below which a surface is flat.
ROUNDING = 1e-10

QUANTITIES = {"scalar_curvature": "scalar curvature R", "log_volume_element": "log magnification"}


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
        points = _plane_points("ComponentContourDisplay", X, "X has")
        xx0, xx1 = np.meshgrid(*_ranges(points, grid_resolution, margin))
        grid = np.column_stack([xx0.ravel(), xx1.ravel()])
        # The grid is the kind of data that X is: a tensor on its device, a pandas frame with its columns, an array.
        queries = type(X)(grid, columns=X.columns) if hasattr(X, "iloc") else from_numpy(grid, as_points(X))
        values = to_numpy(estimator.transform(queries))[:, :n_components]
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
        self.axes_ = self._panels(ax, count, n_columns=n_columns, panel_size=(2.6, 2.6), **options)
        self.contours_ = [self._plot_component(k, levels, cmap) for k in range(count)]
        for k, panel in enumerate(self.axes_):
            style = {"s": 7, "color": "0.1", "linewidths": 0, "zorder": 3} | (scatter_kw or {})
            if "c" in style:
                style.pop("color")
            panel.scatter(self.X[:, 0], self.X[:, 1], **style)
            ratio = "" if self.explained_variance_ratio is None else f" ({self.explained_variance_ratio[k]:.1%})"
            panel.set_title(f"Component {k + 1}{ratio}", fontsize="medium")
        if self.feature_names is not None and ax is None:
            self.figure_.supxlabel(self.feature_names[0], fontsize="medium")
            self.figure_.supylabel(self.feature_names[1], fontsize="medium")
        elif self.feature_names is not None:
            for panel in self.axes_:
                panel.set(xlabel=self.feature_names[0], ylabel=self.feature_names[1])
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


def _plane_points(who: str, X: Rows, found: str) -> Any:
    """X as a NumPy array of points of the plane."""
    points = to_numpy(as_points(X))
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"{who} draws inputs of two dimensions; {found} shape {points.shape}.")
    return points


def _ranges(points: Array, resolution: int, margin: float) -> Any:
    lowest, highest = points.min(axis=0), points.max(axis=0)
    reach = margin * (highest - lowest)
    return np.linspace(lowest - reach, highest + reach, resolution).T


@dataclass(kw_only=True, eq=False, repr=False)
class KernelGeometryDisplay(Display):
    r"""The geometry of φ(x) over the plane: how much the surface is curved, or how much it magnifies areas.

    Colours of the scalar curvature are symmetric about zero: flat is white, saddles are of one colour, spheres of the
    other. Those of the magnification :math:`\log \sqrt{\det g}` run from the lowest to the highest. Contour lines are
    drawn on top; points without a positive definite metric stay empty.

    Parameters
    ----------
    xx0, xx1 : arrays of shape (r, r)
        The grid, as from `numpy.meshgrid`.
    values : array of shape (r, r)
        The quantity on the grid, NaN where it does not exist.
    quantity : {"scalar_curvature", "log_volume_element"}
        What it is.
    X : array of shape (n, 2) or None, default=None
        Points to draw.
    geodesics : list of arrays of shape (m, 2), default=()
        Paths to draw.

    Attributes
    ----------
    ax_ : matplotlib Axes
    mesh_ : matplotlib QuadMesh
    lines_ : list of matplotlib Line2D
        The geodesics.
    colorbar_ : matplotlib Colorbar or None
    figure_ : matplotlib Figure

    See Also
    --------
    preimage.geometry.scalar_curvature : The numbers that are drawn.
    preimage.geometry.log_volume_element : The other quantity.
    preimage.geometry.geodesic : Paths to draw.

    Examples
    --------
    >>> from preimage.kernels import Polynomial
    >>> from preimage.plotting import KernelGeometryDisplay
    >>> display = KernelGeometryDisplay.from_kernel(Polynomial(2, coef0=1.0), 2.0, grid_resolution=21)
    >>> round(float(display.values.min()), 3)  # −(p − 1)/p · d(d − 1) at the origin
    -1.0
    """

    xx0: Array
    xx1: Array
    values: Array
    quantity: str = "scalar_curvature"
    X: Rows = None
    geodesics: Any = ()

    @classmethod
    def from_kernel(
        cls,
        kernel: Kernel,
        region: Any = 1.0,
        *,
        quantity: str = "scalar_curvature",
        grid_resolution: int = 80,
        margin: float = 0.15,
        geodesics_from: Any = None,
        n_geodesics: int = 16,
        ax: Any = None,
        **plot_kw: Any,
    ) -> "KernelGeometryDisplay":
        """Evaluate the geometry of a kernel on a grid, and draw it.

        Parameters
        ----------
        kernel : Kernel
            As in `preimage.geometry.metric_tensor`, of two inputs.
        region : float or array of shape (n, 2), default=1.0
            A number r is the square [−r, r]²; points are drawn, and the grid spans them.
        quantity : {"scalar_curvature", "log_volume_element"}, default="scalar_curvature"
            What to draw.
        grid_resolution : int, default=80
            Grid points along each axis.
        margin : float, default=0.15
            How far the grid reaches beyond points on every side, as a fraction of their range.
        geodesics_from : array of shape (2,) or None, default=None
            A point from which geodesics start in all directions, all of the same length in feature space: that of the
            straight line to the farthest corner of the grid.
        n_geodesics : int, default=16
            How many.
        ax, **plot_kw
            As in `plot`.

        Returns
        -------
        KernelGeometryDisplay
        """
        if quantity not in QUANTITIES:
            raise ValueError(f"KernelGeometryDisplay draws {' or '.join(QUANTITIES)}; got quantity={quantity!r}.")
        points, ranges = _region(region, grid_resolution, margin)
        xx0, xx1 = np.meshgrid(*ranges)
        grid = np.column_stack([xx0.ravel(), xx1.ravel()])
        corners = np.array([[x, y] for x in ranges[0][[0, -1]] for y in ranges[1][[0, -1]]])
        display = cls(
            xx0=xx0,
            xx1=xx1,
            values=_evaluate(kernel, grid, quantity).reshape(xx0.shape),
            quantity=quantity,
            X=points,
            geodesics=() if geodesics_from is None else _fan(kernel, geodesics_from, corners, n_geodesics),
        )
        return display.plot(ax=ax, **plot_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        cmap: Any = None,
        levels: Any = 8,
        limits: Any = None,
        colorbar: bool = True,
        scatter_kw: Any = None,
        line_kw: Any = None,
    ) -> "KernelGeometryDisplay":
        """Draw the quantity, its contour lines, the geodesics and the points.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.
        cmap : str or matplotlib Colormap or None, default=None
            None is "PuOr" for the curvature and "viridis" for the magnification.
        levels : int, default=8
            Contour lines, about; 0 draws none.
        limits : two floats or None, default=None
            Values of the lowest and highest colour; None finds them, and leaves out the extreme percent.
        colorbar : bool, default=True
            Whether to draw a bar of the colours.
        scatter_kw, line_kw : dict or None, default=None
            How to draw points and geodesics.

        Returns
        -------
        self
        """
        (self.ax_,) = self._panels(ax, 1, n_columns=1, panel_size=(4.4, 3.8))
        lowest, highest = limits or self._limits()
        cmap = cmap or ("PuOr" if self.quantity == "scalar_curvature" else "viridis")
        values = np.ma.masked_invalid(self.values)
        style = {"cmap": cmap, "vmin": lowest, "vmax": highest, "shading": "gouraud", "rasterized": True}
        self.mesh_ = self.ax_.pcolormesh(self.xx0, self.xx1, values, **style)
        if levels and values.max() - values.min() > 1e-9 * (1 + np.abs(values).max()):
            # Lines inside the range of colours alone: near a singular point there would be no end of them.
            steps = np.linspace(lowest, highest, levels + 2)[1:-1]
            style = {"colors": "0.25", "linewidths": 0.5, "linestyles": "solid"}
            self.ax_.contour(self.xx0, self.xx1, values, levels=steps, **style)
        lines = {"color": "0.1", "linewidth": 0.9} | (line_kw or {})
        self.lines_ = [self.ax_.plot(path[:, 0], path[:, 1], **lines)[0] for path in self.geodesics]
        if self.X is not None:
            style = {"s": 7, "linewidths": 0} | (scatter_kw or {"color": "0.1"})
            self.ax_.scatter(self.X[:, 0], self.X[:, 1], **style)
        self.ax_.set(xlim=self.xx0[0, [0, -1]], ylim=self.xx1[[0, -1], 0], aspect="equal")
        self.colorbar_ = self.figure_.colorbar(self.mesh_, ax=self.ax_, extend="both", shrink=0.8) if colorbar else None
        if self.colorbar_ is not None:
            self.colorbar_.set_label(QUANTITIES[self.quantity])
        return self

    def _limits(self) -> Any:
        finite = self.values[np.isfinite(self.values)]
        lowest, highest = np.percentile(finite, [1, 99])
        if self.quantity == "scalar_curvature":
            bound = max(abs(lowest), abs(highest)) or 1.0
            return -bound, bound
        return (lowest, highest) if highest > lowest else (lowest - 1, highest + 1)


def _evaluate(kernel: Kernel, grid: Array, quantity: str) -> Any:
    regular = smallest_relative_eigenvalues(metric_tensor(kernel, grid)) > 10 * regularity_tolerance(2)
    if not regular.any():
        raise ValueError(
            f"KernelGeometryDisplay needs a positive definite metric; that of {kernel!r} is degenerate or indefinite "
            "everywhere."
        )
    values = np.full(len(grid), np.nan)
    evaluate = log_volume_element if quantity == "log_volume_element" else _curvature
    values[regular] = evaluate(kernel, grid[regular])
    return values


def _curvature(kernel: Kernel, points: Array) -> Any:
    """Scalar curvature; what is rounding, in units of the squared length of φ, is drawn as flat."""
    values = scalar_curvature(kernel, points)
    return np.where(np.abs(values * kernel.diagonal(points)) < ROUNDING, 0.0, values)


def _region(region: Any, resolution: int, margin: float) -> Any:
    """Points to draw, if any, and the grid along each axis."""
    if isinstance(region, Real):
        size = float(region)
        if not size > 0:
            raise ValueError(f"KernelGeometryDisplay needs a region of positive size; got {region!r}.")
        return None, np.linspace([-size, -size], [size, size], resolution).T
    points = _plane_points("KernelGeometryDisplay", region, "the points have")
    if not (margin * np.ptp(points, axis=0) > 0).all():
        raise ValueError("KernelGeometryDisplay needs points that span an area and margin > 0; a number is a square.")
    return points, _ranges(points, resolution, margin)


def _fan(kernel: Kernel, start: Array, corners: Array, count: int) -> Any:
    """Geodesics of equal length in all directions."""
    start = np.asarray(start, dtype=float)
    if start.shape != (2,):
        raise ValueError(f"KernelGeometryDisplay starts geodesics at one point of the plane; got shape {start.shape}.")
    length = max(arc_length(kernel, np.linspace(start, corner, 33)) for corner in corners)
    angles = 2 * np.pi * np.arange(count) / count
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    speeds = np.sqrt(np.einsum("ia,ab,ib->i", directions, metric_tensor(kernel, start[None])[0], directions))
    velocities = directions * length / speeds[:, None]
    return [geodesic(kernel, start, velocity, n_points=1001, tol=1e-7).points for velocity in velocities]
