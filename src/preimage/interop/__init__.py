"""Between scikit-learn and this library: fitted estimators as expansions and kernel machines."""

from typing import Any

from preimage.interop._folding import Folded, fold
from preimage.interop._sklearn import machine_of
from preimage.interop.onnx import to_onnx
from preimage.persistence import skops_types

__all__ = ["SKOPS_TYPES", "machine_of", "to_onnx"]


def __getattr__(name: str) -> Any:
    # Made when it is asked for: estimators are a layer above this one, and not there yet.
    if name == "SKOPS_TYPES":
        return skops_types()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
