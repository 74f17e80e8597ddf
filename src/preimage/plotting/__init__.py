"""Figures of fitted models, in the style of scikit-learn's displays; they need ``pip install "preimage[plot]"``."""

from preimage._engine.removed import removed_names
from preimage.plotting._curves import CompressionDisplay, SpectrumDisplay, WidthCurveDisplay
from preimage.plotting._inflation import InflationDisplay
from preimage.plotting._pictures import DenoisingDisplay, NavigationDisplay, ReducedSetDisplay
from preimage.plotting._plane import ComponentContourDisplay, KernelGeometryDisplay

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
