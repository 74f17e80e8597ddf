"""Cure variance inflation of any estimator: correct values of new rows by left-out values of training rows."""

from preimage.renormalization._renormalized import Renormalized
from preimage.renormalization._report import inflation_report
