"""Machines on landmarks by every loss: equal to the machines of all points, to each other, and right on bad input."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import linprog, minimize
from sklearn.datasets import load_iris, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, SVR, LinearSVC

from preimage import SparseGreedyClassifier, SparseGreedyRegressor
from preimage._engine.arrays import to_numpy
from preimage._models.regression import nested_frame
from preimage.exceptions import ConvergenceWarning
from preimage.interop import machine_of
from preimage.kernels import Gaussian, Linear
from preimage.landmarks import SparseGreedy

GAMMA = 2.0
CLASSIFICATION, REGRESSION = ("logistic", "hinge", "squared_hinge"), ("huber", "epsilon_insensitive", "quantile")
ALL = [("squared", SparseGreedyClassifier), ("squared", SparseGreedyRegressor)]
ALL += [(loss, SparseGreedyClassifier) for loss in CLASSIFICATION] + [
    (loss, SparseGreedyRegressor) for loss in REGRESSION
]
OTHERS = [each for each in ALL if each[0] != "squared"]
every_loss = pytest.mark.parametrize(("loss", "kind"), ALL, ids=lambda each: getattr(each, "__name__", each))
other_losses = pytest.mark.parametrize(("loss", "kind"), OTHERS, ids=lambda each: getattr(each, "__name__", each))


@pytest.fixture
def data():
    X, labels = make_moons(120, noise=0.3, random_state=0)
    y = np.sin(2 * X[:, 0]) + 0.3 * np.random.default_rng(0).standard_t(3, size=120)
    return X, labels, y


def of(kind, data):
    return data[1] if kind is SparseGreedyClassifier else data[2]


def values(model, X):
    name = "decision_function" if hasattr(model, "decision_function") else "predict"
    return to_numpy(getattr(model, name)(X))


def all_rows(kind, **options):
    return kind(SparseGreedy(None, tol=1e-14), **{"gamma": GAMMA, **options})


def whitened(X):
    return nested_frame(Gaussian(GAMMA), X)(X)


@pytest.mark.parametrize("C", [0.1, 1.0, 5.0])
def test_all_rows_with_hinge_are_a_support_vector_machine(data, C):
    """For large C libsvm has fewer digits, since it keeps kernel values in single precision."""
    X, y, _ = data
    weights = np.linspace(0.5, 2, 120)
    expected = SVC(gamma=GAMMA, C=C, tol=1e-8, class_weight={0: 1.0, 1: 3.0}).fit(X, y, weights)
    model = all_rows(SparseGreedyClassifier, loss="hinge", alpha=1 / (2 * C), class_weight={0: 1.0, 1: 3.0}, tol=1e-8)
    model.fit(X, y, weights)
    assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-5)
    assert_allclose(model.decision_function(X + 0.1), expected.decision_function(X + 0.1), atol=1e-5)
    assert model.duality_gap_[0] <= 1e-8


@pytest.mark.parametrize("C", [0.1, 1.0, 5.0])
def test_all_rows_with_epsilon_insensitive_are_support_vector_regression(data, C):
    X, _, y = data
    expected = SVR(gamma=GAMMA, C=C, epsilon=0.2, tol=1e-8).fit(X, y)
    model = all_rows(SparseGreedyRegressor, loss="epsilon_insensitive", epsilon=0.2, alpha=1 / (2 * C), tol=1e-8)
    assert_allclose(model.fit(X, y).predict(X), expected.predict(X), atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_is_logistic_regression_on_whitened_features(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes] / 2, y[y < n_classes]
    _, first = np.unique(X, axis=0, return_index=True)
    X, y = X[np.sort(first)], y[np.sort(first)]
    expected = LogisticRegression(C=5.0, tol=1e-10, max_iter=1000, solver="newton-cg").fit(whitened(X), y)
    model = all_rows(SparseGreedyClassifier, loss="logistic", alpha=0.1).fit(X, y)
    assert_allclose(model.decision_function(X), expected.decision_function(whitened(X)), atol=1e-5)
    assert_allclose(model.predict_proba(X), expected.predict_proba(whitened(X)), atol=1e-6)
    assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_squared_hinge_is_a_linear_machine_on_whitened_features(data):
    X, y, _ = data
    expected = LinearSVC(C=2.0, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(whitened(X), y)
    model = all_rows(SparseGreedyClassifier, loss="squared_hinge", alpha=0.25, fit_intercept=False).fit(X, y)
    assert_allclose(model.decision_function(X), expected.decision_function(whitened(X)), atol=1e-5)


def test_huber_is_the_minimum_of_its_formula(data):
    X, _, y = data
    model = SparseGreedyRegressor(8, loss="huber", epsilon=0.2, gamma=GAMMA, alpha=0.3).fit(X, y)
    K, W = model.kernel_(X, model.landmarks_.points), model.kernel_(model.landmarks_.points)

    def objective(parameters):
        beta, errors = parameters[:-1], np.abs(y - K @ parameters[:-1] - parameters[-1])
        return np.sum(np.where(errors <= 0.2, errors**2, 0.4 * errors - 0.04)) + 0.3 * beta @ W @ beta

    found = np.append(model.dual_coef_, model.intercept_)
    assert_allclose(objective(found), model.objective_[0])
    general = minimize(objective, np.zeros(9), method="BFGS", options={"gtol": 1e-8})
    assert_allclose(model.objective_[0], general.fun, rtol=1e-7)
    # Huge errors are not squared; huge ε are least squares.
    squares = SparseGreedyRegressor(8, gamma=GAMMA, alpha=0.3).fit(X, y)
    wide = SparseGreedyRegressor(8, loss="huber", epsilon=100, gamma=GAMMA, alpha=0.3).fit(X, y)
    assert_allclose(wide.predict(X), squares.predict(X), atol=1e-7)


@pytest.mark.parametrize("quantile", [0.1, 0.5])
def test_quantiles_without_penalty_are_a_linear_program(data, quantile):
    X, _, y = data
    model = SparseGreedyRegressor(6, loss="quantile", quantile=quantile, gamma=GAMMA, alpha=0.0).fit(X, y)
    K = np.hstack([model.kernel_(X, model.landmarks_.points), np.ones((120, 1))])
    costs = np.concatenate([np.zeros(7), np.full(120, quantile), np.full(120, 1 - quantile)])
    equations = np.hstack([K, np.eye(120), -np.eye(120)])
    bounds = [(None, None)] * 7 + [(0, None)] * 240
    expected = linprog(costs, A_eq=equations, b_eq=y, bounds=bounds, method="highs")
    errors = y - model.predict(X)
    assert_allclose(np.sum(np.where(errors > 0, quantile, quantile - 1) * errors), expected.fun, rtol=1e-6)


@pytest.mark.parametrize("quantile", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("alpha", [0.01, 1.0, 1e3])
def test_quantiles_have_their_fraction_of_targets_below(data, quantile, alpha):
    X, _, y = data
    model = SparseGreedyRegressor(30, loss="quantile", quantile=quantile, gamma=GAMMA, alpha=alpha).fit(X, y)
    errors = y - model.predict(X)
    assert np.mean(errors < -1e-4) <= quantile + 1e-9 <= np.mean(errors < 1e-4) + 2e-9


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_calibrated_by_construction(n_classes):
    """Their means are the frequencies of the classes: the constants are not penalised."""
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], np.array(list("abc"))[y[y < n_classes]]
    weights = np.random.default_rng(0).uniform(0, 3, size=len(y))
    model = SparseGreedyClassifier(20, loss="logistic", gamma=0.3).fit(X, y, weights)
    P = model.predict_proba(X)
    assert_allclose(P.sum(axis=1), 1)
    expected = [weights[y == label].sum() / weights.sum() for label in model.classes_]
    assert_allclose(weights @ P / weights.sum(), expected, atol=1e-8)
    assert np.all(model.classes_[np.argmax(P, axis=1)] == model.predict(X))
    assert machine_of(model).output.has_probabilities


@other_losses
def test_gap_and_objective_are_what_they_say(loss, kind, data):
    X, y = data[0], of(kind, data)
    model = kind(20, loss=loss, gamma=GAMMA, alpha=0.1).fit(X, y)
    beta, W = model.expansion_.coefficients, model.kernel_(model.landmarks_.points)
    penalty = 0.1 * np.sum(beta * (W @ beta))
    f, signs = values(model, X), np.where(y > 0, 1, -1)
    losses = {
        "logistic": lambda: np.log1p(np.exp(-signs * f)),
        "hinge": lambda: np.maximum(0, 1 - signs * f),
        "squared_hinge": lambda: np.maximum(0, 1 - signs * f) ** 2,
        "huber": lambda: np.where(abs(y - f) <= 0.1, (y - f) ** 2, 0.2 * abs(y - f) - 0.01),
        "epsilon_insensitive": lambda: np.maximum(0, abs(y - f) - 0.1),
        "quantile": lambda: abs(y - f) / 2,
    }
    assert_allclose(model.objective_, np.sum(losses[loss]()) + penalty, rtol=1e-9)
    assert model.duality_gap_.shape == (1,)
    assert 0 <= model.duality_gap_[0] <= model.tol
    assert 1 <= model.n_iter_ < 50


@every_loss
def test_weights_count_rows(loss, kind, data, rng):
    X, y = data[0], of(kind, data)
    counts = rng.integers(0, 4, size=120)
    weighted = all_rows(kind, loss=loss).fit(X, y, sample_weight=counts)
    repeated = all_rows(kind, loss=loss).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert_allclose(values(weighted, X), values(repeated, X), atol=2e-5)


@pytest.mark.parametrize("loss", ["squared", *CLASSIFICATION])
def test_weights_of_classes_are_weights_of_rows(loss, data):
    X, y, _ = data
    fit = lambda weights=None, **options: SparseGreedyClassifier(20, loss=loss, gamma=GAMMA, **options).fit(
        X, y, weights
    )
    rare = np.where((y == 1) & (np.arange(120) % 4 > 0), 0.5, 1.0)
    by_class = fit(rare, class_weight={1: 3.0})
    assert_allclose(values(by_class, X), values(fit(np.where(y == 1, 3 * rare, rare)), X), atol=1e-6)
    totals = np.where(y == 1, rare[y == 1].sum(), rare[y == 0].sum())
    balanced = fit(rare, class_weight="balanced")
    assert_allclose(values(balanced, X), values(fit(rare * rare.sum() / (2 * totals)), X), atol=1e-6)


@every_loss
def test_blocks_libraries_and_memory_agree(loss, kind, data, xp, block_shape):
    X, y = data[0][:70], of(kind, data)[:70]  # ten blocks of seven rows
    expected = kind(15, loss=loss, gamma=GAMMA).fit(X, y)
    for max_memory in (None, 100):
        model = kind(15, loss=loss, gamma=GAMMA, max_memory=max_memory).fit(xp.asarray(X), xp.asarray(y))
        found = (model.decision_function if kind is SparseGreedyClassifier else model.predict)(xp.asarray(X))
        assert_allclose(to_numpy(found), values(expected, X), atol=1e-5)


@every_loss
def test_sparse_inputs_memory_maps_and_single_precision_are_close(loss, kind, data, tmp_path):
    X, y = np.where(np.abs(data[0]) > 0.4, data[0], 0.0), of(kind, data)
    fit = lambda X: kind(15, loss=loss, gamma=GAMMA).fit(X, y)
    expected = values(fit(X), X)
    assert_allclose(values(fit(sparse.csr_matrix(X)), sparse.csr_matrix(X)), expected, atol=1e-5)
    np.save(tmp_path / "rows.npy", X)
    assert_allclose(values(fit(np.load(tmp_path / "rows.npy", mmap_mode="r")), X), expected, atol=1e-5)
    single = fit(X.astype(np.float32))
    assert single.dual_coef_.dtype == np.float32
    assert_allclose(values(single, X.astype(np.float32)), expected, atol=5e-3)


def test_several_targets_and_classes_are_fitted_as_if_alone(data):
    X, _, y = data
    both = SparseGreedyRegressor(15, loss="quantile", gamma=GAMMA).fit(X, np.stack([y, 3 * y**2], axis=1))
    for c, target in enumerate((y, 3 * y**2)):
        alone = SparseGreedyRegressor(15, loss="quantile", gamma=GAMMA).fit(X, target)
        assert_allclose(both.predict(X)[:, c], alone.predict(X), atol=1e-4)
    X, y = load_iris(return_X_y=True)
    joint = SparseGreedyClassifier(15, loss="squared_hinge", gamma=0.3).fit(X, y)
    for c in range(3):
        alone = SparseGreedyClassifier(15, loss="squared_hinge", gamma=0.3).fit(X, y == c)
        assert_allclose(joint.decision_function(X)[:, c], alone.decision_function(X), atol=1e-6)


def test_groups_of_functions_are_all_functions(monkeypatch):
    from preimage._models.regression._feature_rows import FeatureRows

    X, y = load_iris(return_X_y=True)
    for loss in ("hinge", "squared_hinge"):
        expected = SparseGreedyClassifier(15, loss=loss, gamma=0.3, alpha="loo").fit(X, y)
        with monkeypatch.context() as patch:
            patch.setattr(FeatureRows, "columns_at_once", 2)
            found = SparseGreedyClassifier(15, loss=loss, gamma=0.3, alpha="loo").fit(X, y)
        assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-4)
        assert found.objective_.shape == (3,)


@pytest.mark.parametrize("unit", [1e-150, 1e-3, 1e6, 1e150])
@pytest.mark.parametrize("loss", REGRESSION)
def test_targets_have_no_unit(loss, unit, data):
    X, _, y = data
    fit = lambda unit, alpha: SparseGreedyRegressor(20, loss=loss, gamma=GAMMA, alpha=alpha, epsilon=0.1 * unit).fit(
        X, unit * y
    )
    scaled = fit(unit, 0.1 if loss == "huber" else 0.1 / unit)
    assert_allclose(scaled.predict(X) / unit, fit(1.0, 0.1).predict(X), atol=1e-5)
    assert_allclose(fit(unit, "loo").predict(X) / unit, fit(1.0, "loo").predict(X), atol=1e-5)


@pytest.mark.parametrize(("loss", "kind"), [OTHERS[0], OTHERS[2], OTHERS[3]], ids=str)
def test_left_out_losses_are_nearly_those_of_refits(loss, kind, data):
    """Of machines whose landmarks stay, as the choice of a penalty has them; the loss itself is the measure."""
    X, y = data[0][:40], of(kind, data)[:40]
    keep = {"kernel": Linear(), "loss": loss}
    X = np.hstack([np.sin(X @ [[1, 2, 3], [2, -1, 1]]), X])  # the linear functions of any rows are all of them
    alphas = [0.3, 3.0]
    model = kind(40, alpha=alphas, **keep).fit(X, y)
    signs = np.where(y > 0, 1.0, -1.0)
    losses = {
        "logistic": lambda f, i: np.log1p(np.exp(-signs[i] * f)),
        "squared_hinge": lambda f, i: max(0.0, 1 - signs[i] * f) ** 2,
        "huber": lambda f, i: abs(y[i] - f) ** 2 if abs(y[i] - f) <= 0.1 else 0.2 * abs(y[i] - f) - 0.01,
    }
    for alpha, found in zip(model.alphas_, model.loo_errors_):
        refits = []
        for i in range(40):
            rest = np.delete(np.arange(40), i)
            left = kind(40, alpha=float(alpha), **keep).fit(X[rest], y[rest])
            refits.append(losses[loss](values(left, X[[i]])[0], i))
        assert_allclose(found, np.mean(refits), rtol=0.05)
    assert model.alpha_ == model.alphas_[np.argmin(model.loo_errors_)]


@other_losses
def test_chosen_penalties_are_good(loss, kind, data):
    X, y = make_moons(400, noise=0.3, random_state=1)
    if kind is SparseGreedyRegressor:
        y = np.sin(2 * X[:, 0]) + 0.3 * np.random.default_rng(0).standard_t(3, size=400)
    score = lambda alpha: kind(30, loss=loss, gamma=GAMMA, alpha=alpha).fit(X[:200], y[:200]).score(X[200:], y[200:])
    chosen = kind(30, loss=loss, gamma=GAMMA, alpha="loo").fit(X[:200], y[:200])
    assert np.all(np.diff(chosen.alphas_) > 0)
    assert chosen.alphas_.size == chosen.loo_errors_.size
    assert chosen.duality_gap_.max() <= chosen.tol
    assert chosen.score(X[200:], y[200:]) > max(map(score, np.geomspace(1e-3, 100, 6))) - 0.04


@other_losses
def test_extreme_penalties(loss, kind, data):
    """A huge one leaves the best constant; the smallest fits where landmarks allow it."""
    X, y = data[0], of(kind, data)
    constant = values(kind(10, loss=loss, gamma=GAMMA, alpha=1e300).fit(X, y), X)
    assert_allclose(constant, constant[0], atol=1e-6)
    best = {"logistic": np.log(np.sum(data[1] == 1) / np.sum(data[1] == 0)), "quantile": np.median(data[2])}
    if loss in best:
        assert_allclose(constant[0], best[loss], atol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert kind(40, loss=loss, gamma=GAMMA, alpha=0).fit(X, y).score(X, y) > (0.9 if y.dtype.kind == "i" else 0.3)


@other_losses
@pytest.mark.parametrize("landmarks", [30, "uniform"])
def test_dependent_landmarks_do_no_harm(loss, kind, landmarks, data):
    """A linear kernel of two columns, and rows that repeat."""
    X, y = np.repeat(data[0][:40], 3, axis=0), np.repeat(of(kind, data)[:40], 3)
    model = kind(landmarks, loss=loss, kernel="linear", alpha=0.1).fit(X, y)
    expected = kind(2, loss=loss, kernel="linear", alpha=0.1).fit(X, y)
    assert_allclose(values(model, X), values(expected, X), atol=1e-4)


@pytest.mark.parametrize("loss", REGRESSION)
@pytest.mark.parametrize("constant", [0.0, 7.0, -1e-5])
def test_constant_targets_and_single_rows(loss, constant, data):
    X = data[0]
    model = SparseGreedyRegressor(5, loss=loss, alpha="loo").fit(X, np.full(120, constant))
    assert_allclose(model.predict(X), constant, atol=2e-6 * abs(constant) + (0.1 + 1e-9) * (loss != "quantile"))
    one = SparseGreedyRegressor(5, loss=loss).fit(X[:1], [constant])
    assert_allclose(one.predict(X[:4]), constant, atol=0.1 + 1e-9)
    same = SparseGreedyRegressor(5, loss="quantile", quantile=0.5).fit(np.ones((5, 2)), [1.0, 2.0, 3.0, 4.0, 100.0])
    assert_allclose(same.predict(np.ones((1, 2))), 3.0, atol=1e-6)


def test_bad_inputs_say_what_is_wrong(data):
    X, labels, y = data
    with pytest.raises(ValueError, match="1 class, 'only'"):
        SparseGreedyClassifier(loss="hinge").fit(X, ["only"] * 120)
    with pytest.raises(ValueError, match="1 class, 1"):
        SparseGreedyClassifier(loss="logistic", class_weight={0: 0.0}).fit(X, labels)
    with pytest.raises(ValueError, match="class weights that are finite"):
        SparseGreedyClassifier(loss="logistic", class_weight={0: np.inf}).fit(X, labels)
    with pytest.raises(ValueError, match="infinity"):
        SparseGreedyClassifier(loss="hinge").fit(X, labels, np.where(labels, np.inf, 1.0))
    for quantile in (0.0, 1.0, -1, 1.5, np.nan):
        with pytest.raises(ValueError, match="'quantile'"):
            SparseGreedyRegressor(loss="quantile", quantile=quantile).fit(X, y)
    for epsilon in (0.0, -1.0):
        with pytest.raises(ValueError, match="'epsilon'"):
            SparseGreedyRegressor(loss="huber", epsilon=epsilon).fit(X, y)
    with pytest.raises(ValueError, match=r"'loss'.*'squared_hinge'"):
        SparseGreedyClassifier(loss="exponential").fit(X, labels)
    with pytest.raises(ValueError, match=r"'loss'.*'quantile'"):
        SparseGreedyRegressor(loss="hinge").fit(X, y)
    with pytest.raises(ValueError, match="list of candidates"):
        SparseGreedyRegressor(loss="huber", alpha=[1.0, np.nan]).fit(X, y)
    model = SparseGreedyClassifier(20, loss="hinge").fit(X, labels)
    with pytest.raises(ValueError, match=r"SparseGreedyClassifier.path needs loss='squared'"):
        model.path()
    with pytest.raises(ValueError, match=r"SparseGreedyClassifier.staged_predict needs loss='squared'"):
        next(model.staged_predict(X))
    assert not hasattr(model, "predict_proba")
    assert not hasattr(SparseGreedyClassifier(), "predict_proba")


def test_too_few_iterations_are_said(data):
    X, labels, _ = data
    with pytest.warns(ConvergenceWarning, match=r"stopped after 2 iterations.*max_iter"):
        model = SparseGreedyClassifier(20, loss="hinge", gamma=GAMMA, max_iter=2).fit(X, labels)
    assert model.duality_gap_[0] > model.tol
