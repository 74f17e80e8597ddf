"""Reductions of vectors on hostile points end, with finite numbers or an error of ours."""

from contextlib import suppress

import numpy as np
import pytest
from for_each import for_each

from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.kernels import Gaussian, Linear, Polynomial, Sigmoid
from preimage.reduced_sets import Construct, Distill, Refine, Select, SelectL1

X = np.random.default_rng(0).normal(size=(12, 3))
ALPHA = np.random.default_rng(1).normal(size=(12, 2))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@for_each("scale", [1e-160, 1e-100, 1e100, 1e200])
@for_each("kernel", [Linear(), Polynomial(3), Sigmoid(0.5), Gaussian()], ids=repr)
@pytest.mark.parametrize("reducer", [Construct(), Distill(), Refine(), Select(), SelectL1()], ids=repr)
def test_reductions_are_finite_or_refused(reducer, kernel, scale):
    with suppress(ValueError, UnsupportedKernelError):
        found = reducer.reduce(Expansion(kernel, scale * X, ALPHA), 3).expansion
        assert np.isfinite(found.coefficients).all()
        assert np.isfinite(found.points).all()
