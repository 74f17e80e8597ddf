"""Least squares on the nested frames of a growing set of points."""

from preimage.regression._landmark_ridge import LandmarkRidge, LeastSquares, nested_frame
