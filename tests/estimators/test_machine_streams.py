"""Machines that learn from batches: least squares exactly, logistic losses closely, and what they refuse."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from preimage import SparseGreedyClassifier, SparseGreedyRegressor, load
from preimage._engine.arrays import to_numpy
from preimage.landmarks import KMeans, PivotedCholesky

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2))
T = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
Y = np.array(["a", "b", "c"])[np.digitize(T + 0.3 * rng.normal(size=300), [0.2, 1.2])]
W = rng.uniform(0.5, 2, size=300)
PARTS = np.split(np.arange(300), [120, 200, 210])


def streamed(model, y, parts=PARTS, **options):
    for part in parts:
        model.partial_fit(X[part], y[part], **{name: value[part] for name, value in options.items()})
    return model


@pytest.mark.parametrize("weights", [{}, {"sample_weight": W}], ids=["", "weights"])
def test_least_squares_do_not_depend_on_batches(weights):
    """Landmarks are those of the first batch, and the model is that of all rows on these."""
    model = streamed(SparseGreedyRegressor(30, gamma=0.5, alpha=0.1), T, **weights)
    other = streamed(SparseGreedyRegressor(30, gamma=0.5, alpha=0.1), T, (PARTS[0], np.arange(120, 300)), **weights)
    assert len(model.landmarks_) == 30
    assert_allclose(model.predict(X), other.predict(X), atol=1e-9)
    W2 = weights.get("sample_weight", np.ones(300))
    points = model.landmarks_.points
    C, K = model.kernel_(X, points), model.kernel_(points)
    A = np.column_stack([C, np.ones(300)])
    ridge = np.zeros((31, 31))
    ridge[:30, :30] = 0.1 * K
    beta = np.linalg.solve((A * W2[:, None]).T @ A + ridge, A.T @ (W2 * T))
    assert_allclose(model.predict(X), A @ beta, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_one_batch_is_a_fit(loss):
    options = {"loss": loss, "gamma": 0.5, "alpha": 0.1, "tol": 1e-9}
    fitted = SparseGreedyClassifier(30, **options).fit(X, Y)
    model = SparseGreedyClassifier(30, **options).partial_fit(X, Y)
    assert_allclose(model.decision_function(X), fitted.decision_function(X), atol=1e-4)
    assert np.array_equal(model.predict(X), fitted.predict(X))


@pytest.mark.parametrize("selector", [KMeans(30), 30, PivotedCholesky(60, tol=1e-3)], ids=repr)
def test_logistic_batches_are_close_to_a_fit(selector):
    fitted = SparseGreedyClassifier(selector, loss="logistic", gamma=0.5, alpha=0.1).fit(X, Y)
    model = streamed(SparseGreedyClassifier(selector, loss="logistic", gamma=0.5, alpha=0.1), Y)
    assert np.mean(np.abs(model.predict_proba(X) - fitted.predict_proba(X))) < 0.03
    assert abs(model.score(X, Y) - fitted.score(X, Y)) < 0.03


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_rows_are_kept_while_landmarks_join(loss):
    """A small first batch has no room for all landmarks; those that join later know of its rows."""
    parts = np.split(np.arange(300), [10, 40, 100])
    options = {"loss": loss, "gamma": 0.5, "alpha": 0.1}
    model = streamed(SparseGreedyClassifier(50, **options), Y, parts[:1] + parts[1:])
    assert len(model.landmarks_) > 10
    points = model.landmarks_.points
    again = SparseGreedyClassifier(50, **options)
    again.set_params(landmarks=PivotedCholesky(None, tol=0)).fit(np.vstack([points, X]), np.append(Y[: len(points)], Y))
    assert abs(model.score(X, Y) - again.score(X, Y)) < 0.05
    assert 0 < model.residual_fraction_ < 0.2


def test_landmarks_that_join_when_rows_are_gone_warn():
    model = SparseGreedyRegressor(50, gamma=0.5, alpha=0.1)
    near = np.argsort(np.abs(X).max(axis=1))
    first = np.tile(near[:8], 80)
    model.partial_fit(X[first], T[first])  # 640 rows, of which eight differ
    with pytest.warns(UserWarning, match="when earlier rows came"):
        model.partial_fit(X, T)
    assert len(model.landmarks_) > 8


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_classes_may_be_missing_in_batches(loss):
    """Each batch has rows of two classes, and the first one none of the third."""
    options = {"loss": loss, "gamma": 0.5, "alpha": 0.1}
    fitted, model = SparseGreedyClassifier(40, **options).fit(X, Y), SparseGreedyClassifier(40, **options)
    for turn in range(6):
        missing = "cab"[turn % 3]
        part = np.flatnonzero(missing != Y)[turn // 3 :: 2]
        model.partial_fit(X[part], Y[part], classes=["a", "b", "c"])
    assert list(model.classes_) == ["a", "b", "c"]
    assert abs(model.score(X, Y) - fitted.score(X, Y)) < 0.06


def test_sorted_batches_of_least_squares_are_all_rows():
    model = SparseGreedyClassifier(40, gamma=0.5, alpha=0.1).partial_fit(X, Y)
    other = SparseGreedyClassifier(40, gamma=0.5, alpha=0.1).partial_fit(X, Y)
    for part in np.array_split(np.argsort(Y, kind="stable"), 6):  # of one class each
        other.partial_fit(X[part], Y[part])
    assert_allclose(other.decision_function(X), model.partial_fit(X, Y).decision_function(X), atol=1e-8)


def test_labels_of_no_class_are_refused():
    model = SparseGreedyClassifier(10, gamma=0.5)
    with pytest.raises(ValueError, match="give all classes in the first call"):
        model.partial_fit(X, Y, classes=["a", "b"])
    with pytest.raises(ValueError, match="two classes or more"):
        model.partial_fit(X[Y == "a"], Y[Y == "a"])
    model.partial_fit(X[Y != "c"], Y[Y != "c"])
    before = model.predict(X)
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit(X, Y)
    with pytest.raises(ValueError, match="the first call of partial_fit had"):
        model.partial_fit(X[:5], Y[:5], classes=["a", "b", "c"])
    assert np.array_equal(model.predict(X), before)  # refused batches change nothing


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_other_losses_have_no_stream(loss):
    assert not hasattr(SparseGreedyClassifier(loss=loss), "partial_fit")
    assert not hasattr(SparseGreedyRegressor(loss="huber"), "partial_fit")
    assert not hasattr(SparseGreedyClassifier(kernel="precomputed"), "partial_fit")


@pytest.mark.parametrize("options", [{"alpha": "loo"}, {"alpha": [0.1, 1.0]}, {"landmarks": "auto"}])
def test_what_left_out_rows_decide_is_not_found_in_a_stream(options):
    model = SparseGreedyClassifier(**options)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError) as caught:
        model.partial_fit(X, Y)
    assert "left-out errors are those of rows" in str(caught.value.__cause__)


def test_settings_that_need_all_rows_are_refused():
    with pytest.raises(ValueError, match="cannot balance classes"):
        SparseGreedyClassifier(10, class_weight="balanced").partial_fit(X, Y)
    model = SparseGreedyRegressor(10, gamma=0.5).partial_fit(X, T)
    with pytest.raises(ValueError, match="targets as in the batches before"):
        model.partial_fit(X, np.column_stack([T, T]))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :1], T)


def test_a_stream_after_a_fit_begins_anew():
    model = SparseGreedyRegressor(20, gamma=0.5).fit(X, T + 100)
    with pytest.warns(UserWarning, match="begins anew"):
        model.partial_fit(X, T)
    assert_allclose(model.predict(X), SparseGreedyRegressor(20, gamma=0.5).partial_fit(X, T).predict(X))
    model.fit(X, T + 100)
    assert abs(model.predict(X).mean() - (T + 100).mean()) < 1


def test_batches_of_weight_zero_change_nothing():
    model = SparseGreedyClassifier(20, loss="logistic", gamma=0.5, alpha=0.1).partial_fit(X, Y)
    before = model.decision_function(X)
    weights = np.where(np.arange(50) < 1, 1e-12, 0.0)
    assert_allclose(model.partial_fit(X[:50], Y[:50], sample_weight=weights).decision_function(X), before, atol=1e-6)


def test_streams_have_paths_and_files(tmp_path):
    model = streamed(SparseGreedyRegressor(20, gamma=0.5, alpha=0.1), T)
    path = model.path(X, T)
    assert_allclose(path.test_error[-1], np.mean((model.predict(X) - T) ** 2))
    assert path.residual_fraction is None
    model.save(tmp_path / "machine")
    again = load(tmp_path / "machine")
    assert_allclose(again.partial_fit(X[:50], T[:50]).predict(X), model.partial_fit(X[:50], T[:50]).predict(X))


def test_streams_work_on_any_library(xp):
    for loss in ("squared", "logistic"):
        here = SparseGreedyClassifier(20, loss=loss, gamma=0.5, alpha=0.1)
        there = SparseGreedyClassifier(20, loss=loss, gamma=0.5, alpha=0.1)
        for part in PARTS:
            here.partial_fit(X[part], Y[part], classes=["a", "b", "c"])
            there.partial_fit(xp.asarray(X[part]), Y[part], classes=["a", "b", "c"])
        assert_allclose(to_numpy(there.decision_function(xp.asarray(X))), here.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("alpha", [0.0, 1e-300, 1e300])
def test_any_penalty_has_a_model(loss, alpha):
    """Also of rows that are repeated and separated; a huge one leaves the frequencies of the classes."""
    rows, labels = np.repeat(X[:40], 3, axis=0), np.repeat(X[:40, 0] > 0.3, 3)
    model = SparseGreedyClassifier(20, loss=loss, gamma=1.0, alpha=alpha)
    for _ in range(3):
        model.partial_fit(rows, labels)
    assert np.isfinite(model.decision_function(X)).all()
    if alpha < 1:
        assert model.score(rows, labels) > 0.95
    elif loss == "logistic":
        assert_allclose(model.predict_proba(X)[:, 1], np.mean(labels), atol=1e-4)
    else:
        assert_allclose(model.decision_function(X), 2 * np.mean(labels) - 1, atol=1e-9)


def test_constant_targets_stay_constant():
    model = SparseGreedyRegressor(20, gamma=1.0)
    for part in PARTS:
        model.partial_fit(X[part], np.full(part.size, 3.0))
    assert_allclose(model.predict(X), 3)


def test_streams_have_no_intervals_and_nothing_of_a_fit_before():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 2))
    values = np.sin(rows[:, 0])
    model = SparseGreedyRegressor(10, gamma=0.5, alpha=0.1, refine=1).fit(rows, values)
    assert model.refinement_losses_ is not None
    with pytest.warns(UserWarning, match="begins anew"):
        model.partial_fit(rows, values)
    assert model.refinement_losses_ is None and model.left_out_curve_ is None
    for ask in (model.predict_interval, lambda given: model.predict(given, return_std=True)):
        with pytest.raises(ValueError, match="a stream keeps no rows"):
            ask(rows[:2])


@pytest.mark.parametrize(
    ("model", "targets"),
    [
        (SparseGreedyRegressor(30, gamma=0.5, alpha=0.1), T),
        (SparseGreedyClassifier(30, gamma=0.5, alpha=0.1), Y),
        (SparseGreedyClassifier(30, gamma=0.5, alpha=0.1, loss="logistic"), Y),
    ],
    ids=["regression", "squared", "logistic"],
)
def test_a_stream_goes_on_from_a_file_at_the_row_where_it_stopped(model, targets, tmp_path):
    options = {"classes": ["a", "b", "c"]} if targets is Y else {}
    whole = clone(model)
    for part in PARTS:
        whole.partial_fit(X[part], targets[part], **options)
    for part in PARTS[:2]:
        model.partial_fit(X[part], targets[part], **options)
    model.save(tmp_path / "stream.safetensors")
    again = load(tmp_path / "stream.safetensors")
    assert again.n_samples_seen_ == model.n_samples_seen_ == 200
    for part in PARTS[2:]:
        assert again.n_samples_seen_ == part[0]
        again.partial_fit(X[part], targets[part])
    assert again.n_samples_seen_ == 300
    assert_allclose(again.expansion_.coefficients, whole.expansion_.coefficients, rtol=1e-9, atol=1e-12)
    assert clone(model).fit(X, targets).n_samples_seen_ == 300


def test_iterators_are_refused_with_what_learns_from_them():
    blocks = lambda: (X[part] for part in PARTS)
    with pytest.raises(TypeError, match=r"fit cannot read an iterator.*partial_fit\(X, y\) with one block"):
        SparseGreedyRegressor(30).fit(blocks(), T)
    with pytest.raises(TypeError, match=r"fit cannot read an iterator.*memory map or a Dask array"):
        SparseGreedyClassifier(30, loss="hinge").fit(blocks(), Y)
