"""The options that commands share, one spelling and one meaning each; from their text to values, or a usage error."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import typer

import preimage
from preimage._engine.warnings import warn_user
from preimage.cli._console import speaker
from preimage.cli._errors import UsageError
from preimage.kernels import KERNELS

# The words for what is chosen from the data, and for nothing at all.
AUTO: Literal["auto"] = "auto"
NONE: Literal["none"] = "none"

# Spellings of earlier versions, which still work; the second is what help pages show.
OLD_SPELLINGS = {"--figure": "--plot", "--no-figure": "--no-plot", "--labels": "--label"}


def option(
    metavar: str | None, help: str, parser: Callable[[str], Any] | None = None, *names: str, **about: Any
) -> Any:
    """An option: how its value is shown, what it is for, and a function from its text to its value."""
    return typer.Option(*names, metavar=metavar, help=help, parser=parser, **about)


def argument(metavar: str, help: str) -> Any:
    return typer.Argument(metavar=metavar, help=help)


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


def gamma(text: str) -> float | str:
    """γ of a kernel, or a rule for it."""
    is_percentile = text[:1] == "p" and text[1:].isdigit() and int(text[1:]) <= 100
    if text in (AUTO, "median", "scale") or is_percentile:
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


def why_not_standardized(gamma: Any) -> str:
    """Why columns are left as they are unless the user says otherwise: a γ is in their units; empty for a rule."""
    return "--gamma is a number" if isinstance(gamma, float) else ""


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
    number = 0.0 if text == AUTO else _number(text, "auto or a number")
    if not 0 <= number < float("inf"):
        raise typer.BadParameter(f"{text!r} is negative.")
    return AUTO if text == AUTO else number


def contamination(text: str) -> float | str:
    """A fraction of at most one half, or "auto"."""
    number = 0.5 if text == AUTO else _number(text, "auto or a fraction of the rows such as 0.05")
    if not 0 < number <= 0.5:
        raise typer.BadParameter(f"{text!r} is not a fraction between 0 and 0.5.")
    return AUTO if text == AUTO else number


def count_of(what: str, fewest: int = 1, none: Any = None) -> Callable[[str], Any]:
    """A function to a count from `fewest` on, "auto", or `none` for "none"."""

    def parse(text: str) -> Any:
        if text in (AUTO, NONE):
            return none if text == NONE else AUTO
        if not text.isdecimal() or int(text) < fewest:
            raise typer.BadParameter(f"{text!r} is not a number of {what}, auto or none.")
        return int(text)

    return parse


def one_of(names: Sequence[str], help: str, metavar: str = "NAME") -> Any:
    """An option whose value is one of some names."""

    def parse(text: str) -> str:
        if text not in names:
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(map(repr, names))}.")
        return text

    return option(metavar, help, parse)


def output_format(text: str) -> str:
    """The name of a format, as the suffix that files of it have; a folder has none."""
    name = text.lower().removeprefix(".")
    return name if name == "folder" else f".{name}"


def names(text: str) -> tuple[str, ...]:
    """Names between commas."""
    found = tuple(name.strip() for name in text.split(","))
    if "" in found:
        raise typer.BadParameter(f"{text!r} has an empty name; write names between commas.")
    return found


def positive(text: str, expected: str = "a number") -> float:
    """A positive number."""
    number = _number(text, expected)
    if not 0 < number < float("inf"):
        raise typer.BadParameter(f"{text!r} is not positive.")
    return number


def _number(text: str, expected: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not {expected}.") from None


_COMPONENTS = "Components: how many{}, or the fraction of the variance that they explain."
Components = Annotated[Any, option("N|FRACTION", _COMPONENTS.format(""), components_number)]
ComponentsOfTransformer = Annotated[
    Any, option("N|FRACTION", _COMPONENTS.format(" (5, unless said otherwise)"), components_number)
]
ComponentsOrAuto = Annotated[Any, option("auto|N|FRACTION", _COMPONENTS.format(""), components)]
_RULES = "a number, or a rule: auto, scale, median or pN (1 / median or percentile N of |x-y|²)."
Gamma = Annotated[Any, option("RULE|NUMBER", f"γ of the kernel exp(-γ|x-y|²): {_RULES}", gamma)]
Width = Annotated[Any, option(None, "1/γ.", gamma_of_width, "--width", hidden=True)]
_KERNELS = KERNELS.on_command_line()
Kernel = Annotated[Any, one_of(_KERNELS, f"One of {', '.join(_KERNELS)}.")]
Degree = Annotated[int, option("N", "Degree of the polynomial kernel.", min=1)]
Coef0 = Annotated[float, option("NUMBER", "Constant of the polynomial kernel.")]
_LANDMARKS = "Points on which the model is built; auto: none up to 20,000 rows, else 1,000; none: exact, in memory."
Landmarks = Annotated[Any, option("N|auto|none", _LANDMARKS, count_of("landmarks"))]
Seed = Annotated[int, option("N", "Seed of random choices.", min=0)]
OutputFormat = Annotated[Any, option("FORMAT", "Format of the output, if its suffix does not say it.", output_format)]
Mask = Annotated[Path | None, option("FILE", "Voxels of a NIfTI scan to take. (Default: what looks like a brain.)")]
ArrayName = Annotated[str | None, option("NAME", "The array of an NPZ archive.", None, "--array")]
ChunkRows = Annotated[int | None, option("N", "Rows in memory at a time. (Default: a few megabytes.)", min=1)]
Resume = Annotated[bool, option(None, "Continue an interrupted run, or start anew.", None, "--resume/--no-resume")]
FitTo = Annotated[Path | None, option("FILE", "Training data, if not INPUT.", None, "--fit")]
SaveModel = Annotated[Path | None, option("FILE", "Where the model goes, .safetensors; preimage.load reads it.")]
Summary = Annotated[Path | None, option("FILE", "Summary in JSON. (Default: OUTPUT with .json.)")]
Label = Annotated[str | None, option("COLUMN", "Column, or array of an archive, with classes.")]
Plot = Annotated[Path | None, option("FIG", "A figure: .png, .pdf or .svg.", None, "--plot")]
Quiet = Annotated[bool, option(None, "Print errors and warnings only.", None, "--quiet")]
Force = Annotated[bool, option(None, "Replace existing files, never the input.", None, "--force")]


def _table(metavar: str | None, help: str, *names: str, **about: Any) -> Any:
    panel = "Tables (guessed from the file where not given)"
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel, **about)


def _names(help: str) -> Any:
    return _table("A,B,...", help, parser=names)


_SCALING = "Divide columns by their standard deviations. (Default: where these differ more than tenfold.)"
_IMPUTE = "Fill in missing values: by the mean or median of their column, or (kernel) as the command impute does."


@dataclass(frozen=True)
class TableOptions:
    """How to read a table; None is guessed from its beginning. Columns are names, or numbers where there are none."""

    columns: Annotated[Any, _names("Columns that are values; their numbers, if there is no header.")] = None
    exclude: Annotated[Any, _names("Columns to leave out.")] = None
    keep: Annotated[
        Any, _names("Columns to copy to the result (explore: to colour by); values only if --columns has them too.")
    ] = None
    index: Annotated[
        str | None, _table(f"COLUMN|{NONE}", "The column that names rows: never a value, and kept in outputs.")
    ] = None
    standardize: Annotated[bool | None, _table(None, _SCALING, "--standardize/--no-standardize")] = None
    impute: Annotated[Literal["mean", "median", "kernel"] | None, _table(None, _IMPUTE)] = None
    delimiter: Annotated[str | None, _table("CHAR", "Between values: , ; | tab, or space for any blanks.")] = None
    decimal: Annotated[str | None, _table("CHAR", "Decimal separator: . or ,")] = None
    thousands: Annotated[str | None, _table("CHAR", "Between groups of three digits.")] = None
    encoding: Annotated[str | None, _table("NAME", "utf-8, latin-1, cp1252, utf-16, ...")] = None
    header: Annotated[bool | None, _table(None, "Whether the first line has names.", "--header/--no-header")] = None
    missing: Annotated[Any, _names("More marks of missing values.")] = None
    comment: Annotated[str | None, _table(f"SIGN|{NONE}", "Leave out lines that begin so, such as # or %.")] = None
    skip: Annotated[int | None, _table("N", "Lines before the table.", min=0)] = None
    skip_footer: Annotated[int | None, _table("N", "Lines after the table.", min=0)] = None
    skip_ragged: Annotated[bool, _table(None, "Leave out lines with another number of values.", "--skip-ragged")] = (
        False
    )
    sheet: Annotated[str | None, _table("NAME", "Of an Excel file, or its number. (Default: the first.)")] = None
    columns_only: Annotated[
        bool,
        _table(None, "Print the kind and the use of every column, and stop; no OUTPUT is needed.", "--columns-only"),
    ] = False
    json: Annotated[bool, _table(None, "As --columns-only, in JSON.", "--json")] = False


DEFAULTS = TableOptions()


@dataclass(frozen=True, kw_only=True)
class Options:
    """What every command takes: its fields are options, and its `run` does the work.

    `table` are the options of tables but those in `WITHOUT`, `given` the names of options on the command line, and
    `started` is the time at the start.
    """

    seed: Seed = 0
    quiet: Quiet = False
    force: Force = False
    table: TableOptions = DEFAULTS
    given: frozenset[str] = frozenset()
    started: float = 0.0

    # Options of tables that a command lacks, and those that have nothing to say with --model.
    WITHOUT: ClassVar[tuple[str, ...]] = ()
    OF_THE_FIT: ClassVar[tuple[str, ...]] = ()
    # For its help.
    EXAMPLES: ClassVar[tuple[str, ...]] = ()

    def run(self) -> None:
        """Do what the command is for."""
        raise NotImplementedError

    @property
    def say(self) -> Callable[..., Any]:
        """Prints a message, or nothing if the user wants none."""
        return speaker(self.quiet)

    def record(self, input: Path, output: Path, n_rows: int, n_columns: int, **about: Any) -> dict[str, Any]:
        """What is known about a run when it ends, as plain values."""
        first = {"input": str(input), "output": str(output), "rows": n_rows, "columns": n_columns}
        return {**first, **about, "seed": self.seed, "seconds": self.seconds(), "version": preimage.__version__}

    def seconds(self) -> float:
        """Since the start."""
        return round(time.perf_counter() - self.started, 3)

    def warn_of_unused(self) -> None:
        """Warn of options that say how a model is fitted, which have nothing to say with --model."""
        unused = [f"--{name}" for name in self.OF_THE_FIT if name in self.given]
        if unused:
            warn_user(f"{', '.join(unused)} had no effect: --model is a model that is fitted already.", UserWarning)
