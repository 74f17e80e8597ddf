"""Landmarks: few points whose span in feature space represents most of a kernel matrix."""

from preimage._engine.removed import removed_names
from preimage.landmarks._auto_landmarks import SELECTORS, AutoLandmarks, KMeans, as_landmarks
from preimage.landmarks._landmarks import Landmarks, landmark_coefficients
from preimage.landmarks._pivoted_cholesky import PivotedCholesky, RandomlyPivotedCholesky, Uniform
from preimage.landmarks._selector import LandmarkSelector
from preimage.landmarks._sparse_greedy import FeatureAnalysis, SparseGreedy

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
