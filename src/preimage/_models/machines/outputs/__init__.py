"""Outputs: from the function values of a kernel machine to what scikit-learn's methods return."""

from preimage._models.machines.outputs._classes import Binary, OneVsOne, OneVsRest
from preimage._models.machines.outputs._output import Output
from preimage._models.machines.outputs._probabilistic import Calibrated, Logistic
from preimage._models.machines.outputs._values import Coordinates, Detection, DistanceDetection, Regression
