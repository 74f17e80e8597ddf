"""The commands together."""

from typing import Annotated

import typer

import preimage
from preimage.cli.commands._compress import compress_command
from preimage.cli.commands._denoise import denoise_command
from preimage.cli.commands._embed import embed_command

app = typer.Typer(
    help="Kernel methods that go into feature space and back.", no_args_is_help=True, add_completion=False
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
) -> None:
    """Kernel methods that go into feature space and back."""
