"""Brain images, denoised from image to image, and synthetic scans."""

from preimage._engine.removed import removed_names
from preimage.neuro._denoise_image import denoise_image
from preimage.neuro._scans import make_scans

__all__ = ["denoise_image", "make_scans"]

__getattr__ = removed_names(__name__)
