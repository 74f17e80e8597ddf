"""Indicators of categories: probabilities, draws, and hiding all columns of an entry together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._models.completion import ColumnScale, Indicators
from preimage._models.completion._neighbors import relevances
from preimage._models.completion._partial_rows import hidden_entries

RNG = np.random.default_rng(0)
SIZES = (3, 1, 2)
CENTER, SCALE = RNG.uniform(0.2, 0.4, size=8), RNG.uniform(0.5, 1, size=8)
INDICATORS = Indicators(2, SIZES, CENTER, SCALE)


def test_columns_belong_to_entries():
    assert INDICATORS.groups.tolist() == [0, 1, 2, 2, 2, 3, 4, 4]
    assert [(part.start, part.stop) for part in INDICATORS.parts] == [(2, 5), (5, 6), (6, 8)]


def test_probabilities_are_the_columns_in_their_own_units(xp):
    here = Indicators(2, SIZES, xp.asarray(CENTER), xp.asarray(SCALE))
    inner = np.array([[0.0, 0.0, 0.2, 0.5, 0.3, 1.0, 0.9, 0.1], [0.0, 0.0, -0.3, 0.6, 0.6, 0.0, -1.0, -2.0]])
    found = [np.asarray(each) for each in here.probabilities(xp.asarray((inner - CENTER) / SCALE))]
    assert_allclose(found[0], [[0.2, 0.5, 0.3], [0, 0.5, 0.5]], atol=1e-6)
    assert_allclose(found[1], [[1], [1]])
    assert_allclose(found[2], [[0.9, 0.1], [0.5, 0.5]], atol=1e-6)  # nothing is said, so all are alike


def test_draws_given_a_neighbor_have_the_probabilities_of_the_row():
    q, k, n_draws = 4, 6, 4000
    weights = RNG.dirichlet(np.ones(k), size=q)
    kinds = [RNG.integers(size, size=(q, k)) for size in SIZES]
    ones = [np.eye(size)[kind] for size, kind in zip(SIZES, kinds, strict=True)]
    neighbors = (np.concatenate([np.zeros((q, k, 2)), *ones], axis=2) - CENTER) / SCALE
    wanted = [RNG.dirichlet(np.ones(size), size=q) for size in SIZES]
    middle = (np.concatenate([np.zeros((q, 2)), *wanted], axis=1) - CENTER) / SCALE
    picked = np.array([RNG.choice(k, size=n_draws, p=each) for each in weights]).T
    chances = INDICATORS.given_neighbors(middle, neighbors, weights, picked)
    for p, found, kind, size in zip(wanted, chances, kinds, SIZES, strict=True):
        assert_allclose(found.sum(axis=2), 1)
        assert np.all(found >= -1e-12)
        # Averaged over neighbours exactly what was wanted, and a neighbour's own category as often as it can be.
        exact = INDICATORS.given_neighbors(middle, neighbors, weights, np.tile(np.arange(k)[:, None], (1, q)))
        mean = np.einsum("qk,kqc->qc", weights, exact[SIZES.index(size)])
        assert_allclose(mean, p, atol=1e-12)
        frequencies = np.einsum("qk,qkc->qc", weights, np.eye(size)[kind])
        kept = np.take_along_axis(exact[SIZES.index(size)], kind.T[:, :, None], axis=2)[:, :, 0]
        assert np.all(np.einsum("qk,kq->q", weights, kept) >= np.minimum(p, frequencies).sum(axis=1) - 1e-12)


def test_drawn_rows_have_one_category_each_with_its_frequency():
    chances = [np.tile(RNG.dirichlet(np.ones(size)), (5000, 1)) for size in SIZES]
    rows = INDICATORS.with_drawn(np.zeros((5000, 8)), chances, RNG.random((3, 5000))) * SCALE + CENTER
    for part, given in zip(INDICATORS.parts, chances, strict=True):
        assert_allclose(rows[:, part].sum(axis=1), 1)
        assert_allclose(rows[:, part].mean(axis=0), given[0], atol=0.03)


def test_indicators_of_an_entry_are_hidden_together():
    groups = INDICATORS.groups
    observed = RNG.random((200, 5)) < 0.8
    for known in (np.ones((200, 8), bool), observed[:, groups]):
        hidden = hidden_entries(known, np.random.default_rng(0), groups=groups)
        assert np.array_equal(hidden, hidden[:, [0, 1, 2, 5, 6]][:, groups])
        assert hidden[:, 2].any() and not (hidden & ~known).any()


def test_a_category_varies_as_much_as_a_number_and_two_of_them_are_as_far_apart():
    kind = RNG.integers(2, size=300)
    rows = np.column_stack([RNG.normal(3, 7, size=300), kind == 0, kind == 1]).astype(float)
    scaling = ColumnScale.of(rows, np.ones(rows.shape, bool), None, np.array([0, 1, 1]))
    scaled = scaling.apply(rows)
    assert_allclose([scaled[:, :1].var(), scaled[:, 1:].var(axis=0).sum()], 1)
    zero_one = (kind - kind.mean()) / kind.std()
    between = lambda values: ((values[:, None] - values[None]) ** 2).reshape(300, 300, -1).sum(axis=2)
    assert_allclose(between(scaled[:, 1:]), between(zero_one), atol=1e-12)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_relevance_of_a_category_does_not_depend_on_the_order_of_its_indicators(order):
    x = np.random.default_rng(1).normal(size=400)
    kind = np.digitize(np.abs(x), [0.4, 1.0])  # known from x, and says nothing of its sign
    rows = np.column_stack([x, np.eye(3)[kind][:, order], np.random.default_rng(2).normal(size=400)])
    found = relevances(rows, np.array([0, 1, 1, 1, 2]))
    assert found[1, 0] * 3 > 0.7 and found[0, 1] < 0.1 and found[4, 1] < 0.1
    assert_allclose(found[1:4, 1:4], 1 / 3)
    assert_allclose(found[1:4], np.tile(found[1], (3, 1)))
