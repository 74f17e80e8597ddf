"""Between scikit-learn and this library: fitted estimators as expansions and kernel machines."""

from preimage.interop._compression import Compression, compress_machine
from preimage.interop._feature_maps import machine_of
from preimage.interop._folding import Folded, fold
from preimage.interop._machine import KernelMachine
from preimage.interop._onnx import to_onnx
from preimage.interop._outputs import (
    Binary,
    Calibrated,
    Coordinates,
    Detection,
    Logistic,
    OneVsOne,
    OneVsRest,
    Output,
    Regression,
    output_from_state,
)
from preimage.interop._persistence import machine_from_bytes, machine_to_bytes
from preimage.interop._sklearn import expansion_of
from preimage.interop._skops import skops_types
from preimage.interop._unscaled import on_unscaled_inputs
from preimage.interop._work import multiplications

__all__ = [
    "SKOPS_TYPES",
    "Binary",
    "Calibrated",
    "Compression",
    "Coordinates",
    "Detection",
    "Folded",
    "KernelMachine",
    "Logistic",
    "OneVsOne",
    "OneVsRest",
    "Output",
    "Regression",
    "compress_machine",
    "expansion_of",
    "fold",
    "machine_from_bytes",
    "machine_of",
    "machine_to_bytes",
    "multiplications",
    "on_unscaled_inputs",
    "output_from_state",
    "to_onnx",
]


def __getattr__(name):
    # Made when it is asked for: estimators are a layer above this one, and not there yet.
    if name == "SKOPS_TYPES":
        return skops_types()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
