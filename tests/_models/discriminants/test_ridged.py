"""Systems with a ridge: single precision loses nothing where it is used."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._models.discriminants._ridged import refined_solution
from preimage.kernels import Gaussian


@pytest.mark.parametrize("ridge", [1e-6, 1e-2, 1.0])
def test_factors_in_single_precision_lose_no_digits(rng, ridge):
    K = Gaussian(0.3)(rng.normal(size=(120, 3)))
    B = rng.normal(size=(120, 2))
    refined = refined_solution(K, ridge, B)
    exact = np.linalg.solve(K + ridge * np.eye(120), B)
    if refined is not None:
        assert_allclose(refined, exact, rtol=1e-6, atol=1e-8 * np.abs(exact).max())
    assert refined is not None or ridge < 1e-3


def test_matrices_too_coarse_for_single_precision_are_left_to_double(rng):
    K = Gaussian(0.01)(rng.normal(size=(100, 2)))
    assert refined_solution(K, 1e-12, np.ones((100, 1))) is None
    assert refined_solution(1e60 * np.eye(5), 1.0, np.ones((5, 1))) is None
