"""The command ``preimage compress``."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from preimage._engine.output_files import replacing
from preimage.cli import _options
from preimage.cli._console import console, plain_errors, speaker
from preimage.cli._errors import UsageError
from preimage.cli._figure import draw_compression
from preimage.cli._outputs import check_figure, check_outputs, chosen_format, figure_errors
from preimage.cli._table_options import takes_tables
from preimage.cli.runs._claim import claimed
from preimage.cli.runs._compress import Wish, size_row, small_model, summarize
from preimage.cli.runs._model_files import MODEL_FORMATS, OUTPUT_FORMATS, format_of_model, read_model, write_model
from preimage.cli.tables._files import read
from preimage.cli.tables._formats import FORMATS
from preimage.cli.tables._table_options import DEFAULTS, TableOptions

EXAMPLES = (
    "preimage compress model.skops small.skops --points 40",
    "preimage compress model.skops small.safetensors --data validation.csv --label class --tolerance 0.01",
    "preimage compress model.skops small.onnx --points 40 --float32",
)


@takes_tables(without=("keep", "standardize", "impute"))
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
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the data with labels; without, the model's own.")
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(min=0, metavar="T", help="Accepted drop of the score; without data, error. (Default: 0.005.)"),
    ] = None,
    method: Annotated[
        Literal["auto", "distill", "refine", "construct", "select", "select_l1"],
        typer.Option(
            metavar="NAME",
            help="auto; distill: values on the data; refine, construct: new points; select, select_l1: a subset.",
        ),
    ] = "auto",
    float32: Annotated[bool, typer.Option("--float32", help="Single precision: half the size.")] = False,
    plot: _options.Plot = None,
    array: _options.ArrayName = None,
    seed: _options.Seed = 0,
    output_format: _options.OutputFormat = None,
    quiet: _options.Quiet = False,
    force: _options.Force = False,
    table: TableOptions = DEFAULTS,
) -> None:
    """Make a kernel machine small: the same predictions from a few dozen points.

    Takes support vector machines, calibrated or not, kernel ridge regression, Gaussian processes, kernel PCA, and
    pipelines in which kernel PCA feeds a linear machine, from files of `preimage.save` or skops.
    """
    say = speaker(quiet)
    with plain_errors(quiet=quiet):
        if data is None and (label is not None or plot is not None):
            raise UsageError("--label and --plot need --data FILE.")
        kind = chosen_format(output_format, OUTPUT_FORMATS, lambda: format_of_model(output, OUTPUT_FORMATS, "OUT"))
        check_figure(plot)
        outputs = check_outputs({"OUT": output, "--plot": plot}, (model, data), force)
        wish = Wish(points, tolerance, method, "float32" if float32 else None, seed)
        with claimed(output):
            original = read_model(model)
            read_rows = None if data is None else read(data, array, label, options=table)
            if read_rows is not None and read_rows.source is not None:
                speaker(quiet)(read_rows.source.described())
            with _status("Compressing", quiet):
                small, X, y = small_model(original, read_rows, wish)
            rows = summarize(original, small, X, y)
            with replacing(output) as aside:
                write_model(aside, small, kind)
                rows.append(size_row(model, aside))
            if plot is not None:
                what = f"The compressed model is in {output}."
                with _status("Drawing", quiet), replacing(plot) as aside, figure_errors(plot, what):
                    draw_compression(original, small, X, y).savefig(aside, dpi=150)
        if not quiet:
            _print_table(rows)
        say("Wrote " + ", ".join(str(path) for path in outputs) + ".")


def _status(text: str, quiet: bool) -> AbstractContextManager[Any]:
    return nullcontext() if quiet else console.status(text)


def _print_table(rows: list[tuple[str, str, str, str]]) -> None:
    table = Table("", "original", "compressed", "", box=None, header_style="bold")
    for column in (1, 2):
        table.columns[column].justify = "right"
    for row in rows:
        table.add_row(*row)
    console.print(table)
