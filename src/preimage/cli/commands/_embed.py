"""The command ``preimage embed``."""

import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from preimage._warnings import warn_user
from preimage.cli import _options
from preimage.cli._console import FileError, plain_errors, speaker
from preimage.cli.runs._embed import Embedding, embed
from preimage.cli.runs._file_model import read_model
from preimage.cli.runs._partial import remains
from preimage.cli.tables._files import check_not_inputs, check_writable, format_of, replacing
from preimage.cli.tables._sources import SOURCE_FORMATS, Source, open_source
from preimage.estimators import KernelPCA

Kernel = Literal[
    "rbf",
    "laplacian",
    "matern",
    "rational_quadratic",
    "inverse_multiquadric",
    "linear",
    "poly",
    "exponential",
    "cosine",
]
Method = Literal["auto", "rpcholesky", "sparse_greedy", "kmeans", "uniform", "pivoted_cholesky"]


# Options that say how a model is fitted: with --model they have nothing to say.
OF_THE_FIT = ("components", "kernel", "gamma", "degree", "coef0", "landmarks", "method")


def embed_command(
    context: typer.Context,
    input: Annotated[Path, typer.Argument(help=f"A table of any size: {SOURCE_FORMATS}.")],
    output: Annotated[Path, typer.Argument(help="Where the coordinates go: .npy, .csv or .parquet.")],
    components: Annotated[
        Any,
        typer.Option(
            parser=_options.components_number, metavar="N|FRACTION", help="Components, or the fraction of variance."
        ),
    ] = "10",
    kernel: Annotated[Kernel, typer.Option(help="Kernel.")] = "rbf",
    gamma: Annotated[
        Any,
        typer.Option(
            parser=_options.gamma, metavar="median|scale|pN|NUMBER", help="Width of the kernel, from a sample."
        ),
    ] = "median",
    degree: Annotated[int, typer.Option(min=1, help="Degree of the polynomial kernel.")] = 3,
    coef0: Annotated[float, typer.Option(help="Constant of the polynomial kernel.")] = 1.0,
    landmarks: Annotated[
        Any,
        typer.Option(
            parser=_options.landmarks,
            metavar="N|auto|none",
            help="Points that carry the model; auto: none up to 20,000 rows, else 1,000; none: exact, in memory.",
        ),
    ] = "500",
    method: Annotated[Method, typer.Option(help="How landmarks are chosen.")] = "auto",
    columns: Annotated[
        Any, typer.Option(parser=_options.names, metavar="A,B,...", help="Columns to take; numbers without header.")
    ] = None,
    exclude: Annotated[
        Any, typer.Option(parser=_options.names, metavar="A,B,...", help="Columns to leave out.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Fit nothing: use a KernelPCA of --save-model or of its save(FILE)."),
    ] = None,
    save_model: Annotated[
        Path | None, typer.Option(metavar="FILE.safetensors", help="Where the model goes; preimage.load reads it.")
    ] = None,
    chunk_rows: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Rows in memory at a time. (Default: a few megabytes.)")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--no-resume", help="Continue an interrupted run, or start anew.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print errors only.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of sample and landmarks.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
) -> None:
    """Write the kernel PCA coordinates of a table, which may be larger than memory.

    An interrupted run leaves OUTPUT.part; the same command continues it.
    """
    say = speaker(quiet)
    with plain_errors(2, lambda: remains(output), quiet):
        kind = _table_format(output)
        written = [path for path in (output, save_model) if path is not None]
        check_not_inputs(written, (input, model))
        _check_outputs(written, save_model, force)
        started = time.perf_counter()
        ready = None if model is None else (model, read_model(model))
        if ready is not None:
            _warn_of_unused(context)
        if ready is not None and columns is None and hasattr(ready[1], "feature_names_in_"):
            columns = list(ready[1].feature_names_in_)
        source = open_source(input, columns, exclude)
        rows = chunk_rows or source.chunk_rows
        exact = landmarks == "none"
        wish = Embedding(components, kernel, gamma, degree, coef0, None if exact else landmarks, method, seed)
        fitted, n_rows = embed(source, output, kind, wish, rows, resume, ready, say)
        if save_model is not None:
            with replacing(save_model) as temporary:
                fitted.save(temporary)
        seconds = time.perf_counter() - started
        say(_report(fitted, n_rows, source, seconds))
        say("Wrote " + ", ".join(str(path) for path in (output, save_model) if path is not None) + ".")


def _report(model: KernelPCA, n_rows: int, source: Source, seconds: float) -> str:
    gamma, landmarks = getattr(model.kernel_, "gamma", None), model.landmarks_
    about = "exact"
    if landmarks is not None:
        about = f"{len(landmarks)} landmarks leave {100 * landmarks.residual_fraction:.2g} % of the kernel"
    width = "" if gamma is None else f", gamma {gamma:.4g}"
    return (
        f"Embedded {n_rows:,} rows of {source.n_columns} columns in {seconds:.1f} s: {model.n_components_} components, "
        f"{100 * sum(model.explained_variance_ratio_):.1f} % of the variance{width}; {about}."
    )


def _warn_of_unused(context: typer.Context) -> None:
    sources = ((name, context.get_parameter_source(name)) for name in OF_THE_FIT)
    given = [f"--{name}" for name, source in sources if source is not None and source.name == "COMMANDLINE"]
    if given:
        warn_user(f"{', '.join(given)} had no effect: --model is a model that is fitted already.", UserWarning)


def _table_format(output: Path) -> str:
    kind = format_of(output)
    if kind not in (".npy", ".csv", ".parquet"):
        what = "no suffix" if kind == "folder" else f"the suffix {kind}"
        raise FileError(f"{output} has {what}; coordinates are written as .npy, .csv or .parquet.")
    return kind


def _check_outputs(written: list[Path], save_model: Path | None, force: bool) -> None:
    if len({path.resolve() for path in written}) < len(written):
        raise FileError("OUTPUT and --save-model need different names.")
    for path in written:
        check_writable(path, force)
    if save_model is not None and save_model.suffix.lower() != ".safetensors":
        raise FileError(f"{save_model} is not a model file; its name ends in .safetensors.")
