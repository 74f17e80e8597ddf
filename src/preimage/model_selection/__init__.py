"""Searches over parameters, and measures that they choose by."""

from preimage._engine.removed import removed_names
from preimage.model_selection._capacity import capacity_report
from preimage.model_selection._denoising_criteria import DenoisingScorer, add_noise, estimate_noise
from preimage.model_selection._denoising_search import DenoisingSearch
from preimage.model_selection._width_search import WidthSearch

__all__ = ["DenoisingScorer", "DenoisingSearch", "WidthSearch", "capacity_report"]

__getattr__ = removed_names(__name__)
