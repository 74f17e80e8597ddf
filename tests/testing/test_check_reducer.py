"""Every reducer of the library keeps the contract, and the contract notices those that do not."""

from dataclasses import replace

import pytest

from preimage.kernels import Laplacian, Matern, Polynomial
from preimage.reduced_sets import REDUCERS, Construct, NestedReducer, Reducer, Refine, Select
from preimage.testing import check_reducer

CASES = [
    *((part.exemplar(), None) for part in REDUCERS),
    (Select(), Laplacian(0.4)),
    (Select("forward"), None),
    (Construct(), Polynomial(2)),
    (Refine(), Matern(0.3)),
]


@pytest.mark.parametrize(("reducer", "kernel"), CASES, ids=repr)
def test_reducers_keep_the_contract(reducer, kernel):
    check_reducer(reducer, kernel)


class _Wrapped(Reducer):
    """Select with one fault."""

    def __init__(self, fault="none"):
        self.fault = fault

    def reduce(self, target, n_points, *, X=None, rng=None):
        if self.fault == "takes any number":
            n_points = max(1, int(n_points))
        if self.fault == "writes":
            target.coefficients[:] = 1.0
        wanted = n_points + 1 if self.fault == "too many points" else n_points
        reduction = Select().reduce(target, wanted)
        if self.fault == "a fixed point set":
            return replace(reduction, expansion=Select().reduce(target, 1).expansion)
        return reduction


class _Unsorted(NestedReducer):
    """An order that changes with the number of points."""

    def order(self, target, n_points):
        return target.points[::-1] if n_points > 3 else target.points


@pytest.mark.parametrize("fault", ["takes any number", "writes", "too many points", "a fixed point set"])
def test_faults_are_noticed(fault):
    check_reducer(_Wrapped())
    with pytest.raises(AssertionError):
        check_reducer(_Wrapped(fault))


def test_orders_that_are_not_nested_are_noticed():
    with pytest.raises(AssertionError, match="path = reduce"):
        check_reducer(_Unsorted())
