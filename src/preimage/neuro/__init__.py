"""Brain images: from a 4D scan and a mask to rows, and back; needs ``pip install "preimage[neuro]"``."""

from preimage.neuro._denoise_image import denoise_image
from preimage.neuro._masked_scans import MaskedScans, mask_scans

__all__ = ["MaskedScans", "denoise_image", "mask_scans"]
