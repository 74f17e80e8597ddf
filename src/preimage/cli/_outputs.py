"""The files that a command makes, looked at before any work is done."""

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from preimage._engine.output_files import are_distinct, check_not_inputs, check_writable
from preimage.cli._console import one_line
from preimage.cli._errors import FileError, UsageError
from preimage.cli.runs._partial import is_own
from preimage.cli.tables._formats import format_of
from preimage.cli.tables._pictures import PICTURES

FIGURES = (".png", ".pdf", ".svg")
# Formats of tables that are written.
TABLES = (".csv", ".npy", ".parquet", ".xlsx")


def check_outputs(
    outputs: Mapping[str, Path | None], inputs: Sequence[Path | None], force: bool, is_folder: bool = False
) -> list[Path]:
    """Refuse what could not or should not be written; return the files that a run will make.

    Parameters
    ----------
    outputs : dict of str to Path or None
        By the name of their argument or option; None are not asked for.
    inputs : sequence of Path or None
        What is read and must not be replaced.
    force : bool
        Whether existing files may be replaced.
    is_folder : bool
        Whether the first output is a folder.
    """
    paths = [path for path in outputs.values() if path is not None]
    check_not_inputs(paths, inputs, PICTURES)
    if not are_distinct(paths):
        names = [name for name, path in outputs.items() if path is not None]
        raise UsageError(f"{', '.join(names[:-1])} and {names[-1]} need different names.")
    for number, path in enumerate(paths):
        may_replace = force or is_own(paths[0], path)
        check_writable(path, may_replace, PICTURES if is_folder and number == 0 else ())
    return paths


def check_model_name(path: Path | None) -> None:
    """Refuse a name that no model file has; None is not asked for."""
    if path is not None and path.suffix.lower() != ".safetensors":
        raise FileError(f"{path} is not a model file; its name ends in .safetensors.")


def check_figure(path: Path | None) -> None:
    """Refuse a figure that could not be drawn; None is not asked for."""
    if path is None:
        return
    if not can_draw():
        raise FileError('--plot needs matplotlib, which is not installed. Type: pip install "preimage[plot]"')
    if path.suffix.lower() not in FIGURES:
        raise FileError(f"{path} is not a figure file. Use {', '.join(FIGURES[:-1])} or {FIGURES[-1]}.")


@contextmanager
def figure_errors(figure: Path, what_is_there: str) -> Iterator[None]:
    """Say what is written already, whatever matplotlib and its fonts have to complain of."""
    try:
        yield
    except Exception as error:
        raise FileError(f"{figure} could not be drawn: {one_line(error).rstrip('.')}. {what_is_there}") from error


def can_draw() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def table_format(output: Path, what: str = "tables") -> str:
    """The format that the suffix of a table says; `what` it has, for the error."""
    kind = format_of(output)
    if kind not in TABLES:
        suffix = "no suffix" if kind == "folder" else f"the suffix {kind}"
        raise FileError(f"{output} has {suffix}; {what} are written as .csv, .tsv, .parquet, .xlsx or .npy.")
    return kind


def chosen_format(wanted: str | None, formats: Sequence[str], of_suffix: Callable[[], str]) -> str:
    """The format that --output-format says, one of `formats`, or that of the suffix where it was not given."""
    if wanted is None:
        return of_suffix()
    if wanted not in formats:
        known = ", ".join(name.removeprefix(".") for name in formats)
        raise UsageError(f"--output-format {wanted.removeprefix('.')} is not one that can be written here: {known}.")
    return wanted
