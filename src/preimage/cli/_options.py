"""The options that commands share, one spelling and one meaning each; from their text to values, or a usage error."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from preimage._engine.warnings import warn_user
from preimage._models.completion import LOSSES
from preimage.cli._errors import UsageError
from preimage.kernels import KERNELS

# The word for what is chosen from the data.
AUTO: Literal["auto"] = "auto"
LOSS_NAMES = ("none", *LOSSES.on_command_line())

# Spellings of earlier versions, which still work; the second is what help pages show.
OLD_SPELLINGS = {"--figure": "--plot", "--no-figure": "--no-plot", "--labels": "--label"}


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


def kernel_name(text: str) -> str:
    """The name of a kernel."""
    if text not in KERNELS.on_command_line():
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(map(repr, KERNELS.on_command_line()))}.")
    return text


def gamma(text: str) -> float | str:
    """γ of a kernel, or a rule for it."""
    if text in (AUTO, "median", "scale") or _is_percentile(text):
        return text
    return positive(text, "auto, median, scale, a percentile such as p5, or a number")


def gamma_of_width(text: str) -> float | str:
    """γ = 1/c of a width c, or a rule for it."""
    found = gamma(text)
    return 1 / found if isinstance(found, float) else found


def one_gamma(gamma: Any, of_width: Any) -> Any:
    """γ from --gamma or, where it is given, from the older --width."""
    if of_width is not None and gamma != AUTO:
        raise UsageError("--gamma and --width both say the width of the kernel (gamma = 1/width). Give one of them.")
    return gamma if of_width is None else of_width


def gammas(text: str) -> list[float | str]:
    """Several γ or rules between commas."""
    return [gamma(word.strip()) for word in text.split(",")]


def image_shape(text: str) -> tuple[int, ...]:
    """Height and width of pictures, and 3 for colours, as in 16x16 or 32x32x3."""
    parts = text.lower().replace("×", "x").split("x")
    sizes = tuple(int(part) for part in parts if part.strip().isdecimal())
    is_shape = len(sizes) == len(parts) and min(sizes, default=0) > 0
    if not is_shape or len(sizes) not in (2, 3) or (len(sizes) == 3 and sizes[2] != 3):
        raise typer.BadParameter(f"{text!r} is not a height and a width such as 16x16, or 16x16x3 for colours.")
    return sizes


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


def loss(text: str) -> str:
    if text not in LOSS_NAMES:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(map(repr, LOSS_NAMES))}.")
    return text


def contamination(text: str) -> float | str:
    """A fraction of at most one half, or "auto"."""
    if text == AUTO:
        return AUTO
    number = _number(text, "auto or a fraction of the rows such as 0.05")
    if not 0 < number <= 0.5:
        raise typer.BadParameter(f"{text!r} is not a fraction between 0 and 0.5.")
    return number


def output_format(text: str) -> str:
    """The name of a format, as the suffix that files of it have; a folder has none."""
    name = text.lower().removeprefix(".")
    return name if name == "folder" else f".{name}"


def names(text: str) -> list[str]:
    """Names between commas."""
    found = [name.strip() for name in text.split(",")]
    if "" in found:
        raise typer.BadParameter(f"{text!r} has an empty name; write names between commas.")
    return found


def warn_of_unused(context: typer.Context, of_the_fit: Sequence[str]) -> None:
    """Warn of options that say how a model is fitted, which have nothing to say with --model."""
    sources = ((name, context.get_parameter_source(name)) for name in of_the_fit)
    given = [f"--{name}" for name, source in sources if source is not None and source.name == "COMMANDLINE"]
    if given:
        warn_user(f"{', '.join(given)} had no effect: --model is a model that is fitted already.", UserWarning)


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


Components = Annotated[
    Any,
    typer.Option(
        parser=components_number,
        metavar="N|FRACTION",
        help="Components: how many, or the fraction of the variance that they explain.",
    ),
]
ComponentsOfTransformer = Annotated[
    Any,
    typer.Option(
        parser=components_number,
        metavar="N|FRACTION",
        help="Components: how many (5, unless said otherwise), or the fraction of the variance that they explain.",
    ),
]
ComponentsOrAuto = Annotated[
    Any,
    typer.Option(
        parser=components,
        metavar="auto|N|FRACTION",
        help="Components: how many, or the fraction of the variance that they explain.",
    ),
]
Gamma = Annotated[
    Any,
    typer.Option(
        parser=gamma,
        metavar="RULE|NUMBER",
        help="γ of the kernel exp(-γ|x-y|²): a number, or a rule: auto, scale, median or pN (1 / median or percentile "
        "N of |x-y|²).",
    ),
]
Width = Annotated[Any, typer.Option("--width", parser=gamma_of_width, hidden=True, help="1/γ.")]
Kernel = Annotated[
    Any,
    typer.Option(
        parser=kernel_name,
        metavar="NAME",
        help=f"One of {', '.join(KERNELS.on_command_line())}.",
    ),
]
Degree = Annotated[int, typer.Option(min=1, metavar="N", help="Degree of the polynomial kernel.")]
Coef0 = Annotated[float, typer.Option(metavar="NUMBER", help="Constant of the polynomial kernel.")]
Landmarks = Annotated[
    Any,
    typer.Option(
        parser=landmarks,
        metavar="N|auto|none",
        help="Points that carry the model; auto: none up to 20,000 rows, else 1,000; none: exact, in memory.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Seed of what is random.")]
OutputFormat = Annotated[
    Any,
    typer.Option(parser=output_format, metavar="FORMAT", help="Format of the output, if its suffix does not say it."),
]
Mask = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Voxels of a NIfTI scan to take. (Default: what looks like a brain.)"),
]
ArrayName = Annotated[str | None, typer.Option("--array", metavar="NAME", help="The array of an NPZ archive.")]
ChunkRows = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Rows in memory at a time. (Default: a few megabytes.)")
]
Resume = Annotated[bool, typer.Option("--resume/--no-resume", help="Continue an interrupted run, or start anew.")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FIG", help="A figure: .png, .pdf or .svg.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print errors and warnings only.")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files, never the input.")]
