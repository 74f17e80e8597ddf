"""From a Fisher problem to discriminants and decisions."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from preimage._linalg import fix_signs
from preimage.discriminants._rule import (
    NEED_VALUES,
    LinearRule,
    many_class_rule,
    one_vs_rest_rule,
    two_class_rule,
)
from preimage.discriminants._sparse_fisher import polished, sparse_fisher_path


@dataclass(frozen=True)
class FittedDiscriminants:
    """Discriminants, what their values are on the training data, and the decisions made of them.

    Attributes
    ----------
    coefficients : array of shape (m, k)
    ratios : array of shape (k,) or None
        Fisher's criterion of each; None for discriminants of single classes against the rest.
    moments : ClassMoments of the values
    rule : LinearRule
    paths : list of SparseFisherPath
        One a discriminant, where those are sparse.
    """

    coefficients: Any
    ratios: Any
    moments: Any
    rule: LinearRule
    paths: list


def fit_discriminants(
    problem, ridge, *, codes, weights=None, n_components=None, one_vs_rest=False, threshold="gaussian", sparsity=None
):
    """Solve a Fisher problem and fit the decisions.

    Parameters
    ----------
    problem : GramFisher or ScatterFisher
        The latter for sparse discriminants.
    ridge : float
    codes : integer array of shape (n,)
        Classes of the training data.
    weights : array of shape (n,), optional
    n_components : int or None
        None is one less than there are classes.
    one_vs_rest : bool
        Whether each of more than two classes has a discriminant of its own.
    threshold : str
        One of `THRESHOLDS`.
    sparsity : int, float or None
        Largest number of nonzero coefficients a discriminant, or the penalty λ.

    Returns
    -------
    FittedDiscriminants
    """
    ratios, paths = None, []
    many = problem.n_classes > 2
    if sparsity is not None:
        coefficients, paths = _sparse(problem, ridge, sparsity)
    elif many and one_vs_rest:
        coefficients = problem.contrasts(ridge)
    else:
        ratios, coefficients = problem.directions(ridge, n_components)
    moments = problem.moments_of(coefficients)
    if not (many and one_vs_rest):
        # The second of two classes has the larger values; of many, the class farthest out.
        means = moments.means - moments.mean
        signs = fix_signs(means) if many else np.where(means[1] < 0, -1.0, 1.0)
        coefficients, moments = coefficients * signs, moments.projected(np.diag(signs))
    values = problem.values_of(coefficients) if threshold in NEED_VALUES else None
    if not many:
        column = None if values is None else values[:, 0]
        rule = two_class_rule(moments, threshold, column, np.where(codes == 1, 1, -1), weights)
    elif one_vs_rest:
        rule = one_vs_rest_rule(moments, threshold, values, codes, weights)
    else:
        rule = many_class_rule(moments, threshold)
    return FittedDiscriminants(coefficients, ratios, moments, rule, paths)


def sparse_paths(problem, ridge, max_nonzero=None):
    """Paths of sparse discriminants, noise, contrast and point numbers: of two classes, or of each against the rest.

    Points with the same image share one coefficient, that of the first of them; the others stay at zero. Least angle
    regression would otherwise spend its coefficients on copies, and stop where it cannot tell them apart.
    """
    n_classes, counts = problem.n_classes, problem.moments.counts
    noise_within, means, between, first = problem.on_distinct_points(ridge)
    for c in [1] if n_classes == 2 else range(n_classes):
        rest = np.arange(n_classes) != c
        contrast = means[c] - counts[rest] @ means[rest] / counts[rest].sum()
        noise = noise_within
        if n_classes > 2:  # what other classes differ by counts as scatter within the rest
            share = counts[c] * counts[rest].sum() / counts.sum()
            noise = noise_within + between @ between.T - share * np.outer(contrast, contrast)
        yield sparse_fisher_path(noise, contrast, max_nonzero), noise, contrast, first


def _sparse(problem, ridge, sparsity):
    by_count = isinstance(sparsity, Integral)
    columns, paths = [], []
    m = problem.coordinates.gram.shape[0]
    for path, noise, contrast, first in sparse_paths(problem, ridge, int(sparsity) if by_count else None):
        column = np.zeros(m)
        column[first] = polished(noise, contrast, path.support(sparsity)) if by_count else path.at(sparsity)
        columns.append(column)
        paths.append(path.on(first, m))
    return np.column_stack(columns), paths
