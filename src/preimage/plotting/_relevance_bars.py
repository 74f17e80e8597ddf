"""How much each column counts in a model with a width per column."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import to_numpy
from preimage._engine.typing import Array
from preimage._engine.validation import feature_names_in
from preimage.interop._pipeline import final_step
from preimage.plotting._matplotlib import Display, tidy

# Bars that a figure has room for: with twice as many, names overlap.
MOST_BARS = 20
# Height in inches of a figure without bars, and of each bar.
FRAME, BAR = 0.9, 0.26


@dataclass(kw_only=True, eq=False, repr=False)
class RelevanceDisplay(Display):
    """Relevances of columns as bars, the largest on top.

    Parameters
    ----------
    relevance : array of shape (d,)
        Not negative; of a model with ``gamma="relevance"`` they have the sum one.
    names : array of shape (d,)
        Of the columns.

    Attributes
    ----------
    ax_ : matplotlib Axes
    bars_ : matplotlib BarContainer
        From the smallest to the largest of the columns that are shown.
    columns_ : array of shape (number of bars,)
        The numbers of the columns that are shown, the largest relevance first.
    figure_ : matplotlib Figure

    See Also
    --------
    preimage.SparseGreedyRegressor : Learns a width per column: ``gamma="relevance"``.
    preimage.kernels.ScaledInputs : The kernel that comes of it.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from preimage import SparseGreedyRegressor
    >>> from preimage.plotting import RelevanceDisplay
    >>> X, y = make_friedman1(300, n_features=8, random_state=0)
    >>> model = SparseGreedyRegressor(100, gamma="relevance", alpha="loo").fit(X, y)
    >>> sorted(RelevanceDisplay.from_estimator(model, n_columns=5).columns_.tolist())
    [0, 1, 2, 3, 4]
    """

    relevance: Array
    names: Any

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Any = None,
        n_columns: int | None = MOST_BARS,
        ax: Any = None,
        **bar_kw: Any,
    ) -> "RelevanceDisplay":
        """Draw the relevances of a fitted model.

        Parameters
        ----------
        estimator : estimator fitted with ``gamma="relevance"``, or a pipeline that ends with one
        feature_names : list of str or None, default=None
            Names of the columns that the model was given; None takes those of the data frame that it was fitted to, or
            x0, x1 and so on.
        n_columns, ax, **bar_kw
            As in `plot`.

        Returns
        -------
        RelevanceDisplay
        """
        model = final_step(estimator)
        check_is_fitted(model)
        relevance = to_numpy(getattr(model, "relevance_", np.empty(0)))
        if relevance.ndim != 1 or not relevance.size:
            raise TypeError(
                f"RelevanceDisplay needs one relevance per column; {model!r} has none. Fit it with gamma='relevance', "
                "as SparseGreedyRegressor and SparseGreedyClassifier take it."
            )
        if feature_names is not None and len(feature_names) != relevance.size:
            raise ValueError(
                f"RelevanceDisplay needs {relevance.size} names, one per column; got {len(feature_names)}."
            )
        names = feature_names_in(model, None) if feature_names is None else feature_names
        display = cls(relevance=relevance, names=np.asarray(names, dtype=object))
        return display.plot(ax=ax, n_columns=n_columns, **bar_kw)

    def plot(self, ax: Any = None, *, n_columns: int | None = MOST_BARS, **bar_kw: Any) -> "RelevanceDisplay":
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.
        n_columns : int or None, default=20
            Most columns to show, those of the largest relevances; None is all.
        **bar_kw
            Passed to `matplotlib.axes.Axes.barh`.

        Returns
        -------
        self
        """
        relevance = np.asarray(self.relevance, dtype=float)
        # Of equal ones the first column comes first.
        self.columns_ = np.argsort(-relevance, kind="stable")[:n_columns]
        count = self.columns_.size
        (self.ax_,) = self._panels(ax, 1, n_columns=1, panel_size=(5.6, FRAME + BAR * count))
        places = np.arange(count)[::-1]
        self.bars_ = self.ax_.barh(places, relevance[self.columns_], **{"color": "#0072B2", "height": 0.7} | bar_kw)
        self.ax_.set_yticks(places, labels=[str(self.names[column]) for column in self.columns_])
        self.ax_.set(xlabel="Relevance", xlim=(0, None), ylim=(-0.6, count - 0.4))
        tidy(self.ax_)
        self.ax_.grid(False, axis="y")
        return self
