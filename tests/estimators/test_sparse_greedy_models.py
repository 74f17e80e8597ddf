"""Regression and classification on landmarks: equal to the formulas, to kernel ridge, and to each other."""

from dataclasses import replace

import numpy as np
import pytest
from data import data_directory, load_abalone
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_iris, make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from preimage import SparseGreedyClassifier, SparseGreedyRegressor, compress
from preimage._engine.arrays import to_numpy
from preimage.interop import machine_of
from preimage.kernels import Exponential, Gaussian, Linear, Polynomial
from preimage.landmarks import KMeans, RandomlyPivotedCholesky, SparseGreedy, Uniform

GAMMA, ALPHA = 0.5, 0.1


@pytest.fixture
def data(rng):
    X = rng.normal(size=(120, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=120)


def plain(n_landmarks=25, **options):
    return SparseGreedyRegressor(n_landmarks, **{"gamma": GAMMA, "alpha": ALPHA, "fit_intercept": False, **options})


def test_solution_is_that_of_the_paper(data):
    """(G14) = (G15)."""
    X, y = data
    model = plain().fit(X, y)
    C, W = rbf_kernel(X, model.expansion_.points, gamma=GAMMA), model.kernel_(model.expansion_.points)
    assert_allclose(model.dual_coef_, np.linalg.solve(C.T @ C + ALPHA * W, C.T @ y), rtol=1e-7, atol=1e-9)
    assert_allclose(model.expansion_.points, X[model.landmarks_.indices])


def test_fitted_values_are_kernel_ridge_with_the_approximate_kernel(data):
    """(G16)."""
    X, y = data
    model = plain().fit(X, y)
    C, W = rbf_kernel(X, model.expansion_.points, gamma=GAMMA), model.kernel_(model.expansion_.points)
    approximate = C @ np.linalg.solve(W, C.T)
    expected = approximate @ np.linalg.solve(approximate + ALPHA * np.eye(120), y)
    assert_allclose(model.predict(X), expected, atol=1e-9)


@pytest.mark.parametrize("selector", [SparseGreedy(120), RandomlyPivotedCholesky(120), Uniform(120)])
@pytest.mark.parametrize("n_targets", [None, 2])
def test_all_points_give_kernel_ridge(data, selector, n_targets):
    X, y = data
    y = y if n_targets is None else np.stack([y, y**2], axis=1)
    full = KernelRidge(kernel="rbf", gamma=3.0, alpha=ALPHA).fit(X, y)
    model = plain(selector, gamma=3.0).fit(X, y)
    assert_allclose(model.predict(X), full.predict(X), atol=1e-8)
    assert_allclose(model.predict(X + 0.1), full.predict(X + 0.1), atol=1e-8)
    assert model.residual_fraction_ < 1e-10
    order = np.argsort(model.landmarks_.indices)
    if len(model.landmarks_) == 120:
        assert_allclose(model.dual_coef_[order], full.dual_coef_, atol=1e-8)


def test_intercept_is_not_penalized(data):
    X, y = data
    model = plain(fit_intercept=True).fit(X, y)
    shifted = plain(fit_intercept=True).fit(X, y + 1000)
    assert_allclose(shifted.predict(X), model.predict(X) + 1000, atol=1e-8)
    assert_allclose(np.mean(y - model.predict(X)), 0, atol=1e-10)


def test_weights_count_rows(data, rng):
    X, y = data
    counts = rng.integers(0, 4, size=120)
    selector = SparseGreedy(None, tol=1e-12)
    weighted = plain(selector, fit_intercept=True).fit(X, y, sample_weight=counts)
    repeated = plain(selector, fit_intercept=True).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)
    assert np.all(counts[weighted.landmarks_.indices] > 0)


@pytest.mark.parametrize("gamma", [GAMMA, "scale", "median"])
def test_weight_zero_is_removal(data, gamma):
    X, y = data
    weights = np.where(np.arange(120) % 3 == 0, 0.0, 1.0)
    weighted = plain(gamma=gamma).fit(X, np.where(weights > 0, y, 1e6), sample_weight=weights)
    removed = plain(gamma=gamma).fit(X[weights > 0], y[weights > 0])
    assert_allclose(weighted.predict(X), removed.predict(X), atol=1e-9)
    assert_allclose(X[weighted.landmarks_.indices], weighted.landmarks_.points)


def test_weight_zero_is_removal_from_a_precomputed_matrix(data):
    X, y = data
    weights = np.where(np.arange(120) % 3 == 0, 0.0, 1.0)
    K = rbf_kernel(X, gamma=GAMMA)
    weighted = plain(kernel="precomputed").fit(K, y, sample_weight=weights)
    removed = plain().fit(X[weights > 0], y[weights > 0])
    assert_allclose(weighted.predict(K), removed.predict(X), atol=1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_path_is_separate_fits(data, fit_intercept):
    X, y = data
    test, targets = X + 0.1, y + 0.1
    weights = np.linspace(0.5, 2, 120)
    model = plain(12, fit_intercept=fit_intercept).fit(X, y, weights)
    path = model.path(test, targets)
    assert np.all(np.diff(path.residual_fraction) < 0)
    for p, staged in enumerate(model.staged_predict(test), start=1):
        alone = plain(_First(model.landmarks_.indices[:p]), fit_intercept=fit_intercept).fit(X, y, weights)
        assert_allclose(staged, alone.predict(test), atol=1e-8)
        assert_allclose(path.test_error[p - 1], np.mean((targets - alone.predict(test)) ** 2), rtol=1e-8)
        error = np.average((y - alone.predict(X)) ** 2, weights=weights)
        assert_allclose(path.train_error[p - 1], error, rtol=1e-8)
    assert p == path.n_landmarks[-1] == 12
    assert_allclose(staged, model.predict(test), atol=1e-10)
    assert model.path().test_error is None


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_leave_one_out_is_brute_force(data, fit_intercept):
    X, y = data
    X, y, alphas = X[:40], y[:40], [0.01, 1.0, 50.0]
    model = plain(10, alpha=alphas, fit_intercept=fit_intercept).fit(X, y)
    indices = model.landmarks_.indices
    for alpha, error in zip(alphas, model.loo_errors_):
        errors = []
        for i in range(40):
            # The basis stays, also where its point is the one left out.
            weights = np.where(np.arange(40) == i, 1e-13, 1.0)
            alone = plain(_First(indices), alpha=alpha, fit_intercept=fit_intercept).fit(X, y, weights)
            errors.append((y[i] - alone.predict(X[i : i + 1])[0]) ** 2)
        assert_allclose(error, np.mean(errors), rtol=1e-6)
    assert model.alpha_ == alphas[int(np.argmin(model.loo_errors_))]
    assert_allclose(model.predict(X), plain(10, alpha=model.alpha_, fit_intercept=fit_intercept).fit(X, y).predict(X))


def test_loo_finds_a_good_penalty(data, rng):
    X, y = data
    noisy = y + rng.normal(size=120)
    chosen = SparseGreedyRegressor(60, gamma=GAMMA, alpha="loo").fit(X, noisy)
    error = lambda model: np.mean((model.predict(X) - y) ** 2)
    all_errors = [error(SparseGreedyRegressor(60, gamma=GAMMA, alpha=alpha).fit(X, noisy)) for alpha in chosen.alphas_]
    assert chosen.alphas_.size == chosen.loo_errors_.size == 41
    assert error(chosen) < 1.3 * min(all_errors)


def test_blocks_and_libraries_agree(data, xp, block_shape):
    X, y = data
    expected = SparseGreedyRegressor(15, gamma=GAMMA).fit(X, y).predict(X)
    model = SparseGreedyRegressor(15, gamma=GAMMA).fit(xp.asarray(X), xp.asarray(y))
    assert_allclose(to_numpy(model.predict(xp.asarray(X))), expected, atol=1e-8)
    assert type(model.predict(xp.asarray(X))) is type(xp.asarray(X))


def test_rows_in_many_blocks(rng):
    X = rng.normal(size=(3000, 2))
    y = np.sin(3 * X[:, 0])
    model = plain(20, alpha="loo", fit_intercept=True).fit(X, y, np.linspace(0.1, 1, 3000))
    C, W = model.kernel_(X, model.expansion_.points), model.kernel_(model.expansion_.points)
    w = np.linspace(0.1, 1, 3000)
    mean = lambda values: w @ values / w.sum()
    centered, targets = C - mean(C), y - mean(y)
    beta = np.linalg.solve((centered * w[:, None]).T @ centered + model.alpha_ * W, (centered * w[:, None]).T @ targets)
    assert_allclose(model.predict(X), (C - mean(C)) @ beta + mean(y), atol=1e-6)


def test_single_precision(data):
    X, y = data
    low = SparseGreedyRegressor(40, gamma=GAMMA, alpha=ALPHA).fit(X.astype(np.float32), y)
    high = SparseGreedyRegressor(40, gamma=GAMMA, alpha=ALPHA).fit(X, y)
    assert low.predict(X.astype(np.float32)).dtype == low.dual_coef_.dtype == np.float32
    assert np.mean((low.predict(X) - y) ** 2) < 1.05 * np.mean((high.predict(X) - y) ** 2)


def test_sparse_inputs(data):
    X, y = data
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    model = plain().fit(sparse.csr_matrix(X), y)
    assert_allclose(model.predict(sparse.csr_matrix(X)), plain().fit(X, y).predict(X), atol=1e-8)


@pytest.mark.parametrize("kernel", [Linear() + Gaussian(0.3), Polynomial(2)])
@pytest.mark.parametrize("landmarks", ["uniform", "pivoted_cholesky", KMeans(10), SparseGreedy(None, tol=1e-3)])
def test_other_kernels_and_selectors(data, kernel, landmarks):
    X, y = data
    model = SparseGreedyRegressor(landmarks, kernel=kernel, alpha=1e-3).fit(X, y)
    assert model.score(X, y) > 0.5
    if landmarks == "uniform" and isinstance(kernel, Polynomial):
        assert len(model.landmarks_) == 10  # 1, three variables and their six products


def test_constant_targets_and_inputs(data):
    X, _ = data
    assert_allclose(SparseGreedyRegressor(5).fit(X, np.full(120, 7.0)).predict(X), 7.0)
    same = SparseGreedyRegressor(5).fit(np.ones((6, 2)), np.arange(6.0))
    assert_allclose(same.predict(np.ones((1, 2))), 2.5)
    one = SparseGreedyRegressor(5).fit(X[:1], [3.0])
    assert_allclose(one.predict(X[:4]), 3.0)


def test_seeds_choose_landmarks(data):
    X, y = data
    fit = lambda seed: plain("rpcholesky", random_state=seed).fit(X, y).landmarks_.indices.tolist()
    assert fit(1) == fit(1) != fit(2)


def test_machines_can_be_compressed(data):
    X, y = data
    model = SparseGreedyRegressor(40, gamma=GAMMA, alpha=ALPHA).fit(X, y)
    assert_allclose(machine_of(model).expansion(X)[:, 0] + model.intercept_, model.predict(X))
    small = compress(model, 10, X=X, y=y)
    assert small.n_points_ == 10
    assert small.score(X, y) > 0.8
    iris = load_iris()
    classifier = SparseGreedyClassifier(40, gamma=0.5, alpha=0.1).fit(iris.data, iris.target)
    assert compress(classifier, 8, X=iris.data, y=iris.target).score(iris.data, iris.target) > 0.95


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifier_is_regression_on_signs(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], np.array(["setosa", "versicolor", "virginica"])[y[y < n_classes]]
    model = SparseGreedyClassifier(20, gamma=0.5, alpha=ALPHA).fit(X, y)
    signs = np.where(y[:, None] == model.classes_, 1.0, -1.0)
    signs = signs[:, 1] if n_classes == 2 else signs
    regression = SparseGreedyRegressor(20, gamma=0.5, alpha=ALPHA).fit(X, signs)
    assert_allclose(model.decision_function(X), regression.predict(X), atol=1e-10)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"][:n_classes]
    assert model.score(X, y) > 0.96
    path = model.path(X, y)
    assert_allclose(path.test_error[-1], 1 - model.score(X, y))
    assert_allclose(path.train_error, regression.path().train_error)


def test_grid_search_finds_parameters():
    X, y = make_moons(200, noise=0.2, random_state=0)
    search = GridSearchCV(SparseGreedyClassifier(20), {"gamma": [0.1, 2.0], "alpha": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9


def test_bad_inputs_say_what_is_wrong(data):
    X, y = data
    with pytest.raises(ValueError, match="120 rows of X but 119 of y"):
        plain().fit(X, y[:-1])
    with pytest.raises(ValueError, match="120 rows of X but 3 of sample_weight"):
        plain().fit(X, y, np.ones(3))
    with pytest.raises(ValueError, match="not negative and not all zero"):
        plain().fit(X, y, -np.ones(120))
    with pytest.raises(ValueError, match="not negative and not all zero"):
        plain().fit(X, y, np.zeros(120))
    with pytest.raises(ValueError, match="shape \\(120,\\)"):
        plain().fit(X, y, np.ones((120, 2)))
    with pytest.raises(ValueError, match="shape \\(n,\\) or \\(n, k\\)"):
        plain().fit(X, np.ones((120, 2, 2)))
    with pytest.raises(ValueError, match="list of candidates"):
        plain(alpha=[1.0, -1.0]).fit(X, y)
    with pytest.raises(ValueError, match="list of candidates"):
        plain(alpha=[]).fit(X, y)
    with pytest.raises(ValueError, match="'alpha'"):
        plain(alpha=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="'landmarks'"):
        plain("best").fit(X, y)
    with pytest.raises(ValueError, match="together"):
        plain().fit(X, y).path(X)
    with pytest.raises(ValueError, match="1 class, 'only'"):
        SparseGreedyClassifier().fit(X, ["only"] * 120)


def test_abalone_as_published():
    """Abalone, 3,000 rows for training: 99 % of the trace with 200 functions, errors of the full network."""
    directory = data_directory()
    if directory is None or not (directory / "abalone.npz").exists():
        pytest.skip("Abalone is absent; PREIMAGE_DATA names the folder that has abalone.npz")
    abalone = load_abalone()
    order = np.random.default_rng(0).permutation(4177)
    X, y = abalone.X[order].astype(float), abalone.y[order].astype(float)
    X = (X - X[:3000].mean(axis=0)) / X[:3000].std(axis=0)
    narrow = SparseGreedy(200).select(Gaussian(0.2), X[:3000])  # 2σ² = 0.5d
    assert narrow.residual_fraction < 0.01
    model = SparseGreedyRegressor(200, gamma=0.1, alpha=0.1).fit(X[:3000], y[:3000])
    assert model.residual_fraction_ < 0.002
    full = KernelRidge(kernel="rbf", gamma=0.1, alpha=0.1).fit(X[:3000], y[:3000] - y[:3000].mean())
    error = lambda values: np.mean((values - y[3000:]) ** 2)
    assert error(model.predict(X[3000:])) < 1.01 * error(full.predict(X[3000:]) + y[:3000].mean())


class _First(SparseGreedy):
    """Landmarks that are given."""

    def __init__(self, indices=None):
        self.indices = indices

    def select(self, kernel, X, *, with_factor=False, rng=None):
        found = Uniform(1).select(kernel, X)
        return replace(found, points=X[self.indices], indices=np.asarray(self.indices))


@pytest.mark.parametrize("alpha", ["loo", 0.0, 1e-12])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Polynomial(3), Exponential(0.01)], ids=repr)
def test_rows_that_are_all_equal_give_the_mean(kernel, alpha, rng):
    X, y = np.tile(rng.normal(size=5), (8, 1)), rng.normal(size=8)
    model = SparseGreedyRegressor(5, kernel=kernel, alpha=alpha).fit(X, y)
    np.testing.assert_allclose(model.predict(X), np.mean(y), atol=1e-6 * np.abs(y).max())


def test_one_row_has_no_coefficient_of_determination(rng):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    model = SparseGreedyRegressor(5, gamma=0.3).fit(X, y)
    assert model.score(X, y) == pytest.approx(1 - np.sum((y - model.predict(X)) ** 2) / np.sum((y - y.mean()) ** 2))
    with pytest.raises(ValueError, match=r"SparseGreedyRegressor.score needs two rows at least.*got 1"):
        model.score(X[:1], y[:1])


@pytest.mark.parametrize("unit", [1e-300, 1.0, 1e300])
def test_r2_has_no_unit(unit, rng):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    fitted = SparseGreedyRegressor(5, gamma=0.3, alpha=0.1).fit(X, y)
    scaled = SparseGreedyRegressor(5, gamma=0.3, alpha=0.1).fit(X, unit * y)
    assert scaled.score(X, unit * y) == pytest.approx(fitted.score(X, y), rel=1e-6)
