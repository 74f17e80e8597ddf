"""Woodbury's formula, determinants and preconditioners against dense algebra."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from scipy.sparse.linalg import cg

from preimage._arrays import to_numpy
from preimage.kernels import Gaussian
from preimage.landmarks import PivotedCholesky, SparseGreedy, lowrank_plus_diagonal, preconditioner


@pytest.fixture
def G(rng):
    return rng.normal(size=(40, 6))


def test_solves_determinant_and_products_are_those_of_the_dense_matrix(G, rng, xp):
    D, V = rng.uniform(0.5, 2, size=40), rng.normal(size=(40, 3))
    dense = np.diag(D) + G @ G.T
    A = lowrank_plus_diagonal(xp.asarray(G), xp.asarray(D))
    assert A.shape == (40, 40)
    assert_allclose(to_numpy(A @ xp.asarray(V)), dense @ V, atol=1e-12)
    assert_allclose(to_numpy(A.solve(xp.asarray(V))), np.linalg.solve(dense, V), atol=1e-12)
    assert_allclose(to_numpy(A.solve(xp.asarray(V[:, 0]))), np.linalg.solve(dense, V[:, 0]), atol=1e-12)
    assert_allclose(A.logdet(), np.linalg.slogdet(dense)[1])


def test_a_number_is_a_constant_diagonal(G, rng):
    v = rng.normal(size=40)
    one, all_of_them = lowrank_plus_diagonal(G, 0.3), lowrank_plus_diagonal(G, np.full(40, 0.3))
    assert_allclose(one.solve(v), all_of_them.solve(v))
    assert one.logdet() == all_of_them.logdet()


def test_diagonals_of_many_decades_keep_their_digits(rng):
    G, D, v = rng.normal(size=(16, 4)), 10 ** rng.uniform(-12, 0, size=16), rng.normal(size=16)
    exact = _solve_in_fractions(D, G, v)
    scaled = G / D[:, None]
    woodbury = v / D - scaled @ np.linalg.solve(np.eye(4) + G.T @ scaled, scaled.T @ v)
    error = lambda x: np.max(np.abs(x / exact - 1))
    ours = error(lowrank_plus_diagonal(G, D).solve(v))
    assert ours < 1e-11
    assert ours < error(woodbury)


def test_a_correction_that_is_noise_is_not_taken(rng):
    G, D = rng.normal(size=(30, 5)), np.full(30, 1e-16)
    A, x = lowrank_plus_diagonal(G, D), rng.normal(size=30)
    v = A @ x
    assert np.linalg.norm(A @ A.solve(v) - v) <= np.linalg.norm(A @ A.preconditioner().matvec(v) - v)


def test_single_precision_stays(G, rng):
    v = rng.normal(size=40).astype(np.float32)
    A = lowrank_plus_diagonal(G.astype(np.float32), 0.1)
    assert A.solve(v).dtype == np.float32
    assert_allclose(A.solve(v), np.linalg.solve(0.1 * np.eye(40) + G @ G.T, v), atol=1e-4)


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(400, 2))
    return Gaussian(0.5), X, Gaussian(0.5)(X)


def test_preconditioned_eigenvalues_lie_in_the_interval(problem):
    kernel, X, K = problem
    K, mu = K[:150, :150], 1e-3
    G = SparseGreedy(20).select(kernel, X[:150], with_factor=True).factor
    R, P = K - G @ G.T, G @ G.T + mu * np.eye(150)
    values = eigh(K + mu * np.eye(150), P, eigvals_only=True)
    assert values.min() > 1 - 1e-8
    assert values.max() < 1 + np.linalg.norm(R, 2) / mu + 1e-8
    assert_allclose(preconditioner(G, mu) @ P, np.eye(150), atol=1e-8)


def test_iterations_of_conjugate_gradients_fall_with_the_landmarks(problem, rng):
    kernel, X, K = problem
    mu, b = 1e-4, rng.normal(size=400)
    A = K + mu * np.eye(400)
    landmarks = PivotedCholesky(100).select(kernel, X, with_factor=True)
    counts = []
    for m in (0, 10, 25, 50):
        steps = []
        M = preconditioner(landmarks.factor[:, :m], mu) if m else None
        x, info = cg(A, b, M=M, rtol=1e-8, maxiter=3000, callback=steps.append)
        assert info == 0 and np.linalg.norm(A @ x - b) < 1e-7 * np.linalg.norm(b)
        counts.append(len(steps))
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] < counts[0] / 10


def test_bad_inputs_say_what_is_wrong(G):
    with pytest.raises(ValueError, match="positive and finite"):
        lowrank_plus_diagonal(G, 0.0)
    with pytest.raises(ValueError, match="shape \\(40,\\)"):
        lowrank_plus_diagonal(G, np.ones(39))
    with pytest.raises(ValueError, match="shape \\(n, m\\)"):
        lowrank_plus_diagonal(G[0], 1.0)
    with pytest.raises(ValueError, match="of that length"):
        lowrank_plus_diagonal(G, 1.0).solve(np.ones(7))


def test_preconditioners_are_for_numpy(G):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(TypeError, match="NumPy arrays"):
        preconditioner(torch.asarray(G), 1.0)


def _solve_in_fractions(D, G, v):
    """(D + GGᵀ)⁻¹v without rounding, by elimination."""
    n = len(D)
    product = lambda a, b: sum(Fraction(s) * Fraction(t) for s, t in zip(a.tolist(), b.tolist()))
    rows = [
        [product(G[i], G[j]) + (Fraction(float(D[i])) if i == j else 0) for j in range(n)] + [Fraction(float(v[i]))]
        for i in range(n)
    ]
    for i in range(n):
        rows[i] = [entry / rows[i][i] for entry in rows[i]]
        for j in range(n):
            if j != i:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i])]
    return np.array([float(row[-1]) for row in rows])


@pytest.mark.parametrize("factor", [np.array([[1], [1]]), [[1], [1]], np.array([[True], [True]])], ids=str)
def test_whole_numbers_are_numbers(factor):
    A = lowrank_plus_diagonal(factor, 0.5)
    dense = 0.5 * np.eye(2) + 1.0
    assert A.dtype == np.float64
    assert_allclose(A.solve(np.array([3, 4])), np.linalg.solve(dense, [3, 4]))
    assert_allclose(A.solve([3, 4]), np.linalg.solve(dense, [3, 4]))
    assert_allclose(A @ np.array([3, 4]), dense @ [3, 4])
    assert_allclose(A.logdet(), np.linalg.slogdet(dense)[1])
    assert_allclose(preconditioner(factor, 0.5) @ np.array([3, 4]), np.linalg.solve(dense, [3, 4]))


def test_whole_numbers_of_other_libraries_are_numbers(xp):
    A = lowrank_plus_diagonal(xp.asarray([[2], [1]], dtype=int), 0.5)
    v = np.array([3.0, 4.0])
    assert_allclose(to_numpy(A.solve(xp.asarray(v))), np.linalg.solve([[4.5, 2.0], [2.0, 1.5]], v))
