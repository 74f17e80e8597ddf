"""What code written for scikit-learn's KernelPCA relies on."""

import pickle
import re
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_digits, make_circles
from sklearn.decomposition import KernelPCA as Peer
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info, threadpool_limits

from preimage import KernelImputer, KernelNoveltyDetector, KernelPCA, compress
from preimage.estimators._kernel_input import repeated
from preimage.exceptions import RankWarning
from preimage.kernels import Gaussian, Prepared, as_kernel
from preimage.landmarks import Uniform

KERNELS = [("rbf", {"gamma": 0.5}), ("poly", {"gamma": 0.3, "degree": 2}), ("linear", {}), ("cosine", {})]


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.fixture
def X(rng):
    return rng.normal(size=(60, 3))


@pytest.mark.parametrize(("kernel", "parameters"), KERNELS, ids=[name for name, _ in KERNELS])
@pytest.mark.parametrize("alpha", [1e-3, 0.1, 1.0])
def test_a_given_ridge_is_exactly_their_inverse(kernel, parameters, alpha, X, rng):
    settings = {"kernel": kernel, "fit_inverse_transform": True, "alpha": alpha, **parameters}
    ours, theirs = KernelPCA(3, **settings).fit(X), Peer(3, **settings).fit(X)
    Y = theirs.transform(rng.normal(size=(20, 3)))
    signs = np.sign(np.sum(ours.transform(X) * theirs.transform(X), axis=0))
    assert_allclose(ours.inverse_transform(Y * signs), theirs.inverse_transform(Y), atol=1e-7)
    assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-7 / alpha)


@pytest.mark.parametrize("solver", ["auto", "dense", "arpack", "randomized"])
def test_attributes_are_theirs(solver, X):
    ours = KernelPCA(4, gamma=0.5, eigen_solver=solver).fit(X)
    theirs = Peer(4, kernel="rbf", gamma=0.5).fit(X)
    assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    assert_allclose(np.abs(ours.eigenvectors_), np.abs(theirs.eigenvectors_), atol=1e-6)
    assert_allclose(ours.X_fit_, X)
    assert ours.gamma_ == theirs.gamma_ == 0.5
    assert KernelPCA(2).fit(X).gamma_ == pytest.approx(1 / 3)


def test_without_inverse_means_without():
    X, _ = make_circles(50, random_state=0)
    model = KernelPCA(2, fit_inverse_transform=False).fit(X)
    with pytest.raises(NotFittedError, match="fit_inverse_transform=False"):
        model.inverse_transform(model.transform(X))
    with pytest.raises(AttributeError, match="fit_inverse_transform=True"):
        _ = model.dual_coef_


class TestColumnsOfZeros:
    @pytest.mark.parametrize("landmarks", [None, 20, "uniform"])
    def test_on_request(self, landmarks, X):
        with pytest.warns(RankWarning, match="only 3 .*3 are kept, and the others are zeros"):
            model = KernelPCA(5, kernel="linear", remove_zero_eig=False, landmarks=landmarks).fit(X)
        Y = model.transform(X)
        assert Y.shape == (60, 5) and model.n_components_ == 5 and model.explained_variance_.shape == (5,)
        assert not Y[:, 3:].any() and not model.eigenvalues_[3:].any()
        short = KernelPCA(3, kernel="linear", landmarks=landmarks).fit(X)
        assert_allclose(Y, np.pad(short.transform(X), [(0, 0), (0, 2)]), atol=1e-12)
        assert_allclose(model.inverse_transform(Y), X, atol=1e-6)
        assert_allclose(model.denoise(X), short.denoise(X), atol=1e-6)

    def test_on_streams(self, X):
        model = KernelPCA(5, kernel="linear", remove_zero_eig=False, landmarks=10)
        for batch in (X[:30], X[30:]):
            with pytest.warns(RankWarning, match="the others are zeros"):
                model.partial_fit(batch)
        assert model.transform(X).shape == (60, 5)

    def test_otherwise_none_are_promised(self, X):
        with pytest.warns(RankWarning, match="3 are kept[.]"):
            KernelPCA(5, kernel="linear").fit(X)

    @pytest.mark.parametrize("shared", [True, False])
    def test_compressed_models_have_them_too(self, shared):
        X = np.random.default_rng(0).normal(size=(40, 3))
        X[:, 2] = 0.0
        with pytest.warns(RankWarning):
            model = KernelPCA(4, kernel="poly", degree=2, coef0=0.0, remove_zero_eig=False).fit(X)
        assert not model.eigenvalues_[3:].any()
        small = compress(model, 3, shared=shared)
        Y = small.transform(X)
        assert np.isfinite(Y).all() and not Y[:, 3:].any()
        # Forms of degree two in two dimensions are a space of dimension three.
        assert_allclose(Y, model.transform(X), atol=1e-2 * np.abs(model.transform(X)).max())

    def test_they_have_no_direction(self, X):
        with pytest.warns(RankWarning):
            model = KernelPCA(5, kernel="linear", remove_zero_eig=False).fit(X)
        with pytest.raises(ValueError, match=r"first 3 of 5 components have a direction.*component_preimages\(3\)"):
            model.component_preimages()
        assert model.component_preimages(3).shape == (3, 3)


def test_the_old_spelling_of_the_solver_warns(X):
    new = KernelPCA(2, gamma=0.5, eigen_solver="block_krylov").fit(X)
    with pytest.warns(FutureWarning, match="'eigensolver' 'eigen_solver'"):
        old = KernelPCA(2, gamma=0.5, eigensolver="block_krylov").fit(X)
    assert_allclose(old.transform(X), new.transform(X), rtol=0, atol=0)
    assert "eigensolver" not in old.get_params() and clone(old).eigen_solver == "block_krylov"
    with pytest.warns(FutureWarning):
        old.set_params(eigensolver="dense")
    assert old.eigen_solver == "dense" and KernelPCA(2, eigen_solver=None).fit(X).eigen_result_.converged
    with pytest.warns(FutureWarning), pytest.raises(ValueError, match="two spellings of one parameter"):
        KernelPCA(2, eigensolver="dense", eigen_solver="arpack")


class TestThreads:
    """Two threads of BLAS outside, whatever the environment says: then one inside is news."""

    @pytest.fixture(autouse=True)
    def two_threads(self):
        with threadpool_limits(2, user_api="blas"):
            if set(blas_threads()) != {2}:
                pytest.skip("this BLAS cannot use two threads")
            yield

    @pytest.mark.parametrize("landmarks", [None, 20])
    @pytest.mark.parametrize(
        "use",
        [
            lambda model, X: model.fit(X),
            lambda model, X: model.transform(X),
            lambda model, X: model.denoise(X[:3]),
            lambda model, X: model.inverse_transform(np.ones((2, 2))),
            lambda model, X: model.find_preimages(np.ones((2, 2))),
            lambda model, X: model.partial_fit(X),
        ],
        ids=["fit", "transform", "denoise", "inverse_transform", "find_preimages", "partial_fit"],
    )
    def test_limited_inside_and_restored(self, use, landmarks, X):
        seen = []

        class Spy(Gaussian):
            def prepare(self, points):
                def values(X, Y):
                    seen.extend(blas_threads())
                    return Gaussian(0.5)(X, Y)

                return Prepared.of_function(self, points, values)

            def diagonal(self, rows):
                seen.extend(blas_threads())
                return super().diagonal(rows)

        model = KernelPCA(2, kernel=Spy(0.5), n_jobs=1, landmarks=landmarks, preimage="fixed_point").fit(X)
        seen.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # partial_fit begins anew after an exact fit
            use(model, X)
        assert seen and set(seen) == {1}
        assert set(blas_threads()) == {2}

    def test_models_in_threads_leave_blas_as_it_was(self, X):
        model = KernelPCA(3, n_jobs=1).fit(X)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(model.transform, [X] * 200))
        assert set(blas_threads()) == {2}

    @pytest.mark.parametrize("method", ["fit", "partial_fit", "fit_transform"])
    def test_no_thread_has_no_meaning(self, method, X):
        with pytest.raises(ValueError, match="n_jobs=0 has no meaning"):
            getattr(KernelPCA(2, n_jobs=0, landmarks=10), method)(X)


@pytest.mark.parametrize("copy", [True, False])
def test_copies_of_the_data(copy, X):
    model = KernelPCA(2, copy_X=copy).fit(X)
    assert np.shares_memory(model.X_fit_, X) is not copy


class TestWeights:
    def test_weights_are_repetitions(self, rng, X):
        weights = rng.integers(0, 4, 60)
        weighted = KernelPCA(4, gamma="scale").fit(X, sample_weight=weights)
        repeated = KernelPCA(4, gamma="scale").fit(np.repeat(X, weights, axis=0))
        assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-9)
        assert_allclose(weighted.explained_variance_, repeated.explained_variance_, rtol=1e-9)
        assert_allclose(weighted.explained_variance_ratio_, repeated.explained_variance_ratio_, rtol=1e-9)
        assert_allclose(weighted.reconstruction_error(X), repeated.reconstruction_error(X), atol=1e-9)
        assert_allclose(weighted.denoise(X), repeated.denoise(X), atol=1e-5)

    @pytest.mark.parametrize("solver", ["dense", "block_krylov", "arpack"])
    @pytest.mark.parametrize("budget", [None, 1000])
    def test_every_solver_and_memory(self, solver, budget, rng, X):
        weights = rng.uniform(0.1, 2.0, 60)
        if budget and solver == "dense":
            pytest.skip("the dense solver holds the matrix")
        reference = KernelPCA(3, gamma=0.5).fit(X, sample_weight=weights)
        model = KernelPCA(3, gamma=0.5, eigen_solver=solver, max_memory=budget).fit(X, sample_weight=weights)
        assert_allclose(model.transform(X), reference.transform(X), atol=1e-6)

    def test_scores_of_training_rows(self, rng, X):
        weights = rng.integers(0, 3, 60)
        model = KernelPCA(3, gamma=0.5)
        assert_allclose(model.fit_transform(X, sample_weight=weights), model.transform(X), atol=1e-12)

    def test_on_landmarks_and_streams(self, rng):
        X = rng.normal(size=(400, 3))
        weights = rng.integers(0, 3, 400)
        kept = np.flatnonzero(weights)
        # All rows as landmarks: no choice to depend on weights.
        landmarks = Uniform(kept.size)
        model = KernelPCA(4, gamma=0.2, landmarks=landmarks).fit(X, sample_weight=weights)
        exact = KernelPCA(4, gamma=0.2).fit(X, sample_weight=weights)
        assert_allclose(np.abs(model.transform(X)), np.abs(exact.transform(X)), atol=1e-4)
        assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=1e-6)
        first = KernelPCA(4, gamma=0.2, landmarks=50).partial_fit(X[:200]).partial_fit(X[200:], sample_weight=2.0)
        second = KernelPCA(4, gamma=0.2, landmarks=50).partial_fit(X[:200])
        second.partial_fit(X[200:]).partial_fit(X[200:])
        assert_allclose(first.explained_variance_, second.explained_variance_, rtol=1e-6)

    def test_precomputed_kernels(self, rng, X):
        weights = rng.integers(0, 3, 60)
        K = np.exp(-0.5 * np.sum((X[:, None] - X[None]) ** 2, axis=2))
        model = KernelPCA(3, kernel="precomputed").fit(K, sample_weight=weights)
        reference = KernelPCA(3, gamma=0.5).fit(X, sample_weight=weights)
        assert_allclose(model.transform(K), reference.transform(X), atol=1e-9)

    @pytest.mark.parametrize("size", [1e-50, 1e-14, 1e-3, 1e9, 1e100])
    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    def test_the_size_of_all_weights_does_not_matter(self, size, dtype, rng, X):
        if dtype == "float32" and not 1e-30 < size < 1e30:
            pytest.skip("single precision cannot hold such eigenvalues")
        weights = rng.uniform(0.5, 2.0, 60)
        one = KernelPCA(4, gamma=0.5).fit(X.astype(dtype), sample_weight=weights)
        other = KernelPCA(4, gamma=0.5).fit(X.astype(dtype), sample_weight=size * weights)
        assert_allclose(other.transform(X), one.transform(X), atol=1e-5 if dtype == "float32" else 1e-10)
        assert other.n_samples_seen_ == 60

    def test_equal_rows_have_no_variance_whatever_their_weights(self, rng):
        with pytest.raises(ValueError, match="no variance in feature space"):
            KernelPCA(1).fit(np.full((20, 3), 0.3), sample_weight=rng.uniform(10, 200, 20))

    @pytest.mark.parametrize("heavy", [1e6, 1e8, 1e12])
    def test_a_heavy_row_leaves_the_others_their_components(self, heavy, rng):
        X = rng.normal(size=(24, 3))
        weights = np.ones(24)
        weights[0] = heavy
        assert KernelPCA(5, gamma=0.3).fit(X, sample_weight=weights).n_components_ == 5

    def test_eigenvectors_have_unit_length(self, rng, X):
        model = KernelPCA(3, gamma=0.5).fit(X, sample_weight=rng.integers(0, 4, 60))
        assert_allclose(np.linalg.norm(model.eigenvectors_, axis=0), 1)

    @pytest.mark.parametrize("rule", ["scale", "median"])
    def test_equal_weights_leave_widths_alone(self, rule, rng):
        X = rng.normal(size=(20_001, 2))
        kernel = as_kernel("rbf", gamma=rule)
        weighted = kernel.resolve(repeated(X, np.full(20_001, 0.5)))
        assert weighted.gamma == pytest.approx(kernel.resolve(X).gamma, rel=1e-12)

    @pytest.mark.parametrize("n", [50, 3000, 20_001])
    @pytest.mark.parametrize("whole", [False, True])
    def test_widths_of_uneven_weights(self, n, whole, rng):
        X = rng.normal(size=(n, 2)) * np.linspace(0.2, 3.0, n)[:, None]
        weights = rng.uniform(0.0, 1.0, n) * np.linspace(0.0, 1.0, n)
        weights = np.rint(10_000 * weights) if whole else weights
        rows = repeated(X, weights)
        mean = np.average(X, axis=0, weights=weights)
        variance = np.average((X - mean) ** 2, axis=0, weights=weights)
        assert_allclose(rows.var(axis=0), variance, rtol=0.04)
        assert_allclose(repeated(X, 1e300 * weights), repeated(X, weights))

    def test_rows_without_weight_are_not_repeated(self, rng):
        X = np.arange(30_000.0)[:, None]
        weights = rng.uniform(size=30_000) * (X[:, 0] % 3 > 0)
        assert np.all(repeated(X, weights) % 3 > 0)

    @pytest.mark.parametrize("weight", [2.0, np.float32(2.0), np.array(2.0)])
    def test_one_number_for_all(self, weight, X):
        model = KernelPCA(2, gamma=0.5).fit(X, sample_weight=weight)
        assert_allclose(model.transform(X), KernelPCA(2, gamma=0.5).fit_transform(X), atol=1e-9)

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (np.zeros(60), "not all zero"),
            (-np.ones(60), "not negative"),
            (np.ones(59), "59 of sample_weight"),
            (np.eye(60)[0], "at least 2 rows of positive sample_weight"),
        ],
    )
    def test_impossible_weights(self, weights, message, X):
        with pytest.raises(ValueError, match=message):
            KernelPCA(2).fit(X, sample_weight=weights)


def test_reconstruction_from_leading_components():
    X = load_digits().data[:300] / 16
    model = KernelPCA(32, gamma="median").fit(X)
    Y = model.transform(X)
    assert_allclose(model.inverse_transform(Y[:, :8]), model.inverse_transform(Y, n_components=8))
    assert_allclose(model.denoise(X[:5], n_components=8), KernelPCA(8, gamma="median").fit(X).denoise(X[:5]), atol=1e-4)
    assert_allclose(
        model.denoise(X[:5], n_components=8, cross_fit=3),
        KernelPCA(8, gamma="median").fit(X).denoise(X[:5], cross_fit=3),
        atol=1e-3,
    )


@pytest.mark.parametrize("offsets", ["rows", "columns", "both"])
def test_matrices_that_are_symmetric_when_centred(offsets, X):
    K = X @ X.T
    added = 1000.0 * np.arange(60)
    K = K + (added[:, None] if offsets != "columns" else 0) + (added[::-1][None, :] if offsets != "rows" else 0)
    model, theirs = KernelPCA(2, kernel="precomputed"), Peer(2, kernel="precomputed")
    scores = model.fit_transform(K)
    assert_allclose(model.transform(K), scores, atol=1e-6)
    assert_allclose(np.abs(scores), np.abs(theirs.fit(K).transform(K)), atol=1e-6)


def test_a_fraction_that_the_data_do_not_determine_is_a_warning(rng):
    X = (rng.normal(size=(100, 3)) * [1.0, 0.7, 0.5]).astype(np.float32)
    with pytest.warns(RankWarning, match="99% of the variance were asked for"):
        KernelPCA(0.99, gamma=3e-6).fit(X)


def test_single_precision_keeps_what_it_determines(rng):
    X = (rng.normal(size=(400, 3)) * [1.0, 0.7, 0.5]).astype(np.float32)
    assert KernelPCA(0.99, gamma=3e-4).fit(X).n_components_ == 3


def test_two_ways_back_at_once(X):
    with pytest.raises(ValueError, match="another way to find pre-images"):
        KernelPCA(2, fit_inverse_transform=True, preimage="gradient").fit(X)


@pytest.mark.parametrize("count", ["3", 3.0, 0, 5])
@pytest.mark.parametrize("cross_fit", [None, "auto", 3])
def test_impossible_numbers_of_components_to_denoise_with(count, cross_fit, X):
    with pytest.raises(ValueError, match="n_components must be between 1 and 4; got"):
        KernelPCA(4, gamma=0.5).fit(X).denoise(X, n_components=count, cross_fit=cross_fit)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_coordinates_of_the_training_rows_are_an_attribute(kernel):
    X = np.random.default_rng(0).normal(size=(40, 3)) + 5
    options = {"kernel": kernel, "fit_inverse_transform": True, "alpha": 0.1}
    ours, theirs = KernelPCA(3, **options).fit(X), Peer(3, **options).fit(X)
    assert_allclose(np.abs(ours.X_transformed_fit_), np.abs(theirs.X_transformed_fit_), rtol=1e-6, atol=1e-5)
    weighted = KernelPCA(3).fit(X, sample_weight=np.arange(1.0, 41))
    assert_allclose(weighted.X_transformed_fit_, weighted.transform(X), atol=1e-9)
    with pytest.raises(AttributeError, match="coordinates of all rows, and this KernelPCA has landmarks"):
        _ = KernelPCA(3, landmarks=10).fit(X).X_transformed_fit_


@pytest.mark.parametrize(
    ("model", "name", "instead"),
    [
        (KernelPCA(2), "lambdas_", "eigenvalues_"),
        (KernelPCA(2), "alphas_", "eigenvectors_"),
        (KernelPCA(2), "components_", "component_preimages()"),
        (KernelNoveltyDetector(), "labels_", "fit_predict(X)"),
        (KernelNoveltyDetector(), "decision_scores_", "-left_out_scores_"),
        (KernelNoveltyDetector(), "threshold_", "-offset_"),
        (KernelNoveltyDetector(), "predict_proba", "left_out_scores_"),
        (KernelImputer(), "predict_proba", "category_probabilities(X)"),
    ],
)
def test_names_of_other_libraries_are_answered_with_ours(model, name, instead):
    X = np.random.default_rng(0).normal(size=(40, 3))
    for each in (model, clone(model).fit(X)):
        assert not hasattr(each, name)
        with pytest.raises(AttributeError, match=rf"{type(model).__name__} has no {name}: .*{re.escape(instead)}"):
            getattr(each, name)
    assert name not in dir(model)


def test_other_attributes_fail_as_they_always_did():
    model = KernelPCA(2)
    with pytest.raises(AttributeError, match=r"'KernelPCA' object has no attribute 'nonsense'"):
        _ = model.nonsense
    with pytest.raises(AttributeError, match="is not fitted yet and has no X_fit_"):
        _ = model.X_fit_
    with pytest.raises(AttributeError, match="fit with fit_inverse_transform=True"):
        _ = model.fit(np.random.default_rng(0).normal(size=(9, 2))).dual_coef_
    copied = pickle.loads(pickle.dumps(model))
    assert copied.n_components == 2 and not hasattr(copied, "lambdas_")
