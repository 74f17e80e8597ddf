"""landmarks="auto": the smallest number of landmarks whose left-out losses are as good as those of more."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage import SparseGreedyClassifier, SparseGreedyRegressor
from preimage.landmarks import SparseGreedy

LOSSES = [
    (SparseGreedyRegressor, "squared"),
    (SparseGreedyRegressor, "huber"),
    (SparseGreedyRegressor, "quantile"),
    (SparseGreedyClassifier, "squared"),
    (SparseGreedyClassifier, "logistic"),
    (SparseGreedyClassifier, "hinge"),
    (SparseGreedyClassifier, "squared_hinge"),
]


def problem(estimator, n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    t = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.2 * rng.normal(size=n)
    return X, np.digitize(t, [-0.3, 0.3]) if estimator is SparseGreedyClassifier else t


@pytest.mark.parametrize(("estimator", "loss"), LOSSES)
@pytest.mark.parametrize("alpha", ["loo", 0.1])
def test_few_landmarks_do_as_well_as_many(estimator, loss, alpha):
    X, y = problem(estimator)
    Z, t = problem(estimator, seed=1)
    model = estimator("auto", loss=loss, gamma=1.0, alpha=alpha).fit(X, y)
    curve, m = model.left_out_curve_, len(model.landmarks_)
    assert m == curve.smallest < 200
    assert model.landmarks_.reason == "left-out losses"
    assert len(model.landmarks_.points) == model.expansion_.coefficients.shape[0] == m
    # It is the fit on these landmarks.
    again = estimator(SparseGreedy(m), loss=loss, gamma=1.0, alpha=model.alpha_)
    again.set_params(landmarks=SparseGreedy(1000)).fit(X, y)
    assert model.score(Z, t) > again.score(Z, t) - 0.05
    assert (model.alphas_ is None) == (alpha != "loo")


def test_all_numbers_have_errors_for_the_squared_loss():
    X, y = problem(SparseGreedyRegressor)
    model = SparseGreedyRegressor("auto", gamma=1.0, alpha=0.1).fit(X, y)
    curve = model.left_out_curve_
    assert_allclose(curve.n_landmarks, np.arange(1, curve.loss.size + 1))
    assert_allclose(curve.loss[-1], SparseGreedyRegressor(1000, gamma=1.0, alpha=[0.1]).fit(X, y).loo_errors_[0])
    assert len(model.path().train_error) == len(model.landmarks_)


def test_a_fit_on_given_landmarks_has_no_curve():
    X, y = problem(SparseGreedyRegressor)
    assert SparseGreedyRegressor(10, gamma=1.0).fit(X, y).left_out_curve_ is None


def test_noise_needs_few_landmarks():
    """Where nothing is to be learned, more landmarks are no better; few are taken in most samples."""
    numbers = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
        numbers.append(len(SparseGreedyRegressor("auto", gamma=1.0, alpha=1.0).fit(X, y).landmarks_))
    assert np.median(numbers) <= 10


def test_one_row_and_equal_rows_have_a_model():
    for loss in ("squared", "huber"):
        assert len(SparseGreedyRegressor("auto", loss=loss, gamma=1.0).fit([[1.0]], [2.0]).landmarks_) == 1
        model = SparseGreedyRegressor("auto", loss=loss, gamma=1.0).fit(np.ones((20, 1)), np.arange(20.0))
        assert_allclose(model.predict([[1.0]]), 9.5, rtol=0.2)
