"""Conditional means: local averages around a trend, and the weights that they are mixed with."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from preimage._engine.arrays import to_numpy
from preimage._models.completion import ConditionalMeans, Indicators, Trend, fit_conditional, median_distance
from preimage._models.completion._conditional import TREND_RIDGES, members, relevance_of
from preimage._models.completion._conditional_fit import mixing_weights, wide_columns
from preimage._models.completion._neighbors import (
    LEAST_RELEVANCE,
    LOCAL_RIDGES,
    RELATIVE_WIDTH,
    Neighbors,
    relevances,
)
from preimage._models.completion._partial_rows import PartialRows

rng = np.random.default_rng(0)
t = rng.uniform(-2, 2, size=(70, 1))
POINTS = np.hstack([t, np.sin(2 * t), t**2, 0.5 * t]) + 0.05 * rng.normal(size=(70, 4))
POINTS = (POINTS - POINTS.mean(axis=0)) / POINTS.std(axis=0)
QUERIES = POINTS[:12] + 0.05 * rng.normal(size=(12, 4))
KNOWN = rng.random(QUERIES.shape) > 0.35
KNOWN[~KNOWN.any(axis=1), 1] = True
KNOWN[KNOWN.all(axis=1), 0] = False


def model(points=POINTS):
    count, numbers = len(members(4)), Indicators(4)
    return ConditionalMeans(points, Trend.of(points), np.full(count, 1 / count), relevance_of(points, numbers), numbers)


def of_queries():
    [(_, found)] = model().blocks(QUERIES, KNOWN, None)
    return found


def test_neighbors_are_the_nearest_rows_by_known_entries_that_matter():
    neighbors, relevance = of_queries().neighbors, model().relevance
    for number in range(12):
        weights = (~KNOWN[number]).astype(float) @ relevance
        squared = ((POINTS - QUERIES[number]) ** 2 * np.where(KNOWN[number], weights, 0)).sum(axis=1)
        assert_array_equal(neighbors.numbers[number], np.argsort(squared)[:30])
        assert_allclose(neighbors.squared[number], np.sort(squared)[:30], atol=1e-12)


def test_ridge_regressions_around_a_trend_are_those_of_its_residuals():
    """Against residuals that are formed one by one: what each neighbour has more than the trend says of it."""
    choices, neighbors = members(4), of_queries().neighbors
    found = of_queries().estimates(np.eye(len(choices)))
    covariance = np.cov(POINTS.T, bias=True)
    for number, member in enumerate(choices):
        if member.trend is None or member.average is None:
            continue
        shrunk = covariance + TREND_RIDGES[member.trend] * np.trace(covariance) / 4 * np.eye(4)
        ridge = LOCAL_RIDGES[member.average - 2]
        for query in range(12):
            known = KNOWN[query]
            slopes = np.linalg.solve(shrunk[np.ix_(known, known)], shrunk[np.ix_(known, ~known)])
            near = neighbors.rows[query]
            residuals = near[:, ~known] - near[:, known] @ slopes  # the mean of the points is zero
            width = RELATIVE_WIDTH * neighbors.between[query].mean() / 2
            K = np.exp(-neighbors.between[query] / width)
            a = np.linalg.solve(K + ridge * np.eye(30), np.exp(-neighbors.squared[query] / width))
            expected = QUERIES[query, known] @ slopes + a @ residuals
            assert_allclose(found[number, query, ~known], expected, atol=1e-3)


def test_a_mixture_is_the_weighted_mean_of_its_members():
    weights = rng.dirichlet(np.ones(len(members(4))))
    each = of_queries().estimates(np.eye(weights.size))
    found = of_queries().estimates(weights[None])[0]
    assert_allclose(found[~KNOWN], np.tensordot(weights, each, 1)[~KNOWN], atol=1e-10)


def test_rows_are_filled_alike_alone_and_in_every_namespace(xp):
    whole = model().fill(QUERIES, KNOWN)
    assert_array_equal(whole[KNOWN], QUERIES[KNOWN])
    for number in range(3):
        one = model().fill(QUERIES[number : number + 1], KNOWN[number : number + 1])
        assert_allclose(one[0], whole[number], atol=1e-10)
    assert_allclose(
        to_numpy(model(xp.asarray(POINTS)).fill(xp.asarray(QUERIES), xp.asarray(KNOWN, bool))), whole, atol=1e-9
    )


def test_rows_at_the_same_distance_are_taken_in_their_order():
    points = np.repeat(np.arange(3.0)[:, None], 40, axis=0) * np.ones((1, 2))
    numbers = Neighbors.of(points, PartialRows.of(np.zeros((1, 2)), np.array([[True, False]]))).numbers
    assert_array_equal(numbers[0], np.arange(30))


def test_no_row_is_its_own_neighbor():
    own = np.arange(12)
    numbers = Neighbors.of(POINTS, PartialRows.of(POINTS[:12], KNOWN), own).numbers
    assert not np.any(numbers == own[:, None])


def test_rows_without_a_known_entry_get_the_mean():
    found = model().fill(np.zeros((2, 4)), np.zeros((2, 4), dtype=bool))
    assert_allclose(found, 0.0, atol=1e-12)


def test_few_points_and_many_columns():
    for shape in ((2, 3), (5, 1), (6, 601)):
        rows = np.random.default_rng(1).normal(size=shape)
        known = np.ones(shape, dtype=bool)
        fit = fit_conditional(rows, known, 1.0, rng=np.random.default_rng(0))
        known[0, 0] = False
        assert np.isfinite(fit.model.fill(rows, known)).all()


class TestWeights:
    def test_they_are_a_distribution_and_prefer_small_errors(self):
        errors = np.random.default_rng(0).normal(size=(500, 3)) * [1.0, 2.0, 10.0]
        weights = mixing_weights(errors)
        assert np.all(weights >= 0) and np.isclose(weights.sum(), 1)
        assert weights[0] > weights[1] > weights[2]
        # The best weights of independent errors are inverse variances.
        assert_allclose(weights, [0.8, 0.2, 0.0], atol=0.05)

    def test_the_mean_is_never_worse_than_the_best_member(self):
        for seed in range(10):
            generator = np.random.default_rng(seed)
            errors = generator.normal(size=(300, 5)) @ generator.normal(size=(5, 5))
            mixed = np.mean((errors @ mixing_weights(errors)) ** 2)
            assert mixed <= 1.02 * np.mean(errors**2, axis=0).min()

    @pytest.mark.parametrize("errors", [np.zeros((0, 4)), np.zeros((5, 4))])
    def test_nothing_to_learn_from_leaves_them_equal(self, errors):
        assert_allclose(mixing_weights(errors), 0.25)


class TestFits:
    @pytest.mark.parametrize("complete", [True, False])
    def test_hidden_entries_are_not_seen_by_what_restores_them(self, complete):
        known = np.ones(POINTS.shape, dtype=bool) if complete else np.random.default_rng(3).random(POINTS.shape) > 0.2
        known[:, 0] |= ~known.any(axis=1)
        scale = median_distance(POINTS, known)
        fit = fit_conditional(POINTS, known, scale, rng=np.random.default_rng(0))
        rows, columns = fit.judged.places
        assert_array_equal(fit.judged.truth, POINTS[rows, columns])
        assert known[rows, columns].all()
        error = np.mean((fit.restored() - fit.judged.truth) ** 2)
        # Were the truth among what they are restored from, the nearest row would have an error of zero.
        assert 0 < error < 1
        assert np.all(np.mean((fit.judged.estimates - fit.judged.truth[:, None]) ** 2, axis=0) > 0)

    def test_missing_entries_do_not_count(self):
        known = np.random.default_rng(3).random(POINTS.shape) > 0.2
        known[:, 0] |= ~known.any(axis=1)
        other = np.where(known, POINTS, 1e9)
        fits = [fit_conditional(rows, known, 1.0, rng=np.random.default_rng(0)) for rows in (POINTS, other)]
        assert_allclose(fits[0].model.points, fits[1].model.points, atol=1e-9)


class TestBounds:
    def test_factors_want_to_leave_the_range_and_counts_do_not(self):
        values = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 3.0], [4.0, 3.0]])
        known = np.ones_like(values, dtype=bool)
        # The largest entry of the first column is restored well; that of the second goes beyond what it can be.
        wide = wide_columns(
            values, known, np.array([3, 2]), np.array([0, 1]), np.array([4.0, 3.0]), np.array([3.9, 5.0])
        )
        assert_array_equal(wide, [True, False])

    def test_bounds_are_half_a_range_wider_where_that_restores_entries_better(self):
        known = np.ones(POINTS.shape, dtype=bool)
        fit = fit_conditional(POINTS, known, 1.0, rng=np.random.default_rng(0))
        low, high = POINTS.min(axis=0), POINTS.max(axis=0)
        wide = wide_columns(POINTS, known, *fit.judged.places, fit.judged.truth, fit.restored())
        found = fit.bounds(POINTS, known, low, high)
        assert wide.any() and not wide.all()
        assert_allclose(found, [low - 0.5 * wide * (high - low), high + 0.5 * wide * (high - low)])

    def test_entries_within_the_range_decide_nothing(self):
        values, known = np.arange(8.0).reshape(4, 2), np.ones((4, 2), dtype=bool)
        places = np.array([1, 2]), np.array([0, 1])
        assert not wide_columns(values, known, *places, values[places], values[places] + 0.1).any()


def test_relevance_sees_waves_and_not_noise():
    x = np.random.default_rng(0).uniform(-np.pi, np.pi, size=(400, 1))
    rows = np.hstack([x, np.cos(2 * x), np.random.default_rng(1).normal(size=(400, 1))])
    found = relevances(rows, np.arange(3))
    assert found[1, 0] > 0.8  # cos 2x from x
    assert found[0, 1] < 0.2  # but not x from cos 2x
    assert found[2, 0] < 0.1 and found[2, 1] < 0.1
    assert found.min() >= LEAST_RELEVANCE and found.max() <= 1


def explained_between_bins(points, column, other):
    """The part of the variance of one column between ten bins of another one, less what chance explains."""
    n = len(points)
    n_bins = max(2, min(10, n // 4))
    ranked = points[np.argsort(points[:, other], kind="stable"), column]
    bins = np.split(ranked, np.arange(1, n_bins) * n // n_bins)
    mean = points[:, column].mean()
    between = sum(each.size * (each.mean() - mean) ** 2 for each in bins)
    return 1 - (1 - between / (points[:, column].var() * n)) * (n - 1) / (n - n_bins)


@pytest.mark.parametrize(("n", "d"), [(400, 3), (53, 5), (9, 2), (5, 2), (1000, 60)])
def test_relevances_are_what_bins_explain(n, d):
    """The last one is worked on in two parts."""
    points = np.random.default_rng(0).normal(size=(n, d)).cumsum(axis=1)
    found = relevances(points, np.arange(d))
    columns = np.random.default_rng(1).integers(d, size=(20, 2))
    expected = [max(LEAST_RELEVANCE, min(1.0, explained_between_bins(points, *pair))) for pair in columns]
    assert_allclose([found[pair[0], pair[1]] for pair in columns], expected, rtol=1e-9)


def test_draws_have_the_mean_and_spread_as_fitted():
    known = np.ones(POINTS.shape, dtype=bool)
    fit = fit_conditional(POINTS, known, 1.0, rng=np.random.default_rng(0))
    spread = fit.spread(POINTS, known)
    assert spread > 0
    draws = fit.model.draw(QUERIES, KNOWN, spread, n_draws=400, rng=np.random.default_rng(0))
    assert np.all(draws[:, KNOWN] == QUERIES[KNOWN])
    filled = fit.model.fill(QUERIES, KNOWN)
    deviation = draws.std(axis=0)[~KNOWN]
    assert np.all(np.abs(draws.mean(axis=0) - filled)[~KNOWN] < 0.3 * deviation + 1e-9)
    twice = fit.model.draw(QUERIES, KNOWN, 2 * spread, n_draws=400, rng=np.random.default_rng(0))
    assert_allclose(twice.std(axis=0)[~KNOWN], 2 * deviation, rtol=1e-6)
