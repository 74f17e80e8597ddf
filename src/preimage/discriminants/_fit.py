"""From a Fisher problem to discriminants and decisions, and their accuracy on held-out rows."""

from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.model_selection import StratifiedKFold

from preimage._linalg import fix_signs
from preimage._progress import stage
from preimage._typing import Array, Folds
from preimage.discriminants._gram_fisher import GramFisher
from preimage.discriminants._rule import NEED_VALUES, LinearRule, many_class_rule, one_vs_rest_rule, two_class_rule
from preimage.discriminants._scatter_fisher import ScatterFisher
from preimage.discriminants._sparse_fisher import SparseFisherPath, sparse_discriminants
from preimage.feature_space import ClassMoments

if TYPE_CHECKING:
    from preimage.discriminants._problem import KernelTable

# Folds of the search for a number of coefficients, and how many numbers it tries, from one to half of the points in
# equal ratios: neighbours differ by less than a factor of two up to 30,000 points.
N_FOLDS, N_COUNTS = 5, 16


@dataclass(frozen=True)
class FisherOptions:
    """Which discriminants are wanted, and the decisions made of them: everything but kernel, points and ridge.

    Attributes
    ----------
    regularizer : {"norm", "identity", "both"}
    is_relative : bool
        Whether ridges are fractions of a variance, (F4).
    n_components : int or None
        Directions to keep; None is one less than there are classes.
    one_vs_rest : bool
        Whether each of more than two classes has a discriminant against all others.
    threshold : str
        One of `THRESHOLDS`.
    sparsity : int, float, "cv" or None
        Largest number of nonzero coefficients per discriminant, or the penalty λ of (F7), or a choice to be made.
    invariances : TangentCovariance, or object with `tangent_factor`, or None
    invariance_weight : float
    max_memory : int, str or None
    """

    regularizer: str = "norm"
    is_relative: bool = True
    n_components: int | None = None
    one_vs_rest: bool = False
    threshold: str = "gaussian"
    sparsity: Any = None
    invariances: Any = None
    invariance_weight: float = 1.0
    max_memory: int | str | None = None

    @property
    def solves_by_gram(self) -> bool:
        """Whether discriminants on all points have the short form of `GramFisher`."""
        return self.regularizer == "norm" and self.sparsity is None and self.invariances is None

    def check(self, who: str, n_classes: int) -> None:
        """Refuse a sparsity of zero, and thresholds and sparsity where more than two classes share directions."""
        if isinstance(self.sparsity, Integral) and self.sparsity == 0:
            raise ValueError(
                f"{who} with sparsity=0 has no coefficients. Give a number of them from 1 on, or a float, which is a "
                "penalty."
            )
        if n_classes == 2 or self.one_vs_rest:
            return
        refused = {"threshold": self.threshold in NEED_VALUES, "sparsity": self.sparsity is not None}
        for name in (name for name, is_refused in refused.items() if is_refused):
            raise ValueError(
                f"{who} with {name}={getattr(self, name)!r} tells two classes apart; there are {n_classes}. Use "
                f"multiclass='one_vs_rest', or another {name}."
            )


@dataclass(frozen=True)
class FittedDiscriminants:
    """Discriminants, the moments of their values on the training data, and the decisions made of them.

    Attributes
    ----------
    coefficients : array of shape (m, k)
    ratios : array of shape (k,) or None
        Fisher's criterion of each; None for sparse discriminants and those of single classes against the rest.
    moments : ClassMoments of the values
    rule : LinearRule
    paths : list of SparseFisherPath
        One per discriminant, where those are sparse.
    """

    coefficients: Array
    ratios: Array | None
    moments: ClassMoments
    rule: LinearRule
    paths: list[SparseFisherPath]


def fit_discriminants(
    problem: GramFisher | ScatterFisher,
    ridge: float,
    options: FisherOptions,
    codes: Array,
    weights: Array | None = None,
) -> FittedDiscriminants:
    """Solve a Fisher problem and fit the decisions.

    Parameters
    ----------
    problem : GramFisher or ScatterFisher
        The latter for sparse discriminants.
    ridge : float
    options : FisherOptions
    codes : integer array of shape (n,)
        Classes of the training data.
    weights : array of shape (n,), optional
    """
    ratios: Array | None = None
    paths: list[SparseFisherPath] = []
    many = problem.n_classes > 2
    one_vs_rest = many and options.one_vs_rest
    with stage("Finding discriminants", 1) as advance:
        if options.sparsity is not None:
            coefficients, paths = sparse_discriminants(cast(ScatterFisher, problem), ridge, options.sparsity)
        elif one_vs_rest:
            coefficients = problem.contrasts(ridge)
        else:
            ratios, coefficients = problem.directions(ridge, options.n_components)
        advance()
    moments = problem.moments_of(coefficients)
    if not one_vs_rest:
        # Signs: the second of two classes has the larger values; of many, the class farthest from the mean.
        means = moments.means - moments.mean
        signs = fix_signs(means) if many else np.where(means[1] < 0, -1.0, 1.0)
        coefficients, moments = coefficients * signs, moments.projected(np.diag(signs))
    rule = _fitted_rule(problem, coefficients, moments, options, codes, weights)
    return FittedDiscriminants(coefficients, ratios, moments, rule, paths)


def _fitted_rule(
    problem: GramFisher | ScatterFisher,
    coefficients: Array,
    moments: ClassMoments,
    options: FisherOptions,
    codes: Array,
    weights: Array | None,
) -> LinearRule:
    threshold = options.threshold
    values = problem.values_of(coefficients) if threshold in NEED_VALUES else None
    if problem.n_classes == 2:
        column = None if values is None else values[:, 0]
        return two_class_rule(moments, threshold, column, np.where(codes == 1, 1, -1), weights)
    if options.one_vs_rest:
        return one_vs_rest_rule(moments, threshold, values, codes, weights)
    return many_class_rule(moments, threshold)


def cross_validated_scores(table: "KernelTable", folds: Folds, ridges: Array, sparsity: int | None = None) -> Array:
    """Accuracy for each ridge and fold, shape (n_ridges, n_folds), weighted like the rows.

    A fold has one problem for all ridges: kernel values and scatters are computed once, and so are eigenvectors where
    there are more ridges than those cost.

    Parameters
    ----------
    table : KernelTable
    folds : list of pairs of integer arrays
        Rows to fit on and rows to score.
    ridges : array of shape (n_ridges,)
    sparsity : int, optional
        Number of coefficients, in place of what the options of the table say.
    """
    options = table.options if sparsity is None else replace(table.options, sparsity=sparsity)
    data, scores = table.data, np.empty((len(ridges), len(folds)))
    weights_of = lambda rows: None if data.weights is None else data.weights[rows]
    for f, (fitted, held_out) in enumerate(folds):
        problem = table.problem(fitted, n_ridges=len(ridges))
        values, truth = table.held_out_values(held_out, fitted), data.codes[held_out]
        for r, ridge in enumerate(ridges):
            result = fit_discriminants(problem, ridge, options, data.codes[fitted], weights_of(fitted))
            chosen = result.rule.chosen(result.rule.decisions(values @ result.coefficients))
            scores[r, f] = np.average(chosen == truth, weights=weights_of(held_out))
    return scores


def leave_one_out_scores(table: "KernelTable", ridges: Array) -> Array:
    """Accuracies of least squares on targets ±1, each row left out in turn, shape (n_ridges, 1); see (F5)."""
    data, problem = table.data, cast(GramFisher, table.problem())
    targets = 2.0 * np.eye(data.n_classes)[data.codes] - 1
    correct = [np.argmax(problem.leave_one_out(ridge, targets), axis=1) == data.codes for ridge in ridges]
    return np.average(correct, axis=1, weights=data.weights)[:, None]


def stratified_folds(codes: Array, n_folds: int) -> Folds:
    """At most `n_folds` folds; fewer where the smallest class has fewer rows."""
    folds = StratifiedKFold(int(min(n_folds, max(2, np.bincount(codes).min()))))
    return list(folds.split(np.zeros((len(codes), 1)), codes))


def sparsity_by_cross_validation(table: "KernelTable", ridge: float) -> tuple[int, dict[str, Array]]:
    """The smallest number of coefficients whose accuracy is within one standard error of the best.

    Returns
    -------
    count : int
    results : dict of arrays of shape (c,)
        The numbers tried, and the mean and standard deviation of their accuracies over the folds.
    """
    folds = stratified_folds(table.data.codes, N_FOLDS)
    counts = np.unique(np.geomspace(1, max(1, table.points.shape[0] // 2), N_COUNTS).astype(int))
    scores = np.empty((len(counts), len(folds)))
    with stage("Choosing the number of coefficients", len(counts)) as advance:
        for i, count in enumerate(counts):
            scores[i] = cross_validated_scores(table, folds, [ridge], int(count))[0]
            advance()
    means, deviations = scores.mean(axis=1), scores.std(axis=1)
    best = int(np.argmax(means))
    error = scores[best].std(ddof=1) / np.sqrt(len(folds)) if len(folds) > 1 else 0.0
    count = int(counts[np.flatnonzero(means >= means[best] - error)[0]])
    return count, {"n_nonzero": counts, "mean_test_score": means, "std_test_score": deviations}
