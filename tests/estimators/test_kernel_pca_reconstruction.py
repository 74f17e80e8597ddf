"""Reconstruction by kernel PCA: its score, and the width that is chosen for it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from preimage import EmpiricalKernelMap, KernelFisherDiscriminant, KernelKMeans, KernelPCA, load
from preimage._engine.arrays import to_numpy
from preimage.kernels import Gaussian


@pytest.fixture
def rows(rng):
    u, v = rng.uniform(-2, 2, size=(2, 200))
    X = np.column_stack([2 * u, 2 * v, u**2, u * v]) + 0.05 * rng.normal(size=(200, 4))
    return X[:120], X[120:]


class TestScore:
    @pytest.mark.parametrize("options", [{}, {"landmarks": 30}, {"preimage": "fixed_point"}, {"kernel": "linear"}])
    def test_is_minus_the_mean_squared_error_of_the_way_back(self, options, rows):
        X, T = rows
        model = KernelPCA(2, **options).fit(X)
        error = np.mean((model.inverse_transform(model.transform(T)) - T) ** 2)
        assert_allclose(model.score(T), -error, rtol=1e-9)
        assert isinstance(model.score(T), float)

    def test_weights_count_rows(self, rows):
        X, T = rows
        model = KernelPCA(2).fit(X)
        weights = np.arange(len(T)) % 3
        assert_allclose(model.score(T, sample_weight=weights), model.score(np.repeat(T, weights, axis=0)))
        assert_allclose(model.score(T, np.zeros(len(T))), model.score(T))

    def test_of_the_linear_kernel_is_that_of_pca(self, rows):
        X, T = rows
        linear = PCA(2).fit(X)
        error = np.mean((linear.inverse_transform(linear.transform(T)) - T) ** 2)
        assert_allclose(KernelPCA(2, kernel="linear").fit(X).score(T), -error)

    def test_searches_use_it(self, rows):
        X, T = rows
        search = GridSearchCV(KernelPCA(2), {"gamma": [1e-4, 100.0]}, cv=3).fit(X)
        assert search.best_params_ == {"gamma": 1e-4}
        assert search.score(T) == search.best_estimator_.score(T)
        scores = cross_val_score(make_pipeline(StandardScaler(), KernelPCA(2)), X, cv=3)
        assert (scores < 0).all()

    def test_metadata_are_routed(self, rows):
        X, _ = rows
        with config_context(enable_metadata_routing=True):
            model = KernelPCA(2).set_score_request(sample_weight=True).set_fit_request(sample_weight=True)
            search = GridSearchCV(model, {"gamma": [0.01, 0.1]}, cv=3).fit(X, sample_weight=np.ones(len(X)))
        assert search.best_score_ < 0

    def test_lazy_rows_and_other_libraries(self, rows, xp, tmp_path):
        X, T = rows
        model = KernelPCA(2, gamma=0.05).fit(X)
        path = tmp_path / "rows.npy"
        np.save(path, T)
        assert_allclose(model.score(np.load(path, mmap_mode="r")), model.score(T))
        other = KernelPCA(2, gamma=0.05).fit(xp.asarray(X))
        assert_allclose(other.score(xp.asarray(T)), model.score(T), rtol=1e-4)

    def test_of_chunks(self, rows):
        array = pytest.importorskip("dask.array")
        X, T = rows
        model = KernelPCA(2, gamma=0.05).fit(X)
        assert_allclose(model.score(array.from_array(T, chunks=(30, 4))), model.score(T))

    def test_precomputed_kernels_have_none(self, rows):
        X, _ = rows
        model = KernelPCA(2, kernel="precomputed").fit(Gaussian(0.1)(X))
        assert not hasattr(model, "score")


class TestWidth:
    def test_curved_rows_come_back_better_than_by_pca_and_the_default_width(self, rows):
        X, T = rows
        model, linear = KernelPCA(2, gamma="reconstruction").fit(X), PCA(2).fit(X)
        error = np.mean((linear.inverse_transform(linear.transform(T)) - T) ** 2)
        assert -model.score(T) < 0.6 * error
        assert model.score(T) > KernelPCA(2).fit(X).score(T)

    @pytest.mark.parametrize("degrees", [2, 3])
    def test_heavy_tails_come_back_as_by_pca(self, degrees, rng):
        X, T = rng.standard_t(degrees, size=(100, 5)), rng.standard_t(degrees, size=(100, 5))
        model, linear = KernelPCA(3, gamma="reconstruction").fit(X), PCA(3).fit(X)
        assert -model.score(T) <= 1.001 * np.mean((linear.inverse_transform(linear.transform(T)) - T) ** 2)

    def test_clones_copies_and_files_have_it(self, rows, tmp_path):
        X, T = rows
        model = clone(KernelPCA(2, gamma="reconstruction")).fit(X)
        assert model.gamma == "reconstruction" and model.kernel_.gamma == model.gamma_
        again = KernelPCA(2, kernel=Gaussian("reconstruction")).fit(X)
        assert again.gamma_ == model.gamma_
        expected = model.score(T)  # the map is learned now
        model.save(tmp_path / "model.pre")
        loaded = load(tmp_path / "model.pre")
        assert loaded.gamma_ == model.gamma_
        assert_allclose(loaded.score(T), expected, rtol=1e-12)

    @pytest.mark.parametrize("n_components", [None, 0.9, 3])
    @pytest.mark.parametrize("center", [True, False])
    def test_every_number_of_components(self, n_components, center, rows):
        X, T = rows
        model = KernelPCA(n_components, gamma="reconstruction", center=center).fit(X)
        assert -model.score(T) < np.mean(np.var(T, axis=0))

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("options", [{}, {"landmarks": 40}])
    def test_more_components_than_columns_give_rows_back_without_a_warning(self, options, rows):
        X, T = rows
        model = KernelPCA(30, gamma="reconstruction", **options).fit(X)
        assert X.shape[1] <= model.n_components_ <= 30
        assert -model.score(T) < 1e-8 * np.var(X)

    def test_rows_of_weight_zero_are_not_looked_at(self, rows):
        X, _ = rows
        weights = np.r_[np.ones(80), np.zeros(40)]
        weighted = KernelPCA(2, gamma="reconstruction").fit(X, sample_weight=weights)
        assert_allclose(weighted.gamma_, KernelPCA(2, gamma="reconstruction").fit(X[:80]).gamma_)

    def test_landmarks_chunks_and_streams(self, rows):
        array = pytest.importorskip("dask.array")
        X, _ = rows
        expected = KernelPCA(2, gamma="reconstruction").fit(X).gamma_
        lazy = array.from_array(X, chunks=(40, 4))
        assert_allclose(KernelPCA(2, gamma="reconstruction").fit(lazy).gamma_, expected)
        assert_allclose(KernelPCA(2, gamma="reconstruction", landmarks=30).fit(lazy).gamma_, expected)
        assert_allclose(KernelPCA(2, gamma="reconstruction", landmarks=30).fit(X).gamma_, expected)
        streamed = KernelPCA(2, gamma="reconstruction", landmarks=30).fit(iter([X[:60], X[60:]]))
        assert_allclose(streamed.gamma_, KernelPCA(2, gamma="reconstruction").fit(X[:60]).gamma_)
        with pytest.raises(ValueError, match="10 different ones"):
            KernelPCA(2, gamma="reconstruction", landmarks=3).fit(iter([X[:4], X[4:]]))

    def test_single_precision_and_other_libraries(self, rows, xp):
        X, T = rows
        expected = KernelPCA(2, gamma="reconstruction").fit(X)
        model = KernelPCA(2, gamma="reconstruction").fit(xp.asarray(X))
        assert_allclose(model.gamma_, expected.gamma_, rtol=1e-6)
        single = KernelPCA(2, gamma="reconstruction").fit(X.astype(np.float32))
        assert single.n_components_ == 2
        Z = single.inverse_transform(single.transform(T.astype(np.float32)))
        assert Z.dtype == np.float32
        assert -single.score(to_numpy(T)) < 1.2 * -expected.score(T)

    @pytest.mark.parametrize(
        "estimator", [EmpiricalKernelMap(), KernelKMeans(2), KernelFisherDiscriminant()], ids=lambda each: str(each)
    )
    def test_other_estimators_refuse_it(self, estimator, rows):
        X, _ = rows
        with pytest.raises(ValueError, match=r"only KernelPCA\.fit knows how"):
            estimator.set_params(gamma="reconstruction").fit(X, np.arange(len(X)) % 2)

    def test_kernels_without_a_width_ignore_it(self, rows):
        X, _ = rows
        assert KernelPCA(2, kernel="cosine", gamma="reconstruction").fit(X).n_components_ == 2

    def test_few_rows_are_refused(self, rows):
        X, _ = rows
        with pytest.raises(ValueError, match="gamma='reconstruction' leaves out rows"):
            KernelPCA(1, gamma="reconstruction").fit(X[:6])
