"""From names and numbers to selectors."""

from numbers import Integral

from preimage.landmarks._auto_landmarks import AutoLandmarks
from preimage.landmarks._kmeans import KMeans
from preimage.landmarks._pivoted_cholesky import PivotedCholesky, RandomlyPivotedCholesky
from preimage.landmarks._selector import LandmarkSelector
from preimage.landmarks._sparse_greedy import SparseGreedy
from preimage.landmarks._uniform import Uniform

_NAMED: dict[str, type[LandmarkSelector]] = {
    "uniform": Uniform,
    "kmeans": KMeans,
    "pivoted_cholesky": PivotedCholesky,
    "rpcholesky": RandomlyPivotedCholesky,
    "sparse_greedy": SparseGreedy,
}

LANDMARK_NAMES = tuple(_NAMED)


def as_landmarks(landmarks: "int | str | LandmarkSelector") -> LandmarkSelector:
    """The selector that a name means, with its default parameters; a selector is returned as it is.

    A number m stands for ``AutoLandmarks(m)``.

    Examples
    --------
    >>> from preimage.landmarks import as_landmarks
    >>> as_landmarks(300)
    AutoLandmarks(n_landmarks=300)
    """
    if isinstance(landmarks, LandmarkSelector):
        return landmarks
    if isinstance(landmarks, str) and landmarks in _NAMED:
        return _NAMED[landmarks]()
    if isinstance(landmarks, Integral) and not isinstance(landmarks, bool) and int(landmarks) > 0:
        return AutoLandmarks(int(landmarks))
    raise ValueError(
        f"Unknown landmarks {landmarks!r}; known: a positive number, {', '.join(map(repr, _NAMED))}, or a selector "
        "object such as SparseGreedy(300)."
    )
