"""Figures of fitted models, in the style of scikit-learn's displays; they need ``pip install "preimage[plot]"``."""

from preimage._engine.removed import removed_names
from preimage.plotting._curves import CompressionDisplay, SpectrumDisplay, WidthCurveDisplay
from preimage.plotting._inflation import InflationDisplay
from preimage.plotting._pictures import DenoisingDisplay, NavigationDisplay, ReducedSetDisplay
from preimage.plotting._plane import ComponentContourDisplay, KernelGeometryDisplay
from preimage.plotting._relevance_bars import RelevanceDisplay

__all__ = [
    "ComponentContourDisplay",
    "CompressionDisplay",
    "DenoisingDisplay",
    "InflationDisplay",
    "KernelGeometryDisplay",
    "NavigationDisplay",
    "ReducedSetDisplay",
    "RelevanceDisplay",
    "SpectrumDisplay",
    "WidthCurveDisplay",
]

__getattr__ = removed_names(__name__)
