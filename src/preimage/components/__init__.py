"""Subspaces of feature space: principal, oriented and semi-supervised components, and features on few points."""

from preimage.components._feature_analysis import KernelFeatures, kernel_features
from preimage.components._landmark_principal import LandmarkModel, landmark_subspace, select_landmarks
from preimage.components._mean_distance import robust_mean_distances
from preimage.components._moment_index import MomentIndex
from preimage.components._oriented import (
    Noise,
    OrientedFeatures,
    coordinate_moments,
    oriented_features,
    pair_moment,
    rayleigh,
)
from preimage.components._principal import PrincipalSubspace, Wanted, principal_subspace
from preimage.components._projection_pursuit import Pursuit, projection_pursuit
from preimage.components._pursuit_features import PursuitFeatures, pursuit_features
from preimage.components._secular import SecularMinimum, secular_minimum
from preimage.components._semi_supervised import FeatureSample, SemiSupervisedSubspace, semi_supervised_subspace
from preimage.components._span_distance import SpanDistance
