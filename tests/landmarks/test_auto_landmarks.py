"""What a number of landmarks means: means of inputs where they stand for inputs, rows elsewhere."""

import numpy as np
import pytest
from labels import label
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits

from preimage import KernelFisherDiscriminant, KernelKMeans, KernelPCA, OrientedKernelPCA
from preimage.kernels import (
    CallableKernel,
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    ScaledInputs,
)
from preimage.landmarks import AutoLandmarks, KMeans, RandomlyPivotedCholesky, Uniform, as_landmarks

X = np.random.default_rng(0).normal(size=(300, 4))
SMOOTH = [
    Gaussian(0.1),
    Gaussian(1e-3),
    Matern(0.1, 1.5),
    Polynomial(3),
    Cosine(),
    Linear() + 0.1 * Gaussian(1.0),
    Gaussian(0.1) * Polynomial(2),
    ScaledInputs(Gaussian(0.1), np.ones(4)),
]
OTHERS = [
    Laplacian(0.2),
    Matern(0.1, 0.5),
    Gaussian(0.1) + Laplacian(0.2),
    CallableKernel(lambda A, B: np.exp(-0.1 * ((A[:, None] - B) ** 2).sum(-1))),
    Gaussian(1e4),
]


def takes_rows(landmarks):
    return landmarks.indices is not None


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_means_of_clusters_for_smooth_kernels_of_vectors(kernel):
    landmarks = AutoLandmarks(20).select(kernel, X)
    assert not takes_rows(landmarks)
    assert_array_equal(landmarks.points, KMeans(20).select(kernel, X).points)


@pytest.mark.parametrize("kernel", OTHERS, ids=label)
def test_rows_for_others(kernel):
    landmarks = AutoLandmarks(20).select(kernel, X)
    assert takes_rows(landmarks)
    assert_array_equal(landmarks.points, X[landmarks.indices])


def test_rows_of_sparse_and_precomputed_input_and_of_repeated_codes():
    assert takes_rows(AutoLandmarks(20).select(Gaussian(0.1), sparse.csr_matrix(X)))
    K = Gaussian(0.1)(X)
    assert takes_rows(AutoLandmarks(20).select(Precomputed(K), K))
    codes = np.random.default_rng(0).integers(0, 2, size=(300, 5))
    assert takes_rows(AutoLandmarks(10).select(Gaussian(0.1), codes))


def test_a_tolerance_and_few_rows():
    for kernel in (Gaussian(0.1), Laplacian(0.05)):
        landmarks = AutoLandmarks(None, tol=0.05).select(kernel, X)
        assert landmarks.residual_fraction <= 0.05 and landmarks.reason == "residual below tolerance"
    for n in (1, 2, 5):
        assert len(AutoLandmarks(20).select(Gaussian(0.1), X[:n])) == n


def test_a_number_means_the_same_in_every_estimator():
    assert as_landmarks(30) == AutoLandmarks(30) or repr(as_landmarks(30)) == repr(AutoLandmarks(30))
    y = (X[:, 0] > 0).astype(int)
    expected = AutoLandmarks(30).select(Gaussian(0.1), X, rng=np.random.default_rng(0)).points
    pca = KernelPCA(3, gamma=0.1, landmarks=30).fit(X)
    fisher = KernelFisherDiscriminant(gamma=0.1, landmarks=30, alpha=0.1).fit(X, y)
    clusters = KernelKMeans(3, gamma=0.1, landmarks=30).fit(X)
    oriented = OrientedKernelPCA(3, gamma=0.1, landmarks=30).fit(X, X + 0.01)
    assert not takes_rows(pca.landmarks_)
    for points in (pca.landmarks_.points, fisher.landmarks_.points, clusters.landmarks_.points):
        assert len(points) == 30
    np.testing.assert_allclose(pca.landmarks_.points, expected)
    assert oriented.transform(X).shape == (300, 3)


@pytest.mark.parametrize("m", [30, 100])
@pytest.mark.parametrize(
    "kernel", [Gaussian(0.01), Gaussian(0.1), Polynomial(3, gamma=0.05), Laplacian(0.02)], ids=repr
)
def test_no_less_of_the_variance_than_rows_hold(kernel, m):
    """Variance along ten components of digits, against uniform rows and random pivots; means over three seeds."""
    digits = load_digits().data[:900] / 4.0
    variance = lambda selector: np.mean(
        [
            KernelPCA(10, kernel=kernel, landmarks=selector(m, random_state=seed)).fit(digits).eigenvalues_.sum()
            for seed in range(3)
        ]
    )
    ours = variance(AutoLandmarks)
    assert ours > max(variance(Uniform), variance(RandomlyPivotedCholesky))


def test_streams_add_rows_to_means():
    model = KernelPCA(3, gamma=0.1, landmarks=60)
    for block in np.array_split(X, 6):
        model.partial_fit(block)
    assert 50 < len(model.landmarks_) <= 60
    whole = KernelPCA(3, gamma=0.1, landmarks=60).fit(X)
    np.testing.assert_allclose(model.eigenvalues_, whole.eigenvalues_, rtol=0.1)


def test_kernels_of_low_rank_are_held_entirely():
    """More landmarks than the rank: centres that span it are kept."""
    for kernel, rank in ((Cosine(), 4), (Polynomial(2), 15)):
        for seed in range(3):
            model = KernelPCA(3, kernel=kernel, landmarks=100, random_state=seed).fit(X)
            exact = KernelPCA(3, kernel=kernel).fit(X)
            assert len(model.landmarks_) == rank
            np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-8)
