"""Kernel PCA about the zero of feature space, `center=False`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import TruncatedSVD

import preimage
from preimage import KernelPCA
from preimage._engine.arrays import to_numpy
from preimage.kernels import Constant, Gaussian, Linear, Precomputed

KERNELS = [Gaussian(0.2), Linear(), Linear() + 1.0, Gaussian(0.1) + Linear()]


def naive_coordinates(kernel, X, Z, count):
    values, vectors = np.linalg.eigh(kernel(X))
    order = np.argsort(-np.abs(values))[:count]
    return values[order], kernel(Z, X) @ (vectors[:, order] / np.sqrt(np.abs(values[order])))


@pytest.mark.parametrize("eigen_solver", ["dense", "block_krylov", "arpack"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_diagonalises_the_kernel_matrix_itself(kernel, eigen_solver, rng):
    X, Z = 2 + rng.normal(size=(60, 4)), 2 + rng.normal(size=(9, 4))
    model = KernelPCA(3, kernel=kernel, center=False, eigen_solver=eigen_solver, tol=1e-10).fit(X)
    values, expected = naive_coordinates(kernel, X, Z, 3)
    assert_allclose(model.eigenvalues_, values, rtol=1e-8)
    assert_allclose(np.abs(model.transform(Z)), np.abs(expected), atol=1e-6)
    assert_allclose(model.fit_transform(X), model.transform(X), atol=1e-6)
    assert_allclose(model.explained_variance_, np.mean(model.transform(X) ** 2, axis=0), rtol=1e-8)
    assert_allclose(model.eigenvectors_.T @ model.eigenvectors_, np.eye(3), atol=1e-6)
    assert model.subspace_.origin is None


def test_a_linear_kernel_is_the_singular_value_decomposition_far_from_the_origin_too(rng):
    X, Z = 100 + rng.normal(size=(40, 4)), 100 + rng.normal(size=(5, 4))
    peer = TruncatedSVD(2, algorithm="arpack").fit(X)
    model = KernelPCA(2, kernel="linear", center=False).fit(X)
    assert_allclose(np.abs(model.transform(Z)), np.abs(peer.transform(Z)), rtol=1e-6)
    assert_allclose(np.sqrt(model.eigenvalues_), peer.singular_values_, rtol=1e-8)


def test_all_rows_as_landmarks_give_the_exact_model(rng):
    X, Z = rng.normal(size=(40, 3)), rng.normal(size=(7, 3))
    exact = KernelPCA(4, gamma=0.3, center=False).fit(X)
    nested = KernelPCA(4, gamma=0.3, center=False, landmarks=preimage.landmarks.Uniform(40)).fit(X)
    assert_allclose(nested.eigenvalues_, exact.eigenvalues_, rtol=1e-8)
    assert_allclose(np.abs(nested.transform(Z)), np.abs(exact.transform(Z)), atol=1e-7)
    assert_allclose(nested.reconstruction_error(Z), exact.reconstruction_error(Z), atol=1e-8)
    assert nested.subspace_.origin is None


def test_batches_give_what_one_pass_gives(rng):
    X = rng.normal(size=(60, 3))
    whole = KernelPCA(3, gamma=0.3, center=False, landmarks=preimage.landmarks.Uniform(60)).fit(X)
    stream = KernelPCA(3, gamma=0.3, center=False, landmarks=whole.landmarks_.points.shape[0])
    stream.partial_fit(X)
    second = stream.partial_fit(X)  # every row twice: second moments do not change, eigenvalues double
    assert_allclose(second.explained_variance_, whole.explained_variance_, rtol=1e-2)


def test_weights_are_repetitions_and_survive_files(rng, tmp_path):
    X, Z, weights = rng.normal(size=(40, 3)), rng.normal(size=(6, 3)), rng.integers(1, 4, 40)
    weighted = KernelPCA(3, gamma=0.3, center=False).fit(X, sample_weight=weights)
    repeated = KernelPCA(3, gamma=0.3, center=False).fit(np.repeat(X, weights, axis=0))
    assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-9)
    assert_allclose(np.abs(weighted.transform(Z)), np.abs(repeated.transform(Z)), atol=1e-9)
    assert_allclose(weighted.eigenvectors_.T @ weighted.eigenvectors_, np.eye(3), atol=1e-9)
    weighted.save(tmp_path / "model")
    loaded = preimage.load(tmp_path / "model")
    assert (loaded.eigenvectors_ == weighted.eigenvectors_).all() and (
        loaded.transform(Z) == weighted.transform(Z)
    ).all()
    assert_allclose(loaded.denoise(X, cross_fit=3), weighted.denoise(X, cross_fit=3))


@pytest.mark.parametrize("landmarks", [None, 15])
def test_pre_images_lie_in_the_span_of_the_data(landmarks, xp, rng):
    X = rng.normal(size=(50, 3))
    model = KernelPCA(8, gamma=0.2, center=False, landmarks=landmarks).fit(xp.asarray(X))
    found = to_numpy(model.denoise(xp.asarray(X)))
    assert np.isfinite(found).all() and np.abs(found).max() <= 2 * np.abs(X).max()
    assert np.mean((found - X) ** 2) < np.mean(X**2)


def test_padding_precomputed_matrices_and_constants(rng):
    X = rng.normal(size=(12, 2))
    with pytest.warns(preimage.exceptions.RankWarning):
        padded = KernelPCA(4, kernel="linear", center=False, remove_zero_eig=False).fit(X)
    assert padded.transform(X).shape == (12, 4) and (padded.transform(X)[:, 2:] == 0).all()
    matrix = Gaussian(0.3)(X)
    assert_allclose(
        KernelPCA(3, kernel=Precomputed(), center=False).fit(matrix).eigenvalues_,
        KernelPCA(3, gamma=0.3, center=False).fit(X).eigenvalues_,
    )
    # A constant is one direction about zero, and none about the mean.
    constant = KernelPCA(1, kernel=Constant(2.0), center=False).fit(X)
    assert_allclose(constant.transform(X), np.full((12, 1), np.sqrt(2.0)))


def test_inflation_is_estimated_by_refits(rng):
    X = rng.normal(size=(30, 5))
    report = preimage.Renormalized(KernelPCA(2, gamma=0.1, center=False)).fit(X)
    assert np.isfinite(report.transform(X)).all()
