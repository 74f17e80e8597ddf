"""Oracles in extended precision are shared with the tests that compare other laws."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "oracles"))
