"""Kernel machines: functions in feature space with a rule for their values, made small and written to files."""

from preimage.machines._compression import Compression, compress_machine
from preimage.machines._machine import KernelMachine
from preimage.machines._threshold import best_threshold
from preimage.machines.outputs import (
    Binary,
    Calibrated,
    Coordinates,
    Detection,
    Logistic,
    OneVsOne,
    OneVsRest,
    Output,
    Regression,
)

__all__ = [
    "Binary",
    "Calibrated",
    "Compression",
    "Coordinates",
    "Detection",
    "KernelMachine",
    "Logistic",
    "OneVsOne",
    "OneVsRest",
    "Output",
    "Regression",
    "best_threshold",
    "compress_machine",
]
