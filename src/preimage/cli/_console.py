"""Where messages and bars go, and errors without tracebacks."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

from preimage._progress import progress_bar

console = Console(stderr=True, soft_wrap=True, highlight=False)


class FileError(Exception):
    """A file that cannot be read or written; the message says why and what to do."""


class DataError(Exception):
    """Data with which nothing sensible can be done; the message says what would help."""


@contextmanager
def plain_errors(
    code: int = 1, after_interrupt: Callable[[], str] = lambda: "nothing was written.", quiet: bool = False
) -> Iterator[None]:
    """Show bars, errors about files and data as one line, and warnings as lines of their own, without tracebacks."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            with progress_bar(console.is_terminal and not quiet):
                yield
        except (FileError, DataError, OSError) as error:
            console.print(f"Error: {error}", style="red", markup=False)
            raise typer.Exit(code) from error
        except KeyboardInterrupt:
            console.print(f"Interrupted; {after_interrupt()}", style="red", markup=False)
            raise typer.Exit(130) from None  # 128 + SIGINT, as shells report it
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            console.print(f"Warning: {warning.message}", style="yellow", markup=False)


def one_line(error: BaseException) -> str:
    """The message of an error without line breaks, or its type where it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def speaker(quiet: bool) -> Callable[..., Any]:
    """A function that prints a message, or nothing if `quiet`."""
    return (lambda *_, **__: None) if quiet else (lambda text: console.print(text, markup=False))
