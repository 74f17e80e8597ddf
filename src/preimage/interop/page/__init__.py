"""Kernels as programs for web pages: nodes and constants, which the page's own JavaScript evaluates."""

from preimage.interop.page._kernel_record import kernel_record
