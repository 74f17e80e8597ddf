"""Modules that not everybody has installed."""

import importlib
from typing import Any

from preimage.cli._errors import FileError


def need(module: str, what: str) -> Any:
    """An optional module, or an error that says what to install; `what` needs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = {"PIL": "pillow"}.get(module.partition(".")[0], module.partition(".")[0])
        raise FileError(f'{what} need {package}, which is not installed. Type: pip install "preimage[cli]"') from error
