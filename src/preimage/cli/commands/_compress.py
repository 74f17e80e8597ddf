"""The command ``preimage compress``."""

import importlib.util
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

from preimage.cli._console import DataError, FileError, console, plain_errors
from preimage.cli._figure import draw_compression
from preimage.cli.runs._compress import (
    MODEL_FORMATS,
    OUTPUT_FORMATS,
    Wish,
    format_of_model,
    read_model,
    size_row,
    small_model,
    summarize,
    write_model,
)
from preimage.cli.tables._files import FORMATS, check_not_inputs, check_writable, read, replacing


def compress_command(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help=f"A fitted kernel machine: {' or '.join(MODEL_FORMATS)}; no unknown code is run."
        ),
    ],
    output: Annotated[Path, typer.Argument(metavar="OUT", help=f"The small model: {', '.join(OUTPUT_FORMATS)}.")],
    points: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Points to keep. (Default: as few as --tolerance allows.)")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="FILE", help=f"Rows like those to be predicted: {FORMATS}.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the data with labels; without, the model's own.")
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(min=0, metavar="T", help="Accepted drop of the score; without data, error. (Default: 0.005.)"),
    ] = None,
    method: Annotated[
        Literal["auto", "distill", "refine", "construct", "select", "select_l1"],
        typer.Option(help="distill: function values on the data; refine, construct: new points; select: a subset."),
    ] = "auto",
    float32: Annotated[bool, typer.Option("--float32", help="Single precision: half the size.")] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FIG", help="Error and score against the number of points, as a figure.")
    ] = None,
    array: Annotated[str | None, typer.Option(help="Name of the array in an NPZ archive.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is random.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files, never the model itself.")] = False,
) -> None:
    """Make a kernel machine small: the same predictions from a few dozen points.

    Takes support vector machines, calibrated or not, kernel ridge regression, Gaussian processes, kernel PCA, and
    pipelines in which kernel PCA feeds a linear machine, from files of `preimage.save` or skops.
    """
    with plain_errors(2):
        kind = format_of_model(output, OUTPUT_FORMATS, "OUT")
        outputs = [output] if plot is None else [output, plot]
        check_not_inputs(outputs, (model, data))
        _check_outputs(outputs, force)
        original = read_model(model)
        table = None if data is None else read(data, array, labels)
        if table is None and (labels is not None or plot is not None):
            raise DataError("--labels and --plot need --data FILE.")
        wish = Wish(points, tolerance, method, "float32" if float32 else None, seed)
        with console.status("Compressing"):
            small, X, y = small_model(original, table, wish)
        rows = summarize(original, small, X, y)
        with ExitStack() as stack:
            temporary = {path: stack.enter_context(replacing(path)) for path in outputs}
            write_model(temporary[output], small, kind)
            rows.append(size_row(model, temporary[output]))
            if plot is not None:
                with console.status("Drawing"):
                    draw_compression(original, small, X, y).savefig(temporary[plot], dpi=150)
    _print_table(rows)
    console.print("Wrote " + ", ".join(str(path) for path in outputs) + ".", markup=False)


def _check_outputs(outputs: list[Path], force: bool) -> None:
    """Refuse, before any work is done, what could not or should not be written."""
    if len({path.absolute() for path in outputs}) < len(outputs):
        raise FileError("OUT and --plot need different names.")
    for path in outputs[1:]:
        if importlib.util.find_spec("matplotlib") is None:
            raise FileError('--plot needs matplotlib, which is not installed. Type: pip install "preimage[plot]"')
        if path.suffix.lower() not in {".png", ".pdf", ".svg"}:
            raise FileError(f"{path} is not a figure file. Use .png, .pdf or .svg.")
    for path in outputs:
        check_writable(path, force)


def _print_table(rows: list[tuple[str, str, str, str]]) -> None:
    table = Table("", "original", "compressed", "", box=None, header_style="bold")
    for column in (1, 2):
        table.columns[column].justify = "right"
    for row in rows:
        table.add_row(*row)
    console.print(table)
