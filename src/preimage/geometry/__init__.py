"""The shape of feature space: the surface φ(x) that a kernel makes of input space, and the data on it."""

from preimage.feature_space._moments import component_moments, directional_moment, excess_kurtosis
from preimage.geometry._curvature import (
    plane_curvatures,
    ricci_tensor,
    riemann_tensor,
    scalar_curvature,
    sectional_curvatures,
)
from preimage.geometry._geodesic import Geodesic, arc_length, christoffel_symbols, geodesic
from preimage.geometry._mercer import MercerReport, MercerTest, mercer_report
from preimage.geometry._metric import metric_tensor
from preimage.geometry._volume import log_volume_element

__all__ = [
    "arc_length",
    "christoffel_symbols",
    "geodesic",
    "log_volume_element",
    "mercer_report",
    "metric_tensor",
    "plane_curvatures",
    "ricci_tensor",
    "riemann_tensor",
    "scalar_curvature",
    "sectional_curvatures",
]
