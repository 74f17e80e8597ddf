"""KernelKMeans: laws, routes, kinds of data, pre-images, compression."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
from for_each import for_each
from naive import monomials
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_circles
from sklearn.metrics import adjusted_rand_score

from preimage import KernelKMeans, compress
from preimage._engine import threads as _threads
from preimage._engine.arrays import to_numpy
from preimage._models.clustering import runs_at_once
from preimage.exceptions import ConvergenceWarning, UnsupportedKernelError
from preimage.kernels import Gaussian, Polynomial
from preimage.landmarks import Uniform


@pytest.fixture
def X(rng):
    return rng.normal(size=(80, 3)) + 2 * rng.integers(0, 3, size=(80, 1))


@pytest.fixture
def rings():
    return make_circles(300, factor=0.3, noise=0.05, random_state=0)


ROUTES = [{}, {"landmarks": 80}, {"max_memory": 1000}]


class TestLaws:
    @pytest.mark.parametrize("route", ROUTES, ids=str)
    def test_linear_kernel_is_kmeans(self, X, rng, route):
        init = rng.integers(0, 3, 80)
        centers = np.array([X[init == number].mean(axis=0) for number in range(3)])
        peer = KMeans(3, init=centers, n_init=1, tol=0).fit(X)
        ours = KernelKMeans(3, kernel="linear", init=init, tol=0, **route).fit(X)
        assert np.array_equal(ours.labels_, peer.labels_)
        assert ours.inertia_ == pytest.approx(peer.inertia_)
        assert np.allclose(ours.transform(X), peer.transform(X))
        assert ours.score(X[:9]) == pytest.approx(peer.score(X[:9]))

    def test_distances_are_those_of_explicit_features(self, X):
        model = KernelKMeans(4, kernel=Polynomial(2, gamma=1.0, coef0=1.0)).fit(X)
        Y = monomials(X, 2, 1.0)
        centers = np.array([Y[model.labels_ == number].mean(axis=0) for number in range(4)])
        assert np.allclose(model.transform(X), np.linalg.norm(Y[:, None] - centers, axis=2))
        assert np.allclose(model.centers_.squared_norms(), np.sum(centers**2, axis=1))

    @pytest.mark.parametrize("route", ROUTES, ids=str)
    def test_predictions_on_the_training_set_are_the_labels(self, X, route):
        model = KernelKMeans(4, gamma=0.2, **route).fit(X)
        assert np.array_equal(model.predict(X), model.labels_)
        assert np.array_equal(np.argmin(model.transform(X), axis=1), model.labels_)
        assert -model.score(X) == pytest.approx(model.inertia_)
        assert np.array_equal(clone(model).fit_predict(X), model.labels_)

    @pytest.mark.parametrize("route", ROUTES, ids=str)
    def test_order_of_rows_does_not_matter(self, X, rng, route):
        order = rng.permutation(80)
        one, other = (KernelKMeans(4, gamma=0.2, **route).fit(each) for each in (X, X[order]))
        assert np.array_equal(one.labels_[order], other.labels_)

    @pytest.mark.parametrize("route", ROUTES, ids=str)
    def test_weights_are_copies_and_zero_is_absence(self, X, rng, route):
        weights = rng.integers(0, 3, 80)
        copies = np.repeat(np.arange(80), weights)
        weighted = KernelKMeans(4, gamma=0.2, **route).fit(X, sample_weight=weights)
        repeated = KernelKMeans(4, gamma=0.2, **route).fit(X[copies])
        assert np.array_equal(weighted.labels_[copies], repeated.labels_)
        assert weighted.inertia_ == pytest.approx(repeated.inertia_)
        assert np.allclose(weighted.transform(X), repeated.transform(X), atol=1e-6)
        assert weighted.score(X, sample_weight=weights) == pytest.approx(repeated.score(X[copies]))
        assert np.array_equal(weighted.predict(X), weighted.labels_)

    def test_all_points_as_landmarks_are_exact(self, X):
        exact = KernelKMeans(4, gamma=0.2).fit(X)
        all_points = KernelKMeans(4, gamma=0.2, landmarks=Uniform(80)).fit(X)
        assert np.array_equal(exact.labels_, all_points.labels_)
        assert exact.inertia_ == pytest.approx(all_points.inertia_)
        assert np.allclose(exact.transform(X), all_points.transform(X), atol=1e-6)

    def test_one_cluster_is_the_mean(self, X):
        model = KernelKMeans(1, gamma=0.2).fit(X)
        K = Gaussian(0.2)(X)
        assert model.inertia_ == pytest.approx(80 - K.sum() / 80)
        assert np.all(model.labels_ == 0)

    @pytest.mark.parametrize("route", [{}, {"landmarks": 80}], ids=str)
    def test_as_many_clusters_as_points(self, X, route):
        model = KernelKMeans(80, gamma=5.0, **route).fit(X)
        assert np.array_equal(np.sort(model.labels_), np.arange(80))
        assert model.inertia_ == pytest.approx(0, abs=1e-9)

    @pytest.mark.parametrize("route", [{}, {"landmarks": 5}], ids=str)
    def test_constant_data_have_one_cluster(self, route):
        with pytest.warns(ConvergenceWarning, match="Only 1 of 3 clusters"):
            model = KernelKMeans(3, gamma=1.0, **route).fit(np.ones((10, 2)))
        assert np.all(model.labels_ == 0)
        assert model.inertia_ == pytest.approx(0, abs=1e-12)

    def test_duplicates_stay_together(self, X):
        twice = KernelKMeans(4, gamma=0.2).fit(np.concatenate([X, X]))
        assert np.array_equal(twice.labels_[:80], twice.labels_[80:])
        assert np.array_equal(twice.labels_[:80], KernelKMeans(4, gamma=0.2).fit(X).labels_)


class TestQuality:
    @pytest.mark.parametrize("route", [{}, {"landmarks": 60}], ids=str)
    def test_rings_are_told_apart(self, rings, route):
        X, y = rings
        assert adjusted_rand_score(y, KernelKMeans(2, gamma=5, **route).fit_predict(X)) == 1
        assert adjusted_rand_score(y, KMeans(2, n_init=10, random_state=0).fit_predict(X)) < 0.1

    def test_restarts_help(self, X):
        inertias = [KernelKMeans(6, gamma=1.0, n_init=number).fit(X).inertia_ for number in (1, 5, 40)]
        assert inertias[2] <= inertias[0]

    def test_a_seed_decides(self, X):
        one, same = (KernelKMeans(6, gamma=1.0, n_init=1, random_state=3).fit(X) for _ in range(2))
        assert np.array_equal(one.labels_, same.labels_)


class TestOnline:
    @pytest.mark.parametrize("route", ROUTES, ids=str)
    def test_centers_are_means_of_what_they_were_given(self, X, route):
        init = np.full(80, -1)
        init[:3] = np.arange(3)
        model = KernelKMeans(3, kernel="linear", algorithm="online", init=init, **route).fit(X)
        centers, counts = X[:3].copy(), np.ones(3)
        for x in X[3:]:
            near = np.argmin(((centers - x) ** 2).sum(axis=1))
            counts[near] += 1
            centers[near] += (x - centers[near]) / counts[near]
        assert np.allclose(model.transform(X), np.linalg.norm(X[:, None] - centers, axis=2))
        assert model.n_iter_ == 1

    def test_batches_continue_the_pass(self, X):
        model = KernelKMeans(3, gamma=0.2, landmarks=80, random_state=0)
        model.partial_fit(X[:40])
        sizes = model._clusters.sizes
        model.partial_fit(X[40:60]).partial_fit(X[60:])
        assert model._clusters.sizes.sum() == sizes.sum() + 40 == 80
        assert adjusted_rand_score(model.predict(X), KernelKMeans(3, gamma=0.2).fit_predict(X)) > 0.5
        assert np.array_equal(model.predict(X[60:]), model.labels_)


class TestKindsOfData:
    def test_precomputed(self, X):
        K = Gaussian(0.2)(X)
        for route in ({}, {"landmarks": 80}):
            inputs = KernelKMeans(4, gamma=0.2, **route).fit(X)
            model = KernelKMeans(4, kernel="precomputed", **route).fit(K)
            assert np.array_equal(model.labels_, inputs.labels_)
            assert np.array_equal(model.predict(K[:9]), inputs.labels_[:9])
            assert not hasattr(model, "score")
            with pytest.raises(UnsupportedKernelError, match="does not know k"):
                model.transform(K[:9])
            with pytest.raises(UnsupportedKernelError, match="no inputs"):
                model.cluster_preimages()

    @pytest.mark.parametrize("route", ROUTES, ids=str)
    def test_sparse_is_dense(self, X, route):
        dense = np.where(np.abs(X) < 1, 0, X)
        one, other = (KernelKMeans(4, gamma=0.2, **route).fit(each) for each in (dense, sparse.csr_matrix(dense)))
        assert np.array_equal(one.labels_, other.labels_)
        assert np.allclose(one.transform(dense), other.transform(sparse.csr_matrix(dense)))

    @pytest.mark.parametrize("route", ROUTES, ids=str)
    def test_float32_stays(self, X, route):
        wide = KernelKMeans(3, gamma=0.05, **route).fit(X)
        narrow = KernelKMeans(3, gamma=0.05, **route).fit(X.astype(np.float32))
        assert narrow.transform(X.astype(np.float32)).dtype == np.float32
        assert adjusted_rand_score(wide.labels_, narrow.labels_) > 0.9
        assert narrow.inertia_ == pytest.approx(wide.inertia_, rel=1e-3)

    @pytest.mark.parametrize("route", ROUTES, ids=str)
    def test_array_libraries_agree(self, X, xp, route):
        here = KernelKMeans(4, gamma=0.2, **route).fit(X)
        there = KernelKMeans(4, gamma=0.2, **route).fit(xp.asarray(X))
        assert np.array_equal(here.labels_, there.labels_)
        assert np.allclose(here.transform(X), to_numpy(there.transform(xp.asarray(X))), atol=1e-6)
        assert np.array_equal(there.predict(xp.asarray(X)), here.labels_)

    def test_a_device_gives_numpy_back(self, X):
        pytest.importorskip("torch")
        for route in ({}, {"landmarks": 80}):
            here = KernelKMeans(4, gamma=0.2, **route).fit(X)
            there = KernelKMeans(4, gamma=0.2, device="cpu", **route).fit(X)
            assert isinstance(there.transform(X), np.ndarray)
            assert np.array_equal(here.labels_, there.labels_)

    @pytest.mark.parametrize("algorithm", ["lloyd", "online"])
    def test_dask_is_numpy(self, X, rng, algorithm):
        da = pytest.importorskip("dask.array")
        lazy, weights = da.from_array(X, chunks=(30, 3)), rng.integers(1, 3, 80)
        model = KernelKMeans(4, gamma=0.2, landmarks=Uniform(80), algorithm=algorithm)
        here, there = clone(model).fit(X, sample_weight=weights), clone(model).fit(lazy, sample_weight=weights)
        assert hasattr(there.labels_, "compute") and hasattr(there.transform(lazy), "compute")
        assert np.array_equal(there.labels_.compute(), here.labels_)
        assert there.inertia_ == pytest.approx(here.inertia_)
        assert there.score(lazy) == pytest.approx(here.score(X))
        with pytest.raises(TypeError, match="landmarks=500"):
            KernelKMeans(4).fit(lazy)

    @pytest.mark.parametrize("most_held", [2**28, 0])
    def test_chunks_are_read_once_if_their_coordinates_fit(self, rng, monkeypatch, most_held):
        da = pytest.importorskip("dask.array")
        monkeypatch.setattr("preimage._models.clustering._clusters.MOST_HELD_OF_LAZY", most_held)
        X, reads = rng.normal(size=(90, 3)), []
        count = lambda chunk: reads.append(len(chunk)) or chunk
        lazy = da.from_array(X, chunks=(30, 3)).map_blocks(count, dtype=X.dtype, meta=X[:0])
        model = KernelKMeans(4, gamma=0.2, landmarks=Uniform(20))
        here, there = clone(model).fit(X), clone(model).fit(lazy)
        assert there.n_iter_ == here.n_iter_ > 3
        assert there.inertia_ == pytest.approx(here.inertia_)
        # A chunk to try the kernel, two selections of rows, and one pass for all iterations or each.
        assert sum(reads) <= 4 * 90 if most_held else sum(reads) > here.n_iter_ * 90

    def test_memory_maps(self, X, tmp_path):
        np.save(tmp_path / "X.npy", X)
        mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
        model = KernelKMeans(4, gamma=0.2, landmarks=Uniform(80))
        assert np.array_equal(clone(model).fit(mapped).labels_, clone(model).fit(X).labels_)

    def test_auto_takes_landmarks_for_little_memory(self, X):
        assert KernelKMeans(4, landmarks="auto").fit(X).route_ == "exact"
        assert KernelKMeans(4, landmarks="auto", max_memory="10kB").fit(X).route_ == "landmarks"

    def test_pickle(self, X):
        model = KernelKMeans(4, gamma=0.2).fit(X)
        assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.labels_)


class TestPreimageMixin:
    def test_preimages_of_linear_centers_are_the_centers(self, X):
        model = KernelKMeans(3, kernel="linear", preimage="gradient").fit(X)
        centers = np.array([X[model.labels_ == number].mean(axis=0) for number in range(3)])
        assert np.allclose(model.cluster_preimages(), centers, atol=1e-3)

    @pytest.mark.parametrize("preimage", ["fixed_point", "learned", "weighted_mean"])
    @pytest.mark.parametrize("route", [{}, {"landmarks": 100}], ids=str)
    def test_preimages_of_digits_belong_to_their_clusters(self, preimage, route):
        X = load_digits().data[:300] / 16
        model = KernelKMeans(6, gamma=0.05, preimage=preimage, **route).fit(X)
        assert np.array_equal(model.predict(model.cluster_preimages()), np.arange(6))


class TestCompression:
    @pytest.mark.parametrize("n_clusters", [2, 5])
    @pytest.mark.parametrize("data", [True, False])
    def test_few_points_find_the_same_clusters(self, X, n_clusters, data):
        model = KernelKMeans(n_clusters, gamma=0.1).fit(X)
        small = compress(model, 20, X=X if data else None)
        assert small.n_points_ == 20
        assert np.mean(small.predict(X) == model.labels_) > 0.95

    @pytest.mark.parametrize("n_clusters", [2, 5])
    def test_the_machine_predicts_what_the_model_predicts(self, X, rng, n_clusters):
        model = KernelKMeans(n_clusters, gamma=0.1).fit(X)
        machine, Z = model._kernel_machine(), rng.normal(size=(40, 3)) * 3
        assert np.array_equal(machine.output.predict(machine(Z)), model.predict(Z))

    def test_a_single_cluster_has_nothing_to_compress(self, X):
        with pytest.raises(ValueError, match="single cluster"):
            compress(KernelKMeans(1).fit(X), 3)


class TestErrors:
    def test_more_clusters_than_rows(self, X):
        with pytest.raises(ValueError, match="n_samples=80 should be >= n_clusters=81"):
            KernelKMeans(81).fit(X)
        with pytest.raises(ValueError, match="positive weight"):
            KernelKMeans(3).fit(X, sample_weight=np.arange(80) < 2)

    @pytest.mark.parametrize("init", [np.zeros(7, int), np.full(80, 4), np.zeros(80)], ids=["short", "large", "float"])
    def test_labels_that_make_no_sense(self, X, init):
        with pytest.raises(ValueError, match="`init` needs a label from 0 to 3"):
            KernelKMeans(4, init=init).fit(X)

    def test_the_limit_of_iterations_is_told(self, X):
        with pytest.warns(ConvergenceWarning, match="max_iter=1"):
            KernelKMeans(6, gamma=1.0, max_iter=1).fit(X)


def test_indefinite_kernels_end_with_labels_for_all(X):
    model = KernelKMeans(3, kernel="sigmoid", gamma=0.5, coef0=-1.0).fit(X)
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.isfinite(model.inertia_)


def test_a_compressed_model_is_saved_and_loaded(X, tmp_path):
    from preimage import load

    small = compress(KernelKMeans(3, gamma=0.1).fit(X), 15, X=X)
    small.save(tmp_path / "clusters.safetensors")
    assert np.array_equal(load(tmp_path / "clusters.safetensors").predict(X), small.predict(X))


class TestPrecision:
    @pytest.mark.parametrize("route", [{}, {"landmarks": 20}], ids=str)
    @pytest.mark.parametrize("kernel", ["linear", "poly"])
    def test_inner_products_far_from_the_origin(self, rng, kernel, route):
        X = rng.normal(size=(90, 2)) + 8 * np.eye(3, 2)[np.arange(90) % 3] + 1e4
        single, options = X.astype(np.float32), {"kernel": kernel, "degree": 2, "gamma": 1e-8, **route}
        ours, peer = KernelKMeans(3, **options).fit(single), KernelKMeans(3, **options).fit(X)
        assert adjusted_rand_score(ours.labels_, peer.labels_) == 1
        assert adjusted_rand_score(ours.predict(single), peer.labels_) == 1
        distances, exact = ours.transform(single), peer.transform(X)
        assert distances.dtype == np.float32
        np.testing.assert_allclose(np.sort(distances), np.sort(exact), rtol=1e-3, atol=1e-3 * exact.max())
        np.testing.assert_allclose([ours.score(single), -ours.inertia_], peer.score(X), rtol=1e-3)

    @pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
    @pytest.mark.parametrize("init", ["k-means++", np.arange(80) % 3], ids=["plus", "labels"])
    def test_overflow_is_refused(self, X, init):
        with pytest.raises(ValueError, match="Scale the data"):
            KernelKMeans(3, kernel="linear", init=init).fit(X * 1e200)


def test_parameters_set_after_fitting_wait_for_the_next_fit(X):
    model = KernelKMeans(3).fit(X).set_params(n_clusters=5)
    assert len(model.get_feature_names_out()) == 3
    assert np.mean(compress(model, 20).predict(X) == model.predict(X)) > 0.9


def test_batches_of_a_precomputed_kernel_are_refused(X):
    with pytest.raises(UnsupportedKernelError, match="partial_fit"):
        KernelKMeans(3, kernel="precomputed", landmarks=10).partial_fit(X @ X.T)


class TestCopies:
    """More clusters than distinct points."""

    @for_each("kernel", ["rbf", "linear", "poly", "laplacian"])
    @for_each("landmarks", [None, 3])
    @for_each("algorithm", ["lloyd", "online"])
    @for_each("dtype", [np.float32, np.float64])
    def test_copies_of_a_row_have_one_label(self, kernel, landmarks, algorithm, dtype):
        for seed in range(6):
            rng = np.random.default_rng(seed)
            distinct = rng.normal(size=(rng.integers(1, 6), 2)) * 10.0 ** rng.integers(-2, 3) + seed**3
            numbers = np.concatenate([np.arange(len(distinct)), rng.integers(0, len(distinct), 25)])
            X = distinct[numbers].astype(dtype)
            model = KernelKMeans(
                7, kernel=kernel, landmarks=landmarks, algorithm=algorithm, n_init=2, random_state=seed
            )
            with pytest.warns(ConvergenceWarning, match="of 7 clusters have rows"):
                model.fit(X)
            assert np.array_equal(model.predict(X), model.labels_)
            assert all(len(set(model.labels_[numbers == number])) == 1 for number in range(len(distinct)))

    def test_as_many_clusters_as_distinct_points_leave_nothing(self, rng):
        X = np.repeat(rng.normal(size=(6, 3)), [1, 2, 3, 4, 5, 6], axis=0)
        model = KernelKMeans(6, gamma=1.0).fit(X)
        assert model.inertia_ == pytest.approx(0, abs=1e-12)
        assert len(set(model.labels_)) == 6

    def test_a_kernel_that_vanishes_has_one_cluster(self):
        with pytest.warns(ConvergenceWarning, match="Only 1 of 2"):
            assert set(KernelKMeans(2, kernel="linear").fit(np.zeros((5, 2))).labels_) == {0}


class TestLazyData:
    def test_chunks_of_unknown_sizes_and_dask_frames(self, X):
        da, dd, pd = (pytest.importorskip(name) for name in ("dask.array", "dask.dataframe", "pandas"))
        expected = KernelKMeans(3, gamma=0.2, landmarks=Uniform(30)).fit(X)
        unknown = da.from_array(X, chunks=(30, 3))
        unknown = unknown[da.from_array(np.ones(80, bool), chunks=30)]
        for lazy in (unknown, dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=3)):
            model = KernelKMeans(3, gamma=0.2, landmarks=Uniform(30)).fit(lazy)
            assert np.array_equal(model.labels_.compute(), expected.labels_)
            assert np.array_equal(model.predict(lazy).compute(), expected.labels_)
            assert model.inertia_ == pytest.approx(expected.inertia_)
            with pytest.raises(TypeError, match="landmarks=500"):
                KernelKMeans(3).fit(lazy)
            assert KernelKMeans(3, landmarks="auto").fit(lazy).route_ == "landmarks"
        assert list(model.feature_names_in_) == ["a", "b", "c"]

    def test_iterators_of_blocks(self, X):
        model = KernelKMeans(3, gamma=0.2, landmarks=20)
        expected = clone(model).partial_fit(X[:50]).partial_fit(X[50:])
        found = clone(model).fit(X).fit(block for block in (X[:50], X[50:]))
        assert np.array_equal(found.predict(X), expected.predict(X))
        with pytest.raises(ValueError, match="without a single block"):
            clone(model).fit(iter(()))
        with pytest.raises(ValueError, match="which weights"):
            clone(model).fit(iter((X,)), sample_weight=np.ones(80))
        with pytest.raises(TypeError, match="one by one"):
            clone(model).fit_predict(iter((X,)))
        with pytest.raises(TypeError, match="one by one"):
            found.predict(iter((X,)))


@pytest.mark.parametrize("landmarks", [None, 80])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_weights_are_repetitions(X, rng, kernel, landmarks):
    times = rng.integers(1, 4, size=80)
    many, init = np.repeat(X, times, axis=0), rng.integers(0, 3, size=80)
    weighted = KernelKMeans(3, kernel=kernel, gamma=0.2, init=init, landmarks=landmarks).fit(X, sample_weight=times)
    repeated = KernelKMeans(3, kernel=kernel, gamma=0.2, init=np.repeat(init, times), landmarks=landmarks).fit(many)
    assert np.array_equal(np.repeat(weighted.labels_, times), repeated.labels_)
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)


@pytest.mark.parametrize("landmarks", [None, 40])
@pytest.mark.parametrize("gamma", [1e-7, 1e-4, 0.1])
def test_single_precision_finds_the_clusters_of_double_precision_on_the_same_rows(X, gamma, landmarks):
    X = X.astype(np.float32)
    options = {"gamma": gamma, "landmarks": None if landmarks is None else Uniform(landmarks)}
    single, double = KernelKMeans(3, **options).fit(X), KernelKMeans(3, **options).fit(X.astype(float))
    assert np.array_equal(single.labels_, double.labels_)
    assert single.inertia_ == pytest.approx(double.inertia_)
    assert single.transform(X).dtype == np.float32
    assert np.allclose(single.transform(X), double.transform(X.astype(float)), rtol=1e-5, atol=0)


@pytest.mark.parametrize("landmarks", [None, 80])
@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_a_linear_kernel_far_from_the_origin_is_kmeans(X, rng, offset, landmarks):
    init = rng.integers(0, 3, 80)
    centers = np.array([X[init == number].mean(axis=0) for number in range(3)])
    peer = KMeans(3, init=centers, n_init=1, tol=0).fit(X)
    ours = KernelKMeans(3, kernel="linear", init=init, tol=0, landmarks=landmarks).fit(X + offset)
    assert np.array_equal(ours.labels_, peer.labels_)
    assert ours.inertia_ == pytest.approx(peer.inertia_, rel=1e-6)


def test_runs_take_turns_where_memory_is_scarce():
    """The sums of all runs together would take more than the budget; the result is that of runs side by side."""
    X = np.random.default_rng(0).normal(size=(600, 3))
    options = {"n_clusters": 60, "gamma": 0.5, "n_init": 10, "max_iter": 5}
    budget = 2 * 8 * 600**2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # five iterations are not enough
        together = KernelKMeans(**options).fit(X)
        KernelKMeans(max_memory=budget, **options).fit(X[:100])
        tracemalloc.start()
        in_turn = KernelKMeans(max_memory=budget, **options).fit(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    np.testing.assert_array_equal(in_turn.labels_, together.labels_)
    assert peak <= budget


def test_runs_that_fit_in_memory():
    assert runs_at_once(1000, 10, 10**9) >= 10
    assert runs_at_once(1000, 10, 4 * 8 * 10_000) == 1
    assert runs_at_once(1000, 10, -5) == 1


def test_clusters_do_not_depend_on_threads(monkeypatch):
    X = np.random.default_rng(1).normal(size=(400, 3))
    for landmarks in (None, 50):
        models = []
        for threads in (1, 2, 8):
            monkeypatch.setattr(_threads, "allowed_threads", lambda count=threads: count)
            models.append(KernelKMeans(7, gamma=0.5, landmarks=landmarks).fit(X))
        for other in models[1:]:
            np.testing.assert_array_equal(other.labels_, models[0].labels_)
            np.testing.assert_allclose(other.inertia_, models[0].inertia_, rtol=1e-12)
