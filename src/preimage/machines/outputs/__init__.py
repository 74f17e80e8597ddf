"""Outputs: from the function values of a kernel machine to what scikit-learn's methods return."""

from preimage.machines.outputs._classes import Binary, OneVsOne, OneVsRest
from preimage.machines.outputs._output import Output
from preimage.machines.outputs._probabilistic import Calibrated, Logistic
from preimage.machines.outputs._values import Coordinates, Detection, DistanceDetection, Regression
