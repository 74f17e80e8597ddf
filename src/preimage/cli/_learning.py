"""What was learned from the chunks so far, kept so that an interrupted run does not learn it twice."""

import time
import zipfile

import numpy as np

from preimage.feature_space import Moments
from preimage.spectral import KernelMoments

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

    def load(self, kernel, points):
        """`KernelMoments` of the first rows; None when there are none on these landmarks."""
        path = self.partial.learning_path
        try:
            with np.load(path, allow_pickle=False) as notes:
                same = str(notes["kernel"]) == repr(kernel) and np.array_equal(notes["points"], points)
                values = Moments(float(notes["count"]), notes["mean"], notes["scatter"])
                return KernelMoments(kernel, points, values, float(notes["trace"])) if same else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):  # cut off: learning starts again
            return None

    def save(self, moments):
        """Keep the moments of the rows so far, if it is time to."""
        if time.monotonic() < self.noted_at + PERIOD:
            return
        values = moments.values
        self.partial.note_learning(
            kernel=np.array(repr(moments.kernel)),
            points=moments.points,
            count=values.count,
            mean=values.mean,
            scatter=values.scatter,
            trace=moments.trace,
        )
        self.noted_at = time.monotonic()
