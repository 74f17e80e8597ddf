"""Kernel PCA on landmarks below the estimator: one pass, batches, growth."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from for_each import for_each
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_iris, load_wine, make_moons

from preimage import report_progress
from preimage._engine.arrays import to_numpy
from preimage._models.components import LandmarkModel, Wanted, landmark_subspace, principal_subspace
from preimage.exceptions import RankWarning, UnsupportedKernelError
from preimage.feature_space import Gram, KernelMoments, Moments
from preimage.kernels import Gaussian, Linear, Sigmoid
from preimage.landmarks import KMeans, RandomlyPivotedCholesky, Uniform

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


T = rng.uniform(0, 3, size=200)
SETS = {
    "moons": make_moons(200, noise=0.1, random_state=0)[0],
    "curve": np.column_stack([np.cos(2 * T), np.sin(2 * T), T]) + 0.01 * rng.normal(size=(200, 3)),
    "iris": load_iris().data,
    "wine": load_wine().data,
    "duplicates": np.repeat(rng.normal(size=(40, 3)), 4, axis=0),
    "offset": rng.normal(size=(150, 3)) + 1e4,
    "one column": rng.normal(size=(150, 1)),
    "five rows": rng.normal(size=(5, 2)),
}
WIDTHS = [1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0, 10.0, 100.0, 1e4]
ALL = Wanted()


def off_claim(principal, X, weights=None):
    """How far the covariance of coordinates is from diag(variances), each entry relative to its two deviations."""
    Y = to_numpy(principal.subspace.coordinates(X)).astype(float)
    weights = np.ones(len(Y)) if weights is None else weights
    Y = (Y - np.average(Y, axis=0, weights=weights)) / np.sqrt(principal.variances.astype(float))
    return np.abs(Y.T @ (Y * weights[:, None]) / weights.sum() - np.eye(len(principal.eigenvalues))).max()


@pytest.mark.filterwarnings("ignore::preimage.exceptions.RankWarning")
@pytest.mark.parametrize("gamma", WIDTHS)
@pytest.mark.parametrize("name", SETS)
class TestClaimsHoldOnRows:
    """Variances are those of coordinates of rows, which are uncorrelated, and at most those of all of feature space."""

    def exact(self, X, kernel):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # narrow kernels: no point is like another
            return principal_subspace(Gram(kernel, X).held(), ALL, np.random.default_rng(0))

    @for_each("selector", [KMeans(60), Uniform(30), RandomlyPivotedCholesky(60)], ids=str)
    def test_every_selector(self, name, gamma, selector):
        X, kernel = SETS[name] - SETS[name].mean(axis=0), Gaussian(gamma)
        model, exact = fit(X, selector, ALL, kernel), self.exact(X, kernel)
        found = model.principal
        assert off_claim(found, X) < 1e-6
        both = min(len(found.eigenvalues), len(exact.eigenvalues))
        assert np.all(found.eigenvalues[:both] <= exact.eigenvalues[:both] * (1 + 1e-6))
        assert found.fractions.sum() <= 1 + 1e-12

    def test_all_rows_are_exact(self, name, gamma):
        X, kernel = SETS[name] - SETS[name].mean(axis=0), Gaussian(gamma)
        found, exact = landmark_subspace(KernelMoments.of(kernel, X, X), ALL), self.exact(X, kernel)
        assert off_claim(found, X) < 1e-6
        assert len(found.eigenvalues) >= len(exact.eigenvalues)
        assert_allclose(found.eigenvalues[: len(exact.eigenvalues)], exact.eigenvalues, rtol=1e-6)

    def test_weights(self, name, gamma):
        X, kernel = SETS[name] - SETS[name].mean(axis=0), Gaussian(gamma)
        weights = np.random.default_rng(1).uniform(0.1, 3, size=len(X))
        assert off_claim(fit(X, KMeans(60), ALL, kernel, weights=weights).principal, X, weights) < 1e-6

    @for_each("n_batches", [2, 7, 30])
    def test_batches(self, name, gamma, n_batches):
        X, kernel = SETS[name] - SETS[name].mean(axis=0), Gaussian(gamma)
        nothing = KernelMoments.nothing(kernel, KMeans(60, random_state=0).select(kernel, X).points)
        moments = sum((nothing.batch(part) for part in np.array_split(X, min(n_batches, len(X)))), nothing)
        assert off_claim(landmark_subspace(moments, ALL), X) < 1e-6

    def test_single_precision(self, name, gamma):
        X, kernel = (SETS[name] - SETS[name].mean(axis=0)).astype(np.float32), Gaussian(gamma)
        found = fit(X, KMeans(60), ALL, kernel).principal
        assert off_claim(found, X) < 1e-2
        assert found.fractions.sum() <= 1 + 1e-5


@pytest.mark.filterwarnings("ignore::preimage.exceptions.RankWarning")
@pytest.mark.parametrize("name", ["moons", "iris"])
def test_chunks_of_dask_do_not_matter(name):
    da = pytest.importorskip("dask.array")
    X, kernel = SETS[name] - SETS[name].mean(axis=0), Gaussian(0.1)
    whole = fit(X, KMeans(60), ALL, kernel).principal
    chunked = fit(da.from_array(X, chunks=(37, 1)), KMeans(60), ALL, kernel).principal
    assert off_claim(chunked, X) < 1e-6
    assert_allclose(chunked.eigenvalues[:20], whole.eigenvalues[:20], rtol=1e-6)


def test_smooth_kernels_have_more_components_than_sums_of_kernel_values_would_tell():
    X, kernel = make_moons(400, noise=0.1, random_state=0)[0], Gaussian(0.5)
    points = KMeans(60, random_state=0).select(kernel, X).points
    whitened = KernelMoments.of(kernel, points, X)
    raw = replace(whitened, values=Moments.of(kernel(X, points)), factor=None)
    assert whitened.factor is not None
    # Sums of kernel values lose components; those that are left are right all the same.
    found, fewer = landmark_subspace(whitened, ALL), landmark_subspace(raw, ALL)
    assert len(found.eigenvalues) >= 45 > 30 > len(fewer.eigenvalues)
    assert off_claim(fewer, X) < 1e-6
    # Where few components are wanted, sums of kernel values will do, at a third of the cost.
    assert KernelMoments.nothing(kernel, points, 5).factor is None


@pytest.mark.filterwarnings("ignore::preimage.exceptions.RankWarning")
@pytest.mark.parametrize("gamma", [1e-3, 0.1, 10.0])
def test_landmarks_without_data_of_their_own_change_no_variance(gamma):
    X, kernel = SETS["moons"], Gaussian(gamma)
    before = KernelMoments.of(kernel, X[:20], X)
    found, after = landmark_subspace(before, ALL), landmark_subspace(before.extended(X[20:30]), ALL)
    assert_allclose(after.eigenvalues, found.eigenvalues, rtol=1e-9)
    assert_allclose(before.extended(X[20:30]).mean_values()[:20], before.mean_values(), rtol=1e-9)


def test_sparse_rows_whose_distances_are_all_rounding_are_refused():
    t = np.linspace(0, 1, 120)[:, None]
    X = sparse.csr_array(1e7 + np.hstack([np.cos(6 * t), np.sin(6 * t), t]))
    with pytest.warns(RankWarning, match="larger than the width"), pytest.raises(ValueError, match="subtract the mean"):
        fit(X, kernel=Gaussian(400.0))
