"""Selections of landmarks against elimination with sixty digits.

The error of a squared residual that rounding permits is ε Σᵢ vᵢ² Kᵢᵢ with v = (1, −W⁻¹k_P(x))  (G18), which the oracle
computes as well: every assertion is relative to that.
"""

from itertools import product

import mpmath
import numpy as np
import pytest
from for_each import for_each
from sklearn.base import clone

from preimage.kernels import Gaussian, Linear, Polynomial
from preimage.landmarks import KMeans, PivotedCholesky, RandomlyPivotedCholesky, SparseGreedy, Uniform

mpmath.mp.dps = 60
EPS = float(np.finfo(np.float64).eps)
# Units of rounding that computed residuals may be off by; selectors take a residual below eight for dependence.
UNITS = 8

SELECTORS = [
    PivotedCholesky(),
    PivotedCholesky(block_size=3),
    RandomlyPivotedCholesky(),
    RandomlyPivotedCholesky(method="plain"),
    SparseGreedy(),
    SparseGreedy(n_candidates=5, block_size=2),
    SparseGreedy(block_size=1),
    SparseGreedy(space="column", block_size=3),
    Uniform(),
]
every_selector = pytest.mark.parametrize("selector", SELECTORS, ids=repr)


class Oracle:
    """Residuals of all rows, pivot by pivot, with sixty digits."""

    def __init__(self, K):
        self.R = K.copy()
        self.diagonal = np.diagonal(K).copy()
        self.T = np.zeros((0, len(K)), dtype=object)  # coefficients of the projections of all rows
        self.pivots = []

    def add(self, p):
        coefficients = self.R[p] / self.R[p, p]  # of all rows on what is left of the pivot
        self.T = np.vstack([self.T - np.outer(self.T[:, p], coefficients), coefficients])
        self.R = self.R - np.outer(self.R[:, p], coefficients)
        self.pivots.append(p)

    def residuals(self):
        return np.diagonal(self.R)

    def errors(self):
        """What rounding may do to the residuals, in units of ε: in double precision, only sizes matter."""
        weights = self.diagonal + sum((t * t * self.diagonal[p] for t, p in zip(self.T, self.pivots, strict=True)), 0)
        return EPS * weights.astype(float)

    def gains(self):
        """Decrease of the trace by each row  (G5); zero for pivots and rows that vanish."""
        is_open = [i not in self.pivots and own > 0 for i, own in enumerate(self.residuals())]
        return [sum(r * r) / r[i] if is_open[i] else mpmath.mpf(0) for i, r in enumerate(self.R)]


def in_digits(X):
    return np.vectorize(lambda value: mpmath.mpf(float(value)), otypes=[object])(X)


def gaussian(X, gamma):
    X = in_digits(X)
    K = np.empty((len(X), len(X)), dtype=object)
    for i, j in product(range(len(X)), repeat=2):
        K[i, j] = mpmath.exp(-mpmath.mpf(gamma) * sum((X[i] - X[j]) ** 2)) if i <= j else K[j, i]
    return K


def linear(X):
    X = in_digits(X)
    return X @ X.T


def quadratic(X, gamma):
    return (mpmath.mpf(gamma) * linear(X) + 1) ** 2


ROWS = np.random.default_rng(0).normal(size=(24, 2))
REPEATED = np.vstack([ROWS[:7], ROWS[:7], ROWS[:5]])
WITH_ZEROS = np.vstack([np.zeros((3, 2)), ROWS[:12]])
CASES = {
    f"Gaussian, γ = 1e{power}": (Gaussian(10.0**power), ROWS, gaussian(ROWS, 10.0**power)) for power in range(-5, 4)
}
CASES["repeated rows"] = (Gaussian(0.1), REPEATED, gaussian(REPEATED, 0.1))
CASES["zero rows"] = (Linear(), WITH_ZEROS, linear(WITH_ZEROS))
CASES["rank six"] = (Polynomial(2, gamma=0.5), ROWS, quadratic(ROWS, 0.5))
CASES["tiny"] = (Linear(), 1e-100 * ROWS, linear(1e-100 * ROWS))
CASES["huge"] = (Linear(), 1e100 * ROWS, linear(1e100 * ROWS))
CASES["huge, narrow"] = (Gaussian(1e-200), 1e100 * ROWS, gaussian(1e100 * ROWS, 1e-200))
SINGLE = ROWS.astype(np.float32)
CASES["float32, wide"] = (Gaussian(0.01), SINGLE, gaussian(SINGLE, 0.01))
every_case = pytest.mark.parametrize("case", CASES)


def followed(K, pivots):
    oracle = Oracle(K)
    for p in pivots:
        oracle.add(int(p))
    return oracle


@every_case
@every_selector
def test_landmarks_are_independent_and_leave_what_they_say(selector, case):
    """A pivot within rounding of the span of others would make up a direction that the kernel does not have."""
    kernel, X, K = CASES[case]
    landmarks = clone(selector).set_params(n_landmarks=len(X)).select(kernel, X)
    oracle = Oracle(K)
    for p in landmarks.indices:
        assert float(oracle.residuals()[p]) > oracle.errors()[p]
        oracle.add(int(p))
    residuals, errors = oracle.residuals().astype(float), oracle.errors()
    assert abs(landmarks.residual_trace - residuals.sum()) <= UNITS * errors.sum()
    if landmarks.reason == "no independent candidate left":
        assert (residuals <= 2 * UNITS * errors).all()
    else:
        assert len(landmarks) == len(X)


@for_each("tolerance", [1e-2, 1e-5, 1e-8, 1e-10])
@for_each("dtype", [np.float64, np.float32])
@every_selector
def test_a_tolerance_is_kept(selector, dtype, tolerance):
    X = ROWS.astype(dtype)
    landmarks = clone(selector).set_params(n_landmarks=None, tol=tolerance).select(Gaussian(0.1), X)
    left = float(sum(followed(gaussian(X, 0.1), landmarks.indices).residuals())) / len(X)
    assert landmarks.reason == "residual below tolerance"
    np.testing.assert_allclose(landmarks.residual_fraction, left, rtol=1e-3)
    assert left <= 1.001 * tolerance


@every_case
@for_each("block_size", [1, 4, 64])
def test_the_farthest_row_is_next(block_size, case):
    kernel, X, K = CASES[case]
    landmarks = PivotedCholesky(len(X), block_size=block_size).select(kernel, X)
    oracle = Oracle(K)
    for p in landmarks.indices:
        residuals = oracle.residuals()
        # A choice among rows that differ by less than rounding is free, and so is all that follows from it.
        assert float(max(residuals) - residuals[p]) <= 2 * UNITS * oracle.errors().max()
        oracle.add(int(p))


@for_each("block_size", [1, 4])
@every_case
def test_the_row_of_the_largest_gain_is_next(case, block_size):
    """While all residuals are known well enough; farther down the farthest row is taken."""
    kernel, X, K = CASES[case]
    landmarks = SparseGreedy(len(X), n_candidates=len(X), block_size=block_size).select(kernel, X)
    oracle, compared = Oracle(K), 0
    for p in landmarks.indices:
        open_ones = [i for i in range(len(X)) if i not in oracle.pivots]
        known = oracle.residuals()[open_ones].astype(float) >= 1e6 * oracle.errors()[open_ones]
        if not known.all():
            break
        gains = oracle.gains()
        assert gains[p] >= max(gains) * (1 - mpmath.mpf("1e-5"))
        oracle.add(int(p))
        compared += 1
    assert compared >= (1 if case in ("repeated rows", "zero rows") else 2)


@pytest.mark.parametrize("gamma", [1e-4, 1e-2, 1.0])
def test_centers_leave_what_they_say(gamma):
    landmarks = KMeans(10).select(Gaussian(gamma), ROWS)
    both = np.vstack([landmarks.points, ROWS])
    oracle = followed(gaussian(both, gamma), range(len(landmarks)))
    rows = slice(len(landmarks), None)
    assert abs(landmarks.residual_trace - float(sum(oracle.residuals()[rows]))) <= UNITS * oracle.errors()[rows].sum()
