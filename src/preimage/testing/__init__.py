"""Contracts of the families that users extend: one check for each, which raises AssertionError with what is wrong."""

from preimage.testing._eigensolver import check_eigensolver
from preimage.testing._kernel import check_kernel
from preimage.testing._preimage_solver import check_preimage_solver
from preimage.testing._reducer import check_reducer
from preimage.testing._selector import check_selector

__all__ = ["check_eigensolver", "check_kernel", "check_preimage_solver", "check_reducer", "check_selector"]
