"""Names, functions and parameters of scikit-learn."""

import re
import warnings

import numpy as np
import pytest
from all_estimators import public_estimators
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels, rbf_kernel

from preimage import KernelImputer, KernelNoveltyDetector, KernelPCA, SparseGreedyRegressor
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import KERNELS, CallableKernel, Gaussian, Laplacian, Matern, Polynomial, as_kernel


@pytest.mark.parametrize("name", sorted(PAIRWISE_KERNEL_FUNCTIONS))
@pytest.mark.parametrize("gamma", [None, 0.3])
def test_named_kernels_are_scikit_learns(name, gamma, rng):
    X, Y = rng.normal(size=(6, 4)), rng.normal(size=(5, 4))
    if "chi2" in name:
        X, Y = np.abs(X), np.abs(Y)
    if name == "chi2" and gamma is None:
        gamma = 1 / X.shape[1]  # which scikit-learn's KernelPCA passes; the function itself fails on None
    kernel = as_kernel(name, gamma=gamma, degree=2, coef0=0.5).resolve(X)
    expected = pairwise_kernels(X, Y, metric=name, filter_params=True, gamma=gamma, degree=2, coef0=0.5)
    assert_allclose(kernel(X, Y), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in KERNELS.names if name != "precomputed"])
def test_every_name_gives_a_kernel(name, rng):
    X = rng.random(size=(6, 4))
    assert np.isfinite(as_kernel(name).resolve(X)(X)).all()


def test_unknown_names_are_answered_with_the_known_ones():
    with pytest.raises(ValueError, match=r"Unknown kernel 'rfb'.*rbf"):
        as_kernel("rfb")


def test_named_kernels_take_their_own_parameters():
    assert as_kernel("matern", kernel_params={"nu": 0.5}).is_same(Matern(None, nu=0.5))
    assert as_kernel("poly", degree=5, kernel_params={"degree": 2, "gamma": 0.1}).is_same(Polynomial(2, 0.1))
    assert as_kernel("laplacian", degree=5, kernel_params={}).is_same(Laplacian(None))  # lenient as scikit-learn is
    with pytest.raises(ValueError, match="'matern' has no parameter 'mu'; its parameters are gamma, nu"):
        KernelPCA(kernel="matern", kernel_params={"mu": 0.5}).fit(np.eye(5))
    with pytest.raises(ValueError, match="'linear' has no parameter 'gamma'; it has none"):
        as_kernel("linear", kernel_params={"gamma": 0.5})


def test_parameters_are_set_on_a_kernel_that_is_one():
    for parameters in ({"gamma": 0.5}, {"kernel_params": {"gamma": 0.5}}):
        with pytest.raises(ValueError, match=r"gamma=0.5 has no effect.*kernel__gamma"):
            as_kernel(Gaussian(0.3), **parameters)
    assert as_kernel(Gaussian(0.3), kernel_params={}).is_same(Gaussian(0.3))


def test_docstrings_name_kernels_that_exist():
    named = []
    for each in (as_kernel, *public_estimators()):
        text = each.__doc__ or ""
        lists = re.findall(r"A name (?:of scikit-learn )?\(([^)]*)\)", text)
        named += re.findall(r'"(\w+)"', " ".join(lists)) + re.findall(r'\bkernel="(\w+)"', text)
    assert set(named) <= set(KERNELS.names)
    assert {"rbf", "laplacian", "precomputed", "chi2"} <= set(named), "the lists were found"


def test_other_things_are_no_kernels():
    with pytest.raises(TypeError, match="a name, a function or a Kernel"):
        as_kernel(3)


def test_functions_of_rows_and_of_matrices_agree(rng):
    X, Y = rng.normal(size=(6, 4)), rng.normal(size=(5, 4))
    by_rows = as_kernel(lambda x, y: np.exp(-0.3 * np.sum((x - y) ** 2)))
    by_matrices = as_kernel(lambda X, Y: Gaussian(0.3)(X, Y))
    assert_allclose(by_rows(X, Y), Gaussian(0.3)(X, Y))
    assert_allclose(by_matrices(X, Y), Gaussian(0.3)(X, Y))
    for kernel in (by_rows, by_matrices):
        assert_allclose(kernel.diagonal(X), np.ones(6))
    assert_allclose(by_rows(X[:1], Y[:1]), Gaussian(0.3)(X[:1], Y[:1]))


def test_functions_take_parameters(rng):
    X = rng.normal(size=(6, 4))
    kernel = as_kernel(lambda x, y, power: np.dot(x, y) ** power, kernel_params={"power": 3})
    assert_allclose(kernel(X), (X @ X.T) ** 3)


def exponential(x, y, gamma=1.0):
    return np.exp(gamma * np.dot(x, y))


@pytest.mark.parametrize("gamma", ["relevance", "median", "p5", "scale", "auto", "reconstruction", "nonsense"])
@pytest.mark.parametrize("kernel", [np.dot, exponential, rbf_kernel])
def test_a_rule_for_the_width_of_a_function_is_refused(kernel, gamma):
    with pytest.raises(ValueError, match=rf"gamma='{gamma}' has no effect.*is the function.*kernel_params"):
        as_kernel(kernel, gamma=gamma)


@pytest.mark.parametrize("model", [KernelPCA(2), SparseGreedyRegressor(5), KernelImputer(), KernelNoveltyDetector()])
def test_estimators_refuse_widths_of_columns_of_a_function(model, rng):
    X = rng.normal(size=(20, 3))
    with pytest.raises(ValueError, match=r"gamma='relevance' has no effect.*is the function"):
        model.set_params(kernel=exponential, gamma="relevance").fit(X, X[:, 0])


def test_a_number_that_a_function_does_not_get_is_ignored_as_in_scikit_learn(rng):
    X = rng.normal(size=(8, 3))
    with pytest.warns(UserWarning, match=r"gamma=0.3 is ignored.*kernel_params=\{'gamma': 0.3\}"):
        kernel = as_kernel(exponential, gamma=0.3)
    assert_allclose(kernel(X), np.exp(X @ X.T))
    # Nobody expects it of a function without such a parameter, and of one that has it already.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_allclose(as_kernel(np.dot, gamma=0.3)(X), X @ X.T)
        given = as_kernel(exponential, gamma=0.3, kernel_params={"gamma": 0.5})
        assert_allclose(given(X), np.exp(0.5 * X @ X.T))


@pytest.mark.parametrize("name", ["linear", "cosine", "additive_chi2", "precomputed"])
def test_kernels_without_a_width_ignore_rules_that_exist(name):
    for gamma in ("median", "p5", "scale", "reconstruction", 0.3, None):  # of a grid over kernels and widths
        as_kernel(name, gamma=gamma)
    with pytest.raises(ValueError, match=r"gamma must be.*'medain' \(did you mean 'median'"):
        as_kernel(name, gamma="medain")
    with pytest.raises(ValueError, match=rf"gamma='relevance'.*kernel='{name}' has no width.*'rbf'"):
        as_kernel(name, gamma="relevance")


def test_functions_without_gradient_say_so(rng):
    with pytest.raises(UnsupportedKernelError, match="gradient"):
        CallableKernel(np.dot).gradient(np.ones((1, 2)), np.ones((1, 2)), np.ones((1, 1)))


def test_values_need_rows_of_equal_length_and_a_number_for_gamma():
    with pytest.raises(ValueError, match=r"shapes \(3, 2\) and \(3, 1\)"):
        Gaussian()(np.ones((3, 2)), np.ones((3, 1)))
    with pytest.raises(ValueError, match="2D"):
        Gaussian()([1.0, 2.0])
    with pytest.raises(ValueError, match=r"call `resolve\(X\)` first"):
        Gaussian("median")(np.ones((3, 2)))
