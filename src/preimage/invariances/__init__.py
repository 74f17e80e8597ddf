"""Transformations of images, signals or any inputs that models should ignore; their tangents, and virtual examples."""

from preimage.invariances._images import Rotate, Scale, Thicken, TimeShift, TranslateX, TranslateY
from preimage.invariances._tangent_covariance import TangentCovariance, as_tangent_covariance, directional_derivatives
from preimage.invariances._transformation import FunctionTransformation, Transformation, VirtualExamples

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
