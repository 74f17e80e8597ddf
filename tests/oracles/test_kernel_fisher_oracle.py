"""Kernel Fisher discriminants and their leave-one-out values against sixty digits, at any conditioning.

Kernel values have relative errors of ε, and a ridge μ lets n max|k| / μ times as much of them into the solution: that
product is what the condition number allows. Twenty times as much, and no more, is what these tests allow on all
points. On landmarks, directions that rounding errors hide are left out, so as much as those of `PivotedCholesky` leave
of other rows is added; landmarks chosen badly would hide more.
"""

import numpy as np
import precise_fisher as precise
import pytest
from for_each import for_each

from preimage import KernelFisherDiscriminant, KernelFisherDiscriminantCV
from preimage._models.discriminants import GramFisher
from preimage.kernels import Gaussian, Linear, Polynomial
from preimage.landmarks import PivotedCholesky

N = 14
ALPHAS = (1e-7, 1e-4, 10.0)
FACTOR, FACTOR_ON_LANDMARKS = 20, 200
# Arguments of exponential functions have errors of ε times themselves, whatever the ridge.
AT_LEAST = 1e-11

KERNELS = {f"gaussian {gamma:g}": (Gaussian(gamma), precise.gaussian(gamma)) for gamma in 10.0 ** np.arange(-6, 3, 2)}
KERNELS["linear"] = (Linear(), precise.linear)
KERNELS["polynomial"] = (Polynomial(3, gamma=0.5, coef0=1.0), precise.polynomial(3, 0.5, 1.0))


def rows(kind, n_classes=2):
    """Data, classes and queries near them."""
    rng = np.random.default_rng(3)
    codes = np.arange(N) % n_classes
    X = rng.normal(size=(N, 2)) + 1.2 * np.array([[0.0, 0.0], [1.0, 1.0], [1.0, -2.0]])[codes]
    if kind == "repeated":
        X = X[np.where(np.arange(N) < N // 2, np.arange(N), np.arange(N) - N // 2 + n_classes - (N // 2) % n_classes)]
    if kind == "zero rows":
        X[::5] = 0.0
    if kind == "rank deficient":
        X[:, 1] = X[:, 0]
    if kind == "offset":
        X += 100.0
    return X, codes, X[:5] + 0.1 * rng.normal(size=(5, 1))


def allowed(K, ridge, *, on_landmarks=False, dtype=np.float64):
    condition = len(K) * float(np.max(np.abs(K))) / ridge
    factor = FACTOR_ON_LANDMARKS if on_landmarks else FACTOR
    return factor * np.finfo(float).eps * condition + AT_LEAST + (0.0 if dtype == np.float64 else 1e-6)


def relative_error(values, expected):
    expected = np.array(expected, dtype=float)
    return np.max(np.abs(np.asarray(values, float) - expected)) / np.max(np.abs(expected))


@for_each("kind", ["plain", "repeated", "zero rows", "rank deficient", "offset"])
@pytest.mark.parametrize("name", KERNELS)
@for_each("on_landmarks", [False, True])
def test_decisions(kind, name, on_landmarks):
    kernel, exact = KERNELS[name]
    X, codes, queries = rows(kind)
    landmarks = PivotedCholesky(7).select(kernel, X).points if on_landmarks else None
    K = kernel(X)
    for alpha in ALPHAS:
        ridge = GramFisher(K, codes, 2).ridge(alpha)
        model = KernelFisherDiscriminant(
            kernel=kernel, alpha=ridge, alpha_scale="absolute", threshold="midpoint", landmarks=landmarks
        ).fit(X, codes)
        expected = precise.Fisher(exact, X, codes, ridge, landmarks).decisions(queries)
        assert relative_error(model.decision_function(queries), expected) <= allowed(
            K, ridge, on_landmarks=on_landmarks
        ), alpha


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("on_landmarks", [False, True])
def test_directions_of_three_classes_with_weights(dtype, on_landmarks):
    X, codes, queries = (array.astype(dtype) if array.dtype == float else array for array in rows("plain", 3))
    weights = np.random.default_rng(0).integers(1, 5, size=N).astype(float)
    for gamma in (1e-4, 1e-2, 1.0):
        landmarks = PivotedCholesky(7).select(Gaussian(gamma), X).points if on_landmarks else None
        K = Gaussian(gamma)(X.astype(float))
        for alpha in ALPHAS:
            ridge = GramFisher(K, codes, 3, weights).ridge(alpha)
            model = KernelFisherDiscriminant(gamma=gamma, alpha=ridge, alpha_scale="absolute", landmarks=landmarks).fit(
                X, codes, weights
            )
            oracle = precise.Fisher(precise.gaussian(gamma), X, codes, ridge, landmarks, weights)
            limit = allowed(weights.max() * K, ridge, on_landmarks=on_landmarks, dtype=dtype)
            assert relative_error(model.ratios_, oracle.ratios) <= limit
            values, expected = model.transform(queries), np.array(oracle(queries), dtype=float)
            signs = np.sign(np.sum(values * expected, axis=0))
            assert relative_error(values * signs, expected) <= limit, (gamma, alpha)


@pytest.mark.parametrize(
    ("name", "scale"),
    [("linear", scale) for scale in (1e-50, 1e-8, 1e8, 1e50)]
    + [("gaussian", scale) for scale in (1e-100, 1e-8, 1e8, 1e100)],
)
def test_tiny_and_huge_inputs(scale, name):
    X, codes, queries = rows("plain")
    kernel = Linear() if name == "linear" else Gaussian(scale**-2.0)
    for landmarks in (None, X[::2]):
        options = {"alpha": 1e-3, "threshold": "midpoint"}
        one = KernelFisherDiscriminant(kernel=Linear() if name == "linear" else Gaussian(1.0), **options)
        expected = one.set_params(landmarks=landmarks).fit(X, codes).decision_function(queries)
        other = KernelFisherDiscriminant(kernel=kernel, **options)
        other.set_params(landmarks=None if landmarks is None else scale * landmarks).fit(scale * X, codes)
        assert relative_error(other.decision_function(scale * queries), expected) <= 1e-9


@for_each("kind", ["plain", "repeated", "zero rows", "rank deficient"])
@pytest.mark.parametrize("name", ["gaussian 0.0001", "gaussian 0.01", "gaussian 1", "linear"])
@for_each("weighted", [False, True])
def test_leave_one_out_values(kind, name, weighted):
    kernel, exact = KERNELS[name]
    X, codes, _ = rows(kind)
    weights = np.random.default_rng(0).integers(1, 5, size=N).astype(float) if weighted else None
    K, targets = kernel(X), 2.0 * codes - 1
    for alpha in (1e-6, 1e-2):
        problem = GramFisher(K, codes, 2, weights)
        ridge, values = problem.ridge(alpha), problem.leave_one_out(alpha, targets[:, None])[:, 0]
        expected = precise.least_squares_left_out(exact, X, targets, ridge, weights)
        limit = allowed(K if weights is None else weights.max() * K, ridge)
        assert relative_error(values, expected) <= limit, alpha


def test_searches_score_what_sixty_digits_would():
    X, codes, _ = rows("plain")
    search = KernelFisherDiscriminantCV(gammas=[0.01, 1.0], alphas=[1e-5, 0.1], cv="loo").fit(X, codes)
    for params, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        ridge = GramFisher(Gaussian(params["gamma"])(X), codes, 2).ridge(params["alpha"])
        exact = precise.gaussian(params["gamma"])
        values = precise.least_squares_left_out(exact, X, 2.0 * codes - 1, ridge)
        assert score == np.mean((np.array(values, dtype=float) > 0) == codes)
