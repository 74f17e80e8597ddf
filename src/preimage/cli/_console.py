"""Where messages go, and errors without tracebacks."""

import warnings
from contextlib import contextmanager

import typer
from rich.console import Console

from preimage.cli.runs._denoise import DataError
from preimage.cli.tables._files import FileError

console = Console(stderr=True, soft_wrap=True, highlight=False)


@contextmanager
def plain_errors(code=1, after_interrupt=lambda: "nothing was written."):
    """Errors about files and data as one line, warnings as lines of their own, no traceback."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            yield
        except (FileError, DataError, OSError) as error:
            console.print(f"Error: {error}", style="red", markup=False)
            raise typer.Exit(code) from error
        except KeyboardInterrupt:
            console.print(f"Interrupted; {after_interrupt()}", style="red", markup=False)
            raise typer.Exit(130) from None
    for warning in caught:
        if issubclass(warning.category, UserWarning):
            console.print(f"Warning: {warning.message}", style="yellow", markup=False)
