"""Higher-order moments in feature space."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage import KernelPCA
from preimage._arrays import to_numpy
from preimage.geometry import component_moments, directional_moment, excess_kurtosis
from preimage.kernels import Polynomial


def test_third_moments_equal_explicit_tensors(rng):
    X = rng.normal(size=(30, 2))
    model = KernelPCA(3, kernel=Polynomial(2)).fit(X)
    phi = naive.monomials(X, 2, 1.0)
    phi = phi - phi.mean(axis=0)
    axes = naive.monomials(X, 2, 1.0).T @ model.subspace_.frame.coefficients
    tensor = np.einsum("ia,ib,ic->abc", phi, phi, phi) / 30
    expected = np.einsum("abc,ai,bj,ck->ijk", tensor, axes, axes, axes)
    assert_allclose(component_moments(model.transform(X), 3), expected, atol=1e-10)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_moments_are_symmetric_and_contract_to_directions(order, xp, rng):
    Y, w = rng.normal(size=(40, 3)), rng.normal(size=3)
    moments = to_numpy(component_moments(xp.asarray(Y), order))
    assert moments.shape == (3,) * order
    assert_allclose(moments, np.swapaxes(moments, 0, -1), atol=1e-12)
    contracted = moments
    for _ in range(order):
        contracted = contracted @ w
    assert_allclose(directional_moment(xp.asarray(Y), xp.asarray(w), order), contracted, atol=1e-10)


def test_kurtosis_tells_clusters_from_heavy_tails(rng):
    clusters = np.concatenate([rng.normal(-3, 0.3, 500), rng.normal(3, 0.3, 500)])[:, None]
    assert excess_kurtosis(clusters, np.ones(1)) < -1.5
    assert excess_kurtosis(rng.standard_t(4, size=(5000, 1)), np.ones(1)) > 0.5
    assert abs(excess_kurtosis(rng.normal(size=(50000, 1)), np.ones(1))) < 0.1


def test_impossible_requests_are_refused():
    with pytest.raises(ValueError, match="at least 1"):
        component_moments(np.ones((3, 2)), 0)
    with pytest.raises(ValueError, match="constant"):
        excess_kurtosis(np.ones((3, 2)), np.ones(2))
