"""Landmarks of fitted models as rows of the training set."""

from dataclasses import replace

import numpy as np

from preimage.landmarks import Landmarks


class HasLandmarks:
    """Mixed into estimators that keep the `Landmarks` of a fit as `landmarks_`."""

    landmarks_: Landmarks | None

    @property
    def component_indices_(self) -> np.ndarray:
        """Numbers of the rows of X that are the landmarks, as in scikit-learn's `Nystroem`; integers of shape (m,).

        Of a stream, rows of its first batch. There is none where landmarks are no rows, as centres of clusters, where a
        stream has added some later, or without landmarks.
        """
        landmarks = self.__dict__.get("landmarks_")
        if landmarks is None or landmarks.indices is None:
            raise AttributeError(
                f"This {type(self).__name__} has no `component_indices_`: they are the row numbers of landmarks. Fit "
                "it with a selector that takes rows, such as landmarks=RandomlyPivotedCholesky(100)."
            )
        return np.array(landmarks.indices)


def numbered(landmarks: Landmarks, kept: np.ndarray | None) -> Landmarks:
    """Landmarks with the numbers that their rows have among all rows, where only those `kept` were candidates."""
    if kept is None or landmarks.indices is None:
        return landmarks
    return replace(landmarks, indices=kept[landmarks.indices])
