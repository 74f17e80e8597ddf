"""Features of sparse kernel feature analysis: norms, orthogonality, moments, and the way back."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from preimage import SparseKernelFeatureAnalysis
from preimage._engine.arrays import to_numpy
from preimage.kernels import Gaussian, Linear

X = load_iris().data


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Linear()], ids=repr)
def test_coefficients_have_norm_one_and_features_are_orthogonal(kernel):
    model = SparseKernelFeatureAnalysis(6, kernel=kernel).fit(X)
    vectors = model.expansion_
    assert_allclose(np.abs(vectors.coefficients).sum(axis=0), 1)
    products = vectors.inner(vectors)
    lengths = np.sqrt(np.diagonal(products))
    assert_allclose(products / np.outer(lengths, lengths), np.eye(len(vectors)), atol=1e-9)
    assert_allclose(lengths, model.scales_)


def test_a_feature_lives_on_the_first_points_and_vanishes_at_earlier_ones():
    model = SparseKernelFeatureAnalysis(8, gamma=0.3).fit(X)
    assert_allclose(np.tril(model.expansion_.coefficients, -1), 0)
    at_points = model.transform(X[model.landmarks_.indices]) + model.offset_
    assert_allclose(np.triu(at_points, 1), 0, atol=1e-12)
    assert (np.diagonal(at_points) > 0).all()


def test_more_features_leave_the_first_ones_as_they_are():
    few, many = (SparseKernelFeatureAnalysis(count, gamma=0.3).fit(X) for count in (3, 10))
    assert_allclose(few.transform(X), many.transform(X)[:, :3], atol=1e-12)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_moments_are_those_of_the_features(norm):
    model = SparseKernelFeatureAnalysis(7, gamma=0.3, norm=norm).fit(X)
    Y = model.transform(X)
    assert_allclose(Y.mean(axis=0), 0, atol=1e-14)
    assert_allclose(Y.var(axis=0), model.explained_variance_)
    plain = SparseKernelFeatureAnalysis(7, gamma=0.3, norm=norm, center=False).fit(X)
    assert_allclose(plain.offset_, 0)
    assert_allclose((plain.transform(X) ** 2).mean(axis=0), plain.explained_variance_)


def test_all_orthonormal_features_give_the_kernel():
    rows = X[::5] + 1e-3 * np.random.default_rng(0).normal(size=X[::5].shape)
    model = SparseKernelFeatureAnalysis(100, gamma=1.0, norm="l2", center=False).fit(rows)
    assert model.n_components_ == len(rows)
    assert_allclose(model.transform(rows) @ model.transform(rows).T, Gaussian(1.0)(rows), atol=1e-9)
    assert model.residual_fraction_ < 1e-12


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("center", [True, False])
def test_features_are_coordinates_in_the_subspace(norm, center):
    model = SparseKernelFeatureAnalysis(5, gamma=0.3, norm=norm, center=center).fit(X)
    for count in (2, 5):
        Y = model.transform(X)[:, :count]
        assert_allclose(model._in_frame(count)(Y), model.subspace_.coordinates(X)[:, :count], atol=1e-9)


def test_the_way_back_returns_points_of_the_span():
    model = SparseKernelFeatureAnalysis(30, gamma=0.3, preimage="fixed_point").fit(X)
    points = X[model.landmarks_.indices]  # whose images are in the span
    assert_allclose(model.inverse_transform(model.transform(points)), points, atol=1e-4)
    assert_allclose(model.denoise(points), points, atol=1e-4)


def test_a_tolerance_ends_the_choice():
    model = SparseKernelFeatureAnalysis(100, gamma=0.3, tol=0.05).fit(X)
    assert model.n_components_ < 20
    assert model.landmarks_.residuals_path[-2] > 0.05 * model.landmarks_.trace >= model.landmarks_.residual_trace


def test_array_libraries_agree(xp):
    found = SparseKernelFeatureAnalysis(5, gamma=0.3).fit(xp.asarray(X)).transform(xp.asarray(X))
    expected = SparseKernelFeatureAnalysis(5, gamma=0.3).fit(X).transform(X)
    assert_allclose(to_numpy(found), expected, atol=1e-6)


def test_kernel_functions_of_a_far_linear_kernel_are_those_of_the_inputs():
    model = SparseKernelFeatureAnalysis(1, kernel="linear", n_candidates=None).fit(X + 1e3)
    i = model.landmarks_.indices[0]
    values = (X + 1e3) @ (X[i] + 1e3)
    assert_allclose(model.transform(X + 1e3)[:, 0], values - values.mean(), rtol=1e-6, atol=1e-6)


def test_the_default_reconstructs_and_denoises():
    model = SparseKernelFeatureAnalysis(20, gamma=0.3).fit(X)
    Y = model.transform(X)
    assert np.mean((model.inverse_transform(Y) - X) ** 2) < 0.05 * np.var(X, axis=0).mean()
    assert_allclose(model.inverse_transform(Y[:, :2]), model.inverse_transform(Y, n_components=2))
    assert np.isfinite(model.denoise(X)).all()
