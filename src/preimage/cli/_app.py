"""The commands together."""

from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import preimage
from preimage._engine.removed import sentence
from preimage.cli._console import debugging, plain_errors
from preimage.cli._errors import ExitCode
from preimage.cli._options import OLD_SPELLINGS
from preimage.cli.commands import _compress, _denoise, _embed, _explore, _impute, _inflation, _outliers
from preimage.cli.commands._compress import compress_command
from preimage.cli.commands._denoise import denoise_command
from preimage.cli.commands._embed import embed_command
from preimage.cli.commands._explore import explore_command
from preimage.cli.commands._impute import impute_command
from preimage.cli.commands._inflation import inflation_command
from preimage.cli.commands._outliers import outliers_command


class Commands(TyperGroup):
    """Commands that understand --debug at any place and older spellings, and never show a traceback by themselves."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        with plain_errors():
            return super().make_context(info_name, arranged(args), parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        with plain_errors():
            return super().invoke(ctx)


def arranged(arguments: list[str]) -> list[str]:
    """Arguments with --debug in front of the command, where typer expects it, and options by their present names."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options, rest = arguments[:end], arguments[end:]
    front = ["--debug"] if "--debug" in options else []
    return [*front, *(_renamed(word) for word in options if word != "--debug"), *rest]


def _renamed(word: str) -> str:
    name, equals, value = word.partition("=")
    return OLD_SPELLINGS.get(name, name) + equals + value


EXIT_CODES = "Exit codes: " + "; ".join(f"{code.value} {code.meaning}" for code in ExitCode) + "."

# Name of a command: its function and examples for its help.
COMMANDS: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    "denoise": (denoise_command, _denoise.EXAMPLES),
    "impute": (impute_command, _impute.EXAMPLES),
    "embed": (embed_command, _embed.EXAMPLES),
    "outliers": (outliers_command, _outliers.EXAMPLES),
    "explore": (explore_command, _explore.EXAMPLES),
    "compress": (compress_command, _compress.EXAMPLES),
    "inflation": (inflation_command, _inflation.EXAMPLES),
}

app = typer.Typer(
    cls=Commands,
    help="Kernel methods that go into feature space and back.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for _name, (_function, _examples) in COMMANDS.items():
    # A blank line keeps each example on lines of its own.
    app.command(name=_name, epilog="\n\n".join(["Examples:", *_examples]))(_function)


@app.command(name="doctor", hidden=True)
def _doctor() -> None:
    """As preimage.show_versions()."""
    typer.echo(f"Warning: {sentence('cli.doctor')}", err=True)
    preimage.show_versions()


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
