"""The command ``preimage denoise``."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import preimage
from preimage._engine.output_files import replacing
from preimage.cli import _options
from preimage.cli._console import console, plain_errors, speaker
from preimage.cli._errors import DataError, FileError, UsageError
from preimage.cli._figure import draw
from preimage.cli._options import AUTO
from preimage.cli._outputs import can_draw, check_figure, check_outputs, chosen_format, figure_errors
from preimage.cli._table_options import takes_tables
from preimage.cli.runs._claim import claimed
from preimage.cli.runs._denoise import (
    Request,
    check_rows,
    denoise_file,
    denoise_rows,
    why_not_to_standardize,
)
from preimage.cli.runs._partial import Making, remains
from preimage.cli.runs._preparation import prepared_for
from preimage.cli.runs._sizes import has_many_rows, is_large
from preimage.cli.tables._files import Dataset, read, write
from preimage.cli.tables._formats import FORMATS, format_of, stem_of
from preimage.cli.tables._frames import FRAMES
from preimage.cli.tables._identity import unchanged
from preimage.cli.tables._layout import listed
from preimage.cli.tables._nifti import slice_pictures
from preimage.cli.tables._pictures import check_one_file, numbered_pictures
from preimage.cli.tables._sources import Source, open_source, options_like
from preimage.cli.tables._table_options import DEFAULTS, TableOptions

# Formats that --output-format can ask for; a scan can only be written to a file whose suffix says so.
CHOICES = (".csv", ".npy", ".npz", ".parquet", ".xlsx", "folder")
# Formats of outputs that are made in chunks.
CHUNKED = (".npy", *FRAMES)

EXAMPLES = (
    "preimage denoise noisy.csv clean.csv",
    "preimage denoise noisy.npy clean.npy --components 20 --gamma median --penalty 0 --no-plot",
    "preimage denoise new.npy clean.npy --fit clean_examples.npy --noise 0.25",
    "preimage denoise noisy_pictures clean_pictures",
    "preimage denoise new.npy clean.npy --fit clean_examples.npy --loss cauchy --components 20 --gamma p5 --penalty 0",
)


@takes_tables()
def denoise_command(
    input: Annotated[Path, typer.Argument(metavar="INPUT", help=f"Noisy data: {FORMATS}; one sample per row.")],
    output: Annotated[
        Path, typer.Argument(metavar="OUTPUT", help="Where the denoised data go; the suffix says the format.")
    ],
    components: _options.ComponentsOrAuto = AUTO,
    gamma: _options.Gamma = AUTO,
    width: _options.Width = None,
    penalty: Annotated[
        Any,
        typer.Option(
            parser=_options.penalty, metavar="auto|NUMBER", help="Penalty of the distance to the noisy input."
        ),
    ] = AUTO,
    fit_to: Annotated[Path | None, typer.Option("--fit", metavar="FILE", help="Training data, if not INPUT.")] = None,
    noise: Annotated[
        Any,
        typer.Option(
            parser=_options.positive,
            metavar="NUMBER",
            help="Expect Gaussian noise of this deviation; training data are clean.",
        ),
    ] = None,
    criterion: Annotated[
        Literal["auto", "sure", "masked"],
        typer.Option(
            help="How to judge candidates without clean data: Stein's estimate, or guesses of hidden columns."
        ),
    ] = "auto",
    cross_fit: Annotated[
        Any,
        typer.Option(
            parser=_options.cross_fit,
            metavar="auto|N|none",
            help="Denoise training rows by models fitted without them, in N folds; auto: in 5 where that is better "
            "beyond doubt.",
        ),
    ] = AUTO,
    loss: Annotated[
        str,
        typer.Option(
            parser=_options.loss,
            metavar="|".join(_options.LOSS_NAMES),
            help="Expect entries that are plainly wrong (spikes, occlusions, failed sensors): replace them before "
            "denoising. tukey ignores them entirely, cauchy nearly.",
        ),
    ] = "none",
    landmarks: Annotated[
        Any,
        typer.Option(
            parser=_options.landmarks,
            metavar="N|auto|none",
            help="Work in chunks of rows, with a model on this number of points. (Default: auto for more than 20,000 "
            "rows or a quarter of the free memory, else none.)",
        ),
    ] = None,
    chunk_rows: _options.ChunkRows = None,
    resume: _options.Resume = True,
    array: _options.ArrayName = None,
    mask: _options.Mask = None,
    outside: Annotated[
        Literal["keep", "zero"],
        typer.Option(help="Voxels of a NIfTI scan outside the mask: left as they were, or set to zero."),
    ] = "keep",
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FIG", help="Before/after figure. (Default: OUTPUT with .png.)")
    ] = None,
    no_plot: Annotated[bool, typer.Option("--no-plot", help="Draw no figure.")] = False,
    summary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Summary in JSON. (Default: OUTPUT with .json.)")
    ] = None,
    seed: _options.Seed = 0,
    output_format: _options.OutputFormat = None,
    quiet: _options.Quiet = False,
    force: _options.Force = False,
    table: TableOptions = DEFAULTS,
) -> None:
    """Denoise a table, a folder of pictures or a brain scan (NIfTI) by kernel PCA.

    What is left at "auto" is chosen on the training data, without clean data: see DenoisingSearch.
    """
    with plain_errors(lambda: remains(output), quiet):
        started = time.perf_counter()
        gamma = _options.one_gamma(gamma, width)
        if noise is not None and table.standardize:
            raise UsageError("--noise is a deviation in the units of the data, which --standardize changes.")
        kind = chosen_format(output_format, CHOICES, lambda: format_of(output))
        figure = None if no_plot else _figure_path(plot, output)
        outputs = Outputs(output, kind, figure, summary or _beside(output, ".json"))
        outputs.check((input, fit_to, mask), force)
        request = Request(
            components, gamma, penalty, noise, criterion, seed, cross_fit, None if loss == "none" else loss
        )
        inputs = Inputs(input, fit_to, array, mask, table, outside)

        def conclude(outcome: Outcome, making: Making = replacing) -> None:
            """Write what is not written yet, and say what was done."""
            report = {
                "input": str(input),
                "output": str(output),
                "rows": outcome.report["rows"],
                "columns": outcome.before.values.shape[1],
                **outcome.report,
                "seed": seed,
                "seconds": round(time.perf_counter() - started, 3),
                "version": preimage.__version__,
            }
            outputs.write(outcome, report, making)
            _print_report(report, outputs, quiet)

        if _is_for_chunks(landmarks, inputs, kind):
            _in_chunks(inputs, outputs, request, landmarks, chunk_rows, resume, conclude, quiet)
        else:
            with claimed(output):
                conclude(_in_memory(inputs, outputs, request, quiet))


@dataclass(frozen=True)
class Inputs:
    """The files of a run, and how to read them."""

    data: Path
    training_data: Path | None
    array: str | None
    mask: Path | None
    table: TableOptions
    outside: str = "keep"


@dataclass(frozen=True)
class Outcome:
    """What a run tells about itself, and data before and after: all rows, or some where these are in the file."""

    report: dict[str, Any]
    before: Dataset
    after: Dataset
    is_written: bool = False


@dataclass(frozen=True)
class Outputs:
    """The files that a run makes; `figure` is None where none is drawn."""

    data: Path
    kind: str
    figure: Path | None
    summary: Path

    @property
    def paths(self) -> list[Path]:
        return [path for path in (self.data, self.figure, self.summary) if path is not None]

    def check(self, inputs: tuple[Path | None, ...], force: bool) -> None:
        """Refuse, before any work is done, what could not or should not be written."""
        check_figure(self.figure)
        named = {"OUTPUT": self.data, "--plot": self.figure, "--summary": self.summary}
        check_outputs(named, inputs, force, is_folder=self.kind == "folder")

    def write(self, outcome: Outcome, report: dict[str, Any], making: Making) -> None:
        """Write all files, the data first: nothing that happens to the others may cost them."""
        if not outcome.is_written:
            with replacing(self.data, folder=self.kind == "folder") as aside:
                write(aside, outcome.after, self.kind, self.data)
        with making(self.summary) as aside:
            aside.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        if self.figure is not None:
            what = f"All denoised rows are in {self.data}; --no-plot draws no figure."
            with making(self.figure) as aside, figure_errors(self.figure, what):
                before, after = (_drawable(data, outcome.before) for data in (outcome.before, outcome.after))
                draw(before, after).savefig(aside, dpi=150, bbox_inches="tight")


def _is_for_chunks(landmarks: Any, inputs: Inputs, kind: str) -> bool:
    """Whether to work in chunks: as the user says or, without a word, where rows are many or take much memory."""
    if landmarks is not None:
        return landmarks != "none"
    files = [path for path in (inputs.data, inputs.training_data) if path is not None]
    # Where chunks cannot be written, hours are better than an error.
    return any(map(is_large, files)) or (kind in CHUNKED and any(has_many_rows(path, inputs.table) for path in files))


def _in_memory(inputs: Inputs, outputs: Outputs, request: Request, quiet: bool) -> Outcome:
    with unchanged([path for path in (inputs.data, inputs.training_data, inputs.mask) if path is not None]):
        data = read(inputs.data, inputs.array, mask=inputs.mask, options=inputs.table)
        data = replace(data, outside=inputs.outside)
        train = data if inputs.training_data is None else _read_training(inputs, data)
    data = _writable(data, train, inputs, outputs)
    check_rows(train.values, request, inputs.training_data or inputs.data)
    for note in data.pictures.notes if data.pictures is not None else []:
        speaker(quiet)(note)
    if data.scans is not None and inputs.mask is None:
        _warn_of_voxels(data.scans, inputs.outside)
    _tell_about(data.source, outputs, speaker(quiet))
    preparation = prepared_for(train, inputs.table, speaker(quiet), why_not_to_standardize(request))
    report, points = denoise_rows(train.values, data.values, request, preparation)
    before = preparation.undone(preparation(data.values))  # with missing values filled in
    return Outcome(report, data.with_values(before), data.with_values(points))


def _tell_about(source: Source | None, outputs: Outputs, tell: Any) -> None:
    """What was understood of a table, and what becomes of its other columns."""
    if source is None:
        return
    tell(source.described())
    others = [source.layout.labels[place] for place in source.layout.untouched]
    if others:
        become = "written back unchanged" if outputs.kind in FRAMES else f"left out of {outputs.data.name}"
        tell(f"{len(others)} other column{'s' if len(others) > 1 else ''} {become}: {listed(others)}.")


def _in_chunks(
    inputs: Inputs,
    outputs: Outputs,
    request: Request,
    landmarks: Any,
    chunk_rows: int | None,
    resume: bool,
    conclude: Callable[[Outcome, Making], None],
    quiet: bool,
) -> None:
    if inputs.mask is not None:
        raise FileError("--mask is for NIfTI scans, which are not worked on in chunks.")
    if outputs.kind not in CHUNKED:
        raise FileError(f"{outputs.data}: large files are written as .csv, .npy or .parquet.")
    source = open_source(inputs.data, inputs.table)
    train = source if inputs.training_data is None else _open_training(inputs.training_data, source, inputs.table)
    _tell_about(source, outputs, speaker(quiet))
    denoise_file(
        source,
        train,
        outputs.data,
        outputs.kind,
        request,
        AUTO if landmarks is None else landmarks,
        chunk_rows,
        resume,
        lambda report, before, after, making: conclude(Outcome(report, before, after, is_written=True), making),
        speaker(quiet),
    )


def _open_training(path: Path, source: Source, table: TableOptions) -> Source:
    return open_source(path, options_like(source, path, table))


def _read_training(inputs: Inputs, data: Dataset) -> Dataset:
    """Training data; scans with the voxels of the data, also where their mask was found by intensities."""
    assert inputs.training_data is not None
    of_scans = data.scans is not None and format_of(inputs.training_data) == ".nii"
    mask = data.scans.mask_image if data.scans is not None and of_scans else inputs.mask
    options = options_like(data.source, inputs.training_data, inputs.table)
    return read(inputs.training_data, inputs.array, mask=mask, options=options)


def _writable(data: Dataset, train: Dataset, inputs: Inputs, outputs: Outputs) -> Dataset:
    """The data with all that it takes to write them; or a refusal where they do not go with each other."""
    columns, training_columns, kind = data.values.shape[1], train.values.shape[1], outputs.kind
    if training_columns != columns:
        raise DataError(
            f"{inputs.training_data} has {training_columns} columns and {inputs.data} has {columns}; they must agree."
        )
    if train.pictures is not None and data.image_shape is not None and train.image_shape != data.image_shape:
        raise DataError(
            f"{inputs.training_data} has pictures of the shape {train.image_shape} and {inputs.data} of "
            f"{data.image_shape}, with the same number of values; they must agree."
        )
    if (kind == ".nii") != (data.scans is not None):
        raise FileError(f"{inputs.data} and OUTPUT must both be NIfTI scans (.nii, .nii.gz), or neither.")
    if kind == "folder" and data.image_shape is None:
        raise FileError(
            f"{inputs.data} is a table, and OUTPUT has no suffix: that is a folder of pictures. Add .csv, say."
        )
    if kind == "picture":
        check_one_file(data.pictures, inputs.data, outputs.data)
    if kind == "folder" and data.pictures is None and data.image_shape is not None:
        return replace(data, pictures=numbered_pictures(data.values, data.image_shape, inputs.data))
    return data


def _drawable(data: Dataset, before: Dataset) -> Dataset:
    """Scans as pictures of one slice without the mean over time, which would hide changes; other data as they are."""
    if data.scans is None:
        return data
    values, shape = slice_pictures(data.scans, data.values - before.values.mean(axis=0))
    return Dataset(values, image_shape=shape)


def _figure_path(figure: Path | None, output: Path) -> Path | None:
    """The path given, or one next to the output; None without matplotlib, unless a path was given."""
    if figure is not None or can_draw():
        return figure or _beside(output, "_figure.png" if output.suffix.lower() == ".png" else ".png")
    console.print('No figure: matplotlib is not installed (pip install "preimage[plot]").', markup=False)
    return None


def _beside(output: Path, suffix: str) -> Path:
    return output.with_name(stem_of(output) + suffix)


def _warn_of_voxels(scans: Any, outside: str) -> None:
    """Without a mask voxels are left out by a rule of thumb; users should know at once."""
    console.print(f"Warning: no --mask was given. {scans.said(outside)}", style="yellow", markup=False)


def _print_report(report: dict[str, Any], outputs: Outputs, quiet: bool) -> None:
    say, chosen, own = speaker(quiet), report["parameters"], report.get("training_row_parameters")
    say(
        f"Denoised {report['rows']} rows of {report['columns']} columns in {report['seconds']:.1f} s: "
        f"{_described(chosen if own is None else own)}."
    )
    if own is not None:
        say(f"These are for rows that the model has learned from; for new rows: {_described(chosen)}.")
    if report["cross_fit"] is not None:
        say(f"Training rows were denoised by models fitted without them, in {report['cross_fit']} folds.")
    if report.get("clipped"):
        say(
            f"{report['clipped']:.0%} of the values lie at the ends of their range, as clipping leaves them. The noise "
            "that it removed had a mean that is lost: dark and bright parts stay less dark and bright than they were."
        )
    if report["converged"] < report["rows"]:
        left = report["rows"] - report["converged"]
        console.print(f"Warning: {left} rows did not converge ({', '.join(report['not_converged'])}).", style="yellow")
    say("Wrote " + ", ".join(str(path) for path in outputs.paths) + ".")


def _described(chosen: dict[str, float]) -> str:
    return f"{chosen['components']} components, gamma {chosen['gamma']:.4g}, penalty {chosen['penalty']:.3g}"
