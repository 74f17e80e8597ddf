"""The width with which left-out rows are reconstructed best."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.decomposition import PCA

from preimage import KernelPCA
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import Gaussian, Laplacian, Linear, Polynomial, Sigmoid, resolve_gamma
from preimage.solvers._reconstruction_width import with_reconstruction_width


def sheet(rng, n):
    """A curved sheet in five columns."""
    u, v = rng.uniform(-2, 2, size=(2, n))
    return np.column_stack([2 * u, 2 * v, u**2, u * v, np.sin(2 * v)]) + 0.05 * rng.normal(size=(n, 5))


def width(X, count, kernel=None, **options):
    return with_reconstruction_width(kernel or Gaussian("reconstruction"), X, count, **options).gamma


def test_linear_data_get_the_linear_limit(rng):
    X = rng.normal(size=(120, 6)) * [3, 2, 1, 0.5, 0.5, 0.5]
    gamma = width(X, 3)
    assert gamma * np.max(np.sum((X[:, None] - X) ** 2, axis=2)) <= 1.01e-2
    T, linear = rng.normal(size=(100, 6)) * [3, 2, 1, 0.5, 0.5, 0.5], PCA(3).fit(X)
    error = np.mean((linear.inverse_transform(linear.transform(T)) - T) ** 2)
    assert_allclose(-KernelPCA(3, gamma=gamma).fit(X).score(T), error, rtol=1e-4)


def test_the_width_follows_the_scale_of_the_data_and_not_their_place(rng):
    X = sheet(rng, 100)
    gamma = width(X, 2)
    assert_allclose(width(10 * X, 2), gamma / 100, rtol=1e-9)
    assert_allclose(width(X + 5, 2), gamma, rtol=1e-6)


def test_the_choice_is_no_worse_than_candidates_on_new_rows(rng):
    X, T = sheet(rng, 150), sheet(rng, 200)
    chosen = KernelPCA(3, gamma=width(X, 3)).fit(X).score(T)
    others = [KernelPCA(3, gamma=factor * resolve_gamma("median", X)).fit(X).score(T) for factor in (0.1, 1.0)]
    assert -chosen < 1.1 * min(-score for score in others)


def test_all_components_are_determined(rng):
    X = rng.normal(size=(80, 6)) * 10.0 ** -np.arange(6)
    for count in (2, 4, 6, 12):
        model = KernelPCA(count, gamma=width(X, min(count, 6))).fit(X)
        assert model.n_components_ >= min(count, 5)


@pytest.mark.filterwarnings("ignore:.*components were asked for")
def test_more_components_than_columns_give_inputs_back(rng):
    X, T = rng.normal(size=(80, 4)), rng.normal(size=(50, 4))
    model = KernelPCA(30, gamma=width(X, 30)).fit(X)
    assert model.n_components_ >= 4
    assert -model.score(T) < 1e-6


def test_a_number_of_components_may_depend_on_the_eigenvalues(rng):
    X = sheet(rng, 60)
    half = lambda values: int(np.sum(np.cumsum(values) < 0.5 * np.sum(values))) + 1
    assert width(X, half) > 0


@pytest.mark.parametrize("kernel", [Polynomial(2, "reconstruction"), Laplacian("reconstruction")], ids=str)
def test_other_kernels_with_a_width(kernel, rng):
    found = with_reconstruction_width(kernel, sheet(rng, 60), 2)
    assert type(found) is type(kernel) and found.gamma > 0


def test_sparse_rows_single_precision_and_other_libraries(xp, rng):
    X = sheet(rng, 60)
    X[rng.random(X.shape) < 0.3] = 0
    expected = width(X, 2)
    assert_allclose(width(sparse.csr_array(X), 2), expected)
    assert_allclose(width(xp.asarray(X), 2), expected, rtol=1e-6)
    model = KernelPCA(2, gamma=width(X.astype(np.float32), 2)).fit(X.astype(np.float32))
    assert model.n_components_ == 2


def test_only_some_rows_are_looked_at(rng):
    X = sheet(rng, 2000)
    assert width(X, 2) > 0


@pytest.mark.parametrize("kernel", [Gaussian("reconstruction") + Linear(), 2 * Gaussian("reconstruction")], ids=str)
def test_a_part_of_a_kernel_is_refused(kernel, rng):
    with pytest.raises(UnsupportedKernelError, match="whole kernel"):
        with_reconstruction_width(kernel, sheet(rng, 30), 2)


def test_indefinite_kernels_are_refused(rng):
    with pytest.raises(UnsupportedKernelError, match="semidefinite"):
        with_reconstruction_width(Sigmoid("reconstruction"), sheet(rng, 30), 2)


def test_too_few_different_rows_are_refused(rng):
    with pytest.raises(ValueError, match="10 different ones at least; got 4"):
        width(np.repeat(sheet(rng, 4), 5, axis=0), 1)
