"""Subspaces of feature space: principal, oriented and semi-supervised components, and features on few points."""

from preimage._models.components._distances import SpanDistance, robust_mean_distances
from preimage._models.components._features import Features, KernelFeatures, coordinate_moments, kernel_features
from preimage._models.components._few_points import MOST_POINTS
from preimage._models.components._landmark_principal import LandmarkModel, landmark_subspace, select_landmarks
from preimage._models.components._oriented import Noise, OrientedFeatures, oriented_features, pair_moment, rayleigh
from preimage._models.components._principal import PrincipalSubspace, Wanted, principal_subspace
from preimage._models.components._projection_pursuit import (
    MomentIndex,
    Pursuit,
    PursuitFeatures,
    projection_pursuit,
    pursuit_features,
)
from preimage._models.components._semi_supervised import (
    FeatureSample,
    SecularMinimum,
    SemiSupervisedSubspace,
    secular_minimum,
    semi_supervised_subspace,
)
