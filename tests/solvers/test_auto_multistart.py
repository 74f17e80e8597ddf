"""Several starts, and the best of their ends."""

import numpy as np
import pytest

from preimage.feature_space import Expansion
from preimage.kernels import Gaussian
from preimage.solvers import (
    FixedPoint,
    MultiStart,
    WeightedMean,
)


def test_several_starts_are_never_worse_than_one(rng):
    target = Expansion(Gaussian(2.0), rng.normal(size=(20, 3)), rng.normal(size=(20, 10)))
    start = rng.normal(size=(10, 3))
    one = FixedPoint().solve(target, start)
    many = MultiStart(FixedPoint(), ("input", "nearest", "random", WeightedMean())).solve(target, start)
    assert (many.objective <= one.objective + 1e-12).all()
    assert (many.objective < one.objective - 1e-6).any()


def test_unknown_starts_are_refused(rng):
    with pytest.raises(ValueError, match="known: input, nearest"):
        MultiStart(FixedPoint(), ("best",)).solve(Expansion(Gaussian(), np.ones((2, 2)), np.ones((2, 1))))
