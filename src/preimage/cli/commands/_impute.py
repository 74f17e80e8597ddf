"""The command ``preimage impute``."""

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

import preimage
from preimage._engine.warnings import warn_user
from preimage.cli import _options
from preimage.cli._console import console, plain_errors, speaker
from preimage.cli._options import AUTO
from preimage.cli._outputs import TABLES, check_model_name, check_outputs, chosen_format, table_format
from preimage.cli._table_options import takes_tables
from preimage.cli.runs._impute import Filling, impute_file, read_imputer
from preimage.cli.runs._partial import Making, remains
from preimage.cli.tables._formats import stem_of
from preimage.cli.tables._layout import listed
from preimage.cli.tables._sources import SOURCE_FORMATS, open_source, options_like
from preimage.cli.tables._table_options import DEFAULTS, TableOptions

# Options that say how a model is fitted: with --model they have nothing to say.
OF_THE_FIT = ("components", "gamma", "fit_to", "categorical")
# Columns of which the errors are printed; all of them are in the summary.
SHOWN = 12

EXAMPLES = (
    "preimage impute gaps.csv complete.csv",
    "preimage impute gaps.csv complete.csv --round --save-model imputer.safetensors",
    "preimage impute gaps.csv complete.csv --categorical species,site",
    "preimage impute more_gaps.csv complete.csv --model imputer.safetensors",
    "preimage impute gaps.csv complete.csv --fit table.csv --columns a,b,c",
)


@takes_tables(without=("impute", "standardize", "keep"))
def impute_command(
    context: typer.Context,
    input: Annotated[Path, typer.Argument(metavar="INPUT", help=f"A table with gaps: {SOURCE_FORMATS}.")],
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="The same table without: .csv, .tsv, .parquet, .xlsx or .npy.")
    ],
    components: _options.ComponentsOrAuto = AUTO,
    gamma: _options.Gamma = AUTO,
    round_whole: Annotated[
        bool, typer.Option("--round", help="Fill in whole numbers where all values of a column are whole.")
    ] = False,
    categorical: Annotated[
        Any,
        typer.Option(
            parser=lambda text: list(_options.names(text)),
            metavar="A,B,...",
            help="Columns of numbers that stand for categories: gaps get one of them.",
        ),
    ] = None,
    fit_to: Annotated[Path | None, typer.Option("--fit", metavar="FILE", help="Training data, if not INPUT.")] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Fit nothing: use a KernelImputer of --save-model or save(FILE)."),
    ] = None,
    save_model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the model goes, .safetensors; preimage.load reads it.")
    ] = None,
    summary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Summary in JSON. (Default: OUTPUT with .json.)")
    ] = None,
    chunk_rows: _options.ChunkRows = None,
    resume: _options.Resume = True,
    seed: _options.Seed = 0,
    output_format: _options.OutputFormat = None,
    quiet: _options.Quiet = False,
    force: _options.Force = False,
    table: TableOptions = DEFAULTS,
) -> None:
    """Fill in the gaps of a table: as in the rows that are like theirs. Values that are there stay.

    Values are hidden and filled in to say how far off filled ones are, by column. An interrupted run leaves
    OUTPUT.part; the same command continues it.
    """
    say = speaker(quiet)
    with plain_errors(lambda: remains(output), quiet):
        started = time.perf_counter()
        kind = chosen_format(output_format, TABLES, lambda: table_format(output))
        about = summary or output.with_name(f"{stem_of(output)}.json")
        named = {"OUTPUT": output, "--summary": about, "--save-model": save_model}
        written = check_outputs(named, (input, fit_to, model), force)
        check_model_name(save_model)
        ready = None if model is None else read_imputer(model)
        if ready is not None:
            _options.warn_of_unused(context, OF_THE_FIT)
        source = open_source(input, table if ready is None else ready.options(table))
        train = source if fit_to is None else open_source(fit_to, options_like(source, fit_to, table))
        say(source.described())
        if source.layout.empty:
            names = listed([source.layout.labels[place] for place in source.layout.empty])
            warn_user(f"Columns without any value have nothing to fill in from, and stay empty: {names}.", UserWarning)

        def conclude(found: dict[str, Any], making: Making) -> None:
            seconds = round(time.perf_counter() - started, 3)
            names = {"input": str(input), "output": str(output), "rows": found["rows"], "columns": source.n_columns}
            report = {**names, **found, "seed": seed, "seconds": seconds, "version": preimage.__version__}
            with making(about) as aside:
                aside.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
            _print_report(report, quiet)

        wish = Filling(gamma, components, round_whole, seed, categorical or [])
        impute_file(source, train, output, kind, wish, chunk_rows, resume, ready, save_model, conclude, say)
        say("Wrote " + ", ".join(str(path) for path in written) + ".")


def _print_report(report: dict[str, Any], quiet: bool) -> None:
    say = speaker(quiet)
    if not report["gaps"]:
        say(f"{report['input']} has no gaps: {report['output']} is the same table.")
        return
    filled, n_rows = report["filled_columns"], report["rows"]
    say(
        f"Filled in {report['gaps']:,} of {n_rows * report['columns']:,} values ({100 * report['fraction']:.2g} %) in "
        f"{len(filled)} of {report['columns']} columns and {report['rows_with_gaps']:,} of {n_rows:,} rows, in "
        f"{report['seconds']:.1f} s."
    )
    say("Expected errors (root mean squares, or fractions of categories that are wrong, from values that were hidden):")
    width = max(len(column["name"]) for column in filled[:SHOWN])
    for column in filled[:SHOWN]:
        say(f"  {column['name']:{width}s}  {_error(column)}")
    if len(filled) > SHOWN:
        more = len(filled) - SHOWN
        say(f"  … and {more} more column{'s' if more != 1 else ''}, in the summary.")
    if report["empty_rows"]:
        console.print(
            f"Warning: {report['empty_rows']} rows have no value at all; all of them get the same values.",
            style="yellow",
        )


def _error(column: dict[str, Any]) -> str:
    text = f"{column['gaps']:,} filled"
    if column["expected_error"] is None:
        return f"{text}; too few values to hide some"
    expected, of_mean = column["expected_error"], column["error_of_mean"]
    if column["categorical"]:
        return f"{text}, {expected:.0%} of them wrong (of the most frequent category: {of_mean:.0%})"
    return f"{text}, expected error {expected:.3g} (of the mean: {of_mean:.3g})"
