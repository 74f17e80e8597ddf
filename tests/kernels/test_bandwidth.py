"""Widths: from data, between conventions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.svm import SVC

from preimage.kernels import Gaussian, gamma_from_width, resolve_gamma, squared_distance_percentile, width_from_gamma

CONVENTIONS = ["gamma", "c", "sigma", "length_scale", "kernel_scale", "c_per_feature"]


def test_all_conventions_give_one_number(rng):
    x, y, d = rng.normal(size=7), rng.normal(size=7), 7
    squared = np.sum((x - y) ** 2)
    c, sigma = 3.0, np.sqrt(1.5)
    for value in (
        np.exp(-squared / c),
        np.exp(-squared / (2 * sigma**2)),
        np.exp(-squared / (d * (c / d))),
        np.exp(-squared / np.sqrt(c) ** 2),
        np.exp(-0.5 * squared / sigma**2),
    ):
        assert_allclose(value, Gaussian(1 / c)(x[None], y[None])[0, 0])
    for width, convention in ((c, "c"), (sigma, "sigma"), (c / d, "c_per_feature"), (np.sqrt(c), "kernel_scale")):
        assert_allclose(gamma_from_width(width, convention, n_features=d), 1 / c)


@pytest.mark.parametrize("convention", CONVENTIONS)
@given(gamma=st.floats(1e-6, 1e6))
def test_conversions_are_inverse(convention, gamma):
    width = width_from_gamma(gamma, convention, n_features=5)
    assert_allclose(gamma_from_width(width, convention, n_features=5), gamma)


def test_published_widths_in_one_currency():
    assert_allclose(gamma_from_width(0.5, "c_per_feature", n_features=256), 1 / 128)
    assert_allclose(width_from_gamma(1 / 128, "sigma"), 8)
    assert_allclose(width_from_gamma(10, "sigma"), 0.2236, atol=1e-4)


def test_rules_from_data(rng):
    X = rng.normal(size=(50, 4))
    squared = pdist(X, "sqeuclidean")
    assert resolve_gamma(None, X) == resolve_gamma("auto", X) == 0.25
    assert_allclose(resolve_gamma("scale", X), SVC(gamma="scale").fit(X, np.arange(50) % 2)._gamma)
    assert_allclose(resolve_gamma("median", X), 1 / np.median(squared))
    assert_allclose(resolve_gamma("p5", X), 1 / np.percentile(squared, 5))
    assert resolve_gamma(3, X) == 3.0


def test_sparse_data_give_the_same_width(rng):
    X = np.where(rng.random((40, 6)) < 0.5, rng.normal(size=(40, 6)), 0)
    for rule in ("scale", "median", "p20"):
        assert_allclose(resolve_gamma(rule, sparse.csr_matrix(X)), resolve_gamma(rule, X))


def test_scaling_the_data_scales_the_width(rng):
    X = rng.normal(size=(50, 4))
    assert_allclose(squared_distance_percentile(3 * X, 5), 9 * squared_distance_percentile(X, 5))
    assert_allclose(squared_distance_percentile(X[::-1], 5), squared_distance_percentile(X, 5))


def test_duplicates_do_not_make_the_width_zero(rng):
    X = np.repeat(rng.normal(size=(4, 3)), 20, axis=0)
    assert_allclose(squared_distance_percentile(X, 1), pdist(X[::20], "sqeuclidean").min())


def test_equal_points_have_no_width():
    with pytest.raises(ValueError, match="two distinct points"):
        resolve_gamma("median", np.ones((5, 2)))


@pytest.mark.parametrize("gamma", ["p101", "p", "mean", "p-5"])
def test_unknown_rules_are_refused(gamma):
    with pytest.raises(ValueError, match="percentile such as 'p5'"):
        resolve_gamma(gamma, np.eye(3))


def test_a_rule_that_is_nearly_right_is_suggested():
    with pytest.raises(ValueError, match=r"'reconstruction' in KernelPCA.*'relevance'.*did you mean 'median'"):
        resolve_gamma("medain", np.eye(3))


def test_bad_conventions_are_refused():
    with pytest.raises(ValueError, match="known: gamma"):
        gamma_from_width(1.0, "width")
    with pytest.raises(ValueError, match="positive"):
        gamma_from_width(0.0, "sigma")
    with pytest.raises(ValueError, match="n_features"):
        gamma_from_width(1.0, "c_per_feature")


def test_large_samples_are_subsampled(rng):
    X = rng.normal(size=(6000, 2))
    assert_allclose(squared_distance_percentile(X, 50), np.median(pdist(X, "sqeuclidean")), rtol=0.05)


@pytest.mark.parametrize("percentile", [0, 1, 33.3, 50, 99.9, 100])
@pytest.mark.parametrize("n", [2, 3, 200, 700])
def test_percentiles_in_pieces_are_those_of_all_pairs(rng, n, percentile):
    for X in (
        rng.normal(size=(n, 3)),
        np.repeat(rng.normal(size=(n, 2)), 2, axis=0),
        np.round(rng.normal(size=(n, 3))),
    ):
        pairs = pdist(X, "sqeuclidean")
        expected = max(np.percentile(pairs, percentile), pairs[pairs > 0].min(initial=np.inf))
        if np.isfinite(expected):
            assert_allclose(squared_distance_percentile(X, percentile), expected, rtol=1e-13)


@pytest.mark.parametrize("rule", ["scale", "median", "p5"])
def test_rows_with_missing_entries_have_no_width(rule, rng):
    X = rng.normal(size=(20, 3))
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="resolve_gamma"):
        resolve_gamma(rule, X)
