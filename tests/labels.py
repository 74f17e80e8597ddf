"""Names of parametrised cases that are the same in every process of one run."""

import re


def label(value):
    """`str(value)` without memory addresses, which differ between processes."""
    return re.sub(r"\s*at 0x[0-9a-f]+", "", str(value))
