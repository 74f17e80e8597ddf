"""Contracts of the families that users extend: one check for each, which raises AssertionError with what is wrong."""

from preimage.testing._kernel import check_kernel

__all__ = ["check_kernel"]
