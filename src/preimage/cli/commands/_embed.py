"""The command ``preimage embed``."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from preimage.cli import _options
from preimage.cli._console import plain_errors, speaker
from preimage.cli._options import AUTO
from preimage.cli._outputs import TABLES, check_model_name, check_outputs, chosen_format, table_format
from preimage.cli._table_options import takes_tables
from preimage.cli.runs._embed import Embedding, embed
from preimage.cli.runs._file_model import read_model
from preimage.cli.runs._partial import remains
from preimage.cli.tables._sources import SOURCE_FORMATS, Source, open_source
from preimage.cli.tables._table_options import DEFAULTS, TableOptions
from preimage.estimators import KernelPCA

Method = Literal["auto", "rpcholesky", "sparse_greedy", "kmeans", "uniform", "pivoted_cholesky"]

# Options that say how a model is fitted: with --model they have nothing to say.
OF_THE_FIT = ("components", "kernel", "gamma", "degree", "coef0", "landmarks", "method")

EXAMPLES = (
    "preimage embed table.csv coordinates.csv --components 5",
    "preimage embed big.npy coordinates.npy --landmarks 200 --save-model model.safetensors",
    "preimage embed new.npy coordinates.parquet --model model.safetensors",
)


@takes_tables()
def embed_command(
    context: typer.Context,
    input: Annotated[Path, typer.Argument(metavar="INPUT", help=f"A table of any size: {SOURCE_FORMATS}.")],
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="The coordinates: .npy, .csv, .tsv, .parquet or .xlsx.")
    ],
    components: _options.Components = "10",
    kernel: _options.Kernel = "rbf",
    gamma: _options.Gamma = AUTO,
    degree: _options.Degree = 3,
    coef0: _options.Coef0 = 1.0,
    landmarks: _options.Landmarks = "500",
    method: Annotated[
        Method, typer.Option(metavar="NAME", help=f"How landmarks are chosen: {', '.join(get_args(Method))}.")
    ] = "auto",
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Fit nothing: use a KernelPCA of --save-model or of its save(FILE)."),
    ] = None,
    save_model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the model goes, .safetensors; preimage.load reads it.")
    ] = None,
    chunk_rows: _options.ChunkRows = None,
    resume: _options.Resume = True,
    seed: _options.Seed = 0,
    output_format: _options.OutputFormat = None,
    quiet: _options.Quiet = False,
    force: _options.Force = False,
    table: TableOptions = DEFAULTS,
) -> None:
    """Write the kernel PCA coordinates of a table, which may be larger than memory.

    An interrupted run leaves OUTPUT.part; the same command continues it. --gamma auto is the median rule, on a sample.
    """
    say = speaker(quiet)
    with plain_errors(lambda: remains(output), quiet):
        kind = chosen_format(output_format, TABLES, lambda: table_format(output, "coordinates"))
        written = check_outputs({"OUTPUT": output, "--save-model": save_model}, (input, model), force)
        check_model_name(save_model)
        started = time.perf_counter()
        ready = None if model is None else (model, *read_model(model))
        if ready is not None:
            _options.warn_of_unused(context, OF_THE_FIT)
        if ready is not None and table.columns is None and hasattr(ready[1], "feature_names_in_"):
            table = replace(table, columns=tuple(ready[1].feature_names_in_))
        source = open_source(input, table)
        say(source.described())
        rows = chunk_rows or source.chunk_rows
        exact = landmarks == "none"
        gamma = "median" if gamma == AUTO else gamma
        wish = Embedding(components, kernel, gamma, degree, coef0, None if exact else landmarks, method, seed)
        fitted, n_rows = embed(source, output, kind, wish, rows, resume, ready, save_model, say)
        seconds = time.perf_counter() - started
        say(_report(fitted.model, n_rows, source, seconds))
        say("Wrote " + ", ".join(str(path) for path in written) + ".")


def _report(model: KernelPCA, n_rows: int, source: Source, seconds: float) -> str:
    gamma, landmarks = getattr(model.kernel_, "gamma", None), model.landmarks_
    about = "exact"
    if landmarks is not None:
        about = f"{len(landmarks)} landmarks miss {100 * landmarks.residual_fraction:.2g} % of the kernel"
    width = "" if gamma is None else f", gamma {gamma:.4g}"
    return (
        f"Embedded {n_rows:,} rows of {source.n_columns} columns in {seconds:.1f} s: {model.n_components_} components, "
        f"{100 * sum(model.explained_variance_ratio_):.1f} % of the variance{width}; {about}."
    )
