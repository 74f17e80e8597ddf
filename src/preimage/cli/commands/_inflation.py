"""The command ``preimage inflation``."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from preimage._engine.output_files import replacing
from preimage.cli import _options
from preimage.cli._console import plain_errors, speaker
from preimage.cli._errors import FileError, UsageError
from preimage.cli._figure import draw_inflation
from preimage.cli._options import AUTO
from preimage.cli._outputs import check_figure, check_outputs, chosen_format, figure_errors
from preimage.cli._table_options import takes_tables
from preimage.cli.runs._inflation import (
    REPORT_FORMATS,
    Question,
    as_record,
    as_text,
    read_samples,
    report_on,
    write_report,
)
from preimage.cli.tables._formats import FORMATS
from preimage.cli.tables._table_options import DEFAULTS, TableOptions

EXAMPLES = (
    "preimage inflation patients.csv --label diagnosis",
    "preimage inflation patients.csv --label diagnosis --output report.json --plot report.png",
    "preimage inflation scans.npz --array X --label y --group run --estimator kernel_pca --components 10",
)


@takes_tables(without=("keep",))
def inflation_command(
    input: Annotated[Path, typer.Argument(metavar="DATA", help=f"One sample per row: {FORMATS}.")],
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column, or array of an archive, with classes.")
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column with what belongs together and is left out together: patient, run."
        ),
    ] = None,
    estimator: Annotated[
        Literal["auto", "svc", "kernel_pca", "pca"],
        typer.Option(
            help="Whose values are looked at: decisions of a support vector machine, or components. auto: the former "
            "with --label, the latter without it, or with --components or --landmarks."
        ),
    ] = "auto",
    components: _options.ComponentsOfTransformer = None,
    gamma: _options.Gamma = AUTO,
    landmarks: _options.Landmarks = None,
    array: _options.ArrayName = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="The report as .json, or its table as .csv.")
    ] = None,
    plot: _options.Plot = None,
    seed: _options.Seed = 0,
    output_format: _options.OutputFormat = None,
    quiet: _options.Quiet = False,
    force: _options.Force = False,
    table: TableOptions = DEFAULTS,
) -> None:
    """Say whether few samples with many variables tell classes apart, and whether a correction helps with new ones.

    A model fits the rows that it knows better than new ones: their values vary too much (variance inflation). Every row
    is left out in turn to see by how much. --gamma auto is the median rule, for svc scikit-learn's "scale".
    """
    with plain_errors(quiet=quiet):
        if estimator == "svc" and label is None:
            raise UsageError("--estimator svc needs classes: give --label COLUMN.")
        if output is None and output_format is not None:
            raise UsageError("--output-format needs --output FILE.")
        kind = None if output is None else chosen_format(output_format, REPORT_FORMATS, lambda: _format(output))
        check_figure(plot)
        outputs = check_outputs({"--output": output, "--plot": plot}, (input,), force)
        samples = read_samples(input, array, label, group, table, speaker(quiet))
        landmarks = None if landmarks == "none" else landmarks
        if estimator == "auto":
            speaks_of_components = components is not None or landmarks is not None
            estimator = "kernel_pca" if label is None or speaks_of_components else "svc"
        question = Question(estimator, 5 if components is None else components, gamma, landmarks, seed)
        report = report_on(samples, question)
        if output is not None and kind is not None:
            with replacing(output) as aside:
                write_report(aside, kind, as_record(report, samples, question))
        if not quiet:
            typer.echo(as_text(report, samples))
        if plot is not None:
            with replacing(plot) as aside, figure_errors(plot, "The report is complete."):
                draw_inflation(report).savefig(aside, dpi=150, bbox_inches="tight")
        if outputs:
            speaker(quiet)("Wrote " + ", ".join(map(str, outputs)) + ".")


def _format(output: Path) -> str:
    suffix = output.suffix.lower()
    if suffix not in REPORT_FORMATS:
        raise FileError(
            f"{output} has the unknown format {output.suffix!r}; reports are {' or '.join(REPORT_FORMATS)}."
        )
    return suffix
