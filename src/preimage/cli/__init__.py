"""The command ``preimage``; it needs ``pip install "preimage[cli]"``."""

import os
import signal
import sys
from io import TextIOWrapper

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say what to install."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # terminals without γ or ± show ? instead
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill also removes temporary files
    try:
        from preimage.cli._app import app
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in {"typer", "rich"}:
            _fail(error)
        raise SystemExit(f'The command preimage needs {error.name}. Type: pip install "preimage[cli]"') from None
    except Exception as error:
        _fail(error)
    try:
        app()
    finally:
        _flush()


def _fail(error: Exception) -> None:
    """End because the command line itself cannot be loaded."""
    if "--debug" in sys.argv or os.environ.get("PREIMAGE_DEBUG"):
        raise error
    text = " ".join(str(error).split())
    raise SystemExit(
        f"Error: preimage cannot be loaded: {type(error).__name__}: {text} (Run again with --debug to see where.)"
    ) from None


def _flush() -> None:
    """Write what is left for a reader of our output, who may have gone, or whose disk may be full."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        from preimage.cli._console import drop_output
        from preimage.cli._errors import ExitCode

        drop_output()
        raise SystemExit(ExitCode.PIPE_CLOSED if isinstance(error, BrokenPipeError) else ExitCode.FILE) from None
