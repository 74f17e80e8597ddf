"""The command ``preimage outliers``."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from preimage._engine.output_files import replacing
from preimage.cli import _options
from preimage.cli._console import plain_errors, speaker
from preimage.cli._figure import draw_outliers
from preimage.cli._options import AUTO
from preimage.cli._outputs import TABLES, check_figure, check_outputs, chosen_format, figure_errors, table_format
from preimage.cli._table_options import takes_tables
from preimage.cli.runs._outliers import Outliers, find_outliers, write_outliers
from preimage.cli.tables._sources import SOURCE_FORMATS, open_source
from preimage.cli.tables._table_options import DEFAULTS, TableOptions

# Outliers of which the numbers are printed; all of them are in the output.
SHOWN = 10

EXAMPLES = (
    "preimage outliers table.csv unusual.csv",
    "preimage outliers table.csv unusual.csv --contamination 0.05 --plot unusual.png",
)


@takes_tables()
def outliers_command(
    input: Annotated[Path, typer.Argument(metavar="INPUT", help=f"A table that fits in memory: {SOURCE_FORMATS}.")],
    output: Annotated[
        Path,
        typer.Argument(
            metavar="OUTPUT", help="Novelty of each row, and 1 for outliers: .csv, .tsv, .parquet, .xlsx or .npy."
        ),
    ],
    contamination: Annotated[
        Any,
        typer.Option(
            parser=_options.contamination,
            metavar="auto|FRACTION",
            help="How many of the rows are outliers, such as 0.05, which finds groups of them; auto: not known.",
        ),
    ] = AUTO,
    gamma: _options.Gamma = AUTO,
    landmarks: _options.Landmarks = AUTO,
    plot: _options.Plot = None,
    seed: _options.Seed = 0,
    output_format: _options.OutputFormat = None,
    quiet: _options.Quiet = False,
    force: _options.Force = False,
    table: TableOptions = DEFAULTS,
) -> None:
    """Say how unusual each row of a table is, measured by the others, and which rows are outliers.

    With --contamination auto the most unusual row in twenty is called an outlier. --gamma auto is p5.
    """
    say = speaker(quiet)
    with plain_errors(quiet=quiet):
        kind = chosen_format(output_format, TABLES, lambda: table_format(output))
        check_figure(plot)
        written = check_outputs({"OUTPUT": output, "--plot": plot}, (input,), force)
        source = open_source(input, table)
        say(source.described())
        found = find_outliers(source, contamination, gamma, None if landmarks == "none" else landmarks, seed, say)
        with replacing(output) as aside:
            write_outliers(aside, found, source, kind, output)
        if plot is not None:
            with replacing(plot) as aside, figure_errors(plot, f"{output} is complete."):
                draw_outliers(found.novelty, found.threshold).savefig(aside, dpi=150)
        say(_report(found))
        say("Wrote " + ", ".join(map(str, written)) + ".")


def _report(found: Outliers) -> str:
    """How many outliers there are, and the most unusual ones, by the number of their row."""
    count, n_rows = int(np.sum(found.are_outliers)), len(found.novelty)
    some = [f"{row + 1:,}" for row in np.argsort(-found.novelty, kind="stable")[: min(count, SHOWN)]]
    more = ", …" if count > SHOWN else ""
    listed = f" The most unusual first: rows {', '.join(some)}{more}." if count > 1 else ""
    return f"{count:,} of {n_rows:,} rows are outliers.{listed}"
