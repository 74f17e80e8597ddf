"""Kernel machines: functions in feature space with a rule for their values, and how they are made small."""

from preimage._models.machines._compression import Compression, compress_machine
from preimage._models.machines._left_out import Trial
from preimage._models.machines._machine import KernelMachine
from preimage._models.machines.outputs import (
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
from preimage._models.machines.outputs._output import best_threshold
