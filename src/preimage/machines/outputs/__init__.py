"""Outputs: from the function values of a kernel machine to what scikit-learn's methods return."""

from preimage.machines.outputs._binary import Binary
from preimage.machines.outputs._calibrated import Calibrated
from preimage.machines.outputs._logistic import Logistic
from preimage.machines.outputs._one_vs_one import OneVsOne
from preimage.machines.outputs._one_vs_rest import OneVsRest
from preimage.machines.outputs._output import Output
from preimage.machines.outputs._values import Coordinates, Detection, Regression

__all__ = [
    "Binary",
    "Calibrated",
    "Coordinates",
    "Detection",
    "Logistic",
    "OneVsOne",
    "OneVsRest",
    "Output",
    "Regression",
]
