"""Fitted models in files that hold no code."""

from typing import TYPE_CHECKING

from preimage._engine.lazy import lazy_names
from preimage.persistence._file import Saved, load, save

if TYPE_CHECKING:  # what `__getattr__` imports when it is asked for
    from preimage.persistence._registry import skops_types
    from preimage.persistence._state import on_host

_PLACES = {"preimage.persistence._registry": ["skops_types"], "preimage.persistence._state": ["on_host"]}

# Every estimator has `save`, and few programs use it.
__getattr__, __dir__ = lazy_names(__name__, _PLACES)
