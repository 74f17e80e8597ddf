"""Every solver of the library keeps the contract, and the contract notices those that do not."""

from dataclasses import replace

import numpy as np
import pytest

from preimage.kernels import Gaussian, Laplacian, Matern, Polynomial, Warped
from preimage.solvers import (
    SOLVERS,
    Auto,
    ExactInverse,
    FixedPoint,
    Gradient,
    MultiStart,
    SparsePath,
    TargetSolver,
)
from preimage.testing import check_preimage_solver

DESCENDING = [
    (FixedPoint(), None),
    (FixedPoint(), Polynomial(3)),
    (FixedPoint(penalty=0.1), Warped(Gaussian(0.2))),
    (Gradient(), Laplacian(0.3)),
    (Gradient(lower=-5, upper=5), Matern(0.2)),
    (ExactInverse(), Polynomial(3)),
    (MultiStart(FixedPoint()), None),
    (Auto(), None),
    (Auto(), Laplacian(0.3)),
]
OTHERS = [
    (SparsePath(method="path_seeking", max_iter=3), None),
    *((part.exemplar(), Polynomial(3) if part.name == "exact" else None) for part in SOLVERS),
]


@pytest.mark.parametrize(("solver", "kernel"), DESCENDING, ids=repr)
def test_descents_keep_the_contract_and_never_end_above_their_start(solver, kernel):
    check_preimage_solver(solver, kernel, never_above_start=True)


@pytest.mark.parametrize(("solver", "kernel"), OTHERS, ids=repr)
def test_other_solvers_keep_the_contract(solver, kernel):
    check_preimage_solver(solver, kernel)


class _Wrapped(TargetSolver):
    """FixedPoint with one fault."""

    def __init__(self, fault="none"):
        self.fault = fault

    def solve(self, target, start=None, anchor=None):
        result = FixedPoint().solve(target, start, anchor)
        if self.fault == "writes":
            start[:] = 0.0
        if self.fault == "mixes rows":
            return replace(result, points=result.points - result.points.mean(axis=0))
        if self.fault == "flatters itself":
            return replace(result, objective=result.objective - 1)
        if self.fault == "remembers":
            self.fault = "none"
        if self.fault == "not a number":
            return replace(result, points=np.full_like(result.points, np.nan))
        return result


@pytest.mark.parametrize("fault", ["writes", "mixes rows", "flatters itself", "remembers", "not a number"])
def test_faults_are_noticed(fault):
    check_preimage_solver(_Wrapped())
    with pytest.raises(AssertionError):
        check_preimage_solver(_Wrapped(fault))
