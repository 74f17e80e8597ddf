"""Figures of fitted models, in the style of scikit-learn's displays; they need ``pip install "preimage[plot]"``."""

from preimage._engine.removed import removed_names
from preimage.plotting._component_contours import ComponentContourDisplay
from preimage.plotting._compression import CompressionDisplay
from preimage.plotting._denoising import DenoisingDisplay
from preimage.plotting._geometry import KernelGeometryDisplay
from preimage.plotting._inflation import InflationDisplay
from preimage.plotting._navigation import NavigationDisplay
from preimage.plotting._reduced_set import ReducedSetDisplay
from preimage.plotting._spectrum import SpectrumDisplay
from preimage.plotting._width_curve import WidthCurveDisplay

__all__ = [
    "ComponentContourDisplay",
    "CompressionDisplay",
    "DenoisingDisplay",
    "InflationDisplay",
    "KernelGeometryDisplay",
    "NavigationDisplay",
    "ReducedSetDisplay",
    "SpectrumDisplay",
    "WidthCurveDisplay",
]

__getattr__ = removed_names(__name__)
