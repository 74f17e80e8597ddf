"""Variance inflation: values of new points that follow another law than those of training points, and its cures."""

from preimage.calibration._comparison import (
    SCORINGS,
    Signal,
    compare_decisions,
    decision_score,
    margins_of,
    predicted_codes,
    recall_mean,
    signal_of,
)
from preimage.calibration._dependence import DependenceTest, dependence_test
from preimage.calibration._guard import Guard, guard_correction, leave_one_out_folds
from preimage.calibration._histogram import histogram_overlap, renormalize, specify_histogram
from preimage.calibration._inflation import (
    inflation,
    inflation_interval,
    is_inflated,
    is_resolved,
    steady_left_out,
)
from preimage.calibration._leave_one_out import LeaveOneOut, leave_one_out, linear_leave_one_out
from preimage.calibration._orthogonal import (
    TrainingSpan,
    gaussian_gamma,
    left_out_distances,
    restore_lost_projection,
)
from preimage.calibration._svm_leave_one_out import LeftOutDecisions, svm_leave_one_out
from preimage.calibration._threshold import Probabilities, Threshold
from preimage.calibration._transfer import (
    IncreasingMap,
    fit_affine,
    fit_increasing,
    fit_isotonic,
    transfer_function,
)

__all__ = [
    "SCORINGS",
    "DependenceTest",
    "Guard",
    "IncreasingMap",
    "LeaveOneOut",
    "LeftOutDecisions",
    "Probabilities",
    "Signal",
    "Threshold",
    "TrainingSpan",
    "compare_decisions",
    "decision_score",
    "dependence_test",
    "fit_affine",
    "fit_increasing",
    "fit_isotonic",
    "gaussian_gamma",
    "guard_correction",
    "histogram_overlap",
    "inflation",
    "inflation_interval",
    "is_inflated",
    "is_resolved",
    "leave_one_out",
    "leave_one_out_folds",
    "left_out_distances",
    "linear_leave_one_out",
    "margins_of",
    "predicted_codes",
    "recall_mean",
    "renormalize",
    "restore_lost_projection",
    "signal_of",
    "specify_histogram",
    "steady_left_out",
    "svm_leave_one_out",
    "transfer_function",
]
