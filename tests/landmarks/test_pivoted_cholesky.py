"""Greedy pivots against the plain sequential algorithm, random pivots against its law."""

import numpy as np
import pytest
from data import data_directory, load_abalone
from numpy.testing import assert_allclose, assert_array_equal

from preimage.feature_space import GrowingSpan
from preimage.kernels import Gaussian, Linear, Precomputed
from preimage.landmarks import PivotedCholesky, RandomlyPivotedCholesky, Uniform


def plain(K, m, pivot):
    R, chosen = K.copy(), []
    for _ in range(m):
        chosen.append(pivot(np.diagonal(R)))
        column = R[:, chosen[-1]] / np.sqrt(R[chosen[-1], chosen[-1]])
        R = R - np.outer(column, column)
    return chosen


@pytest.mark.parametrize("block_size", [1, 5, 64, 1000])
def test_blocks_do_not_change_greedy_pivots(block_size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    for K in (Gaussian(0.5)(X), Gaussian(0.5)(X) * np.outer(*2 * [rng.uniform(0.5, 2, 150)])):
        landmarks = PivotedCholesky(40, block_size=block_size).select(Precomputed(K), K)
        assert_array_equal(landmarks.indices, plain(K, 40, np.argmax))


def test_the_first_of_equal_rows_is_chosen():
    assert_array_equal(PivotedCholesky(4, block_size=2).select(Linear(), np.eye(6)).indices, [0, 1, 2, 3])


KERNEL_MATRIX = Gaussian(1.0)(np.array([[0.0], [0.3], [0.5], [2.0], [2.2]])) * np.outer(
    *2 * [[1.0, 1.2, 0.8, 1.0, 0.6]]
)


def law_of_two_pivots(K):
    """Probability of each ordered pair of first pivots  (G9)."""
    first = np.diagonal(K) / np.trace(K)
    law = np.zeros(K.shape)
    for i in range(len(K)):
        residual = np.clip(np.diagonal(K) - K[:, i] ** 2 / K[i, i], 0, None)
        law[i] = first[i] * residual / residual.sum()
    return law


@pytest.mark.parametrize(
    "block_size", [pytest.param(1, marks=pytest.mark.net), 2, pytest.param(6, marks=pytest.mark.net)]
)
def test_pivots_have_the_law_of_the_sequential_algorithm(block_size):
    runs, counts, rng = 3000, np.zeros((5, 5)), np.random.default_rng(1)
    selector = RandomlyPivotedCholesky(2, block_size=block_size)
    kernel = Precomputed(KERNEL_MATRIX)
    for _ in range(runs):
        counts[tuple(selector.select(kernel, KERNEL_MATRIX, rng=rng).indices)] += 1
    law = law_of_two_pivots(KERNEL_MATRIX)
    assert (np.abs(counts / runs - law) < 4.5 * np.sqrt(law * (1 - law) / runs) + 1e-9).all()


def test_one_step_leaves_the_expected_matrix():
    """E[R] = K − K²/tr K  (G10)."""
    K, total, rng = KERNEL_MATRIX, np.zeros((5, 5)), np.random.default_rng(2)
    for _ in range(2000):
        G = RandomlyPivotedCholesky(1).select(Precomputed(K), K, with_factor=True, rng=rng).factor
        total += K - G @ G.T
    assert_allclose(total / 2000, K - K @ K / np.trace(K), atol=0.05)


def test_accelerated_form_never_looks_at_all_pairs():
    seen = []

    class Counting(Precomputed):
        def _values(self, X, Y):
            seen.append(X.shape[0] * Y.shape[0])
            return super()._values(X, Y)

    K = Gaussian(1.0)(np.random.default_rng(0).normal(size=(500, 3)))
    RandomlyPivotedCholesky(40, block_size=20).select(Counting(K), K)
    assert sum(seen) < 40 * 500 + 10 * 20 * 20


def test_random_pivots_find_small_clusters():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(2000, 2)), rng.uniform(-20, 20, size=(30, 2))])
    share = lambda selector: selector.select(Gaussian(1.0), X).residual_fraction
    assert share(RandomlyPivotedCholesky(100)) < 0.3 * share(Uniform(100))


def test_abalone():
    """Relative trace left by 100 and 200 columns, 2σ² = d/2: random pivots 0.0341 and 0.0102, greedy 0.0731, 0.0165."""
    directory = data_directory()
    if directory is None or not (directory / "abalone.npz").exists():
        pytest.skip("Abalone is absent; PREIMAGE_DATA names the folder that has abalone.npz")
    X = load_abalone().X.astype(float)[np.random.default_rng(0).permutation(4177)[:3000]]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel = Gaussian(2 / X.shape[1])
    paths = np.mean(
        [RandomlyPivotedCholesky(200, random_state=seed).select(kernel, X).residuals_path for seed in range(3)], axis=0
    )
    assert_allclose(paths[[99, 199]] / 3000, [0.0341, 0.0102], rtol=0.1)
    greedy = PivotedCholesky(200).select(kernel, X)
    assert_allclose(greedy.residuals_path[[99, 199]] / 3000, [0.0731, 0.0165], rtol=0.25)
    uniform = Uniform(200).select(kernel, X)
    assert paths[199] < 0.6 * uniform.residual_trace


@pytest.mark.parametrize("block_size", [1, 128])
def test_nothing_is_proposed_where_every_row_lies_in_the_span(block_size, rng):
    span = GrowingSpan(Gaussian(0.5), np.ones((4, 2)))
    span.add_row(0)
    assert RandomlyPivotedCholesky(2, block_size=block_size).propose(span, 2, rng).numbers.size == 0
