"""Commands, their options, and what they print."""

import importlib.util
import json
import time
import warnings
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import preimage
from preimage.cli._denoise import AUTO, DataError, Request, check_rows, denoise, fit, summarize
from preimage.cli._figure import draw
from preimage.cli._files import FORMATS, FileError, check_writable, format_of, read, replacing, write

app = typer.Typer(
    help="Kernel methods that go into feature space and back.", no_args_is_help=True, add_completion=False
)
console = Console(stderr=True, soft_wrap=True, highlight=False)


def _components(text):
    if text == AUTO:
        return AUTO
    number = _number(text, "auto, a number of components, or a share of the variance such as 0.95")
    if 0 < number < 1:
        return number
    if number >= 1 and number == int(number):
        return int(number)
    raise typer.BadParameter(f"{text!r} is neither a count of components nor a share between 0 and 1.")


def _width(text):
    if text in (AUTO, "median") or (text[:1] == "p" and text[1:].isdigit() and int(text[1:]) <= 100):
        return text
    return _positive(text, "auto, median, a percentile such as p5, or a number")


def _penalty(text):
    if text == AUTO:
        return AUTO
    number = _number(text, "auto or a number")
    if not 0 <= number < float("inf"):
        raise typer.BadParameter(f"{text!r} is negative.")
    return number


def _positive(text, expected="a number"):
    number = _number(text, expected)
    if not 0 < number < float("inf"):
        raise typer.BadParameter(f"{text!r} is not positive.")
    return number


def _number(text, expected):
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not {expected}.") from None


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
        object, typer.Option(parser=_components, metavar="auto|N|SHARE", help="Components, or share of the variance.")
    ] = AUTO,
    width: Annotated[
        object,
        typer.Option(parser=_width, metavar="auto|median|pN|C", help="c in exp(-|x-y|²/c); pN: percentile of |x-y|²."),
    ] = AUTO,
    penalty: Annotated[
        object, typer.Option(parser=_penalty, metavar="auto|NUMBER", help="Pull towards the noisy input.")
    ] = AUTO,
    fit_to: Annotated[Path | None, typer.Option("--fit", metavar="FILE", help="Training data, if not INPUT.")] = None,
    noise: Annotated[
        object,
        typer.Option(
            parser=_positive, metavar="NUMBER", help="Expect Gaussian noise like this; training data are clean."
        ),
    ] = None,
    criterion: Annotated[
        Literal["auto", "sure", "masked"],
        typer.Option(
            help="How to judge candidates without clean data: Stein's estimate, or guesses of hidden columns."
        ),
    ] = "auto",
    array: Annotated[str | None, typer.Option(help="Name of the array in an NPZ archive.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Before/after figure. (Default: OUTPUT with .png.)")] = None,
    no_figure: Annotated[bool, typer.Option("--no-figure", help="Draw no figure.")] = False,
    summary: Annotated[Path | None, typer.Option(help="Summary in JSON. (Default: OUTPUT with .json.)")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the choice of parameters.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
):
    """Denoise a table or a folder of pictures by kernel PCA.

    What is left at "auto" is chosen on the training data, without clean data: see DenoisingSearch.
    """
    with _plain_errors():
        kind = format_of(output)
        figure = None if no_figure else _figure_path(figure, output)
        summary = summary or _beside(output, ".json")
        outputs = [path for path in (output, figure, summary) if path is not None]
        _check_outputs(outputs, kind, force)
        started = time.perf_counter()
        data = read(input, array)
        train = data if fit_to is None else read(fit_to, array)
        _check_fit(data, train, input, fit_to, kind)
        request = Request(components, width, penalty, noise, criterion, seed)
        check_rows(train.values, request, fit_to or input)
        model, result = _run(train.values, data.values, request)
        cleaned = data.with_values(result.points)
        report = {
            "input": str(input),
            "output": str(output),
            "rows": len(data.values),
            "columns": data.values.shape[1],
            "training_rows": len(train.values),
            **summarize(model, result),
            "seed": seed,
            "seconds": round(time.perf_counter() - started, 3),
            "version": preimage.__version__,
        }
        with ExitStack() as stack:  # all files take their names together, after all are written
            temporary = {path: stack.enter_context(replacing(path)) for path in outputs}
            write(temporary[output], cleaned, kind)
            temporary[summary].write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
            if figure is not None:
                draw(data, cleaned).savefig(temporary[figure], dpi=150, bbox_inches="tight")
    _print_report(report, outputs)


def _run(X_train, X, request):
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        choosing = bar.add_task("Choosing the model", total=len(request.widths(X_train)))
        model = fit(X_train, request, lambda: bar.advance(choosing))
        denoising = bar.add_task("Denoising rows", total=len(X))
        return model, denoise(model, X, lambda rows: bar.advance(denoising, rows))


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
    if kind == "folder" and data.image_shape is None:
        raise FileError(f"{input} is a table, and OUTPUT has no suffix: that is a folder of pictures. Add .csv, say.")


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
    return output.with_name(output.stem + suffix)


@contextmanager
def _plain_errors():
    """Errors about files and data as one line, warnings as lines of their own, no traceback."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            yield
        except (FileError, DataError, OSError) as error:
            console.print(f"Error: {error}", style="red", markup=False)
            raise typer.Exit(1) from error
        except KeyboardInterrupt:
            console.print("Interrupted; nothing was written.", style="red")
            raise typer.Exit(130) from None
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            console.print(f"Warning: {warning.message}", style="yellow", markup=False)


def _print_report(report, outputs):
    chosen = report["parameters"]
    console.print(
        f"Denoised {report['rows']} rows of {report['columns']} columns in {report['seconds']:.1f} s: "
        f"{chosen['components']} components, width {chosen['width']:.4g}, penalty {chosen['penalty']:.3g}."
    )
    if report["converged"] < report["rows"]:
        left = report["rows"] - report["converged"]
        console.print(f"Warning: {left} rows did not converge ({', '.join(report['not_converged'])}).", style="yellow")
    console.print("Wrote " + ", ".join(str(path) for path in outputs) + ".", markup=False)
