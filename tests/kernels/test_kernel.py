"""Parameters that data decide: one declaration, from which resolving, errors and copies follow."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from preimage.kernels import (
    DataParameter,
    Gaussian,
    Iterated,
    KeptRows,
    Kernel,
    Linear,
    MappedInputs,
    Normalized,
    Polynomial,
    Warped,
    Width,
    resolve_gamma,
)


class Counted(DataParameter):
    """The number of rows, for "all"."""

    def is_open(self, value):
        return value == "all"

    def find(self, value, X, kernel):
        return X.shape[0]


class Averaged(Kernel):
    """A kernel of a user, with two parameters from data and a part."""

    data_parameters = {"count": Counted(), "points": KeptRows()}
    has_gradient = False

    def __init__(self, kernel, count="all", points=None):
        self.kernel = kernel
        self.count = count
        self.points = points

    def prepare(self, Y):
        return self.kernel.prepare(Y).changed(self, lambda values: values / self.count)

    def diagonal(self, X):
        return self.kernel.diagonal(X) / self.count

    def gradient(self, Z, X, weights):
        raise NotImplementedError

    def diagonal_gradient(self, Z):
        raise NotImplementedError


def names(kernel):
    return [name for name, _, _ in kernel.open_parameters()]


def test_a_declaration_is_all_that_resolving_needs(rng):
    X = rng.normal(size=(9, 3))
    kernel = Averaged(Gaussian("median"))
    assert names(kernel) == ["count", "points", "gamma"] and not kernel.is_resolved and kernel.keeps_data
    found = kernel.resolve(X)
    assert found.is_resolved and not found.keeps_data and names(found) == []
    assert found.count == 9 and found.kernel.gamma == resolve_gamma("median", X)
    assert np.array_equal(found.points, X) and not np.shares_memory(found.points, X)
    assert kernel.count == "all" and kernel.points is None and kernel.kernel.gamma == "median"
    with pytest.raises(ValueError, match="finds count and gamma and points from data"):
        kernel(X)


def test_values_that_are_given_stay(rng):
    X = rng.normal(size=(9, 3))
    found = Averaged(Gaussian(0.5), count=4).resolve(X)
    assert found.count == 4 and found.kernel.gamma == 0.5


def test_only_open_parameters_and_parts_are_rebuilt():
    kernel = Averaged(Gaussian("scale"), count=4)
    seen = []
    rebuilt = kernel.rebuilt(lambda part: Linear(), lambda name, value: seen.append((name, value)) or 7)
    assert seen == [("points", None)]
    assert isinstance(rebuilt.kernel, Linear) and rebuilt.count == 4 and rebuilt.points == 7


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (Gaussian(), []),
        (Linear(), []),
        (Gaussian(None), ["gamma"]),
        (Polynomial(2, gamma="scale") + Gaussian("p5"), ["gamma", "gamma"]),
        (Normalized(Polynomial(2, gamma=None)), ["gamma"]),
        (Iterated(Gaussian()), ["reference"]),
        (Iterated(Warped(Gaussian("median"))), ["reference", "points", "gamma"]),
    ],
    ids=str,
)
def test_parameters_of_parts_are_open_too(kernel, expected, rng):
    assert names(kernel) == expected
    assert kernel.is_resolved == (not expected)
    assert kernel.keeps_data == bool({"reference", "points"} & set(expected))
    assert kernel.resolve(rng.normal(size=(8, 2))).is_resolved


def test_parts_are_resolved_on_what_they_are_given(rng):
    X = rng.normal(size=(8, 2))
    found = MappedInputs(Iterated(Gaussian("median")), 3 * np.eye(2)).resolve(X)
    assert_array_equal(found.kernel.reference, 3 * X)
    assert_allclose(found.kernel.kernel.gamma, resolve_gamma("median", X) / 9)


def test_widths_are_numbers_rules_or_none():
    width = Width()
    assert width.is_open(None) and width.is_open("median") and not width.is_open(0.5)
    assert not width.keeps_rows and KeptRows().keeps_rows
