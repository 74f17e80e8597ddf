"""Functions as kernels: of rows or of matrices, and symmetric."""

import numpy as np
import pytest
from labels import label
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from preimage import EmpiricalKernelMap, KernelFisherDiscriminant, KernelKMeans, KernelPCA, SparseGreedyRegressor
from preimage.kernels import CallableKernel, Gaussian, Iterated, Linear, ScaledInputs, as_kernel


def gaussian_of_rows(x, y):
    return np.exp(-0.5 * np.sum((x - y) ** 2))


def gaussian_of_matrices(X, Y):
    return Gaussian(0.5)(X, Y)


def cosine_of_rows(x, y):
    """Of rows; on matrices it has the right shape and the wrong values."""
    return x @ y.T / np.linalg.norm(x) / np.linalg.norm(y)


@pytest.mark.parametrize("n_columns", range(1, 8))
@pytest.mark.parametrize("n_rows", [1, 2, 3, 4, 7])
def test_the_dot_product_is_that_of_rows_whatever_the_shape(n_rows, n_columns, rng):
    X, Y = rng.normal(size=(n_rows, n_columns)), rng.normal(size=(n_columns, n_columns))
    kernel = CallableKernel(np.dot)
    assert_allclose(kernel(X), X @ X.T, rtol=1e-13)
    assert_allclose(kernel(X, Y), X @ Y.T, rtol=1e-13)
    assert_allclose(kernel(Y, X), Y @ X.T, rtol=1e-13)
    assert_allclose(kernel.diagonal(Y), np.sum(Y * Y, axis=1), rtol=1e-13)


@pytest.mark.parametrize("n_columns", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    ("function", "takes"),
    [
        (np.dot, "rows"),
        (cosine_of_rows, "rows"),
        (gaussian_of_rows, "rows"),
        (lambda x, y: float(x @ y), "rows"),
        (lambda x, y: np.asarray([x @ y]), "rows"),
        (np.inner, "matrices"),
        (gaussian_of_matrices, "matrices"),
        (lambda X, Y: X @ Y.T, "matrices"),
        (lambda X, Y: pairwise_kernels(X, Y, metric="rbf", gamma=0.5), "matrices"),
        (lambda X, Y: sparse.csr_array(X @ Y.T), "matrices"),
    ],
)
def test_what_a_function_takes_is_found_and_kept(function, takes, n_columns, rng):
    X = rng.normal(size=(6, n_columns))
    kernel = CallableKernel(function)
    resolved = kernel.resolve(X)
    assert resolved.takes == takes and kernel.takes == "auto"
    assert_allclose(resolved(X[:2], X), kernel(X[:2], X))
    assert_allclose(CallableKernel(function, takes=takes)(X), kernel(X))


def test_rows_and_matrices_give_the_same_values(rng):
    X = rng.normal(size=(6, 4))
    for function in (gaussian_of_rows, gaussian_of_matrices):
        assert_allclose(as_kernel(function)(X), Gaussian(0.5)(X))
        assert_allclose(as_kernel(function).diagonal(X), np.ones(6))


def test_rows_of_zeros_do_not_hide_that_a_function_takes_rows(rng):
    X = np.zeros((5, 3))
    X[4] = 1.0
    with np.errstate(invalid="ignore"):
        assert CallableKernel(cosine_of_rows).resolve(X).takes == "rows"


def test_a_function_that_means_two_things_is_refused(rng):
    def ambiguous(x, y):
        return 2.0 * float(x @ y) if x.ndim == 1 else x @ y.T

    X = rng.normal(size=(6, 4))
    with pytest.raises(ValueError, match=r"one thing of two rows.*takes='rows'"):
        CallableKernel(ambiguous)(X)
    assert_allclose(CallableKernel(ambiguous, takes="rows")(X), 2 * X @ X.T)
    assert_allclose(CallableKernel(ambiguous, takes="matrices")(X), X @ X.T)


def test_a_function_that_fits_neither_says_what_it_answered(rng):
    X = rng.normal(size=(6, 4))
    with pytest.raises(ValueError, match=r"neither two rows .*shape \(4,\).* nor two matrices .*shape \(4,\)"):
        CallableKernel(lambda x, y: np.ones(4))(X)
    with pytest.raises(ValueError, match="nothing works") as raised:
        CallableKernel(_raising)(X)
    assert isinstance(raised.value.__cause__, KeyError)
    with pytest.raises(ValueError, match=r"kernel of rows.*takes='matrices'"):
        CallableKernel(lambda X, Y: np.ones((len(X), len(Y))), takes="rows")(X)
    with pytest.raises(ValueError, match=r"kernel of matrices.*takes='rows'"):
        CallableKernel(gaussian_of_rows, takes="matrices")(X)


def _raising(x, y):
    raise KeyError("nothing works")


def test_sparse_rows_reach_a_function_of_rows_dense(rng):
    X = np.where(rng.random((6, 4)) < 0.5, rng.normal(size=(6, 4)), 0)
    assert_allclose(CallableKernel(gaussian_of_rows)(sparse.csr_array(X)), Gaussian(0.5)(X), rtol=1e-12)
    assert_allclose(CallableKernel(np.dot).diagonal(sparse.csr_matrix(X)), np.sum(X * X, axis=1), rtol=1e-12)


def test_array_libraries_agree(xp, rng):
    X = rng.normal(size=(6, 3))
    for function in (lambda X, Y: X @ Y.T, lambda x, y: (x * y).sum() if hasattr(x, "sum") else _sum(x * y)):
        assert_allclose(np.asarray(CallableKernel(function)(xp.asarray(X))), X @ X.T, rtol=1e-12)


def _sum(values):
    import array_api_strict

    return array_api_strict.sum(values)


def directed(x, y):
    return float(x @ y + 0.3 * x[0])


ESTIMATORS = [
    KernelPCA(2, kernel=directed),
    KernelPCA(2, kernel=directed, landmarks=5),
    KernelPCA(2, kernel=CallableKernel(directed) + Gaussian(1.0)),
    KernelPCA(2, kernel=Iterated(ScaledInputs(CallableKernel(directed), np.ones(3)))),
    EmpiricalKernelMap(directed, whiten=True),
    KernelFisherDiscriminant(kernel=directed),
    KernelKMeans(2, kernel=directed),
    SparseGreedyRegressor(5, kernel=directed),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: label(estimator)[:70])
def test_functions_that_are_not_symmetric_are_refused(estimator, rng):
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 2
    with pytest.raises(ValueError, match=r"symmetric, but .*k\(x, y\) = .*\(k\(x, y\) \+ k\(y, x\)\) / 2"):
        estimator.fit(X, y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_does_not_make_a_function_asymmetric(dtype, rng):
    X = (1e4 + rng.normal(size=(40, 5))).astype(dtype)
    noisy = lambda X, Y: (X[:, None, :] * Y[None, :, :]).sum(axis=-1) + (X @ Y.T - Y.dot(X.T).T)
    CallableKernel(noisy).resolve(X)
    CallableKernel(lambda x, y: np.dot(x, y) / np.sqrt(np.dot(x, x)) / np.sqrt(np.dot(y, y))).resolve(X)


def test_kernel_pca_takes_the_dot_product_on_any_number_of_columns(rng):
    for d in (1, 2, 3, 4, 5):
        X = rng.normal(size=(20, d))
        ours = KernelPCA(1, kernel=np.dot).fit(X).transform(X)
        assert_allclose(ours, KernelPCA(1, kernel=Linear()).fit(X).transform(X), atol=1e-8)


def test_both_forms_of_a_gradient_give_the_same_pre_images(rng):
    of_rows = lambda z, x: -(z - x) * gaussian_of_rows(z, x)
    of_matrices = lambda Z, X, weights: Gaussian(0.5).gradient(Z, X, weights)
    X = rng.normal(size=(25, 3))
    answers = [
        KernelPCA(4, kernel=CallableKernel(gaussian_of_rows, gradient_function=each), preimage="gradient")
        .fit(X)
        .denoise(X[:4])
        for each in (of_rows, of_matrices)
    ]
    assert_allclose(*answers, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "gradient",
    [lambda z, x: gaussian_of_rows(z, x), lambda z, x: np.ones((2, 2)), lambda Z, X, weights: weights @ X[:, :1]],
)
def test_a_gradient_of_another_shape_is_refused(gradient, rng):
    kernel = CallableKernel(gaussian_of_rows, gradient_function=gradient)
    with pytest.raises(ValueError, match=r"must return the gradient by its first argument, of shape .*two rows"):
        kernel.gradient(rng.normal(size=(2, 3)), rng.normal(size=(4, 3)), np.ones((2, 4)))
