"""Where messages and bars go, and errors in one line, without tracebacks."""

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, NoReturn

import typer
from rich.console import Console

from preimage._engine.progress import progress_bar
from preimage.cli._errors import CommandError, ExitCode

# Whether tracebacks are shown: --debug.
debugging: ContextVar[bool] = ContextVar("debugging", default=False)

# Libraries whose ValueErrors and TypeErrors are messages to whoever gave the data, not accidents.
WELL_SPOKEN = ("preimage", "sklearn")
FOR_LESS_MEMORY = "Give fewer --landmarks or smaller --chunk-rows where the command has them, or fewer rows."
REPORT = "Run again with --debug to see where; if this looks like a defect, please report it."


# What there is after an interruption of a run that keeps nothing.
NOTHING = "nothing was written."


class _Console(Console):
    """A console whose closed pipe is an error like others."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


console = _Console(stderr=True, soft_wrap=True, highlight=False)


@contextmanager
def plain_errors(after_interrupt: Callable[[], str] = lambda: NOTHING, quiet: bool = False) -> Iterator[None]:
    """Show bars, and any error as one line with its exit code; warnings as lines of their own at the end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            with progress_bar(console.is_terminal and not quiet):
                yield
        except KeyboardInterrupt as error:
            _end(error, f"Interrupted; {after_interrupt()}", ExitCode.INTERRUPTED)
        except (BrokenPipeError, SystemExit) as error:
            if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
                raise  # consoles of typer, which print help, end programs by themselves where a pipe is closed
            drop_output()
            raise typer.Exit(ExitCode.PIPE_CLOSED) from error
        except Exception as error:
            if is_typers(error):
                raise
            text, code = described(error)
            if isinstance(error, OSError) and (kept := after_interrupt()) != NOTHING:
                text = f"{text.rstrip('.')}. When that is mended, {kept}"
            _end(error, text, code)
    shown = (one_line(warning.message) for warning in caught if issubclass(warning.category, UserWarning))
    for text in dict.fromkeys(shown):
        console.print(f"Warning: {text}", style="yellow", markup=False)


def described(error: Exception) -> tuple[str, ExitCode]:
    """An error in one line, with lines of Python after it where they help, and the exit code that says its kind."""
    text = one_line(error)
    if isinstance(error, CommandError):
        return "\n    ".join([f"Error: {text}", *error.program]), error.exit_code
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"Error: {text if error.strerror is None else f'{where}{error.strerror}.'}", ExitCode.FILE
    if isinstance(error, MemoryError):
        what = "" if text == "MemoryError" else f"{text} "
        return f"Error: there is not enough memory. {what}{FOR_LESS_MEMORY}", ExitCode.NOT_POSSIBLE
    if isinstance(error, ValueError | TypeError) and _raised_in(error).startswith(WELL_SPOKEN):
        return f"Error: {text}", ExitCode.NOT_POSSIBLE
    kind = type(error).__name__
    return f"Error: {kind if text == kind else f'{kind}: {text}'} ({REPORT})", ExitCode.NOT_POSSIBLE


def is_typers(error: Exception) -> bool:
    """Whether typer has its own way to show an error, or means none by it: those know their exit code."""
    return isinstance(error, typer.Abort) or (hasattr(error, "exit_code") and not isinstance(error, CommandError))


def drop_output() -> None:
    """Write what is left in buffers nowhere, so that the interpreter does not complain at its end."""
    with suppress(OSError, ValueError, AttributeError):  # streams without a file, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def one_line(error: object) -> str:
    """The message of an error without line breaks, or its type where it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def how_many(count: int, what: str) -> str:
    """A number of things in words: 1 row, 2,000 rows."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def speaker(quiet: bool) -> Callable[..., Any]:
    """A function that prints a message, or nothing if `quiet`."""
    return (lambda *_, **__: None) if quiet else (lambda text: console.print(text, markup=False))


def _end(error: BaseException, message: str, code: ExitCode) -> NoReturn:
    if debugging.get():
        console.print("".join(traceback.format_exception(error)), markup=False)
    console.print(message, style="red", markup=False)
    raise typer.Exit(code) from error


def _raised_in(error: BaseException) -> str:
    """The name of the module whose code raised an error."""
    frames = list(traceback.walk_tb(error.__traceback__))
    return str(frames[-1][0].f_globals.get("__name__", "")) if frames else ""
