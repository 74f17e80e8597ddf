"""Kernel PCA on landmarks below the estimator: one pass, batches, growth."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage import report_progress
from preimage._arrays import to_numpy
from preimage.components import LandmarkModel, Wanted, landmark_subspace, principal_subspace
from preimage.exceptions import RankWarning, UnsupportedKernelError
from preimage.feature_space import Gram, KernelMoments
from preimage.kernels import Gaussian, Linear, Sigmoid
from preimage.landmarks import RandomlyPivotedCholesky, Uniform

rng = np.random.default_rng(0)
POINTS, QUERIES = rng.normal(size=(80, 3)), rng.normal(size=(9, 3))
KERNEL = Gaussian(0.2)


FOUR = Wanted(4)


def fit(X=POINTS, selector=None, wanted=FOUR, kernel=KERNEL, **options):
    selector = RandomlyPivotedCholesky(20) if selector is None else selector
    return LandmarkModel.fit(kernel, X, selector, wanted, rng=np.random.default_rng(0), **options)


def test_all_points_as_landmarks_give_exact_kernel_pca(xp):
    X = xp.asarray(POINTS)
    on_landmarks = landmark_subspace(KernelMoments.of(KERNEL, X, X), Wanted(4))
    exact = principal_subspace(Gram(KERNEL, X).held(), Wanted(4), np.random.default_rng(0))
    assert_allclose(to_numpy(on_landmarks.eigenvalues), to_numpy(exact.eigenvalues), rtol=1e-7)
    Z = xp.asarray(QUERIES)
    assert_allclose(to_numpy(on_landmarks.subspace.coordinates(Z)), to_numpy(exact.subspace.coordinates(Z)), atol=1e-5)
    assert_allclose(on_landmarks.total, exact.total, rtol=1e-9)


def test_it_is_kernel_pca_of_projected_images():
    """The kernel of the landmarks is K̃ = C W⁻¹ Cᵀ."""
    model = fit()
    C, W = KERNEL(POINTS, model.landmarks.points), KERNEL(model.landmarks.points)
    K = C @ np.linalg.solve(W, C.T)
    centered = K - K.mean(0) - K.mean(1)[:, None] + K.mean()
    assert_allclose(model.principal.eigenvalues, np.linalg.eigvalsh(centered)[::-1][:4], rtol=1e-6)
    residual = np.trace(KERNEL(POINTS)) - np.trace(K)
    assert_allclose(model.principal.residual, residual, rtol=1e-6)
    assert_allclose(model.landmarks.residual_trace, residual, rtol=1e-6)
    assert model.landmarks.is_exact


def test_axes_are_orthonormal_and_centred():
    space = fit().principal.subspace
    assert_allclose(space.frame.inner(space.frame), np.eye(4), atol=1e-6)
    assert_allclose(space.coordinates(POINTS).mean(axis=0), 0, atol=1e-8)


def test_batches_on_the_same_landmarks_are_one_pass():
    # The first batch holds all landmarks that may be chosen, so that later ones add none.
    selector = Uniform(20, random_state=0)
    first = fit(POINTS[:40], selector)
    both = first.updated(POINTS[40:], selector, Wanted(4), rng=np.random.default_rng(1))
    moments = KernelMoments.of(KERNEL, first.landmarks.points, POINTS)
    assert_allclose(both.principal.eigenvalues, landmark_subspace(moments, Wanted(4)).eigenvalues, rtol=1e-9)
    assert both.moments.values.count == 80


def test_a_batch_elsewhere_brings_more_landmarks():
    selector = RandomlyPivotedCholesky(30, tol=1e-3)
    near = fit(0.1 * POINTS, selector)
    grown = near.updated(POINTS + 5, selector, Wanted(4), rng=np.random.default_rng(1))
    assert len(near.landmarks) < len(grown.landmarks) <= 30
    assert grown.landmarks.reason == "grown with the data"
    assert_allclose(grown.landmarks.points[: len(near.landmarks)], near.landmarks.points)


def test_a_stream_that_moves_where_no_landmark_is():
    selector = RandomlyPivotedCholesky(5)
    model = fit(0.1 * POINTS, selector, Wanted(2))
    with pytest.warns(UserWarning, match="the stream has moved where no landmark is"):
        model.updated(POINTS + 5, selector, Wanted(2), rng=np.random.default_rng(1))


def test_weights_are_repetitions():
    weights = np.random.default_rng(2).integers(0, 3, 80)
    points = POINTS[:15]
    weighted = landmark_subspace(KernelMoments.of(KERNEL, points, POINTS, weights=weights.astype(float)), Wanted(3))
    repeated = landmark_subspace(KernelMoments.of(KERNEL, points, np.repeat(POINTS, weights, axis=0)), Wanted(3))
    assert_allclose(weighted.eigenvalues, repeated.eigenvalues, rtol=1e-9)
    assert_allclose(weighted.subspace.coordinates(QUERIES), repeated.subspace.coordinates(QUERIES), atol=1e-8)


def test_single_precision_stays():
    model = fit(POINTS.astype(np.float32))
    assert model.principal.eigenvalues.dtype == model.principal.subspace.frame.coefficients.dtype == np.float32
    assert_allclose(model.principal.eigenvalues, fit().principal.eigenvalues, rtol=1e-2)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (Wanted(6), "6 components were asked for, but 3 landmarks hold only 3"),
        (Wanted(6, with_zeros=True), "3 are kept, and the others are zeros"),
    ],
)
def test_a_number_beyond_the_rank(wanted, message):
    with pytest.warns(RankWarning, match=message):
        model = fit(selector=Uniform(20), wanted=wanted, kernel=Linear())
    assert len(model.principal.subspace) == (6 if wanted.with_zeros else 3)


def test_a_fraction_that_landmarks_do_not_hold():
    with pytest.warns(RankWarning, match=r"99% of the variance were asked for; the 3 landmarks hold"):
        fit(selector=RandomlyPivotedCholesky(3), wanted=Wanted(fraction=0.99))


def test_an_indefinite_kernel_is_refused():
    with pytest.raises(UnsupportedKernelError, match="positive semidefinite kernel"):
        fit(kernel=Sigmoid(0.5, -1.0))


def test_points_without_variance():
    with pytest.raises(ValueError, match="no variance in feature space"):
        landmark_subspace(KernelMoments.of(KERNEL, np.ones((2, 3)), np.ones((10, 3))), Wanted(1))


def test_progress_is_told():
    told = []
    with report_progress(lambda *step: told.append(step)):
        fit()
    assert told[0] == (0, 20, "Selecting landmarks")
    assert told[-1] == (80, 80, "Learning from rows")
