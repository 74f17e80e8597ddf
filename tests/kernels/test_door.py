"""Rounding errors of kernel values against values of exact distances, in extended precision."""

import sys
from pathlib import Path

import numpy as np
import pytest
from for_each import for_each
from scipy.sparse import csr_matrix

sys.path.insert(0, str(Path(__file__).parents[1] / "oracles"))

from precise import LONG, needs_long_double

from preimage.feature_space import Gram
from preimage.kernels import Gaussian, Laplacian, Linear, Matern, RationalQuadratic
from preimage.kernels._door import value_errors

pytestmark = needs_long_double


def groups(distance, n=80):
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(n, 3)), distance + rng.normal(size=(n, 3))])


def true_error(kernel, X, dtype):
    """Spectral norm of the errors of K, as it is computed from rows of a precision."""
    rows = X.astype(dtype)
    exact = np.asarray(rows.astype(LONG))
    distances = np.sum((exact[:, None, :] - exact[None, :, :]) ** 2, axis=-1)
    errors = Gram(kernel, rows).dense().astype(LONG) - kernel.profile(distances)
    return float(np.linalg.norm(errors.astype(float), 2))


@for_each("dtype", ["float64", "float32"])
@for_each("gamma", [1e-6, 1e-3, 1.0, 1e3])
@for_each("distance", [0.0, 1e2, 1e4, 1e6])
@for_each("kernel", [Gaussian, RationalQuadratic], ids=lambda kernel: kernel.__name__)
def test_the_estimate_is_of_the_order_of_the_error(kernel, distance, gamma, dtype):
    if dtype == "float32" and distance > 1e4:
        pytest.skip("the rows themselves are equal")
    X = groups(distance)
    estimate = Gram(kernel(gamma), X.astype(dtype)).rounding_error()
    found = true_error(kernel(gamma), X, dtype)
    # Never much too small; and not so large that determined components would be left out.
    units = np.finfo(dtype).eps * len(X) ** 0.5
    assert found <= 8 * estimate
    assert estimate <= 100 * max(found, units)


def test_moderate_data_have_the_errors_of_any_formula():
    X = groups(0.0)
    for kernel in (Gaussian(0.2), RationalQuadratic(0.2)):
        assert value_errors(kernel, X) == (0.0, 0.0)
    assert value_errors(Matern(0.2, 2.5), X)[1] < 8 * np.finfo(float).eps


def test_sparse_rows_have_no_shift():
    X = groups(0.0) + 1e6
    assert value_errors(Gaussian(0.2), X) == (0.0, 0.0)
    assert value_errors(Gaussian(0.2), csr_matrix(X))[0] > 1e-6


@pytest.mark.parametrize("kernel", [Linear(), Laplacian(1.0), Gaussian(1.0) + Linear()], ids=repr)
def test_other_quantities_have_no_formula(kernel):
    assert value_errors(kernel, groups(1e4)) is None
