"""Errors of hidden entries: each row filled by a model that has not seen its fold."""

import numpy as np
from numpy.testing import assert_allclose

from preimage._models.completion import HiddenRows, Indicators, SubspaceFit, fill_near
from preimage._models.components import Wanted
from preimage.descent import Box
from preimage.kernels import Gaussian

X = np.random.default_rng(0).standard_normal((30, 4))
X[:, 1] = X[:, 0] ** 2


def drawn(n_entries=60, observed=None):
    observed = np.ones(X.shape, bool) if observed is None else observed
    options = {"n_folds": 3, "fraction": 0.4, "indicators": Indicators(4)}
    return HiddenRows.draw(X, observed, n_entries=n_entries, rng=np.random.default_rng(1), **options)


def test_errors_are_those_of_models_without_the_fold():
    hidden, fit, noises = drawn(), SubspaceFit(Gaussian(0.2), Wanted(), None), [1e-3, 1e-2]
    found = hidden.energy_errors(fit, noises, 2.0, Box())
    for number, noise in enumerate(noises):
        for place, row in enumerate(hidden.numbers):
            training = X[hidden.folds != hidden.folds[row]]
            model = SubspaceFit(Gaussian(0.2), Wanted(), noise)(training)
            known = ~hidden.hidden[place][None, :]
            z = fill_near(model.energy, X[row][None, :], known, training, 2.0, box=Box(), max_iter=60).points[0]
            expected = np.sum((z - X[row])[hidden.hidden[place]] ** 2)
            assert_allclose(found[number, place], expected, rtol=1e-3, atol=1e-6)


def test_few_rows_are_hidden_several_times():
    hidden = drawn(n_entries=200)
    assert 200 <= hidden.hidden.sum() < 210
    assert len(hidden.numbers) > len(X)
    assert np.bincount(hidden.folds).tolist() == [10, 10, 10]
    assert drawn(n_entries=10**6).numbers.size == 10 * len(X)  # and no more often than is useful


def test_missing_entries_are_never_judged():
    observed = np.random.default_rng(2).random(X.shape) > 0.3
    hidden = drawn(observed=observed)
    assert not (hidden.hidden & ~observed[hidden.numbers]).any()


def test_entries_that_are_hidden_once_are_not_seen():
    observed = np.random.default_rng(2).random(X.shape) > 0.3
    hidden = drawn(observed=observed, n_entries=10**6)
    assert np.unique(hidden.numbers).size == hidden.numbers.size  # incomplete rows are hidden once each
    expected = observed.copy()
    for row, mask in zip(hidden.numbers, hidden.hidden, strict=True):
        expected[row] &= ~mask
    assert np.array_equal(hidden.seen(), expected)
