"""Variances of machines on landmarks are those of Gaussian processes; residuals of left-out rows give the rest."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from preimage._engine.arrays import to_numpy
from preimage._engine.rows import forced_block_shape
from preimage._models.regression import LandmarkRidge, PredictiveVariance
from preimage._models.regression._predictive_variance import _quantiles, _ratio
from preimage.kernels import Gaussian, Linear

KERNEL = Gaussian(0.5)
ALPHA = 0.3


@pytest.fixture
def data(rng):
    X = rng.uniform(0, 8, size=(40, 1))
    return X, np.sin(X) + 0.3 * rng.normal(size=(40, 2)), rng.integers(1, 4, size=40).astype(float)


def predictive(X, Y, weights=None, *, points=None, alpha=ALPHA, intercept=True, known=None):
    """The variance by all rows, which are landmarks themselves unless points are given."""
    fitted = LandmarkRidge.fit(KERNEL, X if points is None else points, X, Y, weights, alpha=alpha, intercept=intercept)
    total = float(X.shape[0] if weights is None else weights.sum())
    is_landmark = np.full(X.shape[0], points is None) if known is None else known
    return PredictiveVariance.of_left_out(
        fitted, X, Y, weights, total=total, intercept=intercept, is_landmark=is_landmark
    )


def process(X, Y, Z, weights, alpha, intercept):
    """Means and variances at Z of a Gaussian process with the covariance k/α, noise 1/w, and any constant."""
    K = KERNEL(X) / alpha + np.diag(1 / weights)
    C = KERNEL(Z, X) / alpha
    solved = np.linalg.solve(K, C.T)
    variances = KERNEL.diagonal(Z) / alpha - np.sum(C.T * solved, axis=0)
    if not intercept:
        return solved.T @ Y, variances
    ones = np.linalg.solve(K, np.ones(len(X)))
    constant = ones @ Y / ones.sum()
    rest = 1 - C @ ones
    means = constant + solved.T @ (Y - constant)
    return means, variances + rest**2 / ones.sum()


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_all_rows_are_a_gaussian_process(data, intercept, weighted, xp):
    X, Y, weights = data
    Z = np.linspace(-5, 13, 30)[:, None]
    given = weights if weighted else None
    found = predictive(xp.asarray(X), Y, given, intercept=intercept)
    means, variances = process(X, Y, Z, weights if weighted else np.ones(40), ALPHA, intercept)
    assert_allclose(to_numpy(found.values(xp.asarray(Z))), means, atol=1e-6)
    expected = np.sqrt(variances[:, None] * found.noise)
    assert_allclose(to_numpy(found.deviations(xp.asarray(Z))), expected, rtol=1e-5)
    expected = np.sqrt((variances[:, None] + 1) * found.noise)
    assert_allclose(to_numpy(found.deviations(xp.asarray(Z), with_noise=True)), expected, rtol=1e-5)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_noise_and_quantiles_are_those_of_processes_without_a_row(data, intercept, weighted):
    X, Y, weights = data
    weights = weights if weighted else np.ones(40)
    found = predictive(X, Y, weights if weighted else None, intercept=intercept)
    standardized = np.empty((40, 2))
    for row in range(40):
        rest = np.delete(np.arange(40), row)
        mean, variance = process(X[rest], Y[rest], X[[row]], weights[rest], ALPHA, intercept)
        standardized[row] = (Y[row] - mean[0]) / np.sqrt(1 + variance[0])
    noise = weights @ standardized**2 / weights.sum()
    assert_allclose(found.noise, noise, rtol=1e-6)
    standardized = np.sort(standardized / np.sqrt(noise), axis=0)
    if not weighted:
        assert_allclose(found.quantiles, standardized, atol=1e-5)
    assert_allclose(found.quantiles[[0, -1]], standardized[[0, -1]], atol=1e-5)


@pytest.mark.parametrize("intercept", [True, False])
def test_fewer_landmarks_have_the_formula_on_paper(data, intercept):
    X, Y, _ = data
    points, Z = X[:9], np.linspace(-5, 13, 30)[:, None]
    found = predictive(X, Y, points=points, intercept=intercept)
    C, W, c = KERNEL(X, points), KERNEL(points), KERNEL(Z, points)
    # Kernel values with the landmarks and, unpenalised, a constant.
    F, f = np.hstack([C, np.ones((40, int(intercept)))]), np.hstack([c, np.ones((30, int(intercept)))])
    penalty = np.zeros((9 + intercept, 9 + intercept))
    penalty[:9, :9] = ALPHA * W
    inside = np.sum(f * np.linalg.solve(F.T @ F + penalty, f.T).T, axis=1)
    outside = 1 - np.sum(c * np.linalg.solve(W, c.T).T, axis=1)
    expected = (inside[:, None] + outside[:, None] * found.ratios) * found.noise
    assert_allclose(found.deviations(Z) ** 2, expected, rtol=1e-6)


def test_weights_are_repeated_rows(data):
    X, Y, weights = data
    points, Z = X[:9], np.linspace(-5, 13, 30)[:, None]
    repeated = np.repeat(np.arange(40), weights.astype(int))
    one = predictive(X, Y, weights, points=points)
    other = predictive(X[repeated], Y[repeated], points=points)
    # Given the noise and the amplitude, which compare rows with all others: a row leaves with all its copies.
    inside = [each.deviations(Z) ** 2 / each.noise - each._terms(Z)[:, 1:] * each.ratios for each in (one, other)]
    assert_allclose(*inside, rtol=1e-9)


def test_far_from_all_rows_the_prior_is_left(data):
    X, Y, _ = data
    for found in (predictive(X, Y, intercept=False), predictive(X, Y, points=X[:9], intercept=False)):
        assert_allclose(found.deviations(np.array([[1e3]]))[0] ** 2, found.noise * found.ratios)
    assert_allclose(predictive(X, Y).ratios, 1 / ALPHA)


def test_few_landmarks_with_hardly_any_penalty_do_not_take_the_error_for_the_prior():
    """α is next to nothing as 12 functions need none, not since functions were large: the noise is found still."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(3000, 4))
    Y = np.sin(2 * X[:, [0]]) + X[:, [1]] * X[:, [2]] + 0.4 * rng.normal(size=(3000, 1))
    found = predictive(X, Y, points=X[:12], alpha=1e-6, known=np.arange(3000) < 12)
    left, errors = found._terms(X)[:, 1], Y - found.values(X)
    assert found.ratios[0] < 1e-2 / found.fitted.alpha
    # All of the residuals' variance is explained: by noise, and by what landmarks leave.
    explained = found.noise[0] * (1 + found.ratios[0] * left)
    assert_allclose(np.mean(errors**2), explained.mean(), rtol=0.1)
    assert found.noise[0] > 0.4**2


def test_a_likelihood_that_does_not_see_the_amplitude_leaves_it(rng):
    squares, own, weights = rng.chisquare(1, size=200), np.ones(200), np.ones(200)
    assert _ratio(squares, own, np.zeros(200), weights, 7.0) == 7.0
    assert _ratio(squares, own, np.full(200, 1e-9), weights, 7.0) == 7.0
    assert _ratio(np.zeros(200), own, np.ones(200), weights, 7.0) == 7.0
    assert _ratio(squares[:0], own[:0], own[:0], weights[:0], 7.0) == 7.0


@pytest.mark.parametrize("truth", [0.3, 5.0, 80.0])
def test_an_amplitude_is_found_and_not_above_its_limit(truth):
    rng = np.random.default_rng(1)
    left = rng.uniform(0, 1, size=4000)
    squares = (1 + truth * left) * rng.chisquare(1, size=4000)
    assert truth / 2 < _ratio(squares, np.ones(4000), left, np.ones(4000), 1e6) < 3 * truth
    assert _ratio(squares, np.ones(4000), left, np.ones(4000), truth / 10) == truth / 10


@pytest.mark.parametrize("n", [19, 100, 999])
def test_intervals_contain_one_more_value_with_their_coverage(n):
    """Of n + 1 exchangeable values, each left out in turn: the mean over all is exact, whatever the distribution."""
    values = np.random.default_rng(n).standard_t(2, size=n + 1) ** 3
    for coverage in (0.5, 0.8, 0.9):
        inside = 0
        for left_out in range(n + 1):
            rest = np.delete(values, left_out)[:, None]
            made = quantiles_of(rest)
            low, high = made.interval(coverage)[:, 0]
            inside += low <= values[left_out] <= high
        assert coverage - 1e-9 <= inside / (n + 1) <= coverage + 2 / (n + 1) + 1e-9


def quantiles_of(values, weights=None):
    weights = np.ones(len(values)) if weights is None else weights
    return PredictiveVariance(None, 0.0, np.ones(1), np.ones(1), _quantiles(values, weights))


def test_quantiles_are_the_values_and_weights_are_copies(rng):
    values, weights = rng.normal(size=(50, 2)), rng.integers(1, 4, size=50).astype(float)
    assert_allclose(_quantiles(values, np.full(50, 0.3)), np.sort(values, axis=0))
    whole = values.repeat(weights.astype(int), axis=0)
    found = _quantiles(values, weights)
    levels = np.arange(1, len(found) + 1) / (len(found) + 1)
    for level, row in zip(levels, found):
        below = np.mean(whole < row[0]), np.mean(whole <= row[0])
        assert below[0] - 0.1 <= level <= below[1] + 0.1
    many = _quantiles(rng.normal(size=(200_000, 1)), np.ones(200_000))
    assert many.shape == (999, 1)
    assert_allclose(many[[49, 499, 949], 0], stats.norm.ppf([0.05, 0.5, 0.95]), atol=0.02)


def test_few_residuals_have_the_tails_of_students_distribution(rng):
    made = quantiles_of(rng.uniform(-1, 1, size=(7, 1)))
    assert_allclose(made.interval(0.99)[:, 0], stats.t.ppf([0.005, 0.995], 7))
    wide = quantiles_of(100 * rng.uniform(-1, 1, size=(7, 1)))
    assert_allclose(wide.interval(0.99), wide.quantiles[[0, -1]])
    lengths = [np.diff(made.interval(c)[:, 0])[0] for c in np.linspace(0.01, 0.999, 50)]
    assert np.all(np.diff(lengths) >= 0)


def test_blocks_of_any_size_give_the_same(data):
    X, Y, weights = data
    whole = predictive(X, Y, weights, points=X[:9])
    with forced_block_shape(7, 3):
        parts = predictive(X, Y, weights, points=X[:9])
        assert_allclose(parts.deviations(X), whole.deviations(X))
    assert_allclose(parts.quantiles, whole.quantiles)


def test_single_precision_is_close(data):
    X, Y, _ = data
    low, high = predictive(X.astype(np.float32), Y), predictive(X, Y)
    Z = np.linspace(-5, 13, 30)[:, None]
    found = low.deviations(Z.astype(np.float32))
    assert found.dtype == np.float32
    assert_allclose(found, high.deviations(Z), rtol=0.01)
    assert_allclose(low.noise, high.noise, rtol=1e-3)


@pytest.mark.parametrize(("n_points", "alpha"), [(3, 0.0), (3, 1e-9), (7, 1e-9), (60, 1e-9)])
def test_without_penalty_linear_kernels_are_least_squares(rng, n_points, alpha):
    X = rng.normal(size=(60, 3))
    Y = X @ rng.normal(size=(3, 1)) + rng.normal(size=(60, 1))
    fitted = LandmarkRidge.fit(Linear(), X[:n_points], X, Y, None, alpha=alpha, intercept=True)
    of_all = {"total": 60.0, "intercept": True, "is_landmark": np.zeros(60, dtype=bool)}
    found = PredictiveVariance.of_left_out(fitted, X, Y, None, **of_all)
    Z = 10 * rng.normal(size=(20, 3))
    design, new = (np.hstack([np.ones((len(rows), 1)), rows]) for rows in (X, Z))
    factors = np.sum(new * np.linalg.solve(design.T @ design, new.T).T, axis=1)
    hat = design @ np.linalg.solve(design.T @ design, design.T)
    noise = np.mean((Y[:, 0] - hat @ Y[:, 0]) ** 2 / (1 - np.diag(hat)))
    assert_allclose(found.noise, noise, rtol=1e-5)
    assert_allclose(found.deviations(Z)[:, 0], np.sqrt(noise * factors), rtol=1e-4)


def test_rows_that_no_other_determines_say_nothing(rng):
    X, Y = np.arange(5.0)[:, None] * 100, rng.normal(size=(5, 1))
    assert predictive(X, Y, alpha=1e-12, intercept=False) is None
    assert predictive(X[:1], Y[:1]) is None
    assert predictive(X, Y, alpha=1e-3, intercept=False) is not None


def test_perfect_fits_have_no_noise(data):
    X = data[0]
    found = predictive(X, np.full((40, 1), 3.0))
    assert_allclose(found.deviations(X, with_noise=True), 0, atol=1e-12)
    assert_allclose(found.values(X), 3)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("noise", np.array([-1.0, 1])),
        ("noise", np.ones(3)),
        ("ratios", np.array([np.nan, 1])),
        ("base", -1.0),
        ("quantiles", np.zeros((0, 2))),
        ("quantiles", np.array([[1.0, 1], [0, 2]])),
        ("quantiles", np.ones(2)),
    ],
)
def test_fields_that_do_not_fit_are_refused(data, field, value):
    X, Y, _ = data
    found = predictive(X, Y)
    found.check_fields()
    object.__setattr__(found, field, value)
    with pytest.raises(ValueError, match="variances of 2 functions"):
        found.check_fields()
