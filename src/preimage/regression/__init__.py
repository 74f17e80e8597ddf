"""Least squares on the nested frames of a growing set of points."""

from preimage.regression._least_squares import LeastSquares
from preimage.regression._nested_frame import nested_frame

__all__ = ["LeastSquares", "nested_frame"]
