"""Kernels on scaled and linearly mapped inputs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ortho_group

from preimage.kernels import Gaussian, Linear, MappedInputs, Polynomial, ScaledInputs


def test_scaled_inputs_put_a_diagonal_in_the_inner_product(rng):
    X, weights = rng.normal(size=(6, 3)), np.array([0.5, 0.0, 2.0])
    expected = (X @ np.diag(weights) @ X.T + 1) ** 2
    assert_allclose(ScaledInputs(Polynomial(2), weights)(X), expected)


def test_orthogonal_map_changes_nothing(rng):
    X, rotation = rng.normal(size=(6, 3)), ortho_group.rvs(3, random_state=0)
    assert_allclose(MappedInputs(Polynomial(3, coef0=0.0), rotation)(X), Polynomial(3, coef0=0.0)(X))


def test_map_is_applied_before_the_width_is_chosen(rng):
    X = rng.normal(size=(20, 3))
    mapped = MappedInputs(Gaussian("median"), 10 * np.eye(3)).resolve(X)
    assert_allclose(mapped.kernel.gamma, Gaussian("median").resolve(10 * X).gamma)


@pytest.mark.parametrize("kernel", [ScaledInputs(Linear(), [1.0]), MappedInputs(Linear(), np.eye(2))], ids=["s", "m"])
def test_wrong_number_of_columns_is_refused(kernel):
    with pytest.raises(ValueError, match="3 columns"):
        kernel(np.ones((2, 3)))
