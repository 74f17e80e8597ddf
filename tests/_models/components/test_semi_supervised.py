"""Laws of semi-supervised directions (specification 09, sections 2 to 5)."""

import numpy as np
import pytest
from naive import kernel_pca
from scipy.optimize import minimize

from preimage._models.components import FeatureSample, semi_supervised_subspace
from preimage.exceptions import RankWarning, UnsupportedKernelError
from preimage.kernels import Gaussian, Linear, Precomputed, Sigmoid

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 2))
NEW = RNG.normal(size=(9, 2))
KERNEL = Gaussian(1.5)
LABELLED = np.arange(0, 40, 5)
SIGNS = np.where(X[LABELLED, 0] > 0, 1.0, -1.0)
C, SCALE = 2.0, 0.6


def solve(targets, n_components=3, *, c=C, scale=SCALE, data=X, kernel=KERNEL, labelled=LABELLED):
    points = kernel.inputs(data)
    sample = FeatureSample.of(kernel, points, points, points[labelled])
    return semi_supervised_subspace(sample, targets, n_components, label_weight=c, scale=scale)


def functions(result):
    """Coefficients α (n, q) and values K α."""
    A = result.subspace.frame.coefficients
    return A, KERNEL(X) @ A


def test_without_targets_it_is_kernel_pca():
    values, coefficients = kernel_pca(KERNEL(X), 5)
    for targets in ([], [None] * 5, [None, None]):
        result = solve(targets, 5)
        A, _ = functions(result)
        np.testing.assert_allclose(result.variances, values / 40, rtol=1e-10)
        np.testing.assert_allclose(1 / result.multipliers, values, rtol=1e-10)
        np.testing.assert_allclose(A.sum(axis=0), 0, atol=1e-8)
        expected = coefficients * np.sign(np.sum(coefficients * A, axis=0))
        np.testing.assert_allclose(KERNEL(NEW, X) @ A, KERNEL(NEW, X) @ expected, atol=1e-8)


@pytest.mark.parametrize("targets", [[SIGNS], [SIGNS] * 3, [None, SIGNS], [SIGNS, None, -SIGNS], [None] * 3])
def test_functions_are_orthonormal(targets):
    A, _ = functions(solve(targets, 4))
    np.testing.assert_allclose(A.T @ KERNEL(X) @ A, np.eye(4), atol=1e-9)


def scaled_to_the_constraint(result, n):
    """The function before it was made a unit vector: variance SCALE² over the data, α and values."""
    A, F = functions(result)
    factor = SCALE / F[:, n].std()
    return factor * A[:, n], factor * F[:, n]


def test_conditions_of_the_minimum_hold_in_coefficients():
    K = KERNEL(X)
    H = np.eye(40) - 1 / 40
    result = solve([SIGNS], 1)
    alpha, f = scaled_to_the_constraint(result, 0)
    K_labelled, multiplier = K[LABELLED], result.multipliers[0]
    left = (K + C * K_labelled.T @ K_labelled - multiplier * K @ H @ K) @ alpha
    np.testing.assert_allclose(left, C * K_labelled.T @ SIGNS, atol=1e-8)
    np.testing.assert_allclose(alpha.sum(), -C * np.sum(f[LABELLED] - SIGNS), atol=1e-7)
    np.testing.assert_allclose(np.sum((f - f.mean()) ** 2), 40 * SCALE**2, rtol=1e-10)


@pytest.mark.parametrize("number", [0, 1])
def test_no_other_function_has_a_lower_objective(number):
    result = solve([SIGNS, SIGNS], 2)
    values, vectors = np.linalg.eigh(KERNEL(X))
    keep = values > 1e-9
    F = vectors[:, keep] * np.sqrt(values[keep])
    G = (F.T / values[keep][:, None]) @ functions(result)[1]  # directions in the coordinates of F
    others = np.linalg.svd(G[:, :number].T)[2][number:].T if number else np.eye(F.shape[1])
    centered = (F - F.mean(axis=0)) @ others

    def value(h):
        h = h * np.sqrt(40) * SCALE / np.linalg.norm(centered @ h)
        return h @ h + C * np.sum(((F @ others @ h)[LABELLED] - SIGNS) ** 2)

    best = value(others.T @ G[:, number])
    rng = np.random.default_rng(0)
    ends = [minimize(value, rng.normal(size=others.shape[1]), method="L-BFGS-B").fun for _ in range(10)]
    assert min(ends) >= best * (1 - 1e-7)


def test_labels_steer_the_first_function():
    _, F = functions(solve([SIGNS], 1))
    _, plain = functions(solve([], 1))
    agreement = lambda f: abs(np.corrcoef(f[LABELLED], SIGNS)[0, 1])
    assert agreement(F[:, 0]) > max(0.9, agreement(plain[:, 0]))
    assert np.corrcoef(F[LABELLED, 0], SIGNS)[0, 1] > 0  # with their sign
    _, opposite = functions(solve([-SIGNS], 1))
    np.testing.assert_allclose(opposite[:, 0], -F[:, 0], atol=1e-8)


@pytest.mark.parametrize("c", [0.0, 1e-10])
def test_labels_without_weight_change_nothing(c):
    result, plain = solve([SIGNS] * 3, c=c), solve([])
    np.testing.assert_allclose(result.variances, plain.variances, rtol=1e-6)
    np.testing.assert_allclose(np.abs(functions(result)[1]), np.abs(functions(plain)[1]), atol=1e-4)


def test_the_projection_is_idempotent_and_orthogonal():
    space = solve([SIGNS, SIGNS], 3).subspace
    Y = space.coordinates(NEW)
    A, _ = functions(solve([SIGNS, SIGNS], 3))
    direct = (KERNEL(NEW, X) - KERNEL(X).mean(axis=0)) @ A
    np.testing.assert_allclose(Y, direct, atol=1e-9)
    xi = Y @ A.T + 1 / 40  # (6) of the specification
    projected = (xi @ KERNEL(X) - KERNEL(X).mean(axis=0)) @ A
    np.testing.assert_allclose(projected, Y, atol=1e-9)
    np.testing.assert_allclose((space.embed(Y) - space.origin).inner(space.frame), Y, atol=1e-9)
    residual = KERNEL(NEW, X) @ A - xi @ KERNEL(X) @ A
    np.testing.assert_allclose(residual, 0, atol=1e-9)


def test_rows_beyond_the_span_add_to_the_variance_alone():
    sample = FeatureSample.of(KERNEL, X, X[::2], X[LABELLED])
    np.testing.assert_allclose(sample.trace, 40)
    assert 0 < sample.inside < 40 and sample.at_points.shape[0] == 20


def test_duplicates_and_precomputed_values_are_no_obstacle():
    twice = np.concatenate([X, X])
    result = solve([SIGNS], 3, data=twice, c=C)
    np.testing.assert_allclose(
        result.subspace.coordinates(NEW), solve([SIGNS], 3, scale=SCALE).subspace.coordinates(NEW), atol=1e-6
    )
    A = result.subspace.frame.coefficients
    np.testing.assert_allclose(A.T @ KERNEL(twice) @ A, np.eye(3), atol=1e-8)
    K = KERNEL(X)
    known = solve([SIGNS], 3, data=K, kernel=Precomputed(K))
    np.testing.assert_allclose(
        known.subspace.coordinates(KERNEL(NEW, X)), solve([SIGNS], 3).subspace.coordinates(NEW), atol=1e-9
    )


def test_the_rank_is_the_limit():
    with pytest.warns(RankWarning, match="only 2"):
        assert len(solve([], 5, kernel=Linear()).subspace) == 2
    with pytest.warns(RankWarning, match="only 2"):
        assert len(solve([SIGNS] * 4, 4, kernel=Linear()).subspace) == 2
    with pytest.raises(ValueError, match="no variance"):
        solve([SIGNS], 1, data=np.ones((40, 2)))
    with pytest.raises(UnsupportedKernelError, match="positive semidefinite"):
        solve([], 2, kernel=Sigmoid(1.0, -1.0))
