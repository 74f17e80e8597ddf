"""Inner products of class means: those of the whole kernel matrix, for every width, block and library."""

import tracemalloc

import numpy as np
import pytest
from for_each import for_each
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from preimage import report_progress
from preimage._engine.arrays import to_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import (
    Constant,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Multiquadric,
    RationalQuadratic,
)
from preimage.widths import class_gram
from preimage.widths._class_gram import ClassPairs, stratified_rows
from preimage.widths._class_width import alignment, class_balls, find_peak, squared_class_distances

rng = np.random.default_rng(0)
X = rng.normal(size=(61, 4))
y = np.array(["a", "b", "c", "d"])[rng.choice(4, size=61, p=[0.5, 0.3, 0.15, 0.05])]
DOUBLING = 0.02 * 2.0 ** np.arange(8)
UNEVEN = np.array([0.01, 0.1, 0.15, 3.0])
KERNELS = [Gaussian(), Laplacian(), Matern(nu=2.5), RationalQuadratic(), InverseMultiquadric()]


def indicator(labels):
    return (labels[:, None] == np.unique(labels)).astype(float)


def naive(kernel, gamma, points, labels, without_self=False):
    """Means of the blocks of the kernel matrix."""
    K = clone(kernel).set_params(gamma=gamma)(points)
    Z = indicator(labels)
    size = Z.sum(axis=0)
    pairs = np.outer(size, size)
    if without_self:
        K = K - np.diag(np.diag(K))
        pairs = pairs - np.diag(size)
    return Z.T @ K @ Z / pairs


@for_each("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@for_each("gammas", [DOUBLING, UNEVEN, DOUBLING[:1]], ids=["doubling", "uneven", "single"])
def test_class_gram_is_that_of_the_kernel_matrix(kernel, gammas, block_shape):
    gram = class_gram(X, y, gammas, kernel)
    assert_array_equal(gram.classes, ["a", "b", "c", "d"])
    assert_array_equal(gram.counts, indicator(y).sum(axis=0))
    for level, gamma in enumerate(gammas):
        assert_allclose(gram.values[level], naive(kernel, gamma, X, y), rtol=1e-11, atol=1e-15)
        assert_allclose(gram.unbiased[level], naive(kernel, gamma, X, y, True), rtol=1e-9, atol=1e-15)
        K = clone(kernel).set_params(gamma=gamma)(X)
        assert_allclose(gram.squared_norms[level], (K * K).sum(), rtol=1e-12)
        assert_allclose(gram.squared_row_sums[level], (K.sum(axis=1) ** 2).sum(), rtol=1e-12)


def test_squaring_loses_no_more_than_a_few_digits():
    gammas = 1e-3 * 2.0 ** np.arange(12)
    squared = class_gram(X, y, gammas).values
    for level, gamma in enumerate(gammas):
        exact = class_gram(X, y, [gamma]).values[0]
        assert_allclose(squared[level], exact, rtol=1e-11)
        assert np.abs(squared[level] - exact).max() < 1e-14 * exact.max()


def test_limits_of_narrow_and_wide_kernels():
    """d² → 1/N_m + 1/N_n as γ → ∞ and → 2γ‖x̄_m − x̄_n‖² as γ → 0; without self-pairs → 0 at both ends."""
    gram = class_gram(X, y, [1e-7, 1e7])
    left, right = np.triu_indices(4, 1)
    means = indicator(y).T @ X / gram.counts[:, None]
    wide, narrow = squared_class_distances(gram.values)
    assert_allclose(wide, 2e-7 * ((means[left] - means[right]) ** 2).sum(axis=1), rtol=1e-4)
    assert_allclose(narrow, 1 / gram.counts[left] + 1 / gram.counts[right], rtol=1e-12)
    assert_allclose(squared_class_distances(gram.unbiased)[1], 0, atol=1e-15)


def test_thirty_members_a_class_are_a_fifteenth_apart_in_narrow_kernels():
    points, labels = rng.normal(size=(90, 3)), np.repeat(np.arange(3), 30)
    assert_allclose(squared_class_distances(class_gram(points, labels, [1e8]).values), 1 / 15)


def test_every_array_library_gives_the_same(xp):
    points = xp.asarray(X)
    assert_allclose(class_gram(points, y, DOUBLING).values, class_gram(X, y, DOUBLING).values, rtol=1e-12)
    assert_allclose(to_numpy(points), X)  # nothing was written into them


def test_single_precision_and_sparse_points():
    exact = class_gram(X, y, DOUBLING).values
    assert_allclose(class_gram(X.astype(np.float32), y, DOUBLING).values, exact, rtol=2e-4, atol=1e-6)
    few = np.where(np.abs(X) > 1, X, 0)
    assert_allclose(class_gram(sparse.csr_matrix(few), y, DOUBLING).values, class_gram(few, y, DOUBLING).values)


def test_duplicates_constant_columns_and_single_members():
    twice = np.concatenate([X, X])
    assert_allclose(class_gram(twice, np.concatenate([y, y]), DOUBLING).values, class_gram(X, y, DOUBLING).values)
    wider = np.column_stack([X, np.full(61, 1e6)])
    assert_allclose(class_gram(wider, y, DOUBLING).values, class_gram(X, y, DOUBLING).values, rtol=1e-9)
    alone = class_gram(X, np.arange(61), DOUBLING)
    assert_allclose(alone.values[0], Gaussian(DOUBLING[0])(X), rtol=1e-12)
    with pytest.raises(ValueError, match="class 0 has one member"):
        alone.unbiased  # noqa: B018


@given(st.integers(0, 1000), st.integers(2, 6))
def test_labels_and_order_are_only_names(seed, n_classes):
    local = np.random.default_rng(seed)
    points, codes = (
        local.normal(size=(30, 2)),
        np.append(np.arange(n_classes), local.integers(n_classes, size=30 - n_classes)),
    )
    order, names = local.permutation(30), local.permutation(n_classes)
    first = class_gram(points, codes, [0.3, 0.6]).values
    second = class_gram(points[order], names[codes][order], [0.3, 0.6]).values
    assert_allclose(second[:, names[:, None], names[None, :]], first, rtol=1e-11)


def test_wrong_input_says_what_is_wrong():
    for kernel in (Linear(), Multiquadric(), Constant(), Gaussian() + Gaussian()):
        with pytest.raises(UnsupportedKernelError, match="kernel of a distance"):
            class_gram(X, y, DOUBLING, kernel)
    for gammas in ([], [0.0, 1.0], [-1.0], [np.nan], [[1.0]]):
        with pytest.raises(ValueError, match="positive finite numbers"):
            class_gram(X, y, gammas)
    with pytest.raises(ValueError, match="61 points but 60 labels"):
        class_gram(X, y[:60], DOUBLING)


def test_progress_counts_pairs_of_points(block_shape):
    calls = []
    with report_progress(lambda done, total, message: calls.append((done, total))):
        class_gram(X, y, DOUBLING)
    done = [call[0] for call in calls]
    assert done == sorted(done) and calls[0][0] == 0 and calls[-1] == (len(X) * (len(X) + 1) // 2,) * 2


def test_threads_change_no_bit(block_shape):
    with threadpool_limits(1, user_api="blas"):
        alone = class_gram(X, y, DOUBLING)
    with threadpool_limits(3, user_api="blas"):
        together = class_gram(X, y, DOUBLING)
    for name in ("values", "squared_norms", "squared_row_sums"):
        assert_array_equal(getattr(together, name), getattr(alone, name))


def test_panels_of_large_data_are_few_and_long():
    many = np.zeros((40_000, 1))
    rows, columns = ClassPairs(many, np.arange(40_000) % 2, [1.0])._panel_shape()
    assert columns == 2**14 and 8 * rows * columns <= 2**22
    rows, columns = ClassPairs(many[:2000], np.arange(2000) % 2, [1.0])._panel_shape()
    assert 2000 // rows >= 32 and columns >= 2000


def test_memory_is_a_few_panels():
    X, y = np.random.default_rng(0).normal(size=(6000, 3)), np.arange(6000) % 5
    class_gram(X[:100], y[:100], DOUBLING)
    tracemalloc.start()
    class_gram(X, y, DOUBLING)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * 8 * 6000**2


def test_joined_widths_are_those_of_one_pass():
    whole = class_gram(X, y, DOUBLING)
    parts = class_gram(X, y, DOUBLING[3:]).joined(class_gram(X, y, DOUBLING[:3]))
    assert_allclose(parts.gammas, whole.gammas)
    assert_allclose(parts.values, whole.values, rtol=1e-11)
    assert_allclose(alignment(parts), alignment(whole), rtol=1e-11)


@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian()], ids=["Gaussian", "Laplacian"])
def test_alignment_is_the_cosine_of_centred_matrices(kernel):
    H = np.eye(61) - 1 / 61
    target = H @ indicator(y) @ indicator(y).T @ H
    for gamma, value in zip(DOUBLING, alignment(class_gram(X, y, DOUBLING, kernel)), strict=True):
        K = H @ clone(kernel).set_params(gamma=gamma)(X) @ H
        assert_allclose(value, (K * target).sum() / np.linalg.norm(K) / np.linalg.norm(target), rtol=1e-9)


def test_indefinite_estimates_still_have_a_ball():
    """Class means that are alike: without self-pairs, G has negative eigenvalues."""
    points, labels = rng.normal(size=(40, 2)), np.repeat(np.arange(8), 5)
    G = class_gram(points, labels, [5.0]).unbiased
    H = np.eye(8) - 1 / 8
    assert np.linalg.eigvalsh(H @ G[0] @ H)[0] < -1e-3
    (ball,) = class_balls(G)
    assert ball.converged and ball.radius >= 0


def test_a_parabola_in_log_gamma_has_its_top_found():
    gammas = 2.0 ** np.arange(-5, 6)
    for top in (-1.3, 0.0, 0.49, 2.2):
        peak = find_peak(gammas, 5 - (np.log2(gammas) - top) ** 2)
        assert_allclose(np.log2(peak.gamma), top, atol=1e-12)
        assert peak.at_edge == 0 and peak.index == round(top) + 5
    assert find_peak(gammas, 5 - np.log2(gammas) ** 2, interpolate=False).gamma == 1


def test_of_a_plateau_the_smallest_gamma_is_taken():
    gammas = 2.0 ** np.arange(6)
    values = np.array([0.1, 0.5, 1 - 5e-4, 1 - 2e-4, 1.0, 1 - 1e-4])
    assert find_peak(gammas, values).gamma == 4
    saturated = np.array([0.1, 0.5, 0.9995, 0.9999, 1.0, 1.0001])
    assert find_peak(gammas, saturated).gamma == 4 and find_peak(gammas, saturated).at_edge == 0


def test_ends_of_a_grid_are_noticed():
    gammas = 2.0 ** np.arange(4)
    assert find_peak(gammas, [1, 2, 3, 4]).at_edge == 1
    assert find_peak(gammas, [4, 3, 2, 1]).at_edge == -1
    assert find_peak(gammas, [0, 0, 0, 0]) is None
    assert find_peak([3.0], [1.0]).at_edge == 0


@given(st.integers(0, 1000), st.integers(4, 80))
def test_a_stratified_sample_has_all_classes_in_proportion(seed, n_samples):
    local = np.random.default_rng(seed)
    labels = np.concatenate([np.zeros(100), np.ones(30), np.full(10, 2), [3]])
    rows = stratified_rows(labels, n_samples, local)
    _, counts = np.unique(labels[rows], return_counts=True)
    share = n_samples / labels.size
    assert_array_equal(counts, [max(int(size * share), min(size, 2)) for size in (100, 30, 10, 1)])
    assert rows.size == np.unique(rows).size
    assert_array_equal(stratified_rows(labels, None, local), np.arange(labels.size))
