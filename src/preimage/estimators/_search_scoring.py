"""What a search over parameters is judged by, the table of its results, and the choice among them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

from preimage._engine.typing import Array, Rows

# The name of the only score of a search, as in scikit-learn: `mean_test_score`.
SINGLE = "score"


class Scoring:
    """Scores of fitted models on rows that they have not seen, by name; one is named "score".

    Parameters
    ----------
    who : str
        What is searched, for messages.
    scoring : str, callable, list, tuple, set or dict
        As in scikit-learn's searches. A callable returns a number, or a dict of several.
    """

    def __init__(self, who: str, scoring: Any) -> None:
        self.who, self.scoring = who, scoring
        self._scorer = check_scoring(None, scoring)

    def __call__(self, model: Any, X: Rows, y: Array, weights: Array | None) -> dict[str, float]:
        """The scores of a model on labelled rows; weights are passed on as `sample_weight` where there are some."""
        if weights is None:
            found = self._scorer(model, X, y)
        else:
            found = self._weighted(model, X, y, weights)
        scores = found if isinstance(found, dict) else {SINGLE: found}
        for name, value in scores.items():
            number = np.asarray(value)
            if number.ndim or number.dtype.kind not in "fiub" or not np.isfinite(number):
                raise ValueError(
                    f"{self.who} needs scores that are finite numbers; scoring={self.scoring!r} gave {value!r} as "
                    f"{name!r} for {y.shape[0]} held-out rows of the classes {np.unique(y).tolist()!s:.100}. A score "
                    "that needs all classes needs folds that have them: use an integer `cv`, or other splits."
                )
        return {name: float(value) for name, value in scores.items()}

    def _weighted(self, model: Any, X: Rows, y: Array, weights: Array) -> Any:
        try:
            return self._scorer(model, X, y, sample_weight=weights)
        except TypeError as error:
            raise ValueError(
                f"{self.who} was given weights, with which scoring={self.scoring!r} was called as "
                f"scorer(model, X, y, sample_weight=weights): {error}. Use a score that takes weights, or fit without."
            ) from error


def left_out_classifier(decisions: Array, classes: Array) -> Any:
    """What scorers see of decisions (n, n_classes) for rows that were each left out in turn: a fitted classifier.

    It knows its decisions and predictions for these rows alone, whatever rows it is given, and has no probabilities.
    """
    return _LeftOutDecisions(decisions, classes)


def by_name(scores: Array) -> dict[str, Array]:
    """Arrays of numbers, one per name, from an array of what `Scoring` returns."""
    names = list(scores.flat[0])
    return {name: np.array([each[name] for each in scores.flat]).reshape(scores.shape) for name in names}


def deciding_score(who: str, refit: Any, names: Sequence[str]) -> str | None:
    """The name of the score that a search is about; None where there are several and `refit` is no name.

    Parameters
    ----------
    who : str
        What is searched, for messages.
    refit : bool, str or callable
        As in scikit-learn's searches.
    names : list of str
        Of the scores.
    """
    if list(names) == [SINGLE]:
        return SINGLE
    if refit is False or callable(refit):
        return None
    if refit not in names:
        raise ValueError(
            f"{who} has the scores {list(names)!r}; `refit` names the one that chooses, is a function of cv_results_ "
            f"that returns the number of the best parameters, or False. Got {refit!r}."
        )
    return refit


def best_number(who: str, refit: Any, results: dict[str, Any], decisive: str | None) -> int | None:
    """The number of the best parameters in a table of `search_results`; None where nobody chooses."""
    if not callable(refit):
        return None if decisive is None else int(np.argmax(results[f"mean_test_{decisive}"]))
    number, count = refit(results), len(results["params"])
    if not isinstance(number, (int, np.integer)) or isinstance(number, bool) or not 0 <= number < count:
        raise ValueError(
            f"`refit` of {who} must return the number of the best parameters, from 0 to {count - 1}; got {number!r}."
        )
    return int(number)


def search_results(columns: dict[str, Array], scores: dict[str, Array]) -> dict[str, Any]:
    """The table `cv_results_` of scikit-learn's searches.

    Parameters
    ----------
    columns : dict of str to array of shape (n,)
        Values of each parameter.
    scores : dict of str to array of shape (n, n_folds)
    """
    values = [column.tolist() for column in columns.values()]
    params = [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]
    table: dict[str, Any] = {"params": params, **{f"param_{name}": column for name, column in columns.items()}}
    for name, values in scores.items():
        means = values.mean(axis=1)
        table |= {
            f"mean_test_{name}": means,
            f"std_test_{name}": values.std(axis=1),
            f"rank_test_{name}": rankdata(-means, method="min").astype(int),
            **{f"split{i}_test_{name}": column for i, column in enumerate(values.T)},
        }
    return table


class _LeftOutDecisions(ClassifierMixin, BaseEstimator):
    """A classifier that knows its decisions for given rows, of which each was left out in turn.

    Parameters
    ----------
    decisions : array of shape (n, n_classes)
    classes : array of shape (n_classes,)
    """

    def __init__(self, decisions: Array, classes: Array) -> None:
        self.decisions = decisions
        self.classes = classes
        self.classes_ = classes

    def fit(self, X: Rows, y: Any = None) -> "_LeftOutDecisions":
        return self

    def decision_function(self, X: Rows) -> Array:
        """The decisions; X must be the rows that they belong to."""
        return self.decisions[:, 1] if self.classes.size == 2 else self.decisions

    def predict(self, X: Rows) -> Array:
        return self.classes[np.argmax(self.decisions, axis=1)]

    def predict_proba(self, X: Rows) -> Array:
        """Scorers that ask are told why there is no answer."""
        raise ValueError(
            "cv='loo' leaves rows out in closed form and has decisions, but no probabilities of predict_proba, for "
            "them. Use a score of decisions or labels, such as 'roc_auc' of two classes, or cv=5."
        )
