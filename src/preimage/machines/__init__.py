"""Kernel machines: functions in feature space with a rule for their values, and how they are made small."""

from preimage.machines._compression import Compression, compress_machine
from preimage.machines._left_out import Trial
from preimage.machines._machine import KernelMachine
from preimage.machines.outputs import (
    Binary,
    Calibrated,
    Coordinates,
    Detection,
    DistanceDetection,
    Logistic,
    OneVsOne,
    OneVsRest,
    Output,
    Regression,
)
from preimage.machines.outputs._output import best_threshold
