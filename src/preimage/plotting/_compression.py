"""What compression costs, drawn."""

from typing import Any

import numpy as np

from preimage._engine.typing import Rows, Seed, Targets
from preimage.estimators import compress
from preimage.estimators.compressed._models import score_name
from preimage.interop._pipeline import final_step
from preimage.plotting._matplotlib import Display, legend_place, panels

# Of Okabe and Ito; with markers, so that lines can be told apart without colours.
STYLES = [("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#E69F00", "v")]


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

    def __init__(
        self,
        *,
        sizes: Any,
        errors: Any,
        scores: Any,
        original_score: float | None,
        n_original_points: int,
        score_name: str = "score",
    ) -> None:
        self.sizes = sizes
        self.errors = errors
        self.scores = scores
        self.original_score = original_score
        self.n_original_points = n_original_points
        self.score_name = score_name

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
            score_name=_score_name(final_step(small), y if X_test is None else y_test),
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
        self.axes_ = panels("CompressionDisplay", ax, 2, n_columns=2, panel_size=(5.0, 3.4))
        from matplotlib import ticker

        self.figure_ = self.axes_[0].figure
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
            _finish(panel, self.sizes)
        right.legend(frameon=False, **legend_place(ax))
        return self


def _finish(ax: Any, sizes: Any) -> None:
    ax.set_xscale("log", base=2)
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.minorticks_off()
    ax.set_xlabel("Vectors")
    ax.grid(True, color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


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


def _score_name(model: Any, y: Targets) -> str:
    """What scores on data with labels y are, or on data without."""
    return score_name(model.kind, y is not None)
