"""What is measured on rows that are left out: limits, groups of columns, and evidence for gross errors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.image import grid_to_graph

from preimage import KernelPCA
from preimage._models.completion import SubspaceEnergy, as_loss, measured_errors
from preimage._models.completion._gross_errors import LARGEST_RISE, _closeness, _groups, _limit
from preimage._models.completion._repair import Neighborhoods

T = np.random.default_rng(0).uniform(0, 2 * np.pi, size=(120, 1))
ROWS = np.hstack([np.cos(T), np.sin(T), np.cos(T), np.sin(T), np.cos(2 * T), np.sin(2 * T)])
KNOWN = np.ones(ROWS.shape, dtype=bool)


@pytest.fixture(scope="module")
def energy():
    return SubspaceEnergy(KernelPCA(12, gamma=0.2).fit(ROWS).subspace_)


@pytest.fixture(scope="module")
def errors(energy):
    return measured_errors(energy, as_loss("cauchy"))


def spiked(X, size=5.0):
    spoiled = X.copy()
    spoiled[np.arange(len(X)), np.arange(len(X)) % X.shape[1]] += size
    return spoiled


def test_rows_beyond_the_limit_do_as_much_harm_as_is_allowed():
    evidence = np.random.default_rng(0).exponential(2.0, size=200_000)
    limit = _limit(evidence, harm=10.0)
    assert_allclose(np.mean(evidence > limit) * 10.0, LARGEST_RISE, rtol=0.2)
    assert _limit(evidence, harm=40.0) > limit
    assert_allclose(_limit(3 * evidence + 1, harm=10.0), 3 * limit + 1)


def test_limits_of_equal_rows_are_their_evidence():
    assert _limit(np.full(50, 1.5), harm=10.0) == 1.5


def test_single_entries_that_are_wrong_are_found_and_clean_rows_stay(energy, errors):
    found = errors.repaired(energy, spiked(ROWS[:30]), KNOWN[:30])
    is_wrong = spiked(ROWS[:30]) != ROWS[:30]
    assert_array_equal(found.outliers, is_wrong)
    assert_allclose(found.rows, ROWS[:30], atol=0.1)
    clean = errors.repaired(energy, ROWS[:30], KNOWN[:30])
    assert_array_equal(clean.rows, ROWS[:30])
    assert not clean.outliers.any()


def test_rows_of_which_most_entries_are_unlike_the_others_stay(energy, errors):
    strange = ROWS[:5].copy()
    strange[:, 1:] += 6.0
    assert_array_equal(errors.repaired(energy, strange, KNOWN[:5]).rows, strange)


def test_rows_are_judged_by_themselves(energy, errors):
    X = spiked(ROWS[:12])
    together = errors.repaired(energy, X, KNOWN[:12])
    alone = [errors.repaired(energy, X[i : i + 1], KNOWN[:1]).rows for i in range(12)]
    assert_allclose(np.concatenate(alone), together.rows, atol=1e-6)


def test_evidence_grows_with_the_error(energy, errors):
    evidence = []
    for size in (0.5, 2.0, 8.0):
        X = spiked(ROWS[:20], size)
        evidence.append(np.median(errors.suspects(energy, X, KNOWN[:20], ROWS[:20]).evidence))
    assert evidence[0] < evidence[1] < evidence[2]


def test_groups_are_neighbours_in_the_graph_or_correlated_columns():
    rng = np.random.default_rng(0)
    graph = Neighborhoods.of(grid_to_graph(4, 4), np.zeros((1, 16)))
    groups = _groups(_closeness(rng.normal(size=(9, 16)), graph), rng, 20).reshape(-1, 4, 4)
    assert (groups.sum(axis=(1, 2)) == 4).all()
    for group in groups:
        places = np.argwhere(group)
        assert (np.abs(places - places.mean(axis=0)) < 2.5).all()
    copies = np.repeat(rng.normal(size=(50, 4)), 4, axis=1)
    groups = _groups(_closeness(copies, Neighborhoods()), rng, 20).reshape(-1, 4, 4)
    assert_array_equal(groups.all(axis=2).sum(axis=1), 1)
