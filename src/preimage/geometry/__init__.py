"""The shape of feature space: the surface φ(x) that a kernel makes of input space, and the data on it."""

from preimage._engine.removed import removed_names
from preimage.geometry._curvature import plane_curvatures, scalar_curvature
from preimage.geometry._geodesic import Geodesic, arc_length, geodesic
from preimage.geometry._mercer import MercerReport, MercerTest, mercer_report
from preimage.geometry._metric import metric_tensor
from preimage.geometry._volume import log_volume_element

__all__ = [
    "arc_length",
    "geodesic",
    "log_volume_element",
    "mercer_report",
    "metric_tensor",
    "plane_curvatures",
    "scalar_curvature",
]

__getattr__ = removed_names(__name__)
