"""The shape of feature space: the surface φ(x) that a kernel makes of input space, and the data on it."""

from preimage._engine.removed import removed_names
from preimage.geometry._curvature import Geodesic, arc_length, geodesic, scalar_curvature
from preimage.geometry._mercer import MercerReport, MercerTest, mercer_report
from preimage.geometry._metric import log_volume_element, metric_tensor

__all__ = [
    "arc_length",
    "geodesic",
    "log_volume_element",
    "mercer_report",
    "metric_tensor",
    "scalar_curvature",
]

__getattr__ = removed_names(__name__)
