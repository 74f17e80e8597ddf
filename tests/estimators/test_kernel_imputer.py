"""`KernelImputer`: scikit-learn's contract, what it finds, and what it refuses."""

import threading
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from preimage import KernelImputer, load, save
from preimage._engine import threads as _threads
from preimage._engine.arrays import to_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import Gaussian, Linear

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2)) @ RNG.normal(size=(2, 5)) + 0.05 * RNG.normal(size=(80, 5))
KNOWN = np.random.default_rng(1).random(X.shape) > 0.2
HOLES = np.where(KNOWN, X, np.nan)


def error(found, truth, known):
    return float(np.mean((found - truth)[~known] ** 2))


@pytest.mark.parametrize("seed", range(4))
def test_a_subspace_with_all_of_the_variance_leaves_no_noise(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, 2))
    rows[rng.random(40) < 0.3, 0] = np.nan
    model = KernelImputer(None, kernel="linear").fit(rows)
    assert model.noise_variance_ == 0
    assert np.all(np.diff(model.objective_path_) <= 1e-12)


class TestAccuracy:
    def test_digits_with_half_of_the_pixels_missing(self):
        digits = load_digits().data / 16
        order = np.random.default_rng(0).permutation(len(digits))
        train, test = digits[order[:1300]], digits[order[1300:1600]]
        known = np.random.default_rng(1).random(test.shape) > 0.5
        holes = np.where(known, test, np.nan)
        found = KernelImputer().fit(train).transform(holes)
        neighbors = KNNImputer().fit(train).transform(holes)
        assert error(found, test, known) < min(0.0185, 0.85 * error(neighbors, test, known))

    def test_columns_of_unlike_units(self):
        table = load_breast_cancer().data[:300]
        known = np.random.default_rng(1).random(table.shape) > 0.3
        holes, unit = np.where(known, table, np.nan), table.std(axis=0)
        found = KernelImputer().fit_transform(holes)
        neighbors = KNNImputer().fit_transform(holes / unit)
        assert error(found / unit, table / unit, known) < 0.9 * error(neighbors, table / unit, known)

    def test_linear_kernels_fill_planes(self):
        found = KernelImputer(2, kernel="linear").fit_transform(HOLES)
        assert error(found, X, KNOWN) < 0.05 * np.var(X)


class TestContract:
    def test_known_entries_do_not_change_and_nothing_is_missing(self):
        model = KernelImputer().fit(HOLES)
        for found in (model.transform(HOLES), KernelImputer().fit_transform(HOLES)):
            assert np.array_equal(found[KNOWN], X[KNOWN])
            assert np.isfinite(found).all()
        assert np.array_equal(model.transform(X), X)

    def test_rows_without_entries_get_the_mean(self):
        model = KernelImputer(2, kernel="linear").fit(X)
        found = model.transform(np.full((2, 5), np.nan))
        assert_allclose(found, np.tile(X.mean(axis=0), (2, 1)), atol=1e-2)
        train = np.vstack([HOLES, np.full((1, 5), np.nan)])
        assert np.isfinite(KernelImputer().fit_transform(train)).all()

    @pytest.mark.parametrize("missing", [-1, -1.0, 0])
    def test_other_missing_values(self, missing):
        marked = np.where(KNOWN, X + 10, missing)
        found = KernelImputer(missing_values=missing).fit_transform(marked)
        expected = KernelImputer().fit_transform(np.where(KNOWN, X + 10, np.nan))
        assert_allclose(found, expected)
        with pytest.raises(ValueError, match="NaN"):
            KernelImputer(missing_values=missing).fit(HOLES)

    @pytest.mark.parametrize("missing", [None, pd.NA])
    def test_what_stands_for_nan(self, missing):
        frame = pd.DataFrame(HOLES).astype("Float64")
        found = KernelImputer(missing_values=missing).fit_transform(frame)
        assert_allclose(found, KernelImputer().fit_transform(HOLES), atol=1e-5)

    def test_masked_arrays(self):
        masked = np.ma.MaskedArray(X, mask=~KNOWN)
        assert_allclose(KernelImputer().fit_transform(masked), KernelImputer().fit_transform(HOLES), atol=1e-5)

    @pytest.mark.parametrize("keep", [False, True])
    @pytest.mark.parametrize("indicator", [False, True])
    def test_columns_and_names_are_those_of_scikit_learn(self, keep, indicator):
        frame = pd.DataFrame(HOLES, columns=list("abcde"))
        frame["c"] = np.nan
        frame["d"] = X[:, 3]
        options = {"keep_empty_features": keep, "add_indicator": indicator}
        ours = KernelImputer(**options).set_output(transform="pandas").fit(frame)
        theirs = SimpleImputer(**options).set_output(transform="pandas").fit(frame)
        found, expected = ours.transform(frame), theirs.transform(frame)
        assert list(found.columns) == list(expected.columns)
        if indicator:
            assert found.iloc[:, -4:].equals(expected.iloc[:, -4:].astype(float))
        if keep:
            assert np.all(found["c"] == 0)

    def test_constant_columns_stay_constant(self):
        table = HOLES.copy()
        table[:, 2] = np.where(KNOWN[:, 2], 7.0, np.nan)
        assert_allclose(KernelImputer().fit_transform(table)[:, 2], 7.0)

    def test_rows_that_are_all_equal(self):
        table = np.where(KNOWN, 3.0, np.nan)
        assert_allclose(KernelImputer().fit_transform(table), 3.0)

    def test_bounds(self):
        low, high = np.nanmin(HOLES, axis=0), np.nanmax(HOLES, axis=0)
        far = np.vstack([3 * X[:10] * [1, np.nan, 1, np.nan, 1]])
        found = KernelImputer(method="energy").fit(HOLES).transform(far)
        assert np.all((found[:, [1, 3]] >= low[[1, 3]] - 1e-12) & (found[:, [1, 3]] <= high[[1, 3]] + 1e-12))
        # Conditional means of few factors lie beyond the range of a column, but not far beyond.
        model = KernelImputer().fit(HOLES)
        found, margin = model.transform(far), (high - low) / 2 + 1e-12
        assert np.all((found[:, [1, 3]] >= (low - margin)[[1, 3]]) & (found[:, [1, 3]] <= (high + margin)[[1, 3]]))
        assert np.all((model.lower_ <= low) & (model.upper_ >= high))
        found = KernelImputer(min_value=-0.1, max_value=[0.1] * 5).fit_transform(HOLES)
        assert np.abs(found[~KNOWN]).max() <= 0.1 + 1e-12

    @pytest.mark.parametrize("seed", range(8))
    def test_bounds_hold_to_the_last_bit(self, seed):
        rng = np.random.default_rng(seed)
        rows = np.where(rng.random((40, 3)) < 0.3, np.nan, rng.exponential(size=(40, 3)) / 10)
        model, missing = KernelImputer(min_value=0.03, max_value=0.1), np.isnan(rows)
        for found in (model.fit_transform(rows), model.transform(rows)):
            assert found[missing].min() >= 0.03 and found[missing].max() <= 0.1
        found = KernelImputer().fit_transform(rows)
        assert np.all((found >= np.nanmin(rows, axis=0)) & (found <= np.nanmax(rows, axis=0)))

    def test_infinite_bounds_are_none(self):
        # On the line y = 2x, the entry that belongs to x = 9 is beyond all others.
        line = np.arange(8.0)[:, None] * [1.0, 2.0]
        model = KernelImputer(1, kernel="linear", min_value=-np.inf, max_value=np.inf).fit(line)
        assert_allclose(model.transform([[9.0, np.nan]]), [[9.0, 18.0]], rtol=1e-3)
        assert KernelImputer(1, kernel="linear").fit(line).transform([[9.0, np.nan]])[0, 1] <= 14.0

    def test_kernels_of_counts(self):
        counts = np.where(KNOWN, np.round(10 * np.abs(X)), np.nan)
        found = KernelImputer(kernel="chi2").fit_transform(counts)
        assert np.isfinite(found).all() and found.min() >= 0

    def test_in_a_pipeline(self):
        y = (X[:, 0] > 0).astype(int)
        assert make_pipeline(KernelImputer(), SVC()).fit(HOLES, y).score(HOLES, y) > 0.9


class TestLaws:
    """Fitted to complete rows, where nothing is drawn by chance."""

    QUERIES = HOLES[:20] * 0.9

    def test_rows_one_at_a_time(self):
        model = KernelImputer().fit(X)
        single = np.concatenate([model.transform(row[None]) for row in self.QUERIES])
        assert_allclose(single, model.transform(self.QUERIES), atol=1e-8)

    def test_the_order_of_rows_and_columns_does_not_matter(self):
        rows, columns = np.random.default_rng(0).permutation(80), [3, 0, 4, 1, 2]
        found = KernelImputer(method="energy").fit(X).transform(self.QUERIES)
        other = KernelImputer(method="energy").fit(X[rows][:, columns]).transform(self.QUERIES[:, columns])
        assert_allclose(other, found[:, columns], atol=1e-5)
        # Which entries are hidden to find weights of conditional means does not depend on the order of the rows.
        for rows_of_training in (X, HOLES):
            found = KernelImputer().fit(rows_of_training).transform(self.QUERIES)
            assert_allclose(KernelImputer().fit(rows_of_training[rows]).transform(self.QUERIES), found, atol=1e-8)

    def test_units_do_not_matter(self):
        unit, shift = np.array([1e3, 1e-3, 7.0, 1.0, 1e5]), np.array([0.0, 5.0, -1e4, 3.0, 1e6])
        found = KernelImputer(scale=True).fit(X).transform(self.QUERIES)
        other = KernelImputer(scale=True).fit(X * unit + shift).transform(self.QUERIES * unit + shift)
        assert_allclose((other - shift) / unit, found, atol=1e-5)

    def test_blocks_do_not_matter(self, block_shape, monkeypatch):
        monkeypatch.setattr("preimage._engine.memory.LEAST_WORK", 1)  # so few rows are one block otherwise
        assert_allclose(
            KernelImputer(max_memory=20_000).fit(X).transform(self.QUERIES),
            KernelImputer().fit(X).transform(self.QUERIES),
            atol=1e-6,
        )


class TestKinds:
    def test_single_precision(self):
        found = KernelImputer().fit_transform(HOLES.astype(np.float32))
        assert found.dtype == np.float32
        assert error(found, X, KNOWN) < 1.1 * error(KernelImputer().fit_transform(HOLES), X, KNOWN)

    def test_other_libraries(self, xp):
        found = KernelImputer().fit_transform(xp.asarray(HOLES))
        assert type(found) is type(xp.asarray(HOLES))
        assert_allclose(to_numpy(found), KernelImputer().fit_transform(HOLES), atol=1e-6)

    def test_landmarks(self):
        all_rows, some = KernelImputer().fit_transform(HOLES), KernelImputer(landmarks=30).fit_transform(HOLES)
        assert error(some, X, KNOWN) < 2 * error(all_rows, X, KNOWN)
        assert KernelImputer(landmarks=30).fit(HOLES).subspace_.frame.points.shape == (30, 5)

    def test_chunks(self):
        da = pytest.importorskip("dask.array")
        model = KernelImputer().fit(da.from_array(HOLES, chunks=(30, 5)))
        assert_allclose(model.transform(HOLES), KernelImputer().fit(HOLES).transform(HOLES))
        lazy = model.transform(da.from_array(HOLES, chunks=(30, 5)))
        assert_allclose(lazy.compute(), model.transform(HOLES), atol=1e-6)

    def test_memory_maps(self, tmp_path):
        np.save(tmp_path / "rows.npy", HOLES)
        mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
        assert_allclose(KernelImputer().fit(mapped).transform(mapped), KernelImputer().fit(HOLES).transform(HOLES))

    def test_files(self, tmp_path):
        model = KernelImputer(add_indicator=True).fit(HOLES)
        save(model, tmp_path / "model")
        assert_allclose(load(tmp_path / "model").transform(HOLES), model.transform(HOLES))

    @pytest.mark.parametrize("keeps", [False, True])
    def test_models_with_empty_columns_are_saved(self, tmp_path, keeps):
        holes = np.column_stack([HOLES, np.full(len(HOLES), np.nan)])
        model = KernelImputer(keep_empty_features=keeps).fit(holes)
        save(model, tmp_path / "model")
        assert_allclose(load(tmp_path / "model").transform(holes), model.transform(holes))

    @pytest.mark.parametrize("kernel", ["poly", "laplacian", Gaussian(0.1) + Linear()])
    def test_other_kernels(self, kernel):
        found = KernelImputer(kernel=kernel).fit_transform(HOLES)
        assert error(found, X, KNOWN) < error(SimpleImputer().fit_transform(HOLES), X, KNOWN)


class TestRefusals:
    def test_what_cannot_be_filled(self):
        with pytest.raises(ValueError, match="known entries"):
            KernelImputer().fit(np.full((5, 2), np.nan))
        with pytest.raises(ValueError, match="2 rows"):
            KernelImputer().fit([[1.0, np.nan], [np.nan, np.nan]])
        with pytest.raises(ValueError, match="infinity"):
            KernelImputer().fit([[1.0, np.inf], [2.0, np.nan]])
        with pytest.raises(UnsupportedKernelError, match="precomputed"):
            KernelImputer(kernel="precomputed").fit(np.eye(4))
        with pytest.raises(UnsupportedKernelError, match="gradient"):
            KernelImputer(kernel=lambda x, y: float(x @ y)).fit(HOLES)
        with pytest.raises(ValueError, match="min_value"):
            KernelImputer(min_value=1.0, max_value=0.0).fit(HOLES)
        with pytest.raises(ValueError, match="text"):
            KernelImputer(missing_values="?").fit(HOLES)


def test_a_memory_map_is_fitted_as_the_same_numbers_in_memory(tmp_path):
    counts = np.random.default_rng(2).integers(0, 9, size=(20, 3)).astype(np.uint8)
    on_disk = np.memmap(tmp_path / "rows", dtype=np.uint8, mode="w+", shape=counts.shape)
    on_disk[:] = counts
    found, expected = (KernelImputer(min_value=0.0).fit(rows) for rows in (on_disk, counts))
    assert_allclose(found.lower_, expected.lower_)
    assert_allclose(found.upper_, expected.upper_)
    assert_allclose(found.transform(HOLES[:5, :3]), expected.transform(HOLES[:5, :3]))


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_numbers_in_memory_does_not_matter(seed):
    """Rows that agree in all entries that both have: rounding errors of their distances counted as distances."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(size=160), [5, 20, 3] + rng.integers(0, 4, size=(160, 3)) * [1, 7.3, 0.1]])
    rows[rng.random(rows.shape) < 0.3] = np.nan
    rows = rows[~np.isnan(rows).all(axis=1)]
    by_rows, by_columns = (KernelImputer().fit(order(rows)) for order in (np.ascontiguousarray, np.asfortranarray))
    assert_allclose(by_rows.start_scale_, by_columns.start_scale_, rtol=1e-12)
    assert_allclose(by_rows.transform(rows), by_columns.transform(rows), atol=1e-9)


@pytest.mark.parametrize("complete", [False, True])
def test_results_do_not_depend_on_threads(complete, monkeypatch):
    """Fit and judgement are made side by side, and blocks of rows in each of them."""
    digits = load_digits().data[:300] / 16
    holes = np.where(np.random.default_rng(0).random(digits.shape) < 0.3, np.nan, digits)
    found = []
    for threads in (1, 2, 8):
        monkeypatch.setattr(_threads, "allowed_threads", lambda count=threads: count)
        model = KernelImputer(random_state=0).fit(digits if complete else holes)
        found.append((model.transform(holes[:50]), model.mixture_))
    for others in found[1:]:
        for mine, theirs in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_pieces_of_a_fit_run_side_by_side(monkeypatch):
    """With eight threads both fits, and blocks within them, are at work at the same time."""
    monkeypatch.setattr(_threads, "allowed_threads", lambda: 8)
    here, most, lock, solve = [0], [0], threading.Lock(), np.linalg.solve

    def counted(*arguments):
        with lock:
            here[0] += 1
            most[0] = max(most[0], here[0])
        time.sleep(0.005)
        try:
            return solve(*arguments)
        finally:
            with lock:
                here[0] -= 1

    monkeypatch.setattr("array_api_compat.numpy.linalg.solve", counted)
    digits = load_digits().data[:600] / 16
    KernelImputer().fit(np.where(np.random.default_rng(0).random(digits.shape) < 0.3, np.nan, digits))
    assert 4 <= most[0] <= 8
