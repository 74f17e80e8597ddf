"""The options of all commands that read tables, together as one value."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Literal

import typer

from preimage.cli import _options
from preimage.cli._console import plain_errors
from preimage.cli.tables._streams import with_end
from preimage.cli.tables._table_options import NO_COMMENT, NO_INDEX, TableOptions

PANEL = "Tables (guessed from the file where not given)"


def _option(*names: str, **about: Any) -> Any:
    return typer.Option(*names, rich_help_panel=PANEL, **about)


def _names(text: str) -> tuple[str, ...]:
    return tuple(_options.names(text))


# In the order of the help page.
OPTIONS: dict[str, tuple[Any, Any]] = {
    "columns": (
        Annotated[Any, _option(parser=_names, metavar="A,B,...", help="Columns to take; numbers without header.")],
        None,
    ),
    "exclude": (Annotated[Any, _option(parser=_names, metavar="A,B,...", help="Columns to leave out.")], None),
    "keep": (
        Annotated[Any, _option(parser=_names, metavar="A,B,...", help="Columns to write next to the result.")],
        None,
    ),
    "index": (
        Annotated[
            str | None,
            _option(
                metavar=f"COLUMN|{NO_INDEX}",
                help="The column that names rows: never a value, and kept in outputs.",
            ),
        ],
        None,
    ),
    "standardize": (
        Annotated[
            bool | None,
            _option(
                "--standardize/--no-standardize",
                help="Divide columns by their deviation. (Default: where deviations differ more than tenfold.)",
            ),
        ],
        None,
    ),
    "impute": (
        Annotated[
            Literal["mean", "median", "kernel"] | None,
            _option(help="Fill missing values in: by those of their column, or as the command impute does."),
        ],
        None,
    ),
    "delimiter": (
        Annotated[str | None, _option(metavar="CHAR", help="Between values: , ; | tab, or space for any blanks.")],
        None,
    ),
    "decimal": (Annotated[str | None, _option(metavar="CHAR", help="Decimal separator: . or ,")], None),
    "thousands": (Annotated[str | None, _option(metavar="CHAR", help="Between groups of three digits.")], None),
    "encoding": (Annotated[str | None, _option(metavar="NAME", help="utf-8, latin-1, cp1252, utf-16, ...")], None),
    "header": (
        Annotated[bool | None, _option("--header/--no-header", help="Whether the first line has names.")],
        None,
    ),
    "missing": (
        Annotated[Any, _option(parser=_names, metavar="A,B,...", help="More marks of missing values.")],
        None,
    ),
    "comment": (
        Annotated[
            str | None, _option(metavar=f"SIGN|{NO_COMMENT}", help="What begins lines to leave out, such as # or %.")
        ],
        None,
    ),
    "skip": (Annotated[int | None, _option(min=0, metavar="N", help="Lines before the table.")], None),
    "skip_footer": (Annotated[int | None, _option(min=0, metavar="N", help="Lines after the table.")], None),
    "skip_ragged": (
        Annotated[bool, _option("--skip-ragged", help="Leave out lines with another number of values.")],
        False,
    ),
    "sheet": (Annotated[str | None, _option(metavar="NAME", help="Of an Excel file. (Default: the first.)")], None),
}


# Arguments of commands that are read as tables, pictures or scans; pipes among them are read once.
INPUTS = ("input", "fit_to", "data", "about", "mask")


def takes_tables(without: tuple[str, ...] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator of commands: it adds the options above but those in `without`, and gives them as `table`."""
    options = {name: option for name, option in OPTIONS.items() if name not in without}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        keyword = inspect.Parameter.KEYWORD_ONLY
        own = [parameter.replace(kind=keyword) for name, parameter in signature.parameters.items() if name != "table"]
        added = [
            inspect.Parameter(name, keyword, default=default, annotation=annotation)
            for name, (annotation, default) in options.items()
        ]

        @wraps(command)
        def with_options(**given: Any) -> None:
            found = {name: given.pop(name) for name in options}
            with plain_errors():
                given |= {name: with_end(given[name]) for name in INPUTS if given.get(name) is not None}
            command(**given, table=TableOptions(**{**found, "missing": found["missing"] or ()}))

        # typer reads both.
        with_options.__signature__ = signature.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
        with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own, *added]}
        return with_options

    return decorate
