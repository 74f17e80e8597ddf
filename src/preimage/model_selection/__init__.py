"""Model selection and evaluation."""

from preimage.model_selection._capacity import CapacityReport, capacity_report
from preimage.model_selection._denoising_criteria import DenoisingScorer, add_noise, estimate_noise
from preimage.model_selection._denoising_search import DenoisingSearch
from preimage.model_selection._maps import WeightMaps, sensitivity_map, weight_maps
from preimage.model_selection._pr_curve import SplitHalfCurve, pr_curve
from preimage.model_selection._reproducible_map import align_maps, fdr_threshold, map_correlation, reproducible_map
from preimage.model_selection._split_half import (
    SplitHalf,
    SplitHalfNull,
    paired_permutation_test,
    split_half,
    split_half_null,
)
from preimage.model_selection._split_half_denoising import (
    SplitHalfDenoising,
    reference_components,
    split_half_denoising,
)
from preimage.model_selection._width_search import WidthSearch, class_mean_radius

__all__ = [
    "DenoisingScorer",
    "DenoisingSearch",
    "WidthSearch",
    "add_noise",
    "align_maps",
    "capacity_report",
    "estimate_noise",
    "fdr_threshold",
    "paired_permutation_test",
    "pr_curve",
    "reference_components",
    "reproducible_map",
    "sensitivity_map",
    "split_half",
    "split_half_denoising",
    "split_half_null",
]
