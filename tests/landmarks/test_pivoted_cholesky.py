"""Greedy pivots against the plain sequential algorithm."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from preimage.kernels import Gaussian, Linear, Precomputed
from preimage.landmarks import PivotedCholesky


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
