"""Landmarks: few points whose span in feature space represents most of a kernel matrix."""

from preimage._engine.removed import removed_names
from preimage.landmarks._auto_landmarks import AutoLandmarks
from preimage.landmarks._kmeans import KMeans
from preimage.landmarks._landmarks import Landmarks, landmark_coefficients
from preimage.landmarks._names import SELECTORS, as_landmarks
from preimage.landmarks._pivoted_cholesky import PivotedCholesky, RandomlyPivotedCholesky
from preimage.landmarks._selector import LandmarkSelector
from preimage.landmarks._sparse_greedy import FeatureAnalysis, SparseGreedy
from preimage.landmarks._uniform import Uniform

__all__ = [
    "AutoLandmarks",
    "FeatureAnalysis",
    "KMeans",
    "LandmarkSelector",
    "Landmarks",
    "PivotedCholesky",
    "RandomlyPivotedCholesky",
    "SparseGreedy",
    "Uniform",
]

__getattr__ = removed_names(__name__)
