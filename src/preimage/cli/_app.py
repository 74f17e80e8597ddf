"""Commands, their options, and what they print."""

import importlib.util
import json
import time
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import preimage
from preimage.cli import _options
from preimage.cli._console import console, plain_errors
from preimage.cli._figure import draw
from preimage.cli._progress import row_bars
from preimage.cli.commands._compress import compress_command
from preimage.cli.commands._embed import embed_command
from preimage.cli.runs._denoise import AUTO, DataError, Request, check_rows, denoise, fit, summarize
from preimage.cli.runs._denoise_large import denoise_file, is_large
from preimage.cli.runs._partial import is_resumable
from preimage.cli.tables._files import (
    FORMATS,
    Dataset,
    FileError,
    check_not_inputs,
    check_writable,
    format_of,
    read,
    replacing,
    stem_of,
    write,
)
from preimage.cli.tables._nifti import slice_pictures
from preimage.cli.tables._sources import open_source

# Denoised rows take long: chunks are small, so that an interruption costs little.
CHUNK_ROWS = 4096

app = typer.Typer(
    help="Kernel methods that go into feature space and back.", no_args_is_help=True, add_completion=False
)
app.command(name="compress")(compress_command)
app.command(name="embed")(embed_command)


def _print_version(wanted: bool):
    if wanted:
        typer.echo(preimage.__version__)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
):
    """Kernel methods that go into feature space and back."""


@app.command(name="denoise")
def denoise_command(
    input: Annotated[Path, typer.Argument(help=f"Noisy data: {FORMATS}; one row a sample.")],
    output: Annotated[Path, typer.Argument(help="Where the denoised data go; the suffix says the format.")],
    components: Annotated[
        object,
        typer.Option(parser=_options.components, metavar="auto|N|SHARE", help="Components, or share of the variance."),
    ] = AUTO,
    width: Annotated[
        object,
        typer.Option(
            parser=_options.width, metavar="auto|median|pN|C", help="c in exp(-|x-y|²/c); pN: percentile of |x-y|²."
        ),
    ] = AUTO,
    penalty: Annotated[
        object, typer.Option(parser=_options.penalty, metavar="auto|NUMBER", help="Pull towards the noisy input.")
    ] = AUTO,
    fit_to: Annotated[Path | None, typer.Option("--fit", metavar="FILE", help="Training data, if not INPUT.")] = None,
    noise: Annotated[
        object,
        typer.Option(
            parser=_options.positive, metavar="NUMBER", help="Expect Gaussian noise like this; training data are clean."
        ),
    ] = None,
    criterion: Annotated[
        Literal["auto", "sure", "masked"],
        typer.Option(
            help="How to judge candidates without clean data: Stein's estimate, or guesses of hidden columns."
        ),
    ] = "auto",
    cross_fit: Annotated[
        object,
        typer.Option(
            parser=_options.cross_fit,
            metavar="auto|N|none",
            help="Denoise training rows by models fitted without them, in N folds; auto: in 5 where components are "
            "many for the number of rows.",
        ),
    ] = AUTO,
    landmarks: Annotated[
        object,
        typer.Option(
            parser=_options.landmarks,
            metavar="N|auto|none",
            help="Work in chunks of rows, with a model on so many points. (Default: auto for files beyond a quarter of "
            "the free memory, else none.)",
        ),
    ] = None,
    chunk_rows: Annotated[int | None, typer.Option(min=1, metavar="N", help="Rows of a chunk, with landmarks.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume/--no-resume", help="Continue an interrupted run with landmarks, or start anew.")
    ] = True,
    array: Annotated[str | None, typer.Option(help="Name of the array in an NPZ archive.")] = None,
    mask: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Voxels of a NIfTI scan to take. (Default: what looks like a brain.)"),
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Before/after figure. (Default: OUTPUT with .png.)")] = None,
    no_figure: Annotated[bool, typer.Option("--no-figure", help="Draw no figure.")] = False,
    summary: Annotated[Path | None, typer.Option(help="Summary in JSON. (Default: OUTPUT with .json.)")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the choice of parameters.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print errors and warnings only.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
):
    """Denoise a table, a folder of pictures or a brain scan (NIfTI) by kernel PCA.

    What is left at "auto" is chosen on the training data, without clean data: see DenoisingSearch.
    """
    with plain_errors(after_interrupt=lambda: _remains(output)):
        kind = format_of(output)
        figure = None if no_figure else _figure_path(figure, output)
        summary = summary or _beside(output, ".json")
        outputs = [path for path in (output, figure, summary) if path is not None]
        check_not_inputs(outputs, (input, fit_to, mask))
        _check_outputs(outputs, kind, force)
        started = time.perf_counter()
        request = Request(components, width, penalty, noise, criterion, seed, cross_fit)
        in_chunks = _is_for_chunks(landmarks, input, fit_to)
        if in_chunks and mask is not None:
            raise FileError("--mask is for NIfTI scans, which are not worked on in chunks.")
        if in_chunks:
            found, data, cleaned = _run_in_chunks(
                input, fit_to, output, kind, request, landmarks, chunk_rows, resume, quiet
            )
        else:
            data = read(input, array, mask=mask)
            train = data if fit_to is None else _read_training(fit_to, array, mask, data)
            _check_fit(data, train, input, fit_to, kind)
            check_rows(train.values, request, fit_to or input)
            if data.scans is not None and mask is None:
                _warn_of_lost_voxels(data.scans, output)
            fitted, result = _run(train.values, data.values, request, quiet)
            cleaned = data.with_values(result.points)
            found = {"rows": len(data.values), "training_rows": len(train.values), **summarize(fitted, result)}
        report = {
            "input": str(input),
            "output": str(output),
            "rows": found["rows"],
            "columns": data.values.shape[1],
            **found,
            "seed": seed,
            "seconds": round(time.perf_counter() - started, 3),
            "version": preimage.__version__,
        }
        with ExitStack() as stack:  # all files take their names together, after all are written
            temporary = {path: stack.enter_context(replacing(path)) for path in outputs[in_chunks:]}
            if not in_chunks:
                write(temporary[output], cleaned, kind)
            temporary[summary].write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
            if figure is not None:
                draw(_drawable(data, data), _drawable(cleaned, data)).savefig(
                    temporary[figure], dpi=150, bbox_inches="tight"
                )
    _print_report(report, outputs, quiet)


def _run(X_train, X, request, quiet):
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    bar = Progress(*columns, console=console, transient=True, disable=quiet)
    with nullcontext() if quiet else bar:  # older versions of rich end one that is disabled with an empty line
        choosing = bar.add_task("Choosing the model", total=len(request.widths(X_train)))
        fitted = fit(X_train, request, lambda: bar.advance(choosing))
        denoising = bar.add_task("Denoising rows", total=len(X))
        return fitted, denoise(fitted.solver(), X, lambda rows: bar.advance(denoising, rows))


def _read_training(fit_to, array, mask, data):
    """Training data; scans with the very voxels of the data, also where the mask of these was found."""
    of_scans = data.scans is not None and format_of(fit_to) == ".nii"
    return read(fit_to, array, mask=data.scans.mask_image if of_scans else mask)


def _is_for_chunks(landmarks, input, fit_to):
    if landmarks is None:
        return is_large(input) or (fit_to is not None and is_large(fit_to))
    return landmarks != "none"


def _run_in_chunks(input, fit_to, output, kind, request, landmarks, chunk_rows, resume, quiet):
    """Denoise a file, and return what there is to tell, and some rows before and after."""
    if kind not in (".csv", ".npy", ".parquet"):
        raise FileError(f"{output}: large files are written as .csv, .npy or .parquet.")
    source = open_source(input)
    train = source if fit_to is None else open_source(fit_to)
    rows, points = chunk_rows or min(CHUNK_ROWS, source.chunk_rows), AUTO if landmarks is None else landmarks
    tell = lambda text: None if quiet else console.print(text, markup=False)
    with row_bars(console, quiet) as bars:
        return denoise_file(source, train, output, kind, request, points, rows, resume, bars, tell)


def _remains(output):
    return "run the same command to continue." if is_resumable(output) else "nothing was written."


def _check_outputs(outputs, kind, force):
    if len({path.absolute() for path in outputs}) < len(outputs):
        raise FileError("Output, figure and summary need different names.")
    for path in outputs:
        check_writable(path, force, folder=kind == "folder" and path is outputs[0])


def _check_fit(data, train, input, fit_to, kind):
    if train.values.shape[1] != data.values.shape[1]:
        raise DataError(
            f"{fit_to} has {train.values.shape[1]} columns and {input} has {data.values.shape[1]}; they must agree."
        )
    if (kind == ".nii") != (data.scans is not None):
        raise FileError(f"{input} and OUTPUT must both be NIfTI scans (.nii, .nii.gz), or neither.")
    if kind == "folder" and data.image_shape is None:
        raise FileError(f"{input} is a table, and OUTPUT has no suffix: that is a folder of pictures. Add .csv, say.")


def _drawable(data, before):
    """Scans as pictures of one slice without the mean over time, which would hide changes; other data as they are."""
    if data.scans is None:
        return data
    values, shape = slice_pictures(data.scans, data.values - before.values.mean(axis=0))
    return Dataset(values, image_shape=shape)


def _figure_path(figure, output):
    """The path asked for, or one beside the output; None without matplotlib, unless it was asked for."""
    if importlib.util.find_spec("matplotlib") is not None:
        figure = figure or _beside(output, ".png")
        if figure.suffix.lower() not in {".png", ".pdf", ".svg"}:
            raise FileError(f"{figure} is not a figure file. Use .png, .pdf or .svg.")
        return figure
    if figure is not None:
        raise FileError('--figure needs matplotlib, which is not installed. Type: pip install "preimage[plot]"')
    console.print('No figure: matplotlib is not installed (pip install "preimage[plot]").', markup=False)
    return None


def _beside(output, suffix):
    return output.with_name(stem_of(output) + suffix)


def _warn_of_lost_voxels(scans, output):
    """Without a mask voxels are left out by a rule of thumb; nobody should find that out later."""
    taken, all_of_them = int(scans.mask.sum()), scans.mask.size
    console.print(
        f"Warning: no --mask was given. {taken} of {all_of_them} voxels look like a brain and were denoised; all "
        f"others are 0 in {output}.",
        style="yellow",
        markup=False,
    )


def _print_report(report, outputs, quiet=False):
    described = lambda chosen: (
        f"{chosen['components']} components, width {chosen['width']:.4g}, penalty {chosen['penalty']:.3g}"
    )
    chosen, say = report["parameters"], (lambda *_, **__: None) if quiet else console.print
    own = report.get("training_row_parameters")
    used = chosen if own is None else own
    say(
        f"Denoised {report['rows']} rows of {report['columns']} columns in {report['seconds']:.1f} s: "
        f"{described(used)}."
    )
    if own is not None:
        say(f"These suit rows that the model was fitted to, with their noise; rows new to it: {described(chosen)}.")
    if report["cross_fit"] is not None:
        say(f"Training rows were denoised by models fitted without them, in {report['cross_fit']} folds.")
    if report["converged"] < report["rows"]:
        left = report["rows"] - report["converged"]
        console.print(f"Warning: {left} rows did not converge ({', '.join(report['not_converged'])}).", style="yellow")
    say("Wrote " + ", ".join(str(path) for path in outputs) + ".", markup=False)
