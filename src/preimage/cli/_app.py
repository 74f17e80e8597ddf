"""The commands together."""

from typing import Annotated

import typer

import preimage
from preimage.cli._console import debugging
from preimage.cli._errors import ExitCode
from preimage.cli._group import Commands
from preimage.cli.commands._compress import compress_command
from preimage.cli.commands._denoise import denoise_command
from preimage.cli.commands._embed import embed_command

EXIT_CODES = "Exit codes: " + "; ".join(f"{code.value} {code.meaning}" for code in ExitCode) + "."

app = typer.Typer(
    cls=Commands,
    help="Kernel methods that go into feature space and back.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command(name="denoise")(denoise_command)
app.command(name="embed")(embed_command)
app.command(name="compress")(compress_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(preimage.__version__)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="PREIMAGE_DEBUG", help="Show where an error comes from.")
    ] = False,
) -> None:
    """Kernel methods that go into feature space and back."""
    debugging.set(debug)
