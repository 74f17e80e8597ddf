"""Data sets beside the checkout serve where the environment names no folder; without them loaders download.

Importing this module is enough.
"""

import os
from pathlib import Path

BESIDE_CHECKOUT = Path(__file__).parents[2] / "shared" / "data"
if BESIDE_CHECKOUT.is_dir():
    os.environ.setdefault("PREIMAGE_DATA", str(BESIDE_CHECKOUT))
