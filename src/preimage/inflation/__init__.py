"""Variance inflation: values of new points are smaller than those of training points. Measures and corrections."""

from preimage.inflation._inflation import inflation
from preimage.inflation._leave_one_out import leave_one_out, linear_leave_one_out
from preimage.inflation._renormalized import Renormalized
from preimage.inflation._report import inflation_report
from preimage.inflation._svm_leave_one_out import svm_leave_one_out
from preimage.inflation._transfer import renormalize, transfer_function

__all__ = ["inflation", "leave_one_out", "renormalize"]
