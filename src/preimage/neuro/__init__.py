"""Brain images: from a 4D scan and a mask to rows, and back; reading images needs ``pip install "preimage[neuro]"``."""

from preimage.neuro._denoise_image import MaskedScans, denoise_image, mask_scans
from preimage.neuro._scans import make_scans
from preimage.neuro._temporal_components import TemporalComponents, molgedey_schuster, noise_of_scans

__all__ = ["denoise_image", "make_scans", "mask_scans", "molgedey_schuster", "noise_of_scans"]
