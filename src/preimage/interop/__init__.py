"""Between scikit-learn and this library: fitted estimators as expansions and kernel machines."""

from preimage.interop._compression import Compression, compress_machine
from preimage.interop._machine import KernelMachine
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
from preimage.interop._sklearn import expansion_of, machine_of

__all__ = [
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
    "machine_of",
    "output_from_state",
]
