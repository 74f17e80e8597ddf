"""From a Fisher problem to discriminants and decisions, and their accuracy on held-out rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from sklearn.model_selection import StratifiedKFold

from preimage._engine.finite import current_method
from preimage._engine.linalg import fix_signs
from preimage._engine.progress import stage
from preimage._engine.threads import run_parallel, run_several
from preimage._engine.typing import Array, Folds
from preimage._models.discriminants._gram_fisher import GramFisher
from preimage._models.discriminants._rule import (
    MARGIN_C,
    NEED_VALUES,
    LinearRule,
    many_class_rules,
    one_vs_rest_rule,
    two_class_rule,
)
from preimage._models.discriminants._scatter_fisher import ScatterFisher
from preimage._models.discriminants._sparse_fisher import SparseFisherPath, sparse_discriminants
from preimage.feature_space import ClassMoments

if TYPE_CHECKING:
    from preimage._models.discriminants._problem import KernelTable

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
    margin_C : float
        Cost of errors of the threshold "margin".
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
    margin_C: float = MARGIN_C
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
    return fit_for_each(problem, [ridge], options, codes, weights)[0]


def fit_for_each(
    problem: GramFisher | ScatterFisher,
    ridges: Sequence[float],
    options: FisherOptions,
    codes: Array,
    weights: Array | None = None,
) -> list[FittedDiscriminants]:
    """As `fit_discriminants`, for each of several ridges; they share one product with the kernel values."""
    with stage("Finding discriminants", 1) as advance:
        solutions = _solutions(problem, ridges, options)
        advance()
    # Small arrays of all ridges are worked on in one stack, unless some ridges have fewer directions than others.
    alike = len({each.coefficients.shape for each in solutions}) == 1
    stacks = [solutions] if alike else [[each] for each in solutions]
    return [fitted for stack in stacks for fitted in _with_rules(problem, stack, options, codes, weights)]


class _Solution(NamedTuple):
    """Coefficients of discriminants, their ratios where those are known, and the paths of sparse ones."""

    coefficients: Array
    ratios: Array | None = None
    paths: Sequence[SparseFisherPath] = ()


def _solutions(problem: GramFisher | ScatterFisher, ridges: Sequence[float], options: FisherOptions) -> list[_Solution]:
    if options.sparsity is not None:
        sparse = [sparse_discriminants(cast(ScatterFisher, problem), ridge, options.sparsity) for ridge in ridges]
        return [_Solution(coefficients, None, paths) for coefficients, paths in sparse]
    if _one_vs_rest(problem, options):
        return [_Solution(problem.contrasts(ridge)) for ridge in ridges]
    found = problem.directions_of_each(ridges, options.n_components)
    return [_Solution(coefficients, ratios) for ratios, coefficients in found]


def _one_vs_rest(problem: GramFisher | ScatterFisher, options: FisherOptions) -> bool:
    return problem.n_classes > 2 and options.one_vs_rest


def _with_rules(
    problem: GramFisher | ScatterFisher,
    solutions: Sequence[_Solution],
    options: FisherOptions,
    codes: Array,
    weights: Array | None,
) -> list[FittedDiscriminants]:
    """Solutions with as many coefficients each, the signs of their discriminants fixed, and their decisions."""
    coefficients = np.stack([each.coefficients for each in solutions])
    moments = problem.moments_of(coefficients)
    if not _one_vs_rest(problem, options):
        # Signs: the second of two classes has the larger values; of many, the class farthest from the mean.
        means = moments.means - moments.mean[:, None, :]
        signs = fix_signs(means) if problem.n_classes > 2 else np.where(means[:, 1] < 0, -1.0, 1.0)
        coefficients, moments = coefficients * signs[:, None, :], moments.scaled(signs)
    rules = _rules(problem, coefficients, moments, options, codes, weights)
    return [
        FittedDiscriminants(coefficients[j], each.ratios, moments[j], rules[j], list(each.paths))
        for j, each in enumerate(solutions)
    ]


def _rules(
    problem: GramFisher | ScatterFisher,
    coefficients: Array,
    moments: ClassMoments,
    options: FisherOptions,
    codes: Array,
    weights: Array | None,
) -> list[LinearRule]:
    threshold, C, numbers = options.threshold, options.margin_C, range(len(coefficients))
    if problem.n_classes > 2 and not options.one_vs_rest:
        return many_class_rules(moments, threshold)
    values = [problem.values_of(each) if threshold in NEED_VALUES else None for each in coefficients]
    if problem.n_classes > 2:
        return [one_vs_rest_rule(moments[j], threshold, values[j], codes, weights, C) for j in numbers]
    signs = np.where(codes == 1, 1, -1)
    columns = [None if each is None else each[:, 0] for each in values]
    return [two_class_rule(moments[j], threshold, columns[j], signs, weights, C) for j in numbers]


def cross_validated_scores(
    tables: Sequence["KernelTable"],
    folds: Folds,
    ridges: Sequence[float],
    sparsities: Sequence[int | None] = (None,),
    judge: Callable[[int, FittedDiscriminants, Array, Array], Any] | None = None,
) -> Array:
    """Accuracies weighted like the rows, shape (n_tables, n_sparsities, n_ridges, n_folds).

    A fold has one problem for all ridges: kernel values and scatters are computed once, and so are eigenvectors where
    there are more ridges than those cost. Folds of all tables are fitted in parallel, as many as memory allows.

    Parameters
    ----------
    tables : list of KernelTables
        Of the same rows and options.
    folds : list of pairs of integer arrays
        Rows to fit on and rows to score.
    ridges : array of shape (n_ridges,)
    sparsities : list of int or None
        Numbers of coefficients; None is what the options of the tables say.
    judge : callable, optional
        Gives what stands in the place of accuracies, of: the number of a table, discriminants, the numbers of the rows
        that they were fitted to, and of those held out.
    """
    shape = (len(tables), len(sparsities), len(folds))
    parts = list(np.ndindex(*shape))

    def scores_of(part: tuple[int, ...]) -> Sequence[Any]:
        table, sparsity, fold = part
        results = _fold_results(tables[table], folds[fold][0], ridges, sparsities[sparsity])
        if judge is not None:
            return [judge(table, each, *folds[fold]) for each in results]
        return _fold_accuracies(tables[table], folds[fold], results)

    tables = run_parallel(lambda table: table.prepared(), tables)
    scores = run_several(scores_of, parts, tables[0].problems_at_once(len(tables)))
    return np.swapaxes(np.array(scores).reshape(*shape, len(ridges)), 2, 3)


def _fold_results(
    table: "KernelTable", fitted: Array, ridges: Sequence[float], sparsity: int | None
) -> list[FittedDiscriminants]:
    """Discriminants of some rows for each ridge."""
    options = table.options if sparsity is None else replace(table.options, sparsity=sparsity)
    data, problem = table.data, table.problem(fitted, n_ridges=len(ridges))
    weights = None if data.weights is None else data.weights[fitted]
    return fit_for_each(problem, ridges, options, data.codes[fitted], weights)


def _fold_accuracies(
    table: "KernelTable", fold: tuple[Array, Array], results: Sequence[FittedDiscriminants]
) -> list[float]:
    """Accuracies on the held-out rows of a fold."""
    (fitted, held_out), data = fold, table.data
    # The decisions of all ridges by one product.
    functions = np.concatenate([each.coefficients @ each.rule.weights for each in results], axis=1)
    values = np.split(table.held_out_values(held_out, fitted) @ functions, len(results), axis=1)
    chosen = [each.rule.chosen(part + each.rule.intercept) for each, part in zip(results, values, strict=True)]
    weights = None if data.weights is None else data.weights[held_out]
    return np.average(np.stack(chosen) == data.codes[held_out], axis=1, weights=weights).tolist()


def leave_one_out_scores(
    tables: Sequence["KernelTable"], ridges: Array, judge: Callable[[int, Array], Any] | None = None
) -> Array:
    """Accuracies of least squares on targets ±1, each row left out in turn, shape (n_tables, n_ridges, 1); see (F5).

    A `judge` of the number of a table and of decisions (n, n_classes) gives what stands in their place.
    """

    def scores_of(number: int) -> Sequence[Any]:
        decisions = _left_out_decisions(tables[number], ridges)
        if judge is not None:
            return [judge(number, each) for each in decisions]
        data = tables[number].data
        correct = [np.argmax(each, axis=1) == data.codes for each in decisions]
        return np.average(correct, axis=1, weights=data.weights).tolist()

    scores = run_several(scores_of, range(len(tables)), tables[0].problems_at_once(len(tables)))
    return np.array(scores)[:, :, None]


def _left_out_decisions(table: "KernelTable", ridges: Array) -> list[Array]:
    data, problem = table.data, cast(GramFisher, table.problem())
    targets = 2.0 * np.eye(data.n_classes)[data.codes] - 1
    return [problem.leave_one_out(ridge, targets) for ridge in ridges]


def stratified_folds(codes: Array, n_folds: int) -> Folds:
    """At most `n_folds` folds; fewer where the smallest class has fewer rows."""
    counts = np.bincount(codes)
    if counts.max() < 2:
        raise ValueError(
            f"{current_method()} chooses by cross-validation: some rows of a class judge, others are fitted to; "
            f"none of the {counts.size} classes has more than one row. Give more rows, or parameters as numbers."
        )
    folds = StratifiedKFold(int(min(n_folds, max(2, counts.min()))))
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
    with stage("Choosing the number of coefficients", 1) as advance:
        scores = cross_validated_scores([table], folds, [ridge], counts.tolist())[0, :, 0]
        advance()
    means, deviations = scores.mean(axis=1), scores.std(axis=1)
    best = int(np.argmax(means))
    error = scores[best].std(ddof=1) / np.sqrt(len(folds)) if len(folds) > 1 else 0.0
    count = int(counts[np.flatnonzero(means >= means[best] - error)[0]])
    return count, {"n_nonzero": counts, "mean_test_score": means, "std_test_score": deviations}
