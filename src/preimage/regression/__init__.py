"""Functions on landmarks: least squares on nested frames, and linear programs; and how well they predict."""

from preimage.regression._determination import determination
from preimage.regression._l1_machine import L1Machine
from preimage.regression._l1_program import L1Solution, best_intercept, solve_l1_program
from preimage.regression._landmark_ridge import LandmarkRidge, LeastSquares, nested_frame
