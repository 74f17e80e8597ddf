"""Choosing models, and judging them."""

from preimage.model_selection._denoising_scorer import DenoisingScorer
from preimage.model_selection._denoising_search import DenoisingSearch
from preimage.model_selection._noise import add_noise, estimate_noise

__all__ = ["DenoisingScorer", "DenoisingSearch", "add_noise", "estimate_noise"]
