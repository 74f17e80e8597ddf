"""The files that a command makes: checks before any work is done, formats and summaries."""

import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from preimage._engine.output_files import are_distinct, check_not_inputs, check_writable, replacing
from preimage.cli._console import one_line
from preimage.cli._errors import FileError, UsageError
from preimage.cli.runs._partial import Making, is_own
from preimage.cli.tables._paths import PICTURES, format_of

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
    _check_figure(outputs.get("--plot"))
    check_not_inputs(paths, inputs, PICTURES)
    if not are_distinct(paths):
        names = [name for name, path in outputs.items() if path is not None]
        raise UsageError(f"{', '.join(names[:-1])} and {names[-1]} need different names.")
    for number, path in enumerate(paths):
        may_replace = force or is_own(paths[0], path)
        check_writable(path, may_replace, PICTURES if is_folder and number == 0 else ())
    model = outputs.get("--save-model")
    if model is not None and model.suffix.lower() != ".safetensors":
        raise FileError(f"{model} is not a model file; its name ends in .safetensors.")
    return paths


def wrote(paths: Sequence[Path]) -> str:
    return "Wrote " + ", ".join(map(str, paths)) + "."


def write_json(path: Path, record: dict[str, Any], making: Making = replacing) -> None:
    with making(path) as aside:
        aside.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def save_figure(path: Path | None, draw: Callable[[], Any], what_is_there: str, making: Making = replacing) -> None:
    """Write what `draw` draws; say what is written already, whatever matplotlib and its fonts have to complain of."""
    if path is None:
        return
    with making(path) as aside:
        try:
            draw().savefig(aside, dpi=150, bbox_inches="tight")
        except Exception as error:
            raise FileError(f"{path} could not be drawn: {one_line(error).rstrip('.')}. {what_is_there}") from error


def can_draw() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def table_format(wanted: str | None, output: Path, what: str = "tables") -> str:
    """The format of a table, by --output-format or the suffix of its name; `what` it has, for the error."""
    kind = format_of(output) if wanted is None else wanted
    if wanted is None and kind not in TABLES:
        suffix = "no suffix" if kind == "folder" else f"the suffix {kind}"
        raise FileError(f"{output} has {suffix}; {what} are written as .csv, .tsv, .parquet, .xlsx or .npy.")
    return chosen_format(kind, TABLES)


def chosen_format(wanted: str, formats: Sequence[str]) -> str:
    """The format that --output-format says, one of `formats`."""
    if wanted not in formats:
        known = ", ".join(name.removeprefix(".") for name in formats)
        raise UsageError(f"--output-format {wanted.removeprefix('.')} is not one that can be written here: {known}.")
    return wanted


def _check_figure(path: Path | None) -> None:
    if path is None:
        return
    if not can_draw():
        raise FileError('--plot needs matplotlib, which is not installed. Type: pip install "preimage[plot]"')
    if path.suffix.lower() not in FIGURES:
        raise FileError(f"{path} is not a figure file. Use {', '.join(FIGURES[:-1])} or {FIGURES[-1]}.")
