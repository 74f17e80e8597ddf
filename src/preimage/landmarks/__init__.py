"""Landmarks: few points whose span in feature space represents most of a kernel matrix."""

from preimage._engine.removed import removed_names
from preimage.landmarks._auto_landmarks import SELECTORS, AutoLandmarks, as_landmarks
from preimage.landmarks._coefficients import landmark_coefficients
from preimage.landmarks._feature_analysis import FeatureAnalysis
from preimage.landmarks._kmeans import KMeans
from preimage.landmarks._pivoted_cholesky import PivotedCholesky, RandomlyPivotedCholesky
from preimage.landmarks._selector import Landmarks, LandmarkSelector
from preimage.landmarks._sparse_greedy import SparseGreedy
from preimage.landmarks._uniform import Uniform
from preimage.landmarks._view import candidates_needed, sampling_deviation

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
    "candidates_needed",
    "landmark_coefficients",
    "sampling_deviation",
]

__getattr__ = removed_names(__name__)
