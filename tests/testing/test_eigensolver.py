"""The contract of eigensolvers holds for ours, and catches what breaks it."""

from dataclasses import replace

import pytest

from preimage.eigensolvers import EIGENSOLVERS, BlockKrylov, Dense, Eigensolver
from preimage.testing import check_eigensolver

SOLVERS = [part.exemplar() for part in EIGENSOLVERS if part.name != "auto"]
SOLVERS += [BlockKrylov(tol=1e-12), BlockKrylov(block_size=5)]


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_all_of_ours_keep_it(solver):
    check_eigensolver(solver)


class Broken(Eigensolver):
    """A dense solver with one fault."""

    def __init__(self, fault):
        self.fault = fault

    def solve(self, operator, k, rng, *, by_modulus=False):
        result = Dense().solve(operator, k, rng, by_modulus=by_modulus and self.fault != "order")
        if self.fault == "order":
            return result
        if self.fault == "scaled":
            return replace(result, vectors=2 * result.vectors)
        if self.fault == "claims":
            return replace(result, residuals=0 * result.residuals + 1.0)
        if self.fault == "double":
            return replace(result, values=result.values.astype(float), vectors=result.vectors.astype(float))
        operator[...] = 0
        return result


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("order", "leading eigenvalues"),
        ("scaled", "orthonormal"),
        ("claims", "residuals"),
        ("double", "float32"),
        ("writes", "products"),
    ],
)
def test_faults_are_found(fault, message):
    with pytest.raises(AssertionError, match=message):
        check_eigensolver(Broken(fault))
