"""The command ``preimage explore``."""

import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from preimage.cli import _options
from preimage.cli._console import plain_errors, speaker
from preimage.cli._errors import FileError
from preimage.cli._options import AUTO
from preimage.cli._outputs import check_outputs
from preimage.cli._table_options import takes_tables
from preimage.cli.runs._claim import claimed
from preimage.cli.runs._embed import Embedding
from preimage.cli.runs._explore import Files, Page, explorer_of, rows_and_model, with_options
from preimage.cli.tables._formats import FORMATS
from preimage.cli.tables._table_options import DEFAULTS, TableOptions

SUFFIXES = (".html", ".htm")
# Options that say how a model is fitted: with --model they have nothing to say.
OF_THE_FIT = ("components", "kernel", "gamma", "degree", "coef0", "landmarks")

EXAMPLES = (
    "preimage explore measurements.csv page.html --label species --components 8",
    "preimage explore digits.npz page.html --array X --label y --image-shape 8x8 --components 40",
    "preimage explore measurements.csv page.html --label species --keep site --widths p5,median,p95",
    "preimage explore new.npy page.html --model model.safetensors",
)


@takes_tables()
def explore_command(
    context: typer.Context,
    input: Annotated[Path, typer.Argument(metavar="INPUT", help=f"One sample per row: {FORMATS}.")],
    output: Annotated[Path, typer.Argument(metavar="PAGE", help="The page: .html; any browser opens it.")],
    label: Annotated[
        str | None,
        typer.Option("--label", "--labels", metavar="COLUMN", help="Column, or array of an archive, with classes."),
    ] = None,
    components: _options.Components = "20",
    kernel: _options.Kernel = "rbf",
    gamma: _options.Gamma = AUTO,
    widths: Annotated[
        Any,
        typer.Option(
            parser=_options.gammas, metavar="A,B,...", help="More models, of these γ or rules, and a slider for them."
        ),
    ] = None,
    degree: _options.Degree = 3,
    coef0: _options.Coef0 = 1.0,
    landmarks: _options.Landmarks = AUTO,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Fit nothing: show a model of --save-model or of its save(FILE)."),
    ] = None,
    kind: Annotated[
        Literal["auto", "image", "curve", "table", "volume"],
        typer.Option(metavar="NAME", help="How rows are drawn: auto, image, curve, table or volume."),
    ] = "auto",
    image_shape: Annotated[
        Any,
        typer.Option(
            parser=_options.image_shape, metavar="HxW", help="Rows of a table are pictures of this height and width."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Above the page. (Default: the input.)")] = None,
    points: Annotated[
        int, typer.Option(min=1, metavar="N", help="Points that carry the model in the page; more are compressed.")
    ] = 300,
    samples: Annotated[int, typer.Option(min=1, metavar="N", help="Rows that the page draws at most.")] = 5000,
    about: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="For pictures, scans and arrays: a table with --label and --keep."),
    ] = None,
    array: _options.ArrayName = None,
    mask: _options.Mask = None,
    seed: _options.Seed = 0,
    quiet: _options.Quiet = False,
    force: _options.Force = False,
    table: TableOptions = DEFAULTS,
) -> None:
    """Make one web page of a table, pictures or a brain scan, to explore kernel PCA of them: no server, no network.

    --keep names more columns to colour by; other columns stay out of the page. --gamma auto is the median rule.
    """
    say = speaker(quiet)
    with plain_errors(quiet=quiet):
        if output.suffix.lower() not in SUFFIXES:
            raise FileError(f"{output} is not the name of a page; it ends in .html.")
        files = Files(input, about, label, array, mask, model, table)
        check_outputs({"PAGE": output}, files.paths, force)
        if model is not None:
            _options.warn_of_unused(context, OF_THE_FIT)
        started = time.perf_counter()
        exact, gamma = landmarks == "none", "median" if gamma == AUTO else gamma
        wish = Embedding(components, kernel, gamma, degree, coef0, None if exact else landmarks, seed=seed)
        page = Page(title or input.name, kind, image_shape, widths, points, samples, seed)
        with claimed(output):
            rows = rows_and_model(files, wish, say)
            explorer = explorer_of(rows, page)
            explorer.save(output)
        for sentence in explorer.messages:
            say(with_options(sentence))
        size, seconds = output.stat().st_size / 1e6, time.perf_counter() - started
        say(f"Wrote {output} ({size:.1f} MB) in {seconds:.1f} s. Open it in a browser.")
