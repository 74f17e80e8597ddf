"""Laws of kernel PCA."""

import pickle

import naive
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_circles, make_moons
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as Peer
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from preimage import KernelPCA
from preimage._engine.arrays import to_numpy
from preimage.exceptions import ConvergenceWarning, IndefiniteKernelWarning, RankWarning
from preimage.kernels import Gaussian, Iterated, Laplacian, Linear, Normalized, Patches, Polynomial, Sigmoid, Warped

ITERATIVE = {"eigen_solver": "block_krylov", "tol": 1e-11}


@pytest.fixture
def X(rng):
    return rng.normal(size=(60, 4)) @ np.diag([3.0, 2.0, 1.0, 0.5]) + 1


@pytest.fixture
def Z(rng):
    return rng.normal(size=(25, 4))


def up_to_signs(A, B):
    return A * np.sign(np.sum(A * B, axis=0))


class TestDefinition:
    @pytest.mark.parametrize("options", [{"eigen_solver": "dense"}, ITERATIVE, {"eigen_solver": "arpack"}], ids=str)
    def test_equals_the_shortest_version(self, X, Z, options):
        K, K_test = Gaussian(0.1)(X), Gaussian(0.1)(Z, X)
        values, coefficients = naive.kernel_pca(K, 5)
        expected = naive.centered_test_gram(K_test, K) @ coefficients
        model = KernelPCA(5, gamma=0.1, **options).fit(X)
        assert_allclose(model.eigenvalues_, values, rtol=1e-10)
        assert_allclose(up_to_signs(model.transform(Z), expected), expected, atol=1e-8)

    def test_axes_are_orthonormal_and_coefficients_centered(self, X):
        model = KernelPCA(6, gamma=0.1).fit(X)
        A = model.subspace_.frame.coefficients
        assert_allclose(A.T @ naive.centered(Gaussian(0.1)(X)) @ A, np.eye(6), atol=1e-10)
        assert_allclose(A.sum(axis=0), 0, atol=1e-12)

    def test_training_coordinates_are_uncorrelated_with_variance_lambda_over_n(self, X):
        model = KernelPCA(6, gamma=0.1)
        Y = model.fit_transform(X)
        assert_allclose(Y.T @ Y / len(X), np.diag(model.eigenvalues_ / len(X)), atol=1e-12)
        assert_allclose(Y, model.subspace_.frame.coefficients * model.eigenvalues_, atol=1e-9)
        assert_allclose(model.explained_variance_, Y.var(axis=0))

    def test_whitened_features_have_the_shortest_weights(self, X):
        """Unit variance along the first axis needs a weight vector of squared length n/λ, and no direction less."""
        model = KernelPCA(gamma=0.1).fit(X)
        Y, rng = model.transform(X), np.random.default_rng(1)
        for w in rng.normal(size=(20, model.n_components_)):
            w = w / np.std(Y @ w)
            assert w @ w >= len(X) / model.eigenvalues_[0] - 1e-9

    @pytest.mark.parametrize("options", [{}, ITERATIVE, {"max_memory": 1000, "tol": 1e-11}], ids=str)
    def test_fit_transform_is_fit_then_transform(self, X, options):
        model = KernelPCA(4, gamma=0.1, **options)
        together = model.fit_transform(X)
        assert_allclose(model.transform(X), together, atol=1e-11)
        assert_allclose(clone(model).fit(X).transform(X), together, atol=1e-11)

    def test_rows_do_not_depend_on_their_company(self, X, Z, block_shape):
        model = KernelPCA(4, gamma=0.1).fit(X)
        assert_allclose(np.vstack([model.transform(z[None]) for z in Z]), model.transform(Z), atol=1e-12)

    def test_explicit_features_give_the_same(self, X, Z):
        X, Z = X[:, :2], Z[:, :2]
        model = KernelPCA(4, kernel=Polynomial(2)).fit(X)
        phi = naive.monomials(X, 2, 1.0)
        linear = PCA(4).fit(phi)
        expected = linear.transform(naive.monomials(Z, 2, 1.0))
        assert_allclose(up_to_signs(model.transform(Z), expected), expected, atol=1e-9)
        rest = np.sum((naive.monomials(Z, 2, 1.0) - linear.mean_) ** 2, axis=1) - np.sum(expected**2, axis=1)
        assert_allclose(model.reconstruction_error(Z), rest, atol=1e-8)


class TestLimits:
    @pytest.mark.parametrize("options", [{}, ITERATIVE], ids=["dense", "krylov"])
    def test_linear_kernel_is_pca(self, X, Z, options):
        model, linear = KernelPCA(3, kernel="linear", **options).fit(X), PCA(3).fit(X)
        assert_allclose(up_to_signs(model.transform(Z), linear.transform(Z)), linear.transform(Z), atol=1e-8)
        assert_allclose(model.eigenvalues_ / (len(X) - 1), linear.explained_variance_)
        assert_allclose(model.explained_variance_ratio_, linear.explained_variance_ratio_)

    def test_wide_gaussian_tends_to_pca(self, X):
        scores, errors = PCA(3).fit_transform(X), []
        for gamma in (1e-3, 1e-4, 1e-5):
            Y = KernelPCA(3, gamma=gamma).fit_transform(X) / np.sqrt(2 * gamma)
            errors.append(np.abs(up_to_signs(Y, scores) - scores).max())
        assert errors[0] / errors[1] == pytest.approx(10, rel=0.2)
        assert errors[1] / errors[2] == pytest.approx(10, rel=0.2)

    def test_rotation_and_translation_leave_a_gaussian_alone(self, X, Z, rng):
        rotation, _ = np.linalg.qr(rng.normal(size=(4, 4)))
        move = lambda X: X @ rotation + 5
        plain, moved = KernelPCA(4, gamma=0.1).fit(X), KernelPCA(4, gamma=0.1).fit(move(X))
        assert_allclose(moved.transform(move(Z)), plain.transform(Z), atol=1e-9)

    def test_scaling_scales_homogeneous_polynomials(self, X):
        kernel = Polynomial(3, coef0=0.0)
        assert_allclose(
            KernelPCA(4, kernel=kernel).fit_transform(2 * X),
            8 * KernelPCA(4, kernel=kernel).fit_transform(X),
            rtol=1e-7,
        )

    def test_order_of_training_points_does_not_matter(self, X, Z, rng):
        permuted = KernelPCA(4, gamma=0.1).fit(X[rng.permutation(len(X))])
        assert_allclose(permuted.transform(Z), KernelPCA(4, gamma=0.1).fit(X).transform(Z), atol=1e-9)

    def test_duplicated_points_scale_the_eigenvalues(self, X, Z):
        once, twice = KernelPCA(4, gamma=0.1).fit(X), KernelPCA(4, gamma=0.1).fit(np.repeat(X, 2, axis=0))
        assert_allclose(twice.eigenvalues_, 2 * once.eigenvalues_)
        assert_allclose(twice.transform(Z), once.transform(Z), atol=1e-9)


class TestComponents:
    def test_shares_of_variance(self, X):
        every = KernelPCA(gamma=0.1).fit(X)
        assert_allclose(every.explained_variance_ratio_.sum(), 1)
        for share in (0.3, 0.8, 0.95, 0.999):
            model = KernelPCA(share, gamma=0.1).fit(X)
            total = np.cumsum(every.explained_variance_ratio_)
            assert model.n_components_ == np.searchsorted(total, share) + 1

    def test_shares_of_variance_by_iteration(self, rng):
        X = rng.normal(size=(400, 5))
        exact = KernelPCA(0.9, gamma=1.0, eigen_solver="dense").fit(X)
        doubled = KernelPCA(0.9, gamma=1.0, eigen_solver="block_krylov").fit(X)
        assert doubled.n_components_ == exact.n_components_ > 64
        assert_allclose(doubled.eigenvalues_, exact.eigenvalues_, rtol=1e-8)

    def test_weak_components_mean_the_same_for_training_points_and_new_ones(self):
        X, _ = make_circles(200, factor=0.3, noise=0.05, random_state=0)
        model = KernelPCA(gamma=1.0)
        scores = model.fit_transform(X)
        assert_allclose(model.transform(X), scores, atol=1e-6 * scores[:, -1].std())
        assert_allclose(model.subspace_.frame.coefficients.sum(axis=0), 0, atol=1e-9 / np.sqrt(model.eigenvalues_[-1]))

    def test_all_components_leave_novelties_apart(self):
        X, _ = make_moons(400, noise=0.1, random_state=0)
        model = KernelPCA().fit(X)
        assert model.reconstruction_error(X + 3).min() > 1e3 * model.reconstruction_error(X).max()

    def test_all_components_serve_a_classifier(self):
        X, y = make_circles(400, factor=0.8, noise=0.1, random_state=0)
        pipeline = make_pipeline(KernelPCA(gamma=1.0), SVC())
        theirs = make_pipeline(Peer(kernel="rbf", gamma=1.0), SVC())
        assert cross_val_score(pipeline, X, y).mean() >= cross_val_score(theirs, X, y).mean() - 0.01

    def test_none_keeps_all_that_are_nonzero(self, X):
        assert KernelPCA(gamma=0.1).fit(X).n_components_ == len(X) - 1
        assert KernelPCA(kernel="linear").fit(X).n_components_ == 4

    @pytest.mark.parametrize("options", [{}, ITERATIVE], ids=["dense", "krylov"])
    def test_more_than_the_rank_is_a_warning_and_fewer_components(self, X, options):
        with pytest.warns(RankWarning, match="7 components were asked for, but the data determine only 4"):
            model = KernelPCA(7, kernel="linear", **options).fit(X)
        assert model.n_components_ == 4
        assert model.transform(X).shape == (60, 4)
        assert model.get_feature_names_out().tolist() == [f"kernelpca{i}" for i in range(4)]

    def test_more_than_the_samples(self, X):
        with pytest.warns(RankWarning, match="100 components"):
            assert KernelPCA(100, gamma=0.1).fit(X).n_components_ == 59

    @pytest.mark.parametrize("n_components", [0, -1, 1.5, 1.0, "3"])
    def test_impossible_numbers_are_refused(self, X, n_components):
        with pytest.raises(ValueError, match="n_components"):
            KernelPCA(n_components).fit(X)

    def test_numpy_scalars_are_numbers(self, X):
        assert KernelPCA(np.int64(3), gamma=0.1).fit(X).n_components_ == 3
        share = KernelPCA(np.float32(0.9), gamma=0.1).fit(X)
        assert share.n_components_ == KernelPCA(0.9, gamma=0.1).fit(X).n_components_

    @pytest.mark.parametrize("options", [{"eigen_solver": "dense"}, ITERATIVE], ids=["dense", "krylov"])
    @pytest.mark.filterwarnings("ignore:All kernel values")
    def test_coinciding_eigenvalues(self, options):
        """LAPACK's subset driver returns fewer pairs than asked for here, without an error."""
        model = KernelPCA(8, kernel="linear", **options).fit(np.eye(200))
        assert_allclose(model.eigenvalues_, 1)


class TestReconstructionError:
    def test_is_the_distance_to_the_subspace(self, X, Z):
        model = KernelPCA(3, gamma=0.1).fit(X)
        K, k = Gaussian(0.1)(X), Gaussian(0.1)(Z, X)
        centered = 1 - 2 * k.mean(axis=1) + K.mean()
        assert_allclose(model.reconstruction_error(Z), centered - np.sum(model.transform(Z) ** 2, axis=1), atol=1e-12)

    def test_falls_with_the_number_of_components_to_zero_on_training_points(self, X, Z):
        errors = np.array([KernelPCA(k, gamma=0.1).fit(X).reconstruction_error(Z) for k in (1, 5, 20, 59)])
        assert (np.diff(errors, axis=0) <= 1e-10).all()
        assert_allclose(KernelPCA(gamma=0.1).fit(X).reconstruction_error(X), 0, atol=1e-10)

    def test_sums_to_the_variance_that_is_left(self, X):
        model = KernelPCA(3, gamma=0.1).fit(X)
        left = np.trace(naive.centered(Gaussian(0.1)(X))) - model.eigenvalues_.sum()
        assert_allclose(model.reconstruction_error(X).sum(), left)

    def test_tends_to_a_constant_far_away(self, X):
        model = KernelPCA(3, gamma=0.1).fit(X)
        expected = 1 + Gaussian(0.1)(X).mean() - np.sum(model.subspace_.offset**2)
        assert_allclose(model.reconstruction_error(np.full((1, 4), 1e3)), expected)

    def test_scores_are_minus_the_error(self, X, Z):
        model = KernelPCA(3, gamma=0.1).fit(X)
        assert_allclose(model.score_samples(Z), -model.reconstruction_error(Z))

    def test_is_never_negative(self, X):
        assert (KernelPCA(gamma=1e-6).fit(X).reconstruction_error(X) >= 0).all()


class TestIndefinite:
    def test_normalised_by_the_root_of_the_modulus(self, rng):
        X = 2 * rng.normal(size=(40, 3))
        with pytest.warns(IndefiniteKernelWarning, match=r"\d+ of the 39 kept components"):
            model = KernelPCA(kernel=Sigmoid(1.0, -1.0)).fit(X)
        K, A, signs = (
            naive.centered(Sigmoid(1.0, -1.0)(X)),
            model.subspace_.frame.coefficients,
            np.sign(model.eigenvalues_),
        )
        assert 0 < (signs < 0).sum() < 39
        assert (np.diff(np.abs(model.eigenvalues_)) <= 1e-12).all()
        assert_allclose(A.T @ K @ A, np.diag(signs), atol=1e-8)
        Y = model.transform(X)
        assert_allclose((Y * signs) @ Y.T, K, atol=1e-9)
        assert_allclose(model.reconstruction_error(X), 0, atol=1e-8)

    @pytest.mark.filterwarnings("ignore::preimage.exceptions.IndefiniteKernelWarning")
    @pytest.mark.parametrize("kernel", [Sigmoid(1.0, 3.0), -1 * Gaussian(0.5)], ids=repr)
    def test_shares_are_of_the_sum_of_moduli(self, kernel, rng):
        X = rng.normal(size=(60, 4))
        every = np.abs(KernelPCA(kernel=kernel).fit(X).eigenvalues_)
        model = KernelPCA(0.9, kernel=kernel).fit(X)
        assert model.n_components_ == np.searchsorted(np.cumsum(every) / every.sum(), 0.9) + 1
        with pytest.raises(ValueError, match="may be indefinite"):
            KernelPCA(0.9, kernel=kernel, max_memory=1000).fit(X)

    def test_iterated_kernel_is_the_way_out(self, rng, recwarn):
        X = 2 * rng.normal(size=(40, 3))
        model = KernelPCA(5, kernel=Iterated(Sigmoid(1.0, -1.0))).fit(X)
        assert (model.eigenvalues_ > 0).all()
        assert not [w for w in recwarn if w.category is IndefiniteKernelWarning]


class TestMemory:
    def test_same_result_without_holding_the_matrix(self, rng):
        X, Z = rng.normal(size=(900, 3)), rng.normal(size=(20, 3))
        held = KernelPCA(5, gamma=0.2, eigen_solver="block_krylov", tol=1e-10).fit(X)
        free = KernelPCA(5, gamma=0.2, max_memory="1MB", tol=1e-10).fit(X)
        assert_allclose(free.eigenvalues_, held.eigenvalues_, rtol=1e-10)
        assert_allclose(free.transform(Z), held.transform(Z), atol=1e-8)
        assert_allclose(free.explained_variance_ratio_, held.explained_variance_ratio_, rtol=1e-10)

    def test_what_would_not_fit_beside_the_matrix_is_refused(self, rng):
        with pytest.raises(ValueError, match="Ask for fewer components"):
            KernelPCA(gamma=1.0, max_memory="1MB").fit(rng.normal(size=(3000, 3)))

    @pytest.mark.parametrize("max_memory", ["lots", "1 parsec", "GB"])
    def test_sizes_must_be_sizes(self, X, max_memory):
        with pytest.raises(ValueError, match="1GB"):
            KernelPCA(2, max_memory=max_memory).fit(X)


class TestPeer:
    @pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "cosine"])
    @pytest.mark.filterwarnings("ignore::preimage.exceptions.IndefiniteKernelWarning")
    def test_agrees_with_scikit_learn(self, kernel):
        X, _ = make_circles(200, factor=0.3, noise=0.05, random_state=0)
        rest = {"gamma": 3.0 if kernel == "rbf" else None}
        ours, peer = KernelPCA(2, kernel=kernel, **rest), Peer(2, kernel=kernel, **rest)
        expected = peer.fit_transform(X)
        if kernel == "sigmoid":  # scikit-learn keeps the largest, we keep the largest in modulus
            assert (peer.eigenvalues_ > 0).all()
        assert_allclose(up_to_signs(ours.fit_transform(X), expected), expected, atol=1e-8)
        assert_allclose(
            up_to_signs(ours.transform(X[:7] + 0.1), peer.transform(X[:7] + 0.1)),
            peer.transform(X[:7] + 0.1),
            atol=1e-8,
        )
        assert_allclose(ours.eigenvalues_, peer.eigenvalues_, rtol=1e-8)

    def test_agrees_with_scikit_learn_on_digits(self):
        X, _ = load_digits(return_X_y=True)
        X = X / 16
        ours, peer = KernelPCA(20, gamma=0.05).fit(X), Peer(20, kernel="rbf", gamma=0.05, eigen_solver="dense").fit(X)
        assert_allclose(ours.eigenvalues_, peer.eigenvalues_, rtol=1e-8)
        expected = peer.transform(X[:50] + 0.01)
        assert_allclose(up_to_signs(ours.transform(X[:50] + 0.01), expected), expected, atol=1e-5)

    def test_functions_work_as_in_scikit_learn(self, X):
        function = lambda x, y: np.exp(-0.1 * np.sum((x - y) ** 2))
        assert_allclose(
            KernelPCA(3, kernel=function).fit(X).eigenvalues_, Peer(3, kernel=function).fit(X).eigenvalues_, rtol=1e-8
        )


class TestHabits:
    def test_signs_are_deterministic(self, X):
        Y = KernelPCA(5, gamma=0.1).fit_transform(X)
        assert (Y[np.argmax(np.abs(Y), axis=0), np.arange(5)] > 0).all()
        for seed in range(3):
            again = KernelPCA(5, gamma=0.1, random_state=seed, **ITERATIVE).fit_transform(X)
            assert_allclose(again, Y, atol=1e-8)

    def test_pandas_in_pandas_out(self, X):
        frame = pd.DataFrame(X, columns=list("abcd"), index=np.arange(100, 160))
        model = KernelPCA(2, gamma=0.1).set_output(transform="pandas").fit(frame)
        Y = model.transform(frame)
        assert list(Y.columns) == ["kernelpca0", "kernelpca1"]
        assert (Y.index == frame.index).all()
        assert list(model.feature_names_in_) == list("abcd")
        assert_allclose(model.fit_transform(frame), Y, atol=1e-11)

    def test_pickle(self, X, Z):
        model = KernelPCA(3, gamma=0.1).fit(X)
        assert_allclose(pickle.loads(pickle.dumps(model)).transform(Z), model.transform(Z))

    def test_models_do_not_change_with_the_callers_array(self, X, Z):
        given = X.copy()
        model = KernelPCA(3, gamma=0.1).fit(given)
        before = model.transform(Z)
        given *= 0
        assert_allclose(model.transform(Z), before)

    def test_pickles_hold_nothing_twice(self, rng):
        X = rng.normal(size=(900, 3))
        model = KernelPCA(0.5, gamma=0.1).fit(X)
        assert len(pickle.dumps(model)) < 10 * X.nbytes

    def test_float32_stays_float32(self, X, Z):
        model = KernelPCA(3, gamma=0.1).fit(X.astype(np.float32))
        Y = model.transform(Z.astype(np.float32))
        assert (
            Y.dtype == model.eigenvalues_.dtype == model.reconstruction_error(Z.astype(np.float32)).dtype == np.float32
        )
        assert_allclose(Y, KernelPCA(3, gamma=0.1).fit(X).transform(Z), atol=1e-4)

    @pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "cosine", "laplacian"])
    def test_sparse_input(self, kernel, rng):
        X = np.where(rng.random((60, 8)) < 0.4, rng.normal(size=(60, 8)), 0)
        dense, thin = KernelPCA(3, kernel=kernel), KernelPCA(3, kernel=kernel)
        expected = dense.fit_transform(X)
        assert_allclose(thin.fit_transform(sparse.csr_matrix(X)), expected, atol=1e-8)
        assert_allclose(thin.transform(sparse.csc_matrix(X)), expected, atol=1e-8)
        assert_allclose(thin.transform(X), expected, atol=1e-8)

    def test_precomputed_kernel(self, X, Z):
        direct = KernelPCA(3, gamma=0.1).fit(X)
        model = KernelPCA(3, kernel="precomputed").fit(rbf_kernel(X, gamma=0.1))
        K = rbf_kernel(Z, X, gamma=0.1)
        assert_allclose(model.transform(K), direct.transform(Z), atol=1e-9)
        assert_allclose(model.reconstruction_error(K, diagonal=np.ones(25)), direct.reconstruction_error(Z), atol=1e-9)
        with pytest.raises(TypeError, match="diagonal="):
            model.reconstruction_error(K)
        with pytest.raises(ValueError, match=r"shape \(25, 1\)"):
            model.reconstruction_error(K, diagonal=np.ones((25, 1)))

    def test_precomputed_matrix_is_not_changed(self, X):
        K = rbf_kernel(X, gamma=0.1)
        before = K.copy()
        KernelPCA(3, kernel="precomputed").fit(K)
        assert (before == K).all()

    @pytest.mark.parametrize("kernel", [Patches((2, 2), patch=2), Laplacian(0.1), Linear() * Gaussian(0.1)], ids=repr)
    def test_kernel_objects(self, kernel, X):
        values, _ = naive.kernel_pca(kernel(X), 3)
        assert_allclose(KernelPCA(3, kernel=kernel).fit(X).eigenvalues_, values)

    def test_pipelines_and_grid_search(self):
        X, y = make_circles(200, factor=0.3, noise=0.1, random_state=0)
        pipeline = make_pipeline(KernelPCA(2, kernel=Gaussian(1.0)), LinearSVC())
        search = GridSearchCV(pipeline, {"kernelpca__kernel__gamma": [1e-3, 5.0]}, cv=3).fit(X, y)
        assert search.best_params_ == {"kernelpca__kernel__gamma": 5.0}
        assert search.best_score_ > 0.95

    def test_neighbours_under_a_gaussian_are_euclidean_neighbours(self, X, Z):
        model = KernelPCA(gamma=0.1).fit(X)
        y = np.arange(len(X))
        plain = KNeighborsClassifier(1).fit(X, y)
        mapped = KNeighborsClassifier(1).fit(model.transform(X), y)
        assert (mapped.predict(model.transform(X + 1e-3)) == plain.predict(X + 1e-3)).all()

    def test_bandwidth_rules(self, X):
        assert KernelPCA(2).fit(X).kernel_.gamma == 0.25
        assert KernelPCA(2, gamma="median").fit(X).kernel_.gamma == Gaussian("median").resolve(X).gamma

    def test_kernel_given_to_the_estimator_is_not_changed(self, X):
        kernel = Gaussian("median")
        KernelPCA(2, kernel=kernel).fit(X)
        assert kernel.gamma == "median"


class TestArrayLibraries:
    @pytest.mark.parametrize("options", [{}, ITERATIVE, {"max_memory": 1000}], ids=["dense", "krylov", "no memory"])
    def test_agree(self, xp, X, Z, options):
        expected = KernelPCA(3, gamma=0.1).fit(X)
        model = KernelPCA(3, gamma=0.1, **options)
        Y = model.fit_transform(xp.asarray(X))
        assert type(Y) is type(xp.asarray(X))
        assert_allclose(to_numpy(Y), expected.transform(X), atol=1e-5)
        assert_allclose(to_numpy(model.transform(xp.asarray(Z))), expected.transform(Z), atol=1e-5)
        assert_allclose(
            to_numpy(model.reconstruction_error(xp.asarray(Z))), expected.reconstruction_error(Z), atol=1e-5
        )
        assert_allclose(to_numpy(model.eigenvalues_), expected.eigenvalues_, rtol=1e-8)

    def test_foreign_inputs_are_checked(self, X):
        torch = pytest.importorskip("torch", reason="torch is not installed")
        model = KernelPCA(2, gamma=0.1).fit(torch.asarray(X))
        bad = torch.asarray(X).clone()
        bad[0, 0] = float("nan")
        with pytest.raises(ValueError, match="NaN or infinity"):
            model.transform(bad)
        with pytest.raises(ValueError, match="3 features, but KernelPCA is expecting 4"):
            model.transform(torch.asarray(X[:, :3]))
        with pytest.raises(ValueError, match="2D"):
            model.transform(torch.asarray(X[0]))
        with pytest.raises(ValueError, match="minimum of 2"):
            KernelPCA(2).fit(torch.asarray(X[:1]))
        with pytest.raises(ValueError, match="real numbers"):
            KernelPCA(2).fit(torch.asarray(X + 1j))

    def test_mixing_libraries_names_both_and_the_remedy(self, X):
        torch = pytest.importorskip("torch", reason="torch is not installed")
        with pytest.raises(ValueError, match=r"fitted on a NumPy array, but was given a torch array.*\.numpy\(\)"):
            KernelPCA(2, gamma=0.1).fit(X).transform(torch.asarray(X))
        with pytest.raises(ValueError, match=r"fitted on a torch array on cpu.*torch\.asarray"):
            KernelPCA(2, gamma=0.1).fit(torch.asarray(X)).transform(X)

    def test_models_are_no_part_of_a_graph(self, X):
        torch = pytest.importorskip("torch", reason="torch is not installed")
        data = torch.asarray(X).clone().requires_grad_(True)
        model = KernelPCA(2, gamma=0.1).fit(data)
        assert not model.eigenvalues_.requires_grad
        assert not model.transform(data).requires_grad

    def test_float32_model_takes_float64_queries(self, X):
        torch = pytest.importorskip("torch", reason="torch is not installed")
        model = KernelPCA(2, gamma=0.1).fit(torch.asarray(X, dtype=torch.float32))
        assert model.transform(torch.asarray(X)).dtype == torch.float32


class TestBadInput:
    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_non_finite_values(self, X, value):
        X[3, 2] = value
        with pytest.raises(ValueError, match="contains"):
            KernelPCA(2).fit(X)

    def test_one_sample(self, X):
        with pytest.raises(ValueError, match="minimum of 2"):
            KernelPCA(2).fit(X[:1])

    @pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
    def test_constant_data(self, kernel):
        with pytest.raises(ValueError, match="no variance in feature space"):
            KernelPCA(2, kernel=kernel).fit(np.full((20, 3), 0.7))

    def test_constant_columns_are_harmless(self, X):
        padded = np.hstack([X, np.full((60, 1), 1e4)])
        assert_allclose(
            KernelPCA(3, gamma=0.1).fit_transform(padded), KernelPCA(3, gamma=0.1).fit_transform(X), atol=1e-6
        )

    def test_gamma_so_large_that_no_point_is_like_another(self, X):
        with pytest.warns(UserWarning, match="no point is like another"):
            model = KernelPCA(3, gamma=1e8).fit(X)
        assert np.isfinite(model.transform(X)).all()

    def test_gamma_so_small_that_all_points_are_alike(self, X):
        with pytest.raises(ValueError, match="gamma that is far too small"):
            KernelPCA(3, gamma=1e-30).fit(X)

    def test_not_fitted(self, X):
        for method in ("transform", "reconstruction_error", "score_samples"):
            with pytest.raises(NotFittedError):
                getattr(KernelPCA(2), method)(X)

    def test_gamma_beside_a_kernel_object(self, X):
        with pytest.raises(ValueError, match="carries its own parameters"):
            KernelPCA(2, kernel=Gaussian(1.0), gamma=50.0).fit(X)
        with pytest.raises(TypeError, match="write Gaussian"):
            KernelPCA(2, kernel=Gaussian).fit(X)

    def test_asymmetric_precomputed_matrix(self, X):
        K = rbf_kernel(X)
        K[0, 1] += 0.1
        with pytest.raises(ValueError, match=r"symmetric kernel matrix.*\(K \+ K.T\) / 2"):
            KernelPCA(2, kernel="precomputed").fit(K)

    def test_rectangular_precomputed_matrix(self, X):
        with pytest.raises(ValueError, match="square matrix"):
            KernelPCA(2, kernel="precomputed").fit(rbf_kernel(X)[:5])

    def test_feature_count(self, X):
        with pytest.raises(ValueError, match="3 features"):
            KernelPCA(2).fit(X).transform(X[:, :3])

    def test_unknown_names(self, X):
        with pytest.raises(ValueError, match=r"Unknown kernel 'rfb'.*linear"):
            KernelPCA(2, kernel="rfb").fit(X)
        with pytest.raises(ValueError, match="Unknown eigensolver"):
            KernelPCA(2, eigen_solver="lobpcg").fit(X)

    @pytest.mark.parametrize(
        "options", [{"gamma": -1.0}, {"degree": 0}, {"tol": -1.0}, {"kernel": Gaussian(-1.0)}], ids=str
    )
    def test_parameters_out_of_range(self, X, options):
        with pytest.raises(ValueError, match="must be"):
            KernelPCA(2, **options).fit(X)

    @pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
    def test_overflowing_kernel(self, X):
        with pytest.raises(ValueError, match="NaN or infinite values"):
            KernelPCA(2, kernel=Polynomial(200)).fit(100 * X)

    def test_unfinished_eigensolver_warns(self, rng):
        with pytest.warns(ConvergenceWarning, match="largest relative residual"):
            KernelPCA(5, gamma=3.0, eigen_solver="block_krylov", max_iter=2).fit(rng.normal(size=(500, 5)))


@pytest.mark.parametrize("kind", [Iterated, Normalized, Warped])
def test_a_kernel_of_something_else_says_what_it_needs(kind, rng):
    with pytest.raises(ValueError, match=f"'kernel' parameter of {kind.__name__} must be.*Kernel.*Got 0.3"):
        KernelPCA(2, kernel=kind(0.3)).fit(rng.normal(size=(20, 2)))
