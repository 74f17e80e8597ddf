"""Texts of a page: names of users, numbers of things, fractions."""

from typing import Any

import numpy as np

# Characters of a name on a page: longer ones fit no legend, menu or axis.
LONGEST_NAME = 200


def shown(text: Any) -> str:
    """A name as a page shows it: at most `LONGEST_NAME` characters, whole numbers without a decimal point."""
    if isinstance(text, (float, np.floating)) and float(text).is_integer():
        text = int(text)
    # Half of a pair of surrogates has no bytes in a file; a question mark takes its place.
    data = text if isinstance(text, bytes) else str(text).encode("utf-8", "replace")
    text = data.decode("utf-8", "replace")
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def counted(number: int | str, thing: str) -> str:
    """A number of things, such as "1 row" or "7,291 rows"; also of a text such as "3 to 5"."""
    text = number if isinstance(number, str) else f"{number:,}"
    return f"{text} {thing}{'' if text == '1' else 's'}"


def percent(fraction: float) -> str:
    """A fraction as text, such as "0.03 %" or "less than 0.01 %"."""
    value = 100 * fraction
    return "less than 0.01 %" if value < 0.01 else f"{value:.2g} %"
