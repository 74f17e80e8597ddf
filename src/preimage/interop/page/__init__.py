"""Kernels as programs for web pages: nodes and constants, which the page's own JavaScript evaluates."""

from preimage.interop.page._program import kernel_record
