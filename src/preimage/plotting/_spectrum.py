"""The eigenvalues of kernel PCA, drawn."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import to_numpy
from preimage._engine.typing import Array
from preimage.plotting._matplotlib import Display, panels, tidy


@dataclass(kw_only=True, eq=False, repr=False)
class SpectrumDisplay(Display):
    r"""Eigenvalue spectrum and cumulative explained variance of kernel PCA, in two panels.

    The left panel shows :math:`\lambda_k` on a logarithmic scale; negative eigenvalues of indefinite kernels are drawn
    with their modulus, as open circles. The right panel shows :math:`\sum_{j \le k} \lambda_j / \operatorname{tr} HKH`.
    Draw several models in the same axes, ``display.plot(ax=first.axes_)``, to compare them.

    Parameters
    ----------
    eigenvalues : array of shape (k,)
        In the order of the components.
    explained_variance_ratio : array of shape (k,)
        Fractions of the total variance.
    label : str or None, default=None
        Name of the model in the legend.

    Attributes
    ----------
    axes_ : array of two matplotlib Axes
        Spectrum and cumulative variance.
    lines_ : list of two matplotlib lines
        The line of each panel.
    figure_ : matplotlib Figure

    See Also
    --------
    preimage.KernelPCA : Has the values as `eigenvalues_` and `explained_variance_ratio_`.
    ComponentContourDisplay : The components of two inputs.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from preimage import KernelPCA
    >>> from preimage.plotting import SpectrumDisplay
    >>> X, y = make_circles(100, factor=0.3, noise=0.05, random_state=0)
    >>> display = SpectrumDisplay.from_estimator(KernelPCA(8, gamma=5).fit(X))
    >>> len(display.axes_)
    2
    """

    eigenvalues: Array
    explained_variance_ratio: Array
    label: str | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, label: str | None = None, ax: Any = None, **line_kw: Any
    ) -> "SpectrumDisplay":
        """Draw the spectrum of a fitted model.

        Parameters
        ----------
        estimator : KernelPCA
            Or another fitted model with `eigenvalues_` and `explained_variance_ratio_`.
        label, ax, **line_kw
            As in `plot`.

        Returns
        -------
        SpectrumDisplay
        """
        check_is_fitted(estimator)
        missing = [name for name in ("eigenvalues_", "explained_variance_ratio_") if not hasattr(estimator, name)]
        if missing:
            raise TypeError(
                f"SpectrumDisplay needs eigenvalues_ and explained_variance_ratio_; {estimator!r} has no "
                f"{' and no '.join(missing)}. SpectrumDisplay.from_eigenvalues takes the numbers themselves."
            )
        display = cls(
            eigenvalues=to_numpy(estimator.eigenvalues_),
            explained_variance_ratio=to_numpy(estimator.explained_variance_ratio_),
            label=label,
        )
        return display.plot(ax=ax, **line_kw)

    @classmethod
    def from_eigenvalues(
        cls, eigenvalues: Array, *, total: float | None = None, label: str | None = None, ax: Any = None, **line_kw: Any
    ) -> "SpectrumDisplay":
        """Draw eigenvalues that come from elsewhere, for instance ``pca.singular_values_ ** 2`` of linear PCA.

        Parameters
        ----------
        eigenvalues : array of shape (k,)
            In the order of the components.
        total : float or None, default=None
            Sum of all eigenvalues, also of those left out; None says that none is left out.
        label, ax, **line_kw
            As in `plot`.

        Returns
        -------
        SpectrumDisplay
        """
        eigenvalues = np.asarray(to_numpy(eigenvalues), dtype=float)
        ratio = eigenvalues / (eigenvalues.sum() if total is None else total)
        return cls(eigenvalues=eigenvalues, explained_variance_ratio=ratio, label=label).plot(ax=ax, **line_kw)

    def plot(self, ax: Any = None, *, label: str | None = None, **line_kw: Any) -> "SpectrumDisplay":
        """Draw both panels.

        Parameters
        ----------
        ax : two matplotlib Axes or None, default=None
            None makes a new figure.
        label : str or None, default=None
            Name of the model in the legend; None takes that of the display.
        **line_kw
            Passed to both lines, for instance ``color="C1"``.

        Returns
        -------
        self
        """
        self.axes_ = panels("SpectrumDisplay", ax, 2, n_columns=2, panel_size=(4.6, 3.4))
        self.figure_ = self.axes_[0].figure
        numbers = np.arange(1, len(self.eigenvalues) + 1)
        marker = "o" if len(numbers) <= 50 else None  # more would merge into a thick line
        style = {"marker": marker, "markersize": 3.5, "linewidth": 1.4, "label": label or self.label} | line_kw
        self.lines_ = [
            self._plot_eigenvalues(self.axes_[0], numbers, style),
            self._plot_cumulative(self.axes_[1], numbers, style),
        ]
        if style["label"] is not None:
            self.axes_[1].legend(frameon=False, loc="lower right")
        return self

    def _plot_eigenvalues(self, ax: Any, numbers: Array, style: dict[str, Any]) -> Any:
        (line,) = ax.semilogy(numbers, np.abs(self.eigenvalues), **style)
        negative = self.eigenvalues < 0
        if negative.any():
            open_circles = {"linestyle": "none", "marker": "o", "markersize": 7, "markerfacecolor": "none"}
            moduli = np.abs(self.eigenvalues[negative])
            ax.plot(numbers[negative], moduli, color=line.get_color(), label="negative", **open_circles)
            ax.legend(frameon=False)
        ax.set(xlabel="Component", ylabel="Eigenvalue")
        _finish(ax)
        return line

    def _plot_cumulative(self, ax: Any, numbers: Array, style: dict[str, Any]) -> Any:
        (line,) = ax.plot(numbers, np.cumsum(self.explained_variance_ratio), **style)
        ax.set(xlabel="Component", ylabel="Cumulative explained variance")
        # Fractions of a Euclidean feature space add up to at most one; those of an indefinite kernel may exceed it.
        ax.set_ylim(bottom=0, top=max(1.02, ax.get_ylim()[1]))
        ax.axhline(1, color="0.6", linewidth=0.8, zorder=0)
        _finish(ax)
        return line


def _finish(ax: Any) -> None:
    ax.xaxis.get_major_locator().set_params(integer=True)
    tidy(ax)
