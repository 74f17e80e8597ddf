"""Expected errors of filled values: what is hidden looks like what is missing, and errors are those of the truth."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._models.completion import FillingErrors, filling_errors
from preimage._models.completion._filling_errors import FEWEST_HIDDEN, MOST_HIDDEN, PARTS, hidden_entries


@pytest.fixture
def table(rng):
    X = rng.normal(size=(400, 5)) * [1, 10, 0.1, 2, 3] + [0, 5, 0, 0, 1]
    X[rng.random(400) < 0.3, :2] = np.nan  # two columns go together
    X[rng.random(400) < 0.1, 3] = np.nan
    return X


def filled_by_means(shown):
    return lambda rows: np.where(np.isnan(rows), np.nanmean(shown, axis=0), rows)


def test_hidden_entries_are_there_and_have_the_patterns_of_gaps(table, rng):
    gaps, rows = np.isnan(table), np.arange(0, 400, 2)
    hidden = hidden_entries(table, gaps, rows, rng)
    assert not (hidden & gaps).any() and hidden[:, [0, 1, 3]].any(axis=0).all() and not hidden[:, [2, 4]].any()
    assert not hidden[1::2].any()
    complete = ~gaps.any(axis=1)
    assert (hidden[complete, 0] == hidden[complete, 1]).all()
    assert (~gaps & ~hidden).any(axis=1).all()
    assert (hidden.sum(axis=0) <= MOST_HIDDEN * (~gaps).sum(axis=0)).all()


@pytest.mark.parametrize("kind", ["none", "all", "one row"])
def test_tables_that_offer_nothing_to_hide(kind, rng):
    X = rng.normal(size=(3, 2)) if kind != "one row" else np.array([[1.0, np.nan]])
    if kind == "all":
        X[:] = np.nan
    assert not hidden_entries(X, np.isnan(X), np.arange(len(X)), rng).any()
    errors = filling_errors(lambda rows: pytest.fail("nothing to fit"), X, np.isnan(X), rng)
    assert np.isnan(errors.relative) and not errors.hidden.any()


def test_errors_of_the_mean_are_deviations(table, rng):
    errors = filling_errors(filled_by_means, table, np.isnan(table), rng)
    assert_allclose(errors.filled[[0, 1, 3]], errors.mean[[0, 1, 3]])
    assert_allclose(errors.mean[[0, 1, 3]], [1, 10, 2], rtol=0.3)
    assert_allclose(errors.relative, 1, rtol=0.15)


def test_values_are_hidden_until_there_are_enough_and_once_at_most(rng):
    """A small table is judged in all parts, as in cross-validation; of a large one a part is enough."""
    calls = []

    def counting(shown):
        calls.append(np.isnan(shown))
        return filled_by_means(shown)

    for n, expected in ((40, PARTS), (4000, 1)):
        calls.clear()
        X = rng.normal(size=(n, 3))
        gaps = np.zeros((2, 3), dtype=bool)
        gaps[0, 1] = True
        errors = filling_errors(counting, X, gaps, rng)
        assert len(calls) == expected and errors.hidden.tolist() == [0, n // PARTS * expected, 0]
        assert (sum(calls) <= 1).all()


def test_models_do_not_see_what_is_hidden(table, rng):
    """A model that remembers the rows it was fitted to would have no error."""

    def fit(shown):
        assert np.isnan(shown[np.isnan(table)]).all() and np.isnan(shown).sum() > np.isnan(table).sum()
        return lambda rows: np.where(np.isnan(rows), 7.0, rows)

    errors = filling_errors(fit, table, np.isnan(table), rng)
    assert_allclose(errors.filled[0], np.sqrt(np.nanmean((table[:, 0] - 7) ** 2)), rtol=0.1)


def test_few_hidden_values_take_the_error_of_all():
    hidden, deviations = np.array([100, FEWEST_HIDDEN - 1, 0]), np.array([1.0, 50.0, 0.0])
    errors = FillingErrors.of(hidden, hidden * (0.5 * deviations) ** 2, hidden * deviations**2, deviations)
    assert_allclose(errors.filled, [0.5, 25, 0])
    assert_allclose(errors.mean, deviations)
    assert_allclose(errors.relative, 0.5)
