"""Outputs: from the function values of a kernel machine to what scikit-learn's methods return."""

from preimage.machines.outputs._one_vs_one import Binary, OneVsOne
from preimage.machines.outputs._one_vs_rest import OneVsRest
from preimage.machines.outputs._output import Output
from preimage.machines.outputs._probabilistic import Calibrated, Logistic
from preimage.machines.outputs._values import Coordinates, Detection, Regression
