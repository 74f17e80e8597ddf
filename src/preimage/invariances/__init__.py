"""Transformations of images, signals or any inputs that models should ignore; their tangents, and virtual examples."""

from preimage.invariances._images import Rotate, Scale, Thicken, TranslateX, TranslateY
from preimage.invariances._tangent_covariance import TangentCovariance, as_tangent_covariance, directional_derivatives
from preimage.invariances._time_shift import TimeShift
from preimage.invariances._transformation import FunctionTransformation, Transformation
from preimage.invariances._virtual_examples import VirtualExamples

__all__ = [
    "FunctionTransformation",
    "Rotate",
    "Scale",
    "TangentCovariance",
    "Thicken",
    "TimeShift",
    "Transformation",
    "TranslateX",
    "TranslateY",
    "VirtualExamples",
]
