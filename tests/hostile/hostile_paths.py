"""Makes the modules of other test folders importable, for the suite and for `fuzz.py` alike."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
TESTS = HERE.parent
EXAMPLES = HERE / "examples.jsonl"

for folder in (HERE, TESTS, TESTS / "net"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
