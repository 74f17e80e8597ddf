"""Selectors by name."""

from numbers import Integral

from preimage._engine.registry import Part, Registry
from preimage.landmarks._auto_landmarks import AutoLandmarks
from preimage.landmarks._kmeans import KMeans
from preimage.landmarks._pivoted_cholesky import PivotedCholesky, RandomlyPivotedCholesky
from preimage.landmarks._selector import LandmarkSelector
from preimage.landmarks._sparse_greedy import FeatureAnalysis, SparseGreedy
from preimage.landmarks._uniform import Uniform

SELECTORS: Registry[LandmarkSelector] = Registry(
    "landmarks",
    Part("uniform", Uniform, "rows drawn with equal probability", on_command_line=True),
    Part("kmeans", KMeans, "centres of clusters", on_command_line=True),
    Part("pivoted_cholesky", PivotedCholesky, "always the row farthest from those before", on_command_line=True),
    Part("rpcholesky", RandomlyPivotedCholesky, "rows drawn by their distance from those before", on_command_line=True),
    Part("sparse_greedy", SparseGreedy, "rows, each the best of a few candidates", on_command_line=True),
    Part("feature_analysis", FeatureAnalysis, "rows whose kernel function varies most"),
    also="a positive number, or a selector such as SparseGreedy(300)",
)


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
    if isinstance(landmarks, Integral) and not isinstance(landmarks, bool) and int(landmarks) > 0:
        return AutoLandmarks(int(landmarks))
    return SELECTORS.made(landmarks)
