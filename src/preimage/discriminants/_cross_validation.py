"""Scores of discriminants on rows they were not fitted on, for many ridges at once."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from preimage.discriminants._fit import fit_discriminants
from preimage.discriminants._gram_fisher import GramFisher
from preimage.discriminants._point_coordinates import PointCoordinates
from preimage.discriminants._scatter_fisher import ScatterFisher
from preimage.feature_space import ClassMoments


@dataclass(frozen=True)
class KernelTable:
    """Kernel values of labelled rows with expansion points, computed once for a kernel and used by all folds.

    Attributes
    ----------
    values : array of shape (n, m)
        k(x, z).
    gram : array of shape (m, m) or None
        k(z, z′); None when the expansion points are the rows that a fold is fitted on.
    codes : integer array of shape (n,)
    n_classes : int
    weights : array of shape (n,) or None
    tangent : array of shape (m, m) or None
        λT as a mean over data.
    """

    values: Any
    gram: Any
    codes: Any
    n_classes: int
    weights: Any = None
    tangent: Any = None
    _known: dict = field(default_factory=dict, repr=False)

    def problem(self, rows, regularizer, *, short, is_relative, n_ridges):
        """The Fisher problem on some of the rows; `short` allows the form of `GramFisher`."""
        weights = None if self.weights is None else self.weights[rows]
        if short and self.gram is None:
            options = {"is_relative": is_relative, "n_ridges": n_ridges}
            return GramFisher(self.values[np.ix_(rows, rows)], self.codes[rows], self.n_classes, weights, **options)
        if self.gram is None:
            values = self.values[np.ix_(rows, rows)]
            coordinates = PointCoordinates(values, regularizer, weights)
            tangent = None if self.tangent is None else self.tangent[np.ix_(rows, rows)]
        else:
            values, coordinates, tangent = self.values[rows], self._coordinates(regularizer), self.tangent
        if tangent is not None:
            tangent = coordinates.basis.T @ tangent @ coordinates.basis
            tangent *= len(rows) if weights is None else weights.sum()
        return ScatterFisher(
            ClassMoments.of(coordinates.of(values), self.codes[rows], self.n_classes, weights),
            coordinates,
            is_relative=is_relative,
            tangent=tangent,
            values_of=lambda A: values @ A,
            n_ridges=n_ridges,
        )

    def held_out_values(self, rows, fitted):
        """Kernel values of some rows with the expansion points of a problem on others."""
        return self.values[rows] if self.gram is not None else self.values[np.ix_(rows, fitted)]

    def _coordinates(self, regularizer):
        """Of given expansion points, the same for all rows."""
        if regularizer not in self._known:
            self._known[regularizer] = PointCoordinates(self.gram, regularizer)
        return self._known[regularizer]


def cross_validated_scores(table, folds, ridges, regularizer, *, short, is_relative, **options):
    """Accuracy for each ridge and fold, shape (n_ridges, n_folds), weighted like the rows.

    A fold has one problem for all ridges: kernel values and scatters are computed once, and so are eigenvectors where
    there are more ridges than those cost.

    Parameters
    ----------
    table : KernelTable
    folds : list of pairs of integer arrays
        Rows to fit on and rows to score.
    ridges : array of shape (n_ridges,)
    regularizer, short, is_relative
        See `KernelTable.problem`.
    **options
        Of `fit_discriminants`.
    """
    scores = np.empty((len(ridges), len(folds)))
    of = lambda rows: None if table.weights is None else table.weights[rows]
    for f, (fitted, held_out) in enumerate(folds):
        problem = table.problem(fitted, regularizer, short=short, is_relative=is_relative, n_ridges=len(ridges))
        values, truth = table.held_out_values(held_out, fitted), table.codes[held_out]
        for r, ridge in enumerate(ridges):
            result = fit_discriminants(problem, ridge, codes=table.codes[fitted], weights=of(fitted), **options)
            chosen = result.rule.chosen(result.rule.decisions(values @ result.coefficients))
            scores[r, f] = np.average(chosen == truth, weights=of(held_out))
    return scores


def sparsity_by_cross_validation(table, folds, ridge, counts, regularizer, *, is_relative, **options):
    """The smallest number of coefficients whose accuracy is within one standard error of the best.

    Parameters
    ----------
    table, folds, regularizer, is_relative, **options
        As in `cross_validated_scores`.
    ridge : float
    counts : integer array of shape (c,)
        Candidates, ascending.

    Returns
    -------
    count : int
    scores : array of shape (c, n_folds)
    """
    share = {"short": False, "is_relative": is_relative}
    scores = np.concatenate(
        [
            cross_validated_scores(table, folds, [ridge], regularizer, sparsity=int(count), **share, **options)
            for count in counts
        ]
    )
    means, best = scores.mean(axis=1), int(np.argmax(scores.mean(axis=1)))
    error = scores[best].std(ddof=1) / np.sqrt(len(folds)) if len(folds) > 1 else 0.0
    return int(counts[np.flatnonzero(means >= means[best] - error)[0]]), scores
