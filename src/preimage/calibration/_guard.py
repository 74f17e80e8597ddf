"""Is correction worth it? Leave-one-out errors of a classifier on scores, with and without."""

import numpy as np
from sklearn.base import clone

# Standard errors by which corrected scores must beat the name of the largest class.
MAJORITY_MARGIN = 0.5


class Guard:
    """Leave-one-out errors that decide whether corrected scores are used.

    Attributes
    ----------
    plain_error, corrected_error : float
        Share of points that classifiers get wrong that were fitted without them, on scores as they are and corrected.
    majority_error : float
        Share of points outside the largest class.
    n_points : int
        Points that errors are shares of.
    accepted : bool
        Whether the corrected error is below the plain one, and below that of the largest class by half a standard error
        of the latter. Without the half, correction of pure noise is accepted by chance now and then.
    """

    def __init__(self, plain_error, corrected_error, majority_error, n_points):
        self.plain_error = plain_error
        self.corrected_error = corrected_error
        self.majority_error = majority_error
        self.n_points = n_points

    @property
    def accepted(self):
        majority = self.majority_error
        noise = np.sqrt(majority * (1 - majority) / self.n_points)
        return bool(self.corrected_error < min(self.plain_error, majority - MAJORITY_MARGIN * noise))

    def as_dict(self):
        return {
            "plain error": self.plain_error,
            "corrected error": self.corrected_error,
            "majority error": self.majority_error,
            "accepted": self.accepted,
        }


def guard_correction(classifier, folds, left_out, corrected, y):
    r"""Compare classification of left-out scores with that of corrected ones.

    The classifier is fitted again in every fold, on the training scores of the points of this fold: with the one of all
    points, which knows the point, the comparison is useless. Correction is accepted where its error is below that
    without it, and clearly below that of always naming the largest class [1]_.

    Parameters
    ----------
    classifier : estimator with fit and predict
    folds : iterable of (train_indices, train_scores, test_indices)
        Training scores of each fold, shape (n_train, q), aligned with the scores of all points.
    left_out, corrected : arrays of shape (n, q)
        Scores of each point in a model without it, as they are and corrected.
    y : array of shape (n,)
        Classes.

    Returns
    -------
    Guard

    References
    ----------
    .. [1] T. J. Abrahamsen, L. K. Hansen, "A Cure for Variance Inflation in High Dimensional Kernel Principal Component
       Analysis", JMLR 12, 2011, whose baseline is made precise here.
    """
    y = np.asarray(y)
    counts = np.unique(y, return_counts=True)[1]
    wrong, seen = np.zeros(2), 0
    for train, scores, test in folds:
        both = np.concatenate([left_out[test], corrected[test]])
        if len(np.unique(y[train])) == 1:  # nothing to fit: the one class that is left
            predicted = np.full(len(both), y[train][0])
        else:
            predicted = clone(classifier).fit(scores, y[train]).predict(both)
        wrong += (predicted.reshape(2, -1) != y[test]).sum(axis=1)
        seen += len(test)
    plain, changed = wrong / seen
    return Guard(float(plain), float(changed), float(1 - counts.max() / counts.sum()), seen)


def leave_one_out_folds(scores):
    """The folds of a `LeaveOneOut` for `guard_correction`."""
    n = len(scores.train)
    for left in range(n):
        yield np.delete(np.arange(n), left), scores.fold(left), np.array([left])
