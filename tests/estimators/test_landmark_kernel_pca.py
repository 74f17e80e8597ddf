"""KernelPCA on landmarks: laws, streams, memory maps, devices."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris

from preimage import KernelPCA, compress, load
from preimage._engine.arrays import to_numpy
from preimage._engine.rows import forced_block_shape
from preimage.exceptions import RankWarning, UnsupportedKernelError
from preimage.feature_space import KernelMoments, Subspace
from preimage.kernels import Exponential, Gaussian, Polynomial
from preimage.landmarks import KMeans, RandomlyPivotedCholesky, SparseGreedy, Uniform


@pytest.fixture
def X(rng):
    return rng.normal(size=(300, 4))


def assert_same_model(one, other, Z, tol=1e-9):
    assert one.n_components_ == other.n_components_
    assert np.allclose(one.eigenvalues_, other.eigenvalues_, rtol=tol)
    assert np.allclose(one.transform(Z), other.transform(Z), atol=100 * tol)
    assert np.allclose(one.explained_variance_ratio_, other.explained_variance_ratio_, rtol=tol)


class TestLaws:
    def test_all_points_as_landmarks_are_exact(self, X, rng):
        Z = rng.normal(size=(20, 4))
        exact = KernelPCA(6, gamma=0.5).fit(X)
        all_points = KernelPCA(6, gamma=0.5, landmarks=Uniform(300)).fit(X)
        assert_same_model(exact, all_points, Z, tol=1e-8)
        assert all_points.landmarks_.residual_fraction < 1e-8
        assert np.allclose(exact.denoise(Z), all_points.denoise(Z), atol=1e-4)
        assert np.allclose(exact.reconstruction_error(Z), all_points.reconstruction_error(Z), atol=1e-7)

    def test_polynomial_of_finite_rank_is_exact_with_its_rank(self, X):
        exact = KernelPCA(kernel=Polynomial(2, gamma=1.0, coef0=1.0)).fit(X)
        few = KernelPCA(kernel=Polynomial(2, gamma=1.0, coef0=1.0), landmarks=40).fit(X)
        assert len(few.landmarks_) == 15  # the dimension of polynomials of degree 2 in four variables
        assert np.allclose(few.eigenvalues_, exact.eigenvalues_)
        assert np.allclose(np.abs(few.transform(X)), np.abs(exact.transform(X)), atol=1e-7)

    def test_it_is_kernel_pca_of_the_approximated_kernel(self, X):
        few = KernelPCA(5, gamma=0.1, landmarks=30).fit(X)
        Y = Subspace.span(Gaussian(0.1), few.landmarks_.points).coordinates(X)  # K̃ = YYᵀ
        centered = Y - Y.mean(axis=0)
        values, vectors = np.linalg.eigh(centered.T @ centered)
        assert np.allclose(few.eigenvalues_, values[::-1][:5])
        assert np.allclose(np.abs(few.transform(X)), np.abs(centered @ vectors[:, ::-1][:, :5]))
        left = len(X) - np.sum(Y * Y)  # k(x, x) = 1
        assert few.landmarks_.residual_trace == pytest.approx(left, rel=1e-8)
        assert np.allclose(few.explained_variance_, few.transform(X).var(axis=0))

    def test_more_landmarks_explain_more(self, X):
        exact = KernelPCA(4, gamma=0.1).fit(X)
        sums = [
            KernelPCA(4, gamma=0.1, landmarks=RandomlyPivotedCholesky(m)).fit(X).eigenvalues_.sum()
            for m in (5, 20, 80, 300)
        ]
        assert np.all(np.diff(sums) > -1e-9)
        assert sums[-1] <= exact.eigenvalues_.sum() + 1e-9

    @pytest.mark.parametrize("selector", [50, "kmeans", "rpcholesky", "sparse_greedy", "uniform", KMeans(40)])
    def test_every_selector(self, X, selector):
        exact = KernelPCA(3, gamma=0.05).fit(X)
        few = KernelPCA(3, gamma=0.05, landmarks=selector).fit(X)
        assert np.allclose(few.eigenvalues_, exact.eigenvalues_, rtol=0.05)
        assert few.route_ == "landmarks"

    def test_tolerance_decides_the_number(self, X):
        few = KernelPCA(3, gamma=0.02, landmarks=SparseGreedy(None, tol=1e-2)).fit(X)
        assert few.landmarks_.residual_fraction <= 1e-2
        assert len(few.landmarks_) < 100

    @pytest.mark.parametrize("shape", [(7, 5), (64, 16), (300, 300)])
    def test_blocks_do_not_matter(self, X, shape):
        whole = KernelPCA(4, gamma=0.1, landmarks=40).fit(X)
        with forced_block_shape(*shape):
            assert_same_model(KernelPCA(4, gamma=0.1, landmarks=40).fit(X), whole, X[:10])

    def test_share_of_the_variance(self, X):
        few = KernelPCA(0.5, gamma=0.1, landmarks=100).fit(X)
        assert few.explained_variance_ratio_.sum() >= 0.5
        assert few.explained_variance_ratio_[:-1].sum() < 0.5

    def test_more_components_than_rank_warns(self, X):
        with pytest.warns(RankWarning, match="landmarks"):
            few = KernelPCA(50, gamma=0.1, landmarks=10).fit(X)
        assert few.n_components_ <= 10

    def test_array_libraries_agree(self, X, xp):
        few = KernelPCA(3, gamma=0.1, landmarks=30).fit(X)
        there = KernelPCA(3, gamma=0.1, landmarks=30).fit(xp.asarray(X))
        assert type(there.transform(xp.asarray(X))) is type(xp.asarray(X))
        assert np.allclose(np.asarray(there.transform(xp.asarray(X))), few.transform(X), atol=1e-8)

    def test_sparse_and_float32(self, X):
        from scipy import sparse

        few = KernelPCA(3, gamma=0.1, landmarks=SparseGreedy(30)).fit(X)
        csr = KernelPCA(3, gamma=0.1, landmarks=SparseGreedy(30)).fit(sparse.csr_matrix(X))
        assert_same_model(few, csr, X[:9], tol=1e-8)
        single = KernelPCA(3, gamma=0.1, landmarks=SparseGreedy(30)).fit(X.astype(np.float32))
        assert single.transform(X.astype(np.float32)).dtype == np.float32
        assert np.allclose(single.eigenvalues_, few.eigenvalues_, rtol=1e-3)

    def test_precomputed(self, X):
        K = Gaussian(0.1)(X)
        few = KernelPCA(3, gamma=0.1, landmarks=Uniform(30)).fit(X)
        given_matrix = KernelPCA(3, kernel="precomputed", landmarks=Uniform(30)).fit(K)
        assert np.allclose(given_matrix.eigenvalues_, few.eigenvalues_)
        assert np.allclose(given_matrix.transform(K), few.transform(X))

    def test_compress_and_pickle(self, X):
        few = KernelPCA(3, gamma=0.05, landmarks=100).fit(X)
        small = compress(few, 40, X=X)
        assert small.n_original_points_ == 100
        assert np.allclose(small.transform(X), few.transform(X), atol=0.02)
        assert np.array_equal(pickle.loads(pickle.dumps(few)).transform(X), few.transform(X))

    def test_degenerate_data(self):
        with pytest.raises(ValueError, match="no variance"):
            KernelPCA(1, gamma=1.0, landmarks=5).fit(np.ones((30, 2)))
        with pytest.raises(ValueError, match="NaN"):
            KernelPCA(1, landmarks=5).fit(np.full((30, 2), np.nan))
        two = KernelPCA(1, gamma=1.0, landmarks=5).fit([[0.0, 0.0], [1.0, 1.0]])
        assert np.allclose(two.transform([[0.0, 0.0]]), -two.transform([[1.0, 1.0]]))
        with pytest.raises(ValueError, match="landmarks"):
            KernelPCA(landmarks="nearest").fit(np.eye(5))


class TestAuto:
    def test_small_data_are_exact(self, X):
        assert KernelPCA(2, landmarks="auto").fit(X).route_ == "exact"

    def test_memory_decides(self, X):
        model = KernelPCA(2, gamma=0.1, landmarks="auto", max_memory=10_000).fit(X)
        assert model.route_ == "landmarks"
        assert model.landmarks_ is not None

    def test_no_landmarks_is_always_exact(self, X):
        model = KernelPCA(2, gamma=0.1, max_memory=10_000).fit(X)
        assert model.route_ == "exact" and model.landmarks_ is None


class TestStreams:
    @settings(max_examples=15)
    @given(st.lists(st.integers(1, 299), max_size=5, unique=True), st.integers(0, 100))
    def test_splits_with_fixed_landmarks_do_not_matter(self, cuts, seed):
        X = np.random.default_rng(seed).normal(size=(300, 3))
        first = X[:60]
        landmarks = Uniform(60)  # all of the first batch: nothing grows
        whole = KernelPCA(4, gamma=0.3, landmarks=landmarks).partial_fit(first).partial_fit(X[60:])
        bounds = sorted({60, *(cut for cut in cuts if cut > 60), 300})
        parts = KernelPCA(4, gamma=0.3, landmarks=landmarks).partial_fit(first)
        for start, stop in itertools.pairwise(bounds):
            parts.partial_fit(X[start:stop])
        assert parts.n_samples_seen_ == 300
        assert_same_model(whole, parts, X[:10], tol=1e-8)

    @pytest.mark.parametrize("batch", [20, 75, 150])
    def test_growing_landmarks_agree_with_the_batch_fit(self, X, batch):
        # Within the residual: what is outside the span of the landmarks, or was when it passed.
        whole = KernelPCA(4, gamma=0.05, landmarks=60).fit(X)
        parts = KernelPCA(4, gamma=0.05, landmarks=60)
        for start in range(0, 300, batch):
            parts.partial_fit(X[start : start + batch])
        assert len(parts.landmarks_) <= 60
        assert np.allclose(parts.explained_variance_, whole.explained_variance_, rtol=0.1)

    @pytest.mark.parametrize("n_batches", [4, 7])
    @pytest.mark.parametrize("gamma", [0.01, 0.1, 1.0])
    def test_the_model_is_that_of_all_rows_while_landmarks_join(self, n_batches, gamma):
        """Sorted rows: every batch brings what no earlier one has shown."""
        X = load_iris().data
        model = KernelPCA(gamma=gamma, landmarks=60)
        for batch in np.array_split(X, n_batches):
            given = batch.copy()
            model.partial_fit(given)
            given[:] = np.nan  # batches are the caller's
        Y = model.transform(X)
        assert len(model.landmarks_) > 20 and model.landmarks_.reason == "grown with the data"
        covariance = np.cov(Y.T, bias=True) / np.sqrt(np.outer(*2 * [model.explained_variance_]))
        assert np.abs(covariance - np.eye(model.n_components_)).max() < 1e-6

    def test_weights_are_kept_with_the_rows(self, X, tmp_path):
        weights = np.random.default_rng(1).uniform(0.1, 2, size=300)
        model = KernelPCA(gamma=0.1, landmarks=60).partial_fit(X[:40])
        model.save(tmp_path / "model.preimage")
        model = load(tmp_path / "model.preimage").partial_fit(X[40:], sample_weight=weights[40:])
        weights[:40] = 1
        Y = model.transform(X)
        Y = Y - np.average(Y, axis=0, weights=weights)
        variances = weights @ (Y * Y) / weights.sum()
        assert np.allclose(variances, model.explained_variance_, rtol=1e-6)

    def test_landmarks_that_join_after_rows_are_gone_bring_a_warning(self, rng):
        A, B = rng.normal(size=(300, 2)), rng.normal(size=(300, 2)) + 20
        model = KernelPCA(4, gamma=0.5, landmarks=RandomlyPivotedCholesky(29, tol=0.1)).partial_fit(A)
        assert model._landmark_model.seen is None  # more than ten for each landmark
        with pytest.warns(UserWarning, match="unknown and counts as zero"):
            model.partial_fit(B)

    def test_rows_are_kept_only_while_landmarks_may_join(self, X):
        model = KernelPCA(4, gamma=0.1, landmarks=60).partial_fit(X[:40])
        assert len(model._landmark_model.seen) == 40
        assert model.partial_fit(X[40:])._landmark_model.seen is None  # there are 60 landmarks
        assert KernelPCA(4, gamma=0.1, landmarks=60).fit(X[:40])._landmark_model.seen is None

    def test_landmarks_grow_only_where_needed(self, rng):
        X = rng.normal(size=(200, 2))
        model = KernelPCA(2, gamma=0.5, landmarks=RandomlyPivotedCholesky(100, tol=1e-2)).partial_fit(X)
        before = len(model.landmarks_)
        assert before < 100
        model.partial_fit(X + 0.001)
        assert len(model.landmarks_) <= before + 3
        model.partial_fit(X + 10)  # somewhere else altogether
        assert len(model.landmarks_) > before + 5
        assert model.landmarks_.residual_fraction < 2e-2

    def test_iterators_of_blocks(self, X):
        blocks = (X[start : start + 50] for start in range(0, 300, 50))
        stream = KernelPCA(4, gamma=0.05, landmarks=60).fit(blocks)
        parts = KernelPCA(4, gamma=0.05, landmarks=60)
        for start in range(0, 300, 50):
            parts.partial_fit(X[start : start + 50])
        assert_same_model(stream, parts, X[:10])
        with pytest.raises(ValueError, match="without a single block"):
            KernelPCA(landmarks=5).fit(iter([]))
        with pytest.raises(TypeError, match="iterator of blocks"):
            KernelPCA(landmarks=5).fit_transform(iter([X]))

    def test_fit_forgets_the_stream_and_partial_fit_continues_fit(self, X):
        model = KernelPCA(3, gamma=0.1, landmarks=Uniform(300)).fit(X)
        continued = clone(model).fit(X).partial_fit(X)
        assert continued.n_samples_seen_ == 600
        assert np.allclose(continued.explained_variance_, model.explained_variance_, rtol=1e-6)
        assert_same_model(continued.fit(X), model, X[:10])

    def test_wrong_number_of_columns(self, X):
        model = KernelPCA(2, landmarks=20).partial_fit(X)
        with pytest.raises(ValueError, match="features"):
            model.partial_fit(X[:, :3])

    def test_extended_moments_know_nothing_new_of_old_data(self, X):
        kernel = Gaussian(0.1)
        moments = KernelMoments.of(kernel, X[:20], X)
        extended = moments.extended(X[20:25])
        # Coordinates of old data on the new axes count as zero, so the scatter in feature space is the same.
        from preimage._models.components import Wanted, landmark_subspace

        one, other = landmark_subspace(moments, Wanted(5)), landmark_subspace(extended, Wanted(5))
        assert np.allclose(one.eigenvalues, other.eigenvalues, rtol=1e-8)


class TestHonesty:
    def test_indefinite_kernels_are_refused(self, X):
        with pytest.raises(UnsupportedKernelError, match="positive semidefinite"):
            KernelPCA(3, kernel="sigmoid", gamma=1.0, landmarks=50).fit(X)

    @pytest.mark.filterwarnings("ignore::preimage.exceptions.RankWarning")
    @pytest.mark.parametrize("seed", [0, 2, 4, 10])
    def test_rounding_errors_do_not_make_a_gaussian_indefinite(self, seed):
        """Between many rows on a line that nearly coincide, squared residuals of −1e-6 are rounding."""
        rng = np.random.default_rng(seed)
        X = np.cos(rng.uniform(0, 3, size=(198, 1))) + 0.01 * rng.normal(size=(198, 1))
        for gamma in (300.0, 924.0, 3000.0):
            exact = KernelPCA(gamma=gamma).fit(X)
            for landmarks in (198, Uniform(198)):
                model = KernelPCA(gamma=gamma, landmarks=landmarks).fit(X)
                assert np.allclose(model.transform(X).var(axis=0), model.explained_variance_, rtol=1e-6)
                both = min(model.n_components_, exact.n_components_)
                # Eigenvalues differ by what landmarks leave of the trace, and by rounding errors of it.
                left = model.landmarks_.residual_trace + 1e-13 * model.landmarks_.trace
                assert np.allclose(model.eigenvalues_[:both], exact.eigenvalues_[:both], rtol=1e-6, atol=left)
            KernelPCA(gamma=gamma, landmarks=Uniform(190)).fit(X)  # drawn at random, which is not the best order

    def test_exact_fits_cannot_be_continued(self, X):
        model = KernelPCA(3, gamma=0.3, landmarks="auto").fit(X)
        with pytest.warns(UserWarning, match="begins anew"):
            model.partial_fit(X[:100])
        assert model.n_samples_seen_ == 100

    def test_a_stream_that_moves_away_brings_a_warning(self, rng):
        A, B = rng.normal(size=(300, 2)), rng.normal(size=(300, 2)) + 20
        model = KernelPCA(4, gamma=0.5, landmarks=30).partial_fit(A)
        with pytest.warns(UserWarning, match="no landmark is"):
            model.partial_fit(B)

    def test_an_unreachable_share_brings_a_warning(self, X):
        with pytest.warns(RankWarning, match="of the variance"):
            KernelPCA(0.99, gamma=0.3, landmarks=5).fit(X)

    def test_learned_maps_survive_small_batches(self, X):
        model = KernelPCA(4, gamma=0.1, landmarks=100, preimage="learned").partial_fit(X)
        error = lambda: np.abs(model.inverse_transform(model.transform(X)) - X).mean()
        before = error()
        model.partial_fit(X[:1])
        assert error() < 1.1 * before

    def test_a_bad_block_leaves_the_model_alone(self, X):
        model = KernelPCA(3, gamma=0.3, landmarks=50).fit(X)
        before = model.transform(X)
        with pytest.raises(ValueError, match="NaN"):
            model.fit(iter([X[:50], np.full((50, 4), np.nan)]))
        assert np.array_equal(model.transform(X), before)


class TestMemoryMaps:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
    def test_memory_maps_are_read_in_blocks(self, tmp_path, rng, dtype):
        X = (10 * rng.uniform(size=(500, 3))).astype(dtype)
        np.save(tmp_path / "X.npy", X)
        lazy = np.load(tmp_path / "X.npy", mmap_mode="r")
        held = KernelPCA(3, gamma=0.05, landmarks=50).fit(X)
        mapped = KernelPCA(3, gamma=0.05, landmarks=50).fit(lazy)
        assert np.allclose(mapped.eigenvalues_, held.eigenvalues_, rtol=1e-4)
        assert np.allclose(mapped.transform(lazy), held.transform(X), atol=1e-4)
        assert mapped.denoise(lazy[:20]).shape == (20, 3)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    @pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
    def test_bad_values_in_a_memory_map(self, tmp_path, bad, kernel, rng):
        X = rng.normal(size=(200, 2))
        X[150, 1] = bad
        np.save(tmp_path / "X.npy", X)
        with pytest.raises(ValueError, match="NaN"):
            KernelPCA(1, kernel=kernel, landmarks=10).fit(np.load(tmp_path / "X.npy", mmap_mode="r"))


class TestDevices:
    @pytest.mark.parametrize("landmarks", [None, 40])
    def test_numpy_goes_through_a_device_and_comes_back(self, X, landmarks):
        pytest.importorskip("torch")
        here = KernelPCA(3, gamma=0.1, landmarks=landmarks).fit(X)
        there = KernelPCA(3, gamma=0.1, landmarks=landmarks, device="cpu").fit(X)
        assert isinstance(there.transform(X), np.ndarray)
        assert isinstance(there.subspace_.frame.points, np.ndarray)
        assert_same_model(here, there, X[:20], tol=1e-8)
        assert np.allclose(here.denoise(X[:5]), there.denoise(X[:5]), atol=1e-6)

    @pytest.mark.cuda
    def test_cuda_streams_numpy(self, X):
        torch = pytest.importorskip("torch")
        if not torch.cuda.is_available():
            pytest.skip("no CUDA device")
        here = KernelPCA(3, gamma=0.1, landmarks=40).fit(X)
        there = KernelPCA(3, gamma=0.1, landmarks=40, device="cuda").fit(X)
        assert_same_model(here, there, X[:20], tol=1e-7)


@pytest.mark.parametrize("kernel", [Exponential(0.05), Gaussian(1e-3), Polynomial(4, 0.01)], ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_components_that_rounding_decides_are_not_kept(kernel, dtype, rng):
    X = rng.normal(size=(60, 2)).astype(dtype)
    model = KernelPCA(kernel=kernel, landmarks=20).fit(X)
    exact, rounded = kernel(X.astype(float), to_numpy(model.subspace_.frame.points).astype(float)), model.transform(X)
    frame = to_numpy(model.subspace_.frame.coefficients).astype(float)
    expected = exact @ frame - to_numpy(model.subspace_.offset).astype(float)
    errors = np.abs(rounded - expected).max(axis=0) / expected.std(axis=0)
    assert errors.max() < (1e-4 if dtype == np.float64 else 0.2)


def test_rows_that_single_precision_cannot_tell_apart_are_refused_with_and_without_landmarks():
    noise = np.random.default_rng(0).normal(size=(60, 2))
    rows = (noise + np.array([2000.0, -4000.0])).astype(np.float32)
    for landmarks in (None, Uniform(20, random_state=0)):
        model = KernelPCA(3, kernel="poly", gamma=3.7 / 2e7, landmarks=landmarks)
        with pytest.raises(ValueError, match="no variance in feature space"):
            model.fit(rows)
