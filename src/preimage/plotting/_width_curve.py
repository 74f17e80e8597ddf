"""How far apart class means lie, by the width of the kernel."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preimage.plotting._matplotlib import Display, legend_place, panels, tidy

_LABELS = {
    "enclosing_ball": "enclosing ball",
    "mean_distance": "mean distance",
    "median_distance": "median distance",
    "min_distance": "smallest distance",
    "max_distance": "largest distance",
    "alignment": "alignment",
}
# Criteria often agree, and their curves then cover each other: the one that chose is a broad band, the others are thin
# lines on top of it with dashes of their own.
_DASHES = {name: (0, dashes) for name, dashes in zip(_LABELS, [(), (4, 2), (1, 2), (6, 2, 1, 2), (2, 1), (8, 3)])}
_COLORS = {name: f"C{number}" for number, name in enumerate(_LABELS)}


@dataclass(kw_only=True, eq=False, repr=False)
class WidthCurveDisplay(Display):
    """Curves of `WidthSearch` over γ, each as a fraction of its largest value, and the width that was chosen.

    Parameters
    ----------
    gammas : array of shape (L,)
        Candidates for γ.
    criteria : dict of str to array of shape (L,)
        The curve of each criterion.
    criterion : str
        The one that chose.
    best_gamma : float
        What it chose.
    scores : two arrays of shape (m,) or None, default=None
        Widths and accuracies, from cross-validation for instance, to compare with.

    Attributes
    ----------
    ax_ : matplotlib Axes
    score_ax_ : matplotlib Axes or None
        The panel below, for scores.
    lines_ : dict of str to matplotlib line
        One per criterion, and "scores".
    figure_ : matplotlib Figure

    See Also
    --------
    preimage.model_selection.WidthSearch : The search.
    preimage.widths.class_width : The width alone.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from preimage.model_selection import WidthSearch
    >>> from preimage.plotting import WidthCurveDisplay
    >>> search = WidthSearch().fit(*load_iris(return_X_y=True))
    >>> sorted(WidthCurveDisplay.from_search(search, criteria=["mean_distance"]).lines_)
    ['enclosing_ball', 'mean_distance']
    """

    gammas: Any
    criteria: Any
    criterion: str
    best_gamma: float
    scores: Any = None

    @classmethod
    def from_search(
        cls, search: Any, *, criteria: Any = None, scores: Any = None, ax: Any = None, **line_kw: Any
    ) -> "WidthCurveDisplay":
        """Draw the curves of a fitted search.

        Parameters
        ----------
        search : WidthSearch
        criteria : list of str or None, default=None
            Curves to draw in addition to that of the criterion that chose; None is all that the search has.
        scores : two arrays of shape (m,) or None, default=None
            Widths and accuracies, in a panel of their own below the curves.
        ax, **line_kw
            As in `plot`.

        Returns
        -------
        WidthCurveDisplay
        """
        check_is_fitted(search)
        names = search.criteria_ if criteria is None else dict.fromkeys([search.criterion, *criteria])
        if unknown := [name for name in names if name not in search.criteria_]:
            raise ValueError(
                f"WidthCurveDisplay: the search has no curve of {', '.join(unknown)}; it has "
                f"{', '.join(search.criteria_)}."
            )
        display = cls(
            gammas=search.gammas_,
            criteria={name: search.criteria_[name] for name in names},
            criterion=search.criterion,
            best_gamma=search.best_gamma_,
            scores=scores,
        )
        return display.plot(ax=ax, **line_kw)

    def plot(self, ax: Any = None, **line_kw: Any) -> "WidthCurveDisplay":
        """Draw all curves in one panel, and scores in another one below it.

        Parameters
        ----------
        ax : matplotlib Axes, two of them where there are scores, or None, default=None
            None makes a new figure.
        **line_kw
            Passed to every curve.

        Returns
        -------
        self
        """
        n_panels = 1 if self.scores is None else 2
        axes = panels("WidthCurveDisplay", ax, n_panels, n_columns=1, panel_size=(7.6, 3.2), sharex=True)
        self.ax_, self.score_ax_ = axes[0], axes[1] if n_panels == 2 else None
        self.figure_, self.lines_ = self.ax_.figure, {}
        for name in sorted(self.criteria, key=lambda name: name != self.criterion):
            self.lines_[name] = self._draw(name, line_kw)
        self.ax_.set(ylabel="Fraction of the largest value", ylim=(0, 1.06))
        self.ax_.legend(handles=[self.lines_[name] for name in self.criteria], frameon=False, **legend_place(ax))
        if self.scores is not None:
            self._draw_scores()
        for each in axes:
            each.axvline(self.best_gamma, color=_COLORS.get(self.criterion, "k"), linewidth=0.9, linestyle=":")
            each.set_xscale("log", base=2)
            tidy(each)
        axes[-1].set_xlabel("γ")
        return self

    def _draw(self, name: str, line_kw: Any) -> Any:
        curve = np.asarray(self.criteria[name], dtype=float)
        is_chosen = name == self.criterion
        style = {
            "color": _COLORS.get(name),
            "linewidth": 6 if is_chosen else 1.4,
            "linestyle": "-" if is_chosen else _DASHES.get(name, "-"),
            "alpha": 0.35 if is_chosen else 1.0,
            "solid_capstyle": "round",
            "label": _LABELS.get(name, name),
        } | line_kw
        largest = curve.max()
        (line,) = self.ax_.plot(self.gammas, curve / largest if largest > 0 else curve, **style)
        return line

    def _draw_scores(self) -> None:
        gammas, values = self.scores
        assert self.score_ax_ is not None  # scores have a panel
        (self.lines_["scores"],) = self.score_ax_.plot(gammas, values, color="0.25", marker="s", markersize=3)
        self.score_ax_.set_ylabel("Accuracy")
