"""The command ``preimage``; it needs ``pip install "preimage[cli]"``."""

import signal

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say what to install."""
    try:
        from preimage.cli._app import app
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in {"typer", "rich"}:
            raise
        raise SystemExit(f'The command preimage needs {error.name}. Type: pip install "preimage[cli]"') from None
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill also removes temporary files
    app()
