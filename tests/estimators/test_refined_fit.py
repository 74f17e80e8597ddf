"""Landmarks refined by the loss: better functions on as many points, or those of before."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage import SparseGreedyClassifier, SparseGreedyRegressor
from preimage.estimators import _refined_fit
from preimage.landmarks import KMeans

MACHINES = [
    SparseGreedyClassifier(12, loss="squared"),
    SparseGreedyClassifier(12, loss="logistic"),
    SparseGreedyClassifier(12, loss="hinge"),
    SparseGreedyClassifier(12, loss="squared_hinge"),
    SparseGreedyRegressor(12, loss="squared"),
    SparseGreedyRegressor(12, loss="huber"),
    SparseGreedyRegressor(12, loss="epsilon_insensitive"),
    SparseGreedyRegressor(12, loss="quantile"),
]


def problem(is_regression, n=400, seed=0):
    """A wide plain on which nothing happens, and a narrow strip on which much does."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-4, 4, size=(n, 2))
    X[n // 2 :, 0] *= 0.25
    t = np.where(np.abs(X[:, 0]) < 1, np.sin(4 * X[:, 0]) * np.cos(2 * X[:, 1]), 0.0)
    return X, t + 0.05 * rng.normal(size=n) if is_regression else np.digitize(t, [-0.2, 0.2])


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: f"{type(machine).__name__}, {machine.loss}")
def test_refined_landmarks_are_as_many_and_better(machine):
    is_regression = isinstance(machine, SparseGreedyRegressor)
    X, y = problem(is_regression)
    Z, t = problem(is_regression, n=2000, seed=1)
    machine.set_params(gamma=1.0, alpha=0.05, refine=0)
    plain = machine.fit(X, y).score(Z, t)
    machine.set_params(refine=4).fit(X, y)
    losses = machine.refinement_losses_
    assert losses.shape == (5,)
    assert len(machine.landmarks_) == 12
    assert machine.score(Z, t) > plain - 0.02
    if losses.argmin():
        assert machine.landmarks_.reason == "refined by the loss"
        assert machine.score(Z, t) > plain
        assert_allclose(X[machine.landmarks_.indices], machine.landmarks_.points)
        assert 0 < machine.residual_fraction_ < 1
        assert machine.expansion_.coefficients.shape[0] == 12


def test_rounds_that_do_not_help_are_not_made(monkeypatch):
    """Rounds that leave a single landmark are worse on rows left out, and the fit is that without them."""
    X, y = problem(True)

    def worse(rows, targets, landmarks, fitted, fit, rng):
        return landmarks.first(1), fit(rows, landmarks.first(1), targets)

    monkeypatch.setattr(_refined_fit, "_round", worse)
    options = {"gamma": 1.0, "alpha": 0.05}
    plain = SparseGreedyRegressor(12, **options).fit(X, y)
    model = SparseGreedyRegressor(12, refine=3, **options).fit(X, y)
    assert model.refinement_losses_.argmin() == 0
    assert_allclose(model.predict(X), plain.predict(X))
    assert model.landmarks_.reason == plain.landmarks_.reason


def test_as_many_rounds_are_made_as_help(monkeypatch):
    """With judges that prefer the second round, two are made on all rows."""
    X, y = problem(True)
    counts, original = [], _refined_fit._round

    def counted(rows, *arguments):
        counts.append(rows.y.shape[0])
        return original(rows, *arguments)

    losses = iter([3.0, 2.0, 1.0, 2.0])
    monkeypatch.setattr(_refined_fit, "_round", counted)
    monkeypatch.setattr(_refined_fit.Fitted, "loss", lambda *_: next(losses))
    model = SparseGreedyRegressor(12, refine=3, gamma=1.0, alpha=0.05).fit(X, y)
    assert counts == [320, 320, 320, 400, 400]
    assert_allclose(model.refinement_losses_, [3, 2, 1, 2])


def test_few_rows_are_not_refined():
    X, y = problem(True, n=40)
    model = SparseGreedyRegressor(5, refine=3, gamma=1.0).fit(X, y)
    assert model.refinement_losses_.size == 0
    assert_allclose(model.predict(X), SparseGreedyRegressor(5, gamma=1.0).fit(X, y).predict(X))
    assert SparseGreedyRegressor(5, gamma=1.0).fit(X, y).refinement_losses_ is None


@pytest.mark.parametrize("how", ["weights", "centres", "precomputed", "memory map", "torch", "auto"])
def test_all_kinds_of_rows_are_refined(how, tmp_path):
    X, y = problem(False)
    model = SparseGreedyClassifier(12, loss="squared_hinge", gamma=1.0, alpha=0.05, refine=2)
    weights = None
    if how == "weights":
        weights = np.where(np.arange(400) % 5, 1.5, 0.0)
    elif how == "centres":
        model.set_params(landmarks=KMeans(12))
    elif how == "auto":
        model.set_params(landmarks="auto")
    elif how == "precomputed":
        X = np.exp(-np.sum((X[:, None] - X[None]) ** 2, axis=2))
        model.set_params(kernel="precomputed", gamma=None)
    elif how == "memory map":
        np.save(tmp_path / "X.npy", X)
        X = np.load(tmp_path / "X.npy", mmap_mode="r")
    elif how == "torch":
        X = pytest.importorskip("torch").asarray(X)
    model.fit(X, y, sample_weight=weights)
    assert len(model.refinement_losses_) == 3
    assert model.score(X, y) > 0.6


def test_weights_are_repetitions():
    """Rows given twice and rows of weight two have the same penalty relative to their number."""
    X, y = problem(True)
    options = {"gamma": 1.0, "alpha": 0.05, "refine": 2}
    model = SparseGreedyRegressor(12, **options).fit(X, y, sample_weight=np.full(400, 2.0))
    other = SparseGreedyRegressor(12, **{**options, "alpha": 0.025}).fit(X, y)
    assert_allclose(model.predict(X), other.predict(X), atol=1e-6)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: f"{type(machine).__name__}, {machine.loss}")
@pytest.mark.parametrize("alpha", [0.0, 1e300])
def test_repeated_rows_and_any_penalty_have_a_model(machine, alpha):
    """Most rows depend on landmarks already, and few are left that may join."""
    is_regression = isinstance(machine, SparseGreedyRegressor)
    X, y = problem(is_regression, n=30)
    X, y = np.repeat(X, 5, axis=0), np.repeat(y, 5)
    machine.set_params(gamma=1.0, alpha=alpha, refine=2, max_iter=200).fit(X, y)
    assert machine.refinement_losses_.shape == (3,)
    assert np.isfinite(machine.predict(X)).all()
    assert len(machine.landmarks_) == 12
