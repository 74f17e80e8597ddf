"""KernelPCA on Dask collections: chunk layouts, lazy outputs, separate processes, lost workers."""

import os
import signal
import uuid

import numpy as np
import pytest

from preimage import KernelPCA
from preimage.feature_space import Moments
from preimage.landmarks import KMeans, RandomlyPivotedCholesky, SparseGreedy, Uniform

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

LAYOUTS = {
    "one chunk": ((600,), (4,)),
    "even": ((200, 200, 200), (4,)),
    "ragged": ((1, 250, 7, 342), (4,)),
    "column chunks": ((300, 300), (1, 3)),
    "empty chunks": ((0, 300, 0, 300, 0), (4,)),
    "single rows": ((1,) * 5 + (595,), (2, 2)),
}


def layout(X, name):
    """X cut as `name` says; empty chunks need a graph of their own, because slicing drops them."""
    rows, columns = LAYOUTS[name]
    if 0 not in rows:
        return da.from_array(X, chunks=(rows, columns))
    bounds = np.concatenate([[0], np.cumsum(rows)])
    parts = {("parts", i, 0): X[bounds[i] : bounds[i + 1]] for i in range(len(rows))}
    return da.Array(parts, "parts", (rows, columns), dtype=X.dtype)


def model(**parameters):
    return KernelPCA(**{"n_components": 4, "gamma": 0.1, "landmarks": 50, **parameters})


def assert_same_model(one, other, Z):
    assert one.n_samples_seen_ == other.n_samples_seen_
    assert np.allclose(one.landmarks_.points, other.landmarks_.points)
    assert np.allclose(one.eigenvalues_, other.eigenvalues_, rtol=1e-8)
    assert np.allclose(one.transform(Z), other.transform(Z), atol=1e-8)
    assert np.allclose(one.explained_variance_ratio_, other.explained_variance_ratio_, rtol=1e-8)
    assert one.landmarks_.residual_trace == pytest.approx(other.landmarks_.residual_trace, rel=1e-8)


@pytest.fixture
def X(rng):
    return rng.normal(size=(600, 4))


@pytest.fixture
def nothing_computes():
    """Any computation of a Dask collection fails."""

    def refuse(*arguments, **options):
        raise AssertionError("something was computed")

    with dask.config.set(scheduler=refuse):
        yield


@pytest.fixture(autouse=True)
def _in_this_thread(request):
    """Without a cluster, tasks run in turn: failures have short tracebacks."""
    if "client" in request.fixturenames:
        yield
        return
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def client():
    settings = {
        "distributed.comm.timeouts.connect": "60s",
        "distributed.worker.daemon": True,
        "distributed.admin.low-level-log-length": 0,
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0
        ) as cluster,
        distributed.Client(cluster, set_as_default=False, timeout=60) as client,
    ):
        yield client


class TestLayouts:
    @pytest.mark.parametrize("name", LAYOUTS)
    def test_any_chunking_gives_the_model_in_memory(self, X, name):
        D = layout(X, name)
        held, chunked = model().fit(X), model().fit(D)
        assert_same_model(held, chunked, X[:20])
        assert np.allclose(chunked.transform(D).compute(), held.transform(X), atol=1e-8)
        assert np.allclose(chunked.denoise(D).compute(), held.denoise(X), atol=1e-7)
        assert np.allclose(chunked.reconstruction_error(D).compute(), held.reconstruction_error(X), atol=1e-8)
        assert np.allclose(chunked.score_samples(D).compute(), held.score_samples(X), atol=1e-8)
        Y = held.transform(X)
        assert np.allclose(chunked.inverse_transform(chunked.transform(D)).compute(), held.inverse_transform(Y))

    @pytest.mark.parametrize("selector", [Uniform(30), KMeans(30), SparseGreedy(30), RandomlyPivotedCholesky(30)])
    def test_every_selector(self, X, selector):
        parameters = {"landmarks": selector, "gamma": "median"}
        assert_same_model(model(**parameters).fit(X), model(**parameters).fit(layout(X, "ragged")), X[:20])

    @pytest.mark.parametrize("gamma", [None, "scale", "median", 0.2])
    def test_samples_do_not_depend_on_chunks(self, rng, gamma):
        # More rows than widths and landmarks are found from.
        X = rng.normal(size=(12_000, 3))
        held = model(gamma=gamma).fit(X)
        for chunks in (12_000, 5000, (11_000, 1, 999)):
            chunked = model(gamma=gamma).fit(da.from_array(X, chunks=(chunks, 3)))
            assert_same_model(held, chunked, X[:20])

    @pytest.mark.parametrize("dtype", [np.float32, np.int16, np.uint8])
    def test_number_types(self, X, dtype):
        X = (10 * np.abs(X)).astype(dtype)
        held, D = model(gamma=0.01).fit(X), layout(X, "ragged")
        chunked = model(gamma=0.01).fit(D)
        Y = chunked.transform(D)
        assert Y.dtype == (np.float32 if dtype is np.float32 else np.float64)
        assert Y.compute().dtype == Y.dtype
        assert np.allclose(chunked.eigenvalues_, held.eigenvalues_, rtol=1e-5 if dtype is np.float32 else 1e-8)
        assert np.allclose(Y.compute(), held.transform(X), atol=1e-4 if dtype is np.float32 else 1e-8)

    def test_kernels_whose_diagonal_depends_on_data(self, X):
        for kernel in ("linear", "cosine", "poly"):
            held = model(kernel=kernel, n_components=2, landmarks=10).fit(X)
            chunked = model(kernel=kernel, n_components=2, landmarks=10).fit(layout(X, "empty chunks"))
            assert np.allclose(chunked.eigenvalues_, held.eigenvalues_, rtol=1e-8)

    def test_batches_of_chunks(self, X):
        held = model(landmarks=Uniform(300)).partial_fit(X[:300]).partial_fit(X[300:])
        D = layout(X, "ragged")
        chunked = model(landmarks=Uniform(300)).partial_fit(D[:300]).partial_fit(D[300:][D[300:, 0] > -np.inf])
        assert np.allclose(chunked.eigenvalues_, held.eigenvalues_, rtol=1e-8)

    def test_merged_blocks_equal_one_block(self, rng):
        Y, shift = rng.normal(size=(50, 3)) + 5, np.full(3, 4.8)
        one = Moments.of(Y)
        parts = Moments.about(shift, Y[:20] - shift) + Moments.about(shift + 1, Y[20:] - shift - 1)
        assert np.allclose(one.mean, parts.mean, rtol=1e-13)
        assert np.allclose(one.scatter, parts.scatter, rtol=1e-12)


class TestUnknownSizes:
    def test_arrays_without_chunk_sizes(self, X):
        D = layout(X, "even")
        unknown = D[D[:, 0] > -np.inf]
        assert np.isnan(unknown.shape[0])
        held = model().fit(X)
        chunked = model().fit(unknown)
        assert_same_model(held, chunked, X[:20])
        assert np.isnan(unknown.shape[0])  # an argument is not changed
        assert np.allclose(chunked.transform(unknown).compute(), held.transform(X), atol=1e-8)

    def test_data_frames(self, X, nothing_computes):
        pandas = pytest.importorskip("pandas")
        frames = pytest.importorskip("dask.dataframe")
        frame = pandas.DataFrame(X, columns=list("abcd"))
        D = frames.from_pandas(frame, npartitions=4)
        held = model().fit(frame)
        with dask.config.set(scheduler="synchronous"):
            chunked = model().fit(D)
        assert_same_model(held, chunked, frame[:20])
        assert list(chunked.feature_names_in_) == list("abcd")
        Y = chunked.transform(D)  # lengths of partitions are not counted
        with dask.config.set(scheduler="synchronous"):
            assert np.allclose(Y.compute(), held.transform(frame), atol=1e-8)
        with pytest.raises(ValueError, match="feature names"):
            chunked.transform(D[["b", "a", "c", "d"]])
        with dask.config.set(scheduler="synchronous"):
            assert list(KernelPCA(2).fit(D).feature_names_in_) == list("abcd")


class TestLaziness:
    def test_outputs_are_lazy(self, X, nothing_computes):
        fitted, D = model().fit(X), layout(X, "even")
        Y = fitted.transform(D)
        outputs = [
            (Y, (600, 4)),
            (fitted.denoise(D), (600, 4)),
            (fitted.inverse_transform(Y), (600, 4)),
            (fitted.reconstruction_error(D), (600,)),
            (fitted.score_samples(D), (600,)),
        ]
        for output, shape in outputs:
            assert isinstance(output, da.Array)
            assert output.shape == shape
            assert output.chunks[0] == D.chunks[0]

    def test_fit_transform_is_lazy_after_the_fit(self, X):
        Y = model().fit_transform(layout(X, "even"))
        assert isinstance(Y, da.Array)
        assert np.allclose(Y.compute(), model().fit_transform(X), atol=1e-8)

    def test_fitted_state_is_local_and_small(self, X):
        fitted = model().fit(layout(X, "even"))
        assert type(fitted.subspace_.frame.points) is np.ndarray
        assert fitted.subspace_.frame.points.shape == (50, 4)
        assert fitted.preimage_ is not None

    @pytest.mark.parametrize("name", ["transform", "denoise"])
    def test_tasks_carry_the_subspace_only(self, X, name, monkeypatch):
        import cloudpickle

        import preimage._engine.dask as chunks

        sizes, share = [], chunks._shared
        monkeypatch.setattr(chunks, "_shared", lambda f: sizes.append(len(cloudpickle.dumps(f))) or share(f))
        fitted = model(landmarks=Uniform(400)).fit(X)
        getattr(fitted, name)(layout(X, "even"))
        assert sizes[0] < 1.2 * 8 * 400 * (4 + 5 + 6 + 8)  # points, axes and mean, and what solvers keep of them


class TestNothingGathers:
    def test_only_small_results_come_here(self, rng):
        # Of 20,000 rows the client sees the sample of a selection and sums of the size of the landmarks.
        X = rng.normal(size=(20_000, 4))
        D = da.from_array(X, chunks=(1000, 4))
        seen = []

        def watch(graph, keys, **options):
            results = dask.get(graph, keys, **options)
            seen.extend(_sizes(results))
            return results

        with dask.config.set(scheduler=watch):
            # A map back to inputs is learned from a sample of its own.
            fitted = model(landmarks=RandomlyPivotedCholesky(50, sample_size=2000), preimage="fixed_point").fit(D)
            assert max(seen) <= 50 * 50
            assert sum(seen) < 0.25 * X.size
            seen.clear()
            fitted.transform(D), fitted.denoise(D)
            assert not seen

    def test_rows_are_read_twice(self, X):
        # Once for the sample, once for the sums; the width is known, and k(x, x) of a Gaussian too.
        reads = []
        count = lambda chunk: reads.append(len(chunk)) or chunk
        D = layout(X, "even").map_blocks(count, dtype=X.dtype, meta=np.empty((0, 0)))
        model(landmarks=RandomlyPivotedCholesky(50, sample_size=300), preimage="fixed_point").fit(D)
        assert sum(reads) <= 2 * 600 + 200  # and a chunk to see what a row is


class TestErrors:
    @pytest.mark.parametrize("gamma", [0.1, "median", "scale"])
    def test_nan_in_a_chunk(self, X, gamma):
        X[550, 1] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            model(gamma=gamma).fit(layout(X, "even"))

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    @pytest.mark.parametrize("name", ["transform", "denoise", "reconstruction_error", "inverse_transform"])
    def test_nan_in_a_query(self, X, name, value):
        fitted = model().fit(X)
        X[550, 1] = value
        with pytest.raises(ValueError, match="NaN"):
            getattr(fitted, name)(layout(X, "even")).compute()

    def test_nan_for_a_kernel_that_depends_on_norms(self, X):
        X[3, 0] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            model(kernel="linear", landmarks=3).fit(layout(X, "even"))

    def test_wrong_shapes(self, X):
        D = layout(X, "even")
        fitted = model().fit(D)
        with pytest.raises(ValueError, match="3 features"):
            fitted.transform(D[:, :3])
        with pytest.raises(ValueError, match="4 components"):
            fitted.inverse_transform(da.concatenate([D, D[:, :1]], axis=1))
        with pytest.raises(ValueError, match="2D"):
            model().fit(D[:, 0])
        for few in (D[:0], D[:1]):
            with pytest.raises(ValueError, match="minimum of 2"):
                model().fit(few)
        with pytest.raises(ValueError, match="real numbers"):
            model().fit(D.astype(complex))

    def test_what_needs_memory_says_so(self, X):
        D = layout(X, "even")
        fitted = model().fit(D)
        for landmarks in (None, 50):
            with pytest.raises(TypeError, match="precomputed"):
                model(kernel="precomputed", landmarks=landmarks).fit(D @ D.T)
        with pytest.raises(TypeError, match="inverse_transform"):
            fitted.find_preimages(fitted.transform(D))
        with pytest.raises(TypeError, match="compute"):
            fitted.navigate(D[:2], D[2:4])
        with pytest.raises(TypeError, match="diagonal"):
            fitted.reconstruction_error(D, diagonal=np.ones(600))


class TestCluster:
    @pytest.mark.parametrize("name", ["ragged", "column chunks", "empty chunks"])
    def test_separate_processes_give_the_model_in_memory(self, client, X, name):
        held, D = model().fit(X), layout(X, name)
        with client.as_current():
            chunked = model().fit(D)
            assert_same_model(held, chunked, X[:20])
            assert np.allclose(chunked.transform(D).compute(), held.transform(X), atol=1e-8)
            assert np.allclose(chunked.denoise(D).compute(), held.denoise(X), atol=1e-7)
            assert np.allclose(chunked.reconstruction_error(D).compute(), held.reconstruction_error(X), atol=1e-8)
            back = chunked.inverse_transform(chunked.transform(D)).compute()
            assert np.allclose(back, held.inverse_transform(held.transform(X)), atol=1e-7)

    def test_errors_of_workers_arrive(self, client, X):
        X[550, 1] = np.nan
        with client.as_current(), pytest.raises(ValueError, match="NaN"):
            model().fit(layout(X, "even"))

    @pytest.mark.net
    def test_a_worker_killed_during_fit_changes_nothing(self, client, X, tmp_path):
        held = model().fit(X)
        home, folder = os.getpid(), str(tmp_path)

        def read(chunk, block_info=None):
            """Count reads by files; during the second pass over 20 chunks, the process dies without a word, once."""
            if os.getpid() != home and len(os.listdir(folder)) > 30 and not os.path.exists(f"{folder}/killed"):
                with open(f"{folder}/killed", "w") as note:
                    note.write(str(os.getpid()))
                os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
            with open(f"{folder}/{uuid.uuid4().hex}", "w"):
                return chunk

        with client.as_current():
            before = set(client.run(os.getpid).values())
            chunked = model().fit(layout(X, "even").rechunk((30, 4)).map_blocks(read, dtype=X.dtype, meta=X[:0]))
            client.wait_for_workers(2, timeout=60)
        assert int((tmp_path / "killed").read_text()) in before
        assert_same_model(held, chunked, X[:20])


def exact(**parameters):
    """On all rows, without a Gram matrix in memory, as on a cluster; eigenvectors agree to the tolerance."""
    tight = {"eigen_solver": "block_krylov", "max_memory": 10**6, "preimage": "fixed_point", "tol": 1e-10}
    return KernelPCA(**{"n_components": 4, "gamma": 0.1, **tight, **parameters})


def assert_same_exact(one, other, Z, tol=1e-8):
    assert one.route_ == other.route_ == "exact"
    assert one.n_samples_seen_ == other.n_samples_seen_
    assert np.allclose(one.eigenvalues_, other.eigenvalues_, rtol=tol)
    assert np.allclose(one.transform(Z), other.transform(Z), atol=tol)
    assert np.allclose(one.explained_variance_ratio_, other.explained_variance_ratio_, rtol=tol)


class TestAllRows:
    """Without landmarks all rows come here, and a cluster computes products with the Gram matrix."""

    @pytest.mark.parametrize("name", LAYOUTS)
    def test_any_chunking_gives_the_model_in_memory(self, X, name):
        D, held = layout(X, name), KernelPCA(4, gamma=0.1).fit(X)
        chunked = KernelPCA(4, gamma=0.1).fit(D)
        assert_same_exact(held, chunked, X[:20])
        for lazy in (chunked.transform(D), KernelPCA(4, gamma=0.1).fit_transform(D)):
            assert isinstance(lazy, da.Array)
            assert np.allclose(lazy.compute(), held.transform(X), atol=1e-8)
        Y = held.transform(X)
        assert np.allclose(chunked.inverse_transform(chunked.transform(D)).compute(), held.inverse_transform(Y))

    def test_unknown_chunks_and_number_types(self, X):
        D = layout(X, "ragged")
        assert_same_exact(KernelPCA(3).fit(X), KernelPCA(3).fit(D[D[:, 0] > -np.inf]), X[:20])
        for dtype in (np.float32, np.int16):
            rows = (10 * X).astype(dtype)
            chunked = KernelPCA(3, gamma=0.01).fit(layout(rows, "even"))
            assert chunked.X_fit_.dtype == (np.float32 if dtype == np.float32 else np.float64)
            assert_same_exact(
                KernelPCA(3, gamma=0.01).fit(rows), chunked, rows[:20], 1e-4 if dtype == np.float32 else 1e-8
            )

    def test_weights_and_labels(self, X, rng):
        weights, y = rng.integers(0, 3, size=600).astype(float), (X[:, 0] > 0).astype(int)
        parameters = {"n_components": 3, "gamma": "enclosing_ball"}
        held = KernelPCA(**parameters).fit(X, y, sample_weight=weights)
        lazy = [da.from_array(each, chunks=250) for each in (y, weights)]
        for labels, counts in ((y, weights), lazy):
            chunked = KernelPCA(**parameters).fit(layout(X, "ragged"), labels, sample_weight=counts)
            assert chunked.kernel_.gamma == held.kernel_.gamma
            assert_same_exact(held, chunked, X[:20])

    @pytest.mark.parametrize("eigen_solver", ["auto", "dense", "arpack"])
    def test_solvers_that_work_here(self, X, eigen_solver):
        parameters = {"n_components": 3, "gamma": 0.1, "eigen_solver": eigen_solver}
        assert_same_exact(KernelPCA(**parameters).fit(X), KernelPCA(**parameters).fit(layout(X, "even")), X[:20])

    def test_fractions_of_the_variance(self, X):
        assert_same_exact(KernelPCA(0.8).fit(X), KernelPCA(0.8).fit(layout(X, "even")), X[:20])

    def test_rows_that_do_not_fit_stay_where_they_are(self, X, nothing_computes):
        with pytest.raises(ValueError, match=r"600 × 4 numbers take .* max_memory allows .* landmarks=500"):
            KernelPCA(2, max_memory=1000).fit(layout(X, "even"))

    def test_many_rows_must_be_asked_for(self, nothing_computes):
        D = da.zeros((10**6, 4), chunks=(10**5, 4))
        with pytest.raises(ValueError, match=r"5e\+11 kernel values .* landmarks=500.* eigen_solver='block_krylov'"):
            KernelPCA(2).fit(D)
        with pytest.raises(AssertionError, match="computed"):  # it began
            KernelPCA(2, eigen_solver="block_krylov").fit(D)

    def test_landmarks_auto_means_landmarks(self, X):
        assert KernelPCA(2, landmarks="auto").fit(layout(X, "even")).route_ == "landmarks"

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_nan_in_a_chunk(self, X, value):
        X[550, 1] = value
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            KernelPCA(2).fit(layout(X, "even"))


class TestAllRowsOnWorkers:
    @pytest.fixture(autouse=True)
    def _several_blocks(self, monkeypatch):
        monkeypatch.setattr("preimage._engine.dask.LEAST_BLOCK_ROWS", 150)

    @pytest.mark.parametrize("name", ["ragged", "column chunks", "empty chunks"])
    def test_separate_processes_give_the_model_in_memory(self, client, X, name):
        held = exact().fit(X)
        with client.as_current():
            D = layout(X, name)
            chunked = exact().fit(D)
            assert_same_exact(held, chunked, X[:20])
            assert np.allclose(chunked.transform(D).compute(), held.transform(X), atol=1e-8)

    def test_weights_single_precision_and_other_kernels(self, client, X, rng):
        weights = rng.integers(0, 3, size=600).astype(float)
        with client.as_current():
            D = layout(X, "even")
            weighted = exact().fit(D, sample_weight=weights)
            assert_same_exact(exact().fit(X, sample_weight=weights), weighted, X[:20])
            assert weighted.X_fit_.shape[0] == np.count_nonzero(weights)
            single = exact(tol=None).fit(D.astype(np.float32))
            assert single.eigenvalues_.dtype == np.float32
            assert_same_exact(exact(tol=None).fit(X.astype(np.float32)), single, X[:20].astype(np.float32), 1e-3)
            for kernel in ("laplacian", "poly"):
                assert_same_exact(exact(kernel=kernel).fit(X), exact(kernel=kernel).fit(D), X[:20])

    def test_workers_multiply_for_block_krylov_only(self, client, X, monkeypatch):
        from preimage.feature_space import Gram

        held = exact().fit(X)
        monkeypatch.setattr(Gram, "_symmetric_product", lambda *arguments: pytest.fail("this process multiplied"))
        with client.as_current():
            assert_same_exact(held, exact().fit(layout(X, "even")), X[:20])
            with pytest.raises(pytest.fail.Exception):
                KernelPCA(2, max_memory=10**6, eigen_solver="arpack").fit(layout(X, "even"))

    def test_errors_of_workers_arrive(self, client, X):
        home = os.getpid()

        def fails_elsewhere(A, B):
            if os.getpid() != home:
                raise RuntimeError("no kernel here")
            return A @ B.T

        with client.as_current(), pytest.raises(RuntimeError, match="no kernel here"):
            exact(kernel=fails_elsewhere, preimage="learned").fit(layout(X, "even"))

    @pytest.mark.net
    def test_a_worker_killed_during_fit_changes_nothing(self, client, X, tmp_path):
        home, folder = os.getpid(), str(tmp_path)

        def gaussian(A, B):
            """Count calls by files; in the second product, the process dies without a word, once."""
            if os.getpid() != home:
                with open(f"{folder}/{uuid.uuid4().hex}", "w"):
                    pass
                if len(os.listdir(folder)) > 15 and not os.path.exists(f"{folder}/killed"):
                    with open(f"{folder}/killed", "w") as note:
                        note.write(str(os.getpid()))
                    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
            return np.exp(-0.1 * np.sum((A[:, None, :] - B[None, :, :]) ** 2, axis=2))

        held = exact(kernel=gaussian, preimage="weighted_mean").fit(X)
        with client.as_current():
            before = set(client.run(os.getpid).values())
            chunked = exact(kernel=gaussian, preimage="weighted_mean").fit(layout(X, "even"))
            client.wait_for_workers(2, timeout=60)
        assert int((tmp_path / "killed").read_text()) in before
        assert_same_exact(held, chunked, X[:20])


def _sizes(results):
    """Largest arrays in results of any nesting, as numbers of entries."""
    if isinstance(results, (list, tuple)):
        return [size for result in results for size in _sizes(result)]
    if hasattr(results, "values") and hasattr(results.values, "scatter"):
        return [np.size(results.values.scatter)]
    return [np.size(results)]
