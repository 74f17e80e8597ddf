"""Outputs: from the function values of a kernel machine to what scikit-learn's methods return."""

from preimage.interop._outputs._binary import Binary
from preimage.interop._outputs._calibrated import Calibrated
from preimage.interop._outputs._logistic import Logistic
from preimage.interop._outputs._one_vs_one import OneVsOne
from preimage.interop._outputs._one_vs_rest import OneVsRest
from preimage.interop._outputs._output import Output
from preimage.interop._outputs._state import output_from_state
from preimage.interop._outputs._values import Coordinates, Detection, Regression

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
    "output_from_state",
]
