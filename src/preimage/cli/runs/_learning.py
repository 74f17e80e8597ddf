"""What was learned from the chunks so far, kept so that an interrupted run does not learn it twice."""

import time
import zipfile

import numpy as np

from preimage.estimators._cross_fit import FoldMoments
from preimage.feature_space import KernelMoments, Moments

# Seconds between notes: they are of the size of the landmarks squared.
PERIOD = 10


class LearningNotes:
    """Moments on landmarks in a file; the rows they are of are the first ones of the input.

    Parameters
    ----------
    partial : PartialOutput
        Beside whose files the notes lie.
    """

    def __init__(self, partial):
        self.partial = partial
        self.noted_at = time.monotonic()

    def load(self, kernel, points, n_folds):
        """`FoldMoments` of the first rows; None when there are none on these landmarks and in so many folds."""
        path = self.partial.learning_path
        try:
            with np.load(path, allow_pickle=False) as notes:
                same = str(notes["kernel"]) == repr(kernel) and np.array_equal(notes["points"], points)
                if not same or int(notes["n_folds"]) != n_folds:
                    return None
                sums = zip(*(notes[name] for name in ("fold", "count", "mean", "scatter", "trace")), strict=True)
                return FoldMoments(
                    n_folds,
                    {
                        int(fold): KernelMoments(kernel, points, Moments(float(count), mean, scatter), float(trace))
                        for fold, count, mean, scatter, trace in sums
                    },
                )
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):  # cut off: learning starts again
            return None

    def save(self, moments):
        """Keep the moments of the rows so far, if it is time to."""
        if time.monotonic() < self.noted_at + PERIOD:
            return
        parts = list(moments.of_fold.values())
        self.partial.note_learning(
            kernel=np.array(repr(parts[0].kernel)),
            points=parts[0].points,
            n_folds=moments.n_folds,
            fold=np.array(list(moments.of_fold)),
            count=np.array([part.values.count for part in parts]),
            mean=np.stack([part.values.mean for part in parts]),
            scatter=np.stack([part.values.scatter for part in parts]),
            trace=np.array([part.trace for part in parts]),
        )
        self.noted_at = time.monotonic()
