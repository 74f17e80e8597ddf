"""One-class machines on landmarks: equal to those of all points, with their fraction of outliers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize
from sklearn.svm import SVC, NuSVC, OneClassSVM

from preimage import CompressedDetector, SparseGreedyClassifier, SparseGreedyDetector
from preimage._engine.arrays import to_numpy
from preimage.landmarks import SparseGreedy

ALL = SparseGreedy(None, tol=1e-14)


@pytest.fixture
def X(rng):
    return np.vstack([rng.normal(size=(170, 2)), rng.uniform(-5, 5, size=(30, 2))])


@pytest.mark.parametrize("nu", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("gamma", [0.05, 0.5, 5.0])
def test_all_rows_are_the_machine_of_libsvm(nu, gamma, X, rng):
    for weights in (None, rng.uniform(0.5, 2, size=200)):
        model = SparseGreedyDetector(ALL, nu=nu, gamma=gamma, tol=1e-8).fit(X, sample_weight=weights)
        theirs = OneClassSVM(nu=nu, gamma=gamma, tol=1e-10).fit(X, sample_weight=weights)
        for queries in (X, X + 0.3):
            assert_allclose(model.decision_function(queries), theirs.decision_function(queries), atol=1e-5)
            assert_allclose(model.score_samples(queries), theirs.score_samples(queries), atol=1e-5)
        assert_allclose(model.offset_, theirs.offset_[0], atol=1e-5)
        assert model.duality_gap_[0] <= 1e-8


def test_few_landmarks_are_the_minimum_of_the_formula(X):
    model = SparseGreedyDetector(8, nu=0.2, gamma=0.3).fit(X)
    K, W = model.kernel_(X, model.landmarks_.points), model.kernel_(model.landmarks_.points)

    def objective(parameters):
        beta, rho = parameters[:-1], parameters[-1]
        return beta @ W @ beta / 2 + np.maximum(rho - K @ beta, 0).sum() - 0.2 * 200 * rho

    found = np.append(model.dual_coef_[:, 0], model.offset_)
    assert_allclose(objective(found), model.objective_[0], rtol=1e-5)
    best = minimize(objective, found, method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-9, "fatol": 1e-9})
    assert best.fun >= model.objective_[0] - 1e-6 * abs(model.objective_[0])
    assert_allclose(-model.intercept_[0], model.offset_)
    assert_allclose(model.score_samples(X), K @ model.dual_coef_[:, 0])


@pytest.mark.parametrize("nu", [0.005, 0.05, 0.4, 0.95])
@pytest.mark.parametrize("landmarks", [5, 60, "kmeans"])
def test_at_most_the_fraction_is_outside_and_rows_on_the_margin_are_inside(nu, landmarks, X):
    """libsvm leaves the signs of rows on the margin to chance."""
    model = SparseGreedyDetector(landmarks, nu=nu, gamma=0.5).fit(X)
    outside = np.mean(model.predict(X) == -1)
    on_margin = np.mean(np.abs(model.decision_function(X)) <= 1e-5 * abs(model.offset_))
    assert outside <= nu + 1e-12 <= outside + on_margin + 2e-12
    assert np.all(np.sign(model.decision_function(X)) == model.predict(X))


def test_blocks_libraries_and_memory_agree(X, xp, block_shape):
    X = X[:70]  # ten blocks of seven rows
    expected = SparseGreedyDetector(15, gamma=0.3).fit(X).decision_function(X)
    for max_memory in (None, 100):
        model = SparseGreedyDetector(15, gamma=0.3, max_memory=max_memory).fit(xp.asarray(X))
        assert_allclose(to_numpy(model.decision_function(xp.asarray(X))), expected, atol=1e-5)


def test_sparse_rows_memory_maps_and_single_precision_are_close(X, tmp_path):
    X = np.where(np.abs(X) > 0.4, X, 0.0)
    fit = lambda X: SparseGreedyDetector(15, gamma=0.3).fit(X)
    expected = fit(X).decision_function(X)
    assert_allclose(fit(sparse.csr_matrix(X)).decision_function(sparse.csr_matrix(X)), expected, atol=1e-5)
    np.save(tmp_path / "rows.npy", X)
    assert_allclose(fit(np.load(tmp_path / "rows.npy", mmap_mode="r")).decision_function(X), expected, atol=1e-5)
    single = fit(X.astype(np.float32))
    assert single.dual_coef_.dtype == np.float32
    assert_allclose(single.decision_function(X.astype(np.float32)), expected, atol=5e-3)
    assert np.mean(single.predict(X.astype(np.float32)) == -1) <= 0.1


def test_weights_count_rows(X, rng):
    counts = rng.integers(0, 4, size=200)
    weighted = SparseGreedyDetector(ALL, gamma=0.3).fit(X, sample_weight=counts)
    repeated = SparseGreedyDetector(ALL, gamma=0.3).fit(np.repeat(X, counts, axis=0))
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-4)


def test_compressed_detectors_decide_alike(X):
    model = SparseGreedyDetector(60, nu=0.1, gamma=0.3)
    small = CompressedDetector(model, 40).fit(X)
    assert np.mean(small.predict(X) == model.fit(X).predict(X)) > 0.9


@pytest.mark.parametrize(("rows", "kernel"), [(1, "rbf"), (5, "rbf"), (5, "linear")])
def test_rows_that_are_all_equal_are_inside(rows, kernel):
    model = SparseGreedyDetector(nu=0.3, kernel=kernel).fit(np.ones((rows, 2)))
    assert np.all(model.predict(np.ones((rows, 2))) == 1)
    assert model.predict([[-1.0, -50.0]]) == -1


def test_bad_inputs_say_what_is_wrong(X):
    for nu in (0.0, 1.0, -1, 1.5, np.nan):
        with pytest.raises(ValueError, match="'nu'"):
            SparseGreedyDetector(nu=nu).fit(X)
    with pytest.raises(ValueError, match="infinity"):
        SparseGreedyDetector().fit(X, sample_weight=np.full(200, np.inf))
    with pytest.raises(ValueError, match="There is no landmark"):
        SparseGreedyDetector(kernel="linear").fit(np.zeros((5, 2)))


def test_classes_with_a_fraction_of_errors_are_the_hinge_loss(X):
    """The ν of NuSVC is the hinge loss with the C that its multipliers reach, as those of SVC are."""
    y = (X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.3).astype(int) ^ (np.arange(200) % 9 == 0)
    theirs = NuSVC(nu=0.4, gamma=0.5, tol=1e-10).fit(X, y)
    C = np.abs(theirs.dual_coef_).max()
    assert_allclose(
        SVC(C=C, gamma=0.5, tol=1e-10).fit(X, y).decision_function(X), theirs.decision_function(X), atol=1e-5
    )
    model = SparseGreedyClassifier(ALL, loss="hinge", gamma=0.5, alpha=1 / (2 * C), tol=1e-8).fit(X, y)
    assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=1e-5)
