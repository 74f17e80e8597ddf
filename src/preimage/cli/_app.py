"""The commands together."""

import inspect
import json
import time
from collections.abc import Callable
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

import preimage
from preimage._engine.removed import sentence
from preimage.cli._console import debugging, plain_errors
from preimage.cli._errors import ExitCode, UsageError
from preimage.cli._options import NONE, OLD_SPELLINGS, Options, TableOptions
from preimage.cli.commands._compress import Compress
from preimage.cli.commands._denoise import Denoise
from preimage.cli.commands._embed import Embed
from preimage.cli.commands._explore import Explore
from preimage.cli.commands._impute import Impute
from preimage.cli.commands._inflation import Inflation
from preimage.cli.commands._outliers import Outliers
from preimage.cli.runs._partial import remains
from preimage.cli.tables._paths import STANDARD_INPUT, with_end
from preimage.cli.tables._sources import open_source

# Arguments of commands that are read as tables, pictures or scans; pipes among them are read once.
INPUTS = ("input", "fit_to", "data", "about", "mask")
# Options and arguments that name files to write.
OUTPUTS = ("output", "plot", "save_model", "summary")


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


class TableCommand(TyperCommand):
    """A command on a table, which needs no output to say what its columns are."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        for each in self.params:
            if each.name in ("output", "model") and isinstance(each, TyperArgument):
                each.required = not {"--columns-only", "--json"} & set(args)
        return super().make_context(info_name, args, parent, **extra)


def _renamed(word: str) -> str:
    name, equals, value = word.partition("=")
    return OLD_SPELLINGS.get(name, name) + equals + value


def as_command(options: type[Options]) -> Callable[..., None]:
    """A function with one parameter for each option, for typer: it makes a value of them and runs it."""
    shared = [each.name for each in fields(Options)]
    own = sorted(fields(options), key=lambda each: (each.default is not MISSING, each.name in shared))
    of_tables = [each for each in fields(TableOptions) if each.name not in options.WITHOUT]
    asked = [each for each in (*own, *of_tables) if each.name not in ("table", "given", "started")]
    keyword, empty = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
    parameters = [
        inspect.Parameter(
            each.name, keyword, default=empty if each.default is MISSING else each.default, annotation=each.type
        )
        for each in asked
    ]

    def command(context: typer.Context, **given: Any) -> None:
        started, output = time.perf_counter(), given.get("output")
        left = {} if output is None else {"after_interrupt": lambda: remains(output)}
        with plain_errors(quiet=given["quiet"], **left):
            paths = {name: path for name, path in given.items() if isinstance(path, Path)}
            _check_are_files([path for name, path in paths.items() if name in OUTPUTS])
            read = {path: with_end(path) for path in {paths[name] for name in INPUTS if name in paths}}
            given |= {name: read[paths[name]] for name in INPUTS if name in paths}
            table = TableOptions(**{each.name: given.pop(each.name) for each in of_tables})
            if table.columns_only or table.json:
                show_columns(given.get("input") or given.get("data"), table, given.get("label"))
                return
            sources = ((name, context.get_parameter_source(name)) for name in given)
            typed = frozenset(name for name, source in sources if source is not None and source.name == "COMMANDLINE")
            options(**given, table=table, given=typed, started=started).run()

    parameters.insert(0, inspect.Parameter("context", keyword, annotation=typer.Context))
    # typer reads both.
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = options.__doc__
    return command


def show_columns(path: Path | None, table: TableOptions, label: str | None) -> None:
    """Print what every column of a table was understood as."""
    if path is None:
        raise UsageError("--columns-only needs a table.")
    plain = replace(table, columns_only=True, json=False)
    source = open_source(path, plain, None if label == NONE else label, needs_numbers=False)
    typer.echo(json.dumps(source.about(), indent=2) if table.json else source.described(len(source.layout.labels)))


def _check_are_files(paths: list[Path]) -> None:
    """Refuse "-" and devices as outputs: files are made aside, and take their names when they are complete."""
    for path in paths:
        if str(path) == STANDARD_INPUT or path.parts[:2] == ("/", "dev"):
            raise UsageError(f"Outputs are files, and {path} is none. Give a name such as result.csv.")


EXIT_CODES = "Exit codes: " + "; ".join(f"{code.value} {code.meaning}" for code in ExitCode) + "."

# Name of a command: its function and examples for its help.
COMMANDS: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    options.__name__.lower(): (as_command(options), options.EXAMPLES)
    for options in (Denoise, Impute, Embed, Outliers, Explore, Compress, Inflation)
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
    app.command(name=_name, cls=TableCommand, epilog="\n\n".join(["Examples:", *_examples]))(_function)


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
