"""Figures of fitted models, in the style of scikit-learn's displays; they need ``pip install "preimage[plot]"``."""

from preimage.plotting._component_contours import ComponentContourDisplay
from preimage.plotting._spectrum import SpectrumDisplay

__all__ = ["ComponentContourDisplay", "SpectrumDisplay"]
