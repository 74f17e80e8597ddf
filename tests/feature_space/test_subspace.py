"""Subspaces of feature space."""

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage import KernelPCA
from preimage._engine.arrays import to_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion, Subspace, empirical_map
from preimage.kernels import Gaussian, Linear, Polynomial, Sigmoid


def test_embedding_keeps_coordinates(xp, rng):
    subspace = Subspace.span(Gaussian(0.5), xp.asarray(rng.normal(size=(9, 3))))
    Y = subspace.coordinates(xp.asarray(rng.normal(size=(5, 3))))
    assert_allclose(to_numpy(subspace.embed(Y).inner(subspace.frame)), to_numpy(Y), atol=1e-9)


def test_frame_is_orthonormal_and_residuals_vanish_on_the_points(rng):
    points = rng.normal(size=(12, 3))
    subspace = Subspace.span(Gaussian(0.5), points)
    assert_allclose(subspace.frame.inner(subspace.frame), np.eye(12), atol=1e-8)
    assert_allclose(subspace.residuals(points), 0, atol=1e-10)


def test_residual_is_orthogonal_to_the_subspace(rng):
    points, Z = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    subspace = Subspace.span(Gaussian(0.5), points)
    mapped = Expansion(Gaussian(0.5), Z, np.eye(4))
    residual = mapped - subspace.embed(subspace.coordinates(Z))
    assert_allclose(residual.inner(subspace.frame), 0, atol=1e-10)
    assert_allclose(residual.squared_norms(), subspace.residuals(Z), atol=1e-10)


def test_affine_subspace_equals_explicit_geometry(rng):
    """Coordinates and residuals about a mean, with monomials written out."""
    X, Z = rng.normal(size=(8, 2)), rng.normal(size=(5, 2))
    kernel, phi = Polynomial(2), lambda X: naive.monomials(X, 2, 1.0)
    mean = Expansion(kernel, X, np.full((8, 1), 1 / 8))
    frame = Subspace.span(kernel, X[:3]).frame
    subspace = Subspace(frame, mean)
    axes = phi(X[:3]).T @ frame.coefficients
    centered = phi(Z) - phi(X).mean(axis=0)
    assert_allclose(subspace.coordinates(Z), centered @ axes, atol=1e-10)
    residual = centered - centered @ axes @ axes.T
    assert_allclose(subspace.residuals(Z), np.sum(residual**2, axis=1), atol=1e-9)


def test_duplicates_do_not_raise_the_dimension(rng):
    points = rng.normal(size=(5, 3))
    assert len(Subspace.span(Gaussian(0.5), np.repeat(points, 3, axis=0))) == 5
    assert len(Subspace.span(Linear(), rng.normal(size=(10, 3)))) == 3


def test_kernels_without_a_frame_are_refused(rng):
    with pytest.raises(ValueError, match="no variance"):
        Subspace.span(Linear(), np.zeros((3, 2)))
    with pytest.raises(UnsupportedKernelError, match="positive semidefinite"):
        Subspace.span(Sigmoid(0.5, 1.0), rng.normal(size=(30, 3)))


def test_spans_are_in_double_precision_and_keep_what_single_precision_determines(rng):
    points = rng.normal(size=(40, 2)).astype(np.float32)
    space = Subspace.span(Gaussian(0.01), points)
    assert space.frame.coefficients.dtype == space.frame.points.dtype == np.float64
    assert len(space) < len(Subspace.span(Gaussian(0.01), points.astype(float))) < 40


@pytest.mark.parametrize("whiten", [False, True])
def test_empirical_map(whiten, rng, xp):
    X, Z = rng.normal(size=(10, 3)), rng.normal(size=(4, 3))
    kernel = Gaussian(0.5)
    values = to_numpy(empirical_map(kernel, xp.asarray(X), whiten=whiten)(xp.asarray(Z)))
    if not whiten:
        assert_allclose(values, kernel(Z, X), atol=1e-12)
        return
    train = to_numpy(empirical_map(kernel, xp.asarray(X), whiten=True)(xp.asarray(X)))
    assert_allclose(train @ train.T, kernel(X), atol=1e-8)
    assert_allclose(values @ train.T, kernel(Z, X), atol=1e-8)
    lengths = np.sum(values**2, axis=1)
    assert (lengths <= 1 + 1e-10).all()
    assert_allclose(1 - lengths, Subspace.span(kernel, X).residuals(Z), atol=1e-8)


def test_empirical_map_with_the_canonical_product_squares_the_kernel(rng):
    """Without centring the Gram matrix of the plain map is K²; centring its rows gives HK²H, not (HKH)²."""
    X = rng.normal(size=(10, 3))
    K = Gaussian(0.5)(X)
    plain = empirical_map(Gaussian(0.5), X)(X)
    assert_allclose(plain @ plain.T, K @ K)
    centered = plain - plain.mean(axis=0)
    H = np.eye(10) - 1 / 10
    assert_allclose(centered @ centered.T, H @ K @ K @ H, atol=1e-12)
    assert np.abs(H @ K @ K @ H - naive.centered(K) @ naive.centered(K)).max() > 0.1


def test_conversions_keep_coordinates_and_residuals(rng):
    X = rng.normal(size=(12, 2))
    space = KernelPCA(3, gamma=0.4).fit(X).subspace_
    single = lambda array: array.astype(np.float32)
    there = space.converted(single, single(space.frame.points))
    assert there.frame.points is there.origin.points  # one pass over the kernel serves both
    assert there.coordinates(single(X)).dtype == np.float32
    np.testing.assert_allclose(there.coordinates(single(X)), space.coordinates(X), atol=1e-5)
    np.testing.assert_allclose(there.residuals(single(X)), space.residuals(X), atol=1e-5)
