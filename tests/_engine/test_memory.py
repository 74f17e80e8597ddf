"""Memory budgets."""

import numpy as np
import pytest

from preimage import OrientedKernelPCA
from preimage._engine import memory as _memory
from preimage._engine.memory import (
    LEAST_WORK,
    WORK,
    free_memory,
    largest_square,
    limited_memory,
    memory_budget,
    require_square_matrices,
    work_memory,
)

X = np.ones((2, 2))


@pytest.mark.parametrize(
    ("text", "size"),
    [("1GB", 10**9), ("1.5 gb", 1.5 * 10**9), ("512MiB", 512 * 2**20), ("100", 100), ("2k", 2000), (12345, 12345)],
)
def test_sizes(text, size):
    assert memory_budget(text, X) == size


@pytest.mark.parametrize("text", ["", "GB", "1XB", "1..2GB", "one"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="512MiB"):
        memory_budget(text, X)


def test_default_is_half_of_what_is_free():
    assert 0 < memory_budget(None, X) <= free_memory(X)


def test_matrices_that_take_more_than_half_of_what_is_free_are_refused(monkeypatch):
    monkeypatch.setattr(_memory, "_free_host_memory", lambda: 2 * 3 * 8 * 100**2)
    require_square_matrices("A method", 100, 3, X, "Give landmarks.")
    with pytest.raises(MemoryError, match=r"A method on 101 points needs .* Give landmarks"):
        require_square_matrices("A method", 101, 3, X, "Give landmarks.")


def test_oriented_kernel_pca_of_too_many_points_is_refused(monkeypatch):
    monkeypatch.setattr(_memory, "_free_host_memory", lambda: 10**6)
    points = np.random.default_rng(0).normal(size=(200, 3))
    with pytest.raises(MemoryError, match="landmarks=1000"):
        OrientedKernelPCA(1).fit(points)
    assert OrientedKernelPCA(1, landmarks=20).fit(points).n_components_ == 1


def test_a_limit_holds_inside_and_no_longer():
    free = work_memory(X)
    with limited_memory("3MB", X):
        assert work_memory(X) == 3 * 10**6
        assert 8 * 2 * largest_square(2) ** 2 <= 3 * 10**6 < 8 * 2 * (largest_square(2) + 1) ** 2
        with limited_memory(None, X):  # nobody says otherwise
            assert work_memory(X) == 3 * 10**6
    assert 0 < free <= WORK and work_memory(X) <= WORK
    assert largest_square(2) > 10**6


def test_a_limit_below_one_tile_is_kept_for_matrices_but_does_not_cut_work_into_crumbs():
    with limited_memory(10, X):
        assert work_memory(X) == LEAST_WORK
        assert largest_square(1) == 1
