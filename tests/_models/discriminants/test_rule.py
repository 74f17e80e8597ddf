"""Thresholds between two classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import SVC

from preimage._models.discriminants._rule import empirical_threshold, gaussian_threshold, margin_threshold


def test_margin_is_that_of_a_support_vector_machine(rng):
    y = np.where(np.arange(60) < 20, -1, 1)
    f = y + rng.normal(size=60)
    balance = np.where(y < 0, 1 / 20, 1 / 40)
    scale = np.sqrt(np.cov(f, aweights=balance, ddof=0))
    svm = SVC(C=10.0, kernel="linear", tol=1e-10).fit(f[:, None] / scale, y)
    expected = -scale * svm.intercept_[0] / svm.coef_[0, 0]
    assert_allclose(margin_threshold(f, y), expected, rtol=1e-4)


@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
def test_the_cost_of_a_margin_is_that_of_the_machine(rng, C):
    y = np.where(np.arange(60) < 25, -1, 1)
    f = y + 0.8 * rng.normal(size=60)
    balance = np.where(y < 0, 1 / 25, 1 / 35)
    scale = np.sqrt(np.cov(f, aweights=balance, ddof=0))
    svm = SVC(C=C, kernel="linear", tol=1e-10).fit(f[:, None] / scale, y)
    assert_allclose(margin_threshold(f, y, C=C), -scale * svm.intercept_[0] / svm.coef_[0, 0], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("C", [1e-300, 1e300])
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_extreme_costs_and_weights_give_numbers(rng, C, size):
    y = np.where(np.arange(30) < 10, -1, 1)
    f = y + rng.normal(size=30)
    cut = margin_threshold(f, y, np.full(30, size), C=C)
    assert np.isfinite(cut)
    if C < 1:  # the larger class wins everywhere
        assert cut < f.min()


def test_margin_between_separated_classes_is_the_middle_of_the_gap():
    assert_allclose(margin_threshold([-3, -2.5, -1, 2, 2.2], [-1, -1, -1, 1, 1], C=1e6), 0.5, atol=1e-3)


@pytest.mark.parametrize("rule", [empirical_threshold, margin_threshold])
def test_weights_are_repetitions(rng, rule):
    y = np.where(np.arange(30) < 10, -1, 1)
    f = y + rng.normal(size=30)
    times = rng.integers(1, 4, size=30)
    assert_allclose(rule(f, y, times), rule(np.repeat(f, times), np.repeat(y, times)), rtol=1e-6)


def test_empirical_makes_fewest_errors(rng):
    y = np.where(np.arange(40) < 15, -1, 1)
    f = np.round(y + rng.normal(size=40), 1)  # with ties
    cut = empirical_threshold(f, y)
    fewest = min(np.sum((f > b) != (y > 0)) for b in np.linspace(-5, 5, 2001))
    assert np.sum((f > cut) != (y > 0)) == fewest


def test_gaussian_densities_are_equal_at_the_threshold():
    means, variances, counts = np.array([-1.0, 2.0]), np.array([0.5, 2.0]), np.array([30, 10])
    b = gaussian_threshold(means, variances, counts)
    density = counts * np.exp(-((b - means) ** 2) / (2 * variances)) / np.sqrt(variances)
    assert_allclose(density[0], density[1])
    assert -1 < b < 2


def test_a_very_frequent_class_takes_all_but_the_far_side():
    assert gaussian_threshold([-1.0, 1.0], [1.0, 1.5], [1e9, 1]) > 1
