"""Variance inflation: values of new points are smaller than those of training points. Measures and corrections."""

from preimage.calibration._comparison import compare_decisions
from preimage.calibration._dependence import dependence_test
from preimage.calibration._inflation import inflation
from preimage.calibration._leave_one_out import LeaveOneOut, leave_one_out, linear_leave_one_out
from preimage.calibration._orthogonal import TrainingSpan
from preimage.calibration._signal import signal_of
from preimage.calibration._svm_leave_one_out import svm_leave_one_out
from preimage.calibration._threshold import Threshold
from preimage.calibration._transfer import renormalize, transfer_function

__all__ = [
    "compare_decisions",
    "dependence_test",
    "inflation",
    "leave_one_out",
    "linear_leave_one_out",
    "renormalize",
    "svm_leave_one_out",
    "transfer_function",
]
