"""Kernel machines: functions in feature space with a rule for their values, and how they are made small."""

from preimage._models.machines._compression import Compression, compress_machine
from preimage._models.machines._judge import Trial, determination
from preimage._models.machines._machine import KernelMachine, in_final_precision
from preimage._models.machines._outputs import (
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
    best_threshold,
)
