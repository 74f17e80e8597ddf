"""Subspaces of feature space: principal, oriented and semi-supervised components, and features on few points."""

from preimage._models.components._feature_analysis import KernelFeatures, kernel_features
from preimage._models.components._landmark_principal import LandmarkModel, landmark_subspace, select_landmarks
from preimage._models.components._mean_distance import robust_mean_distances
from preimage._models.components._moment_index import MomentIndex
from preimage._models.components._oriented import (
    Noise,
    OrientedFeatures,
    coordinate_moments,
    oriented_features,
    pair_moment,
    rayleigh,
)
from preimage._models.components._principal import PrincipalSubspace, Wanted, principal_subspace
from preimage._models.components._projection_pursuit import Pursuit, projection_pursuit
from preimage._models.components._pursuit_features import PursuitFeatures, pursuit_features
from preimage._models.components._secular import SecularMinimum, secular_minimum
from preimage._models.components._semi_supervised import FeatureSample, SemiSupervisedSubspace, semi_supervised_subspace
from preimage._models.components._span_distance import SpanDistance
