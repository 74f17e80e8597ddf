"""Curves: eigenvalues of kernel PCA, measures of a width search, errors and scores of compressed models."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import to_numpy
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage.estimators import compress
from preimage.estimators.compressed._models import score_name
from preimage.interop._pipeline import final_step
from preimage.plotting._matplotlib import Display, legend_place, tidy

# Of Okabe and Ito; with markers, so that lines can be told apart without colours.
STYLES = [("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#E69F00", "v")]
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
        self.axes_ = self._panels(ax, 2, n_columns=2, panel_size=(4.6, 3.4))
        numbers = np.arange(1, len(self.eigenvalues) + 1)
        marker = "o" if len(numbers) <= 50 else None  # more would merge into a thick line
        style = {"marker": marker, "markersize": 3.5, "linewidth": 1.4, "label": label or self.label} | line_kw
        left, right = self.axes_
        self.lines_ = [
            left.semilogy(numbers, np.abs(self.eigenvalues), **style)[0],
            right.plot(numbers, np.cumsum(self.explained_variance_ratio), **style)[0],
        ]
        negative = self.eigenvalues < 0
        if negative.any():
            open_circles = {"linestyle": "none", "marker": "o", "markersize": 7, "markerfacecolor": "none"}
            moduli, color = np.abs(self.eigenvalues[negative]), self.lines_[0].get_color()
            left.plot(numbers[negative], moduli, color=color, label="negative", **open_circles)
            left.legend(frameon=False)
        left.set(xlabel="Component", ylabel="Eigenvalue")
        right.set(xlabel="Component", ylabel="Cumulative explained variance")
        # Fractions of a Euclidean feature space add up to at most one; those of an indefinite kernel may exceed it.
        right.set_ylim(bottom=0, top=max(1.02, right.get_ylim()[1]))
        right.axhline(1, color="0.6", linewidth=0.8, zorder=0)
        for panel in self.axes_:
            panel.xaxis.get_major_locator().set_params(integer=True)
            tidy(panel)
        if style["label"] is not None:
            right.legend(frameon=False, loc="lower right")
        return self


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
        axes = self._panels(ax, n_panels, n_columns=1, panel_size=(7.6, 3.2), sharex=True)
        self.ax_, self.score_ax_ = axes[0], axes[1] if n_panels == 2 else None
        self.lines_ = {}
        for name in sorted(self.criteria, key=lambda name: name != self.criterion):
            self.lines_[name] = self._draw(name, line_kw)
        self.ax_.set(ylabel="Fraction of the largest value", ylim=(0, 1.06))
        self.ax_.legend(handles=[self.lines_[name] for name in self.criteria], frameon=False, **legend_place(ax))
        if self.scores is not None:
            gammas, values = self.scores
            (self.lines_["scores"],) = axes[1].plot(gammas, values, color="0.25", marker="s", markersize=3)
            axes[1].set_ylabel("Accuracy")
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


@dataclass(kw_only=True, eq=False, repr=False)
class CompressionDisplay(Display):
    r"""Error and score of compressed models against their number of vectors, in two panels.

    The left panel shows the relative error :math:`\sum\|\Psi - \Psi'\|^2 / \sum\|\Psi\|^2` in feature space, the right
    one the score on data, with that of the original as a line.

    Parameters
    ----------
    sizes : list of int
        Numbers of vectors.
    errors : dict of str to list of float
        Of each method, one for each size; NaN where the kernel has no norm.
    scores : dict of str to list of float
        Of each method, one for each size.
    original_score : float
        Of the model before compression.
    n_original_points : int
        Number of points before compression.
    score_name : str, default="score"
        What the score is called on its axis.

    Attributes
    ----------
    axes_ : array of two matplotlib Axes
        Errors and scores.
    lines_ : dict of str to two matplotlib lines
    figure_ : matplotlib Figure

    See Also
    --------
    preimage.compress : Compresses a model to one size.
    ReducedSetDisplay : The points that remain, as pictures.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> from preimage.plotting import CompressionDisplay
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> svc = SVC(gamma=2).fit(X, y)
    >>> display = CompressionDisplay.from_estimator(svc, X, y, sizes=[2, 4, 8], methods=["select", "distill"])
    >>> sorted(display.errors), display.sizes
    (['distill', 'select'], [2, 4, 8])
    """

    sizes: Any
    errors: Any
    scores: Any
    original_score: float | None
    n_original_points: int
    score_name: str = "score"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Rows,
        y: Targets = None,
        *,
        sizes: Any = None,
        methods: Any = ("select", "construct", "distill"),
        X_test: Rows = None,
        y_test: Targets = None,
        random_state: Seed = 0,
        ax: Any = None,
        **line_kw: Any,
    ) -> "CompressionDisplay":
        """Compress a fitted model to several sizes by several methods, and draw the results.

        Parameters
        ----------
        estimator : fitted estimator
            What `preimage.compress` takes.
        X : array of shape (n, d)
            Data to compress with.
        y : array of shape (n,) or None, default=None
            Labels of X; without them scores are agreement with the original.
        sizes : sequence of int or None, default=None
            Numbers of vectors; None takes powers of two from 4 to half of the original's, 128 at most.
        methods : sequence of str or Reducer, default=("select", "construct", "distill")
        X_test, y_test : arrays, optional
            Data to score on; None takes X and y.
        random_state : int, RandomState, Generator or None, default=0
        ax, **line_kw
            As in `plot`.

        Returns
        -------
        CompressionDisplay
        """
        sizes = _default_sizes(estimator, X) if sizes is None else sorted({int(size) for size in sizes})
        named = {method if isinstance(method, str) else type(method).__name__: method for method in methods}
        errors: dict[str, list[float]] = {}
        scores: dict[str, Any] = {}  # pairs (before, after) until all are known
        small = None
        for name, method in named.items():
            errors[name], scores[name] = [], []
            for size in sizes:
                small = compress(estimator, size, X=X, y=y, method=method, random_state=random_state)
                errors[name].append(final_step(small).error_)
                scores[name].append(_scores(estimator, small, X_test, y_test))
        if small is None:
            raise ValueError("CompressionDisplay needs at least one method and one size.")
        display = cls(
            sizes=sizes,
            errors=errors,
            scores={name: [after for _, after in pairs] for name, pairs in scores.items()},
            original_score=next(iter(scores.values()))[0][0],
            n_original_points=final_step(small).n_original_points_,
            score_name=score_name(final_step(small).kind, (y if X_test is None else y_test) is not None),
        )
        return display.plot(ax=ax, **line_kw)

    def plot(self, ax: Any = None, **line_kw: Any) -> "CompressionDisplay":
        """Draw both panels.

        Parameters
        ----------
        ax : two matplotlib Axes or None, default=None
            None makes a new figure.
        **line_kw
            Passed to all lines, for instance ``linewidth=2``.

        Returns
        -------
        self
        """
        self.axes_ = self._panels(ax, 2, n_columns=2, panel_size=(5.0, 3.4))
        from matplotlib import ticker

        self.lines_ = {}
        for number, name in enumerate(self.errors):
            color, marker = STYLES[number % len(STYLES)]
            style = {"color": color, "marker": marker, "markersize": 4.5, "linewidth": 1.5, "label": name} | line_kw
            values = (self.errors[name], self.scores[name])
            self.lines_[name] = [panel.plot(self.sizes, y, **style)[0] for panel, y in zip(self.axes_, values)]
        left, right = self.axes_
        right.axhline(self.original_score, color="0.3", linestyle="--", linewidth=1, zorder=1)
        right.annotate(
            f"original, {self.n_original_points} vectors",
            (0, self.original_score),
            xycoords=("axes fraction", "data"),
            xytext=(4, 3),
            textcoords="offset points",
            color="0.3",
            fontsize="small",
        )
        if any(error > 0 for errors in self.errors.values() for error in errors):
            left.set_yscale("log")
            left.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
            left.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
        left.set(ylabel="Relative error in feature space")
        right.set(ylabel=self.score_name[:1].upper() + self.score_name[1:])
        for panel in self.axes_:
            panel.set_xscale("log", base=2)
            panel.set_xticks(self.sizes, [str(size) for size in self.sizes])
            panel.minorticks_off()
            panel.set_xlabel("Vectors")
            tidy(panel)
        right.legend(frameon=False, **legend_place(ax))
        return self


def _default_sizes(estimator: Any, X: Rows) -> Any:
    n = final_step(compress(estimator, 1, X=X, method="select")).n_original_points_
    return [size for size in 2 ** np.arange(2, 8) if size <= max(n // 2, 4)]


def _scores(estimator: Any, small: Any, X: Rows, y: Targets) -> Any:
    """Of the original and the compressed model."""
    last = final_step(small)
    if X is None or last.kind == "transformer":
        return last.scores_
    if y is not None:
        return float(estimator.score(X, y)), float(small.score(X, y))
    if last.kind == "regressor":
        return 1.0, float(small.score(X, estimator.predict(X)))
    return 1.0, float(np.mean(small.predict(X) == estimator.predict(X)))
