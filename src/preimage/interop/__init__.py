"""Between scikit-learn and this library: fitted estimators as expansions and kernel machines."""

from preimage.interop._compression import Compression, compress_machine
from preimage.interop._machine import KernelMachine
from preimage.interop._onnx import to_onnx
from preimage.interop._outputs import (
    Binary,
    Coordinates,
    Detection,
    OneVsOne,
    OneVsRest,
    Output,
    Regression,
    output_from_state,
)
from preimage.interop._persistence import machine_from_bytes, machine_to_bytes
from preimage.interop._sklearn import expansion_of, machine_of
from preimage.interop._skops import SKOPS_TYPES

__all__ = [
    "SKOPS_TYPES",
    "Binary",
    "Compression",
    "Coordinates",
    "Detection",
    "KernelMachine",
    "OneVsOne",
    "OneVsRest",
    "Output",
    "Regression",
    "compress_machine",
    "expansion_of",
    "machine_from_bytes",
    "machine_of",
    "machine_to_bytes",
    "output_from_state",
    "to_onnx",
]
