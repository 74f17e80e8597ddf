"""Sparse kernel feature analysis as a choice of points: vertices, the naive algorithm, relatives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from preimage.kernels import Gaussian, Polynomial
from preimage.landmarks import FeatureAnalysis, SparseGreedy


def naive_choice(K, count, norm="l1", center=True, criterion="variance"):
    """Orthogonalise coefficient vectors of all residual functions, normalise them, take the best; again."""
    n = len(K)
    A = np.eye(n)  # column i: coefficients of what is left of φ(x_i)
    chosen = []
    for _ in range(count):
        lengths = np.einsum("ij,ij->j", A, K @ A)
        units = np.abs(A).sum(axis=0) if norm == "l1" else np.sqrt(np.abs(lengths))
        units[chosen] = 1.0  # of which nothing is left
        values = K @ A / units
        if center:
            values = values - values.mean(axis=0)
        scores = (values**2).mean(axis=0)
        if criterion == "kurtosis":
            scores = np.abs((values**4).mean(axis=0) / np.where(scores > 0, scores, 1) ** 2 - 3)
        scores[chosen] = -np.inf
        best = int(np.argmax(scores))
        chosen.append(best)
        v = A[:, best]
        A = A - np.outer(v, v @ K @ A) / (v @ K @ v)
    return chosen


@pytest.mark.parametrize("criterion", ["variance", "kurtosis"])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("kernel", [Gaussian(0.4), Polynomial(3)], ids=repr)
def test_with_all_candidates_it_is_the_naive_algorithm(kernel, norm, center, criterion, rng):
    X = rng.normal(size=(40, 3))
    selector = FeatureAnalysis(8, n_candidates=None, norm=norm, center=center, criterion=criterion)
    assert_array_equal(selector.select(kernel, X).indices, naive_choice(kernel(X), 8, norm, center, criterion))


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 25), gamma=st.floats(1e-3, 1e2))
def test_no_combination_of_coefficients_of_norm_one_varies_more_than_the_first_function(seed, n, gamma):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    K = Gaussian(gamma)(X)
    first = FeatureAnalysis(1, n_candidates=None).select(Gaussian(gamma), X).indices[0]
    coefficients = rng.laplace(size=(n, 50))
    coefficients /= np.abs(coefficients).sum(axis=0)
    assert np.var(K @ coefficients, axis=0).max() <= np.var(K[:, first]) * (1 + 1e-5) + 1e-30


def test_unit_lengths_without_centring_are_sparse_greedy_approximation(rng):
    X = rng.normal(size=(80, 3))
    greedy = SparseGreedy(12, n_candidates=80, block_size=1).select(Gaussian(0.3), X)
    ours = FeatureAnalysis(12, n_candidates=None, norm="l2", center=False).select(Gaussian(0.3), X)
    assert_array_equal(ours.indices, greedy.indices)


def test_candidates_are_compared_with_all_rows_of_a_sample_and_its_judges(rng):
    X = np.concatenate([rng.normal(size=(400, 2)), 10 + rng.normal(size=(2600, 2))])
    chosen = FeatureAnalysis(2, sample_size=500).select(Gaussian(0.05), X)
    assert not chosen.is_exact
    assert set(chosen.indices >= 400) == {True, False}  # one function for each group


def test_more_candidates_find_functions_of_more_variance(rng):
    X = rng.normal(size=(500, 3))
    K = Gaussian(0.3)(X)
    variances = lambda count: [
        np.var(K[:, FeatureAnalysis(1, n_candidates=count, random_state=seed).select(Gaussian(0.3), X).indices[0]])
        for seed in range(20)
    ]
    few, many, every = np.mean(variances(1)), np.mean(variances(59)), np.var(K, axis=0).max()
    assert few < many <= every
    assert np.mean(np.array(variances(59)) >= np.quantile(np.var(K, axis=0), 0.95)) >= 0.8  # 0.95 expected


@pytest.mark.parametrize("criterion", ["variance", "kurtosis"])
def test_huge_and_tiny_kernel_values_choose_the_same_points(criterion, rng):
    X = rng.normal(size=(50, 3))
    chosen = [
        FeatureAnalysis(6, criterion=criterion).select(factor * Gaussian(0.4), X).indices
        for factor in (1.0, 1e300, 1e-290)
    ]
    assert_array_equal(chosen[0], chosen[1])
    assert_array_equal(chosen[0], chosen[2])
