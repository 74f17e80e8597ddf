"""Brain scans: denoised images, maps of models and how far halves of the data reproduce them, synthetic scans."""

from preimage._engine.removed import removed_names
from preimage.neuro._denoise_image import denoise_image
from preimage.neuro._display import MapDisplay, SplitHalfDisplay
from preimage.neuro._maps import fdr_threshold, reproducible_map, sensitivity_map
from preimage.neuro._scans import make_scans
from preimage.neuro._split_half import pr_curve, split_half, split_half_null
from preimage.neuro._split_half_denoising import reference_components, split_half_denoising

__all__ = [
    "MapDisplay",
    "SplitHalfDisplay",
    "denoise_image",
    "make_scans",
    "pr_curve",
    "reference_components",
    "sensitivity_map",
    "split_half",
    "split_half_denoising",
    "split_half_null",
]

__getattr__ = removed_names(__name__)
