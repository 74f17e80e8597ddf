"""Functions on landmarks: least squares on nested frames, any convex loss, and linear programs."""

from preimage._models.regression._convex_machine import ConvexMachine
from preimage._models.regression._l1_machine import L1Machine
from preimage._models.regression._l1_program import L1Solution, best_intercept, solve_l1_program
from preimage._models.regression._landmark_ridge import LandmarkRidge, LeastSquares, nested_frame
from preimage._models.regression._left_out_curve import (
    LeftOutCurve,
    is_settled,
    numbers_to_try,
)
from preimage._models.regression._losses import (
    CLASSIFICATION_LOSSES,
    REGRESSION_LOSSES,
    Loss,
    OneClassLoss,
    SoftmaxLoss,
)
from preimage._models.regression._predictive_variance import MOST_ROWS, PredictiveVariance
from preimage._models.regression._refined_landmarks import RowDerivatives, importance, rows_to_add
from preimage._models.regression._streams import STREAMS, LogisticStream, SquaredStream, StreamFit
from preimage._models.regression._width_choice import Judge, choose_widths
