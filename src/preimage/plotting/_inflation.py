"""Training scores, those of samples left out, and what correction makes of them, drawn."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._engine.typing import Array, Rows, Targets
from preimage.inflation._report import InflationReport, inflation_report
from preimage.plotting._matplotlib import Display

# Of Okabe and Ito; with markers, so that classes can be told apart without colours.
STYLES = [("#0072B2", "o"), ("#D55E00", "^"), ("#009E73", "s"), ("#CC79A7", "D"), ("#E69F00", "v"), ("#56B4E9", "P")]
ROW_HEIGHT = 0.55
# Of the heights of points; one that no data are likely to be drawn with.
SEED = 271_828


@dataclass(kw_only=True, eq=False, repr=False)
class InflationDisplay(Display):
    """Samples as points along each component, in rows: training, left out, corrected, and new ones.

    A bar below each row is its mean and one standard deviation to either side. Inflation is a row of left-out samples
    that is narrower than that of training samples; after correction they should look alike, class by class.

    Parameters
    ----------
    rows : dict of str to array of shape (m, q)
        Values of each row, from top to bottom.
    labels : dict of str to array of shape (m,), or None
        Classes of the samples of each row.
    names : list of q str
        Of the components, for the titles.
    ratios : array of shape (q,)
        Standard deviations of training values over those of left-out values, for the titles.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        One for each component drawn.
    figure_ : matplotlib Figure
    legend_ : matplotlib Legend or None
        Of the classes.

    See Also
    --------
    preimage.inflation_report : The numbers, and what to do.
    preimage.Renormalized : The correction.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from preimage.plotting import InflationDisplay
    >>> X = np.random.default_rng(0).normal(size=(30, 1000))
    >>> display = InflationDisplay.from_estimator(PCA(3), X)
    >>> list(display.rows), len(display.axes_)
    (['training', 'left out', 'corrected'], 3)
    """

    rows: dict[str, Array]
    labels: dict[str, Array] | None = None
    names: list[str]
    ratios: Array

    @classmethod
    def from_report(
        cls,
        report: InflationReport,
        *,
        X_test: Rows = None,
        y_test: Targets = None,
        n_components: int = 4,
        ax: Any = None,
        **scatter_kw: Any,
    ) -> "InflationDisplay":
        """Draw what `inflation_report` measured.

        Parameters
        ----------
        report : InflationReport
        X_test : array of shape (m, d), optional
            New samples, drawn as they are and corrected.
        y_test : array of shape (m,), optional
            Their classes.
        n_components : int, default=4
            How many of the leading components to draw.
        ax, **scatter_kw
            As in `plot`.

        Returns
        -------
        InflationDisplay
        """
        rows = {"training": report.train, "left out": report.left_out}
        if report.method != "none":
            rows["corrected"] = report.corrected
        labels = None if report.y is None or len(np.unique(report.y)) > len(STYLES) else dict.fromkeys(rows, report.y)
        if X_test is not None:
            plain, corrected = report.values_of(X_test)
            new = {"new": plain} | ({} if report.method == "none" else {"new, corrected": corrected})
            rows |= new
            if labels is not None and y_test is not None:
                labels |= dict.fromkeys(new, np.asarray(y_test))
        kept = min(n_components, report.train.shape[1])
        display = cls(
            rows={name: values[:, :kept] for name, values in rows.items()},
            labels=labels,
            names=report.names[:kept],
            ratios=report.ratios[:kept],
        )
        return display.plot(ax=ax, **scatter_kw)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Rows,
        y: Targets = None,
        *,
        X_test: Rows = None,
        y_test: Targets = None,
        n_components: int = 4,
        ax: Any = None,
        scatter_kw: dict[str, Any] | None = None,
        **report_kw: Any,
    ) -> "InflationDisplay":
        """Measure inflation, and draw it.

        Parameters
        ----------
        estimator, X, y, **report_kw
            As in `preimage.inflation_report`.
        X_test, y_test, n_components, ax
            As in `from_report`.
        scatter_kw : dict, optional
            As in `plot`.

        Returns
        -------
        InflationDisplay
        """
        report = inflation_report(estimator, X, y, **report_kw)
        options = {"X_test": X_test, "y_test": y_test, "n_components": n_components, "ax": ax}
        return cls.from_report(report, **options, **(scatter_kw or {}))

    def plot(self, ax: Any = None, **scatter_kw: Any) -> "InflationDisplay":
        """Draw one panel per component.

        Parameters
        ----------
        ax : as many matplotlib Axes as components, or None, default=None
            None makes a new figure.
        **scatter_kw
            Passed to `matplotlib.axes.Axes.scatter`.

        Returns
        -------
        self
        """
        size = (3.4, 0.9 + ROW_HEIGHT * len(self.rows))
        self.axes_ = self._panels(ax, len(self.names), n_columns=2, panel_size=size, sharey=True)
        self.legend_: Any = None
        for k, panel in enumerate(self.axes_):
            self._draw(panel, k, scatter_kw)
        self._add_legend(outside=ax is None)
        return self

    def _draw(self, ax: Any, k: int, scatter_kw: dict[str, Any]) -> None:
        for place, (name, values) in enumerate(self.rows.items()):
            column = values[:, k]
            for style, members in self._groups(name, len(column)):
                # Heights only keep points apart; a fixed seed makes pictures repeatable.
                heights = place - 0.28 + 0.44 * np.random.default_rng([SEED, place]).uniform(size=len(column))[members]
                ax.scatter(column[members], heights, **(style | scatter_kw))
            bar = {"color": "black", "linewidth": 1.4, "capsize": 3, "marker": "|", "markersize": 7}
            ax.errorbar(column.mean(), place + 0.32, xerr=column.std(), **bar)
        ax.axvline(0, color="0.75", linewidth=0.8, zorder=0)
        ax.set_yticks(range(len(self.rows)), labels=list(self.rows))
        ax.set_ylim(len(self.rows) - 0.45, -0.5)
        ax.set_title(f"{self.names[k]}, inflation {self.ratios[k]:.3g}", fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)

    def _groups(self, name: str, count: int) -> Iterable[tuple[dict[str, Any], Array]]:
        """Style and members of each class of a row; one group where classes are not known."""
        base = {"s": 14, "alpha": 0.75, "linewidths": 0.3, "edgecolors": "white"}
        if self.labels is None or name not in self.labels:
            return [(base | {"c": "0.45", "marker": "o"}, np.arange(count))]
        return [
            (base | {"c": color, "marker": marker, "label": str(each)}, np.flatnonzero(self.labels[name] == each))
            for each, (color, marker) in zip(self._classes(), STYLES, strict=False)
        ]

    def _classes(self) -> Array:
        return np.unique(np.concatenate([np.asarray(labels) for labels in (self.labels or {}).values()]))

    def _add_legend(self, outside: bool) -> None:
        if self.labels is None:
            return
        handles, names = self.axes_[0].get_legend_handles_labels()
        unique = dict(zip(names, handles, strict=True))
        where = {"loc": "outside lower center", "ncols": len(unique) + 1} if outside else {"title": "class"}
        if outside:
            from matplotlib.lines import Line2D

            unique = {"class": Line2D([], [], linestyle="none")} | unique
        self.legend_ = (self.figure_ if outside else self.axes_[0]).legend(
            unique.values(), unique.keys(), frameon=False, fontsize="small", **where
        )
