"""Results as one self-contained HTML page."""

from preimage.report._report import Report

__all__ = ["Report"]
