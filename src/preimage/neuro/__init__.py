"""Brain images: denoised from image to image."""

from preimage._removed import removed_names
from preimage.neuro._denoise_image import denoise_image

__all__ = ["denoise_image"]

__getattr__ = removed_names(__name__)
