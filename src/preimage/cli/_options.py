"""From the text of options to values, or a usage error."""

from typing import Literal

import typer

# The word for what is chosen from the data.
AUTO: Literal["auto"] = "auto"


def components(text: str) -> int | float | str:
    """A count, a fraction of the variance, or "auto"."""
    return AUTO if text == AUTO else components_number(text, "auto, ")


def components_number(text: str, also: str = "") -> int | float:
    """A count or a fraction of the variance."""
    number = _number(text, f"{also}a number of components, or a fraction of the variance such as 0.95")
    if 0 < number < 1:
        return number
    if number >= 1 and number == int(number):
        return int(number)
    raise typer.BadParameter(f"{text!r} is neither a count of components nor a fraction between 0 and 1.")


def width(text: str) -> float | str:
    """A width of the Gaussian kernel, or a rule for it."""
    if text in (AUTO, "median") or _is_percentile(text):
        return text
    return positive(text, "auto, median, a percentile such as p5, or a number")


def gamma(text: str) -> float | str:
    """γ of a kernel, or a rule for it."""
    if text in ("median", "scale", AUTO) or _is_percentile(text):
        return text
    return positive(text, "median, scale, auto, a percentile such as p5, or a number")


def penalty(text: str) -> float | str:
    """A number that is not negative, or "auto"."""
    if text == AUTO:
        return AUTO
    number = _number(text, "auto or a number")
    if not 0 <= number < float("inf"):
        raise typer.BadParameter(f"{text!r} is negative.")
    return number


def landmarks(text: str) -> int | str:
    """A count, "auto", or "none"."""
    if text in (AUTO, "none"):
        return text
    if not text.isdecimal() or int(text) < 1:
        raise typer.BadParameter(f"{text!r} is not a number of landmarks, auto or none.")
    return int(text)


def cross_fit(text: str) -> int | str | None:
    """A number of folds, "auto", or None for "none"."""
    if text in (AUTO, "none"):
        return AUTO if text == AUTO else None
    if not text.isdecimal() or int(text) < 2:
        raise typer.BadParameter(f"{text!r} is not a number of folds from 2 on, auto or none.")
    return int(text)


def names(text: str) -> list[str]:
    """Names between commas."""
    found = [name.strip() for name in text.split(",")]
    if "" in found:
        raise typer.BadParameter(f"{text!r} has an empty name; write names between commas.")
    return found


def positive(text: str, expected: str = "a number") -> float:
    """A positive number."""
    number = _number(text, expected)
    if not 0 < number < float("inf"):
        raise typer.BadParameter(f"{text!r} is not positive.")
    return number


def _is_percentile(text: str) -> bool:
    return text[:1] == "p" and text[1:].isdigit() and int(text[1:]) <= 100


def _number(text: str, expected: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not {expected}.") from None
