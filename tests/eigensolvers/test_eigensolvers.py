"""Every eigensolver finds the same pairs, and says how well."""

import warnings
from dataclasses import replace

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse.linalg import ArpackNoConvergence
from sklearn.datasets import load_digits, make_blobs

from preimage import KernelPCA
from preimage._engine.arrays import to_numpy
from preimage._engine.lapack import symmetric_multiplier
from preimage.eigensolvers import Arpack, BlockKrylov, Dense, EigenOptions
from preimage.eigensolvers._block_krylov import basis_size, block_width, sketch_columns
from preimage.eigensolvers._eigensolver import measured_result
from preimage.eigensolvers._names import SureKrylov, affordable_columns, is_cached
from preimage.exceptions import ConvergenceWarning
from preimage.feature_space import Gram
from preimage.kernels import Gaussian, Linear, Sigmoid

# Where SciPy does not publish BLAS in the form that is expected, blocks do the work of single vectors.
needs_single_vectors = pytest.mark.skipif(symmetric_multiplier(np.eye(2)) is None, reason="no BLAS to call directly")
SOLVERS = [Dense(), BlockKrylov(), BlockKrylov(tol=1e-12), BlockKrylov(block_size=4), Arpack()]


def projector(vectors):
    vectors = to_numpy(vectors)
    return vectors @ vectors.T


@pytest.fixture
def spectrum(rng):
    """A matrix with a known, decaying spectrum."""
    values = np.concatenate([[50.0, 40.0, 20.0, 19.0, 10.0], np.linspace(2, 0, 195)])
    vectors, _ = np.linalg.qr(rng.normal(size=(200, 200)))
    return (vectors * values) @ vectors.T, values, vectors


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_known_pairs_are_found(solver, spectrum, rng):
    A, values, vectors = spectrum
    result = solver.solve(A, 5, rng)
    assert result.converged
    assert_allclose(result.values, values[:5], rtol=1e-10)
    assert_allclose(projector(result.vectors), projector(vectors[:, :5]), atol=1e-6)
    assert_allclose(result.vectors.T @ result.vectors, np.eye(5), atol=1e-12)
    assert_allclose(
        result.residuals, np.linalg.norm(A @ result.vectors - result.vectors * result.values, axis=0), atol=1e-12
    )
    assert_allclose(result.products, A @ result.vectors, atol=1e-11)


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 401.0)], ids=["counted once", "weighted"])
@pytest.mark.parametrize(("dtype", "unit"), [(np.float64, 2.0**-190), (np.float32, 2.0**-22), (np.float32, 2.0**-42)])
def test_units_so_small_that_squares_of_kernel_values_nearly_vanish(dtype, unit, weights, rng):
    X = rng.normal(size=(400, 4)).astype(dtype)
    expected, found = (
        KernelPCA(3, kernel="linear").fit(dtype(factor) * X, sample_weight=weights).eigenvalues_ for factor in (1, unit)
    )
    assert_allclose(found / dtype(unit) ** 2, expected, rtol=100 * np.finfo(dtype).eps)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_indefinite_matrices_by_modulus(solver, spectrum, rng):
    _, values, vectors = spectrum
    signed = values * np.where(np.arange(200) % 3 == 1, -1, 1)
    result = solver.solve((vectors * signed) @ vectors.T, 4, rng, by_modulus=True)
    assert_allclose(result.values, signed[:4], rtol=1e-9)


@pytest.mark.parametrize("held", [True, False])
def test_gram_matrices_held_or_not(held, xp, rng):
    X = rng.normal(size=(700, 3))
    values, _ = naive.kernel_pca(Gaussian(0.2)(X), 6)
    gram = Gram(Gaussian(0.2), xp.asarray(X))
    result = BlockKrylov().solve((gram.held() if held else gram).centered(), 6, rng)
    assert result.converged
    assert_allclose(to_numpy(result.values), values, rtol=1e-9)


def test_float32_converges_to_its_own_tolerance(rng):
    X = rng.normal(size=(700, 3)).astype(np.float32)
    values, _ = naive.kernel_pca(Gaussian(0.2)(X.astype(float)), 6)
    result = BlockKrylov().solve(Gram(Gaussian(0.2), X).held().centered(), 6, rng)
    assert result.converged and result.values.dtype == np.float32
    assert_allclose(result.values, values, rtol=1e-4)


def test_restarts_lose_nothing(spectrum, rng, monkeypatch):
    A, values, _ = spectrum
    monkeypatch.setattr("preimage.eigensolvers._block_krylov.BASIS_BLOCKS", 4)
    result = BlockKrylov(tol=1e-10, block_size=6).solve(A, 5, rng)
    assert result.converged
    assert_allclose(result.values, values[:5], rtol=1e-12)


@pytest.mark.parametrize("rank", [1, 3, 30])
def test_low_rank_matrices_end_in_an_invariant_subspace(rank, rng):
    factor = rng.normal(size=(300, rank))
    A = factor @ factor.T
    result = BlockKrylov().solve(A, 10, rng)
    expected = np.linalg.eigvalsh(A)[::-1][:10]
    assert_allclose(result.values, expected, atol=1e-9 * expected[0])
    assert_allclose(result.vectors.T @ result.vectors, np.eye(10), atol=1e-10)
    assert result.converged


def test_multiple_eigenvalues_are_all_found(rng):
    vectors, _ = np.linalg.qr(rng.normal(size=(300, 300)))
    values = np.concatenate([np.full(20, 5.0), np.linspace(1, 0, 280)])
    result = BlockKrylov().solve((vectors * values) @ vectors.T, 20, rng)
    assert_allclose(result.values, 5, rtol=1e-10)


@pytest.mark.parametrize("copies", [1, 2, 6, 30])
def test_copies_of_an_eigenvalue_are_found(copies, rng):
    """A Krylov space of one vector has one of them; the others must be looked for."""
    vectors, _ = np.linalg.qr(rng.normal(size=(400, 400)) - 0.0)
    vectors, _ = np.linalg.qr(np.column_stack([np.ones(400), vectors[:, 1:]]))
    values = np.concatenate([[0], np.linspace(9, 8, 6), np.full(copies, 5.0), np.linspace(4, 0, 393 - copies)])
    K = (vectors * values) @ vectors.T
    for k in (4, 7, 6 + copies, 8 + copies):
        model = KernelPCA(k, kernel="precomputed").fit((K + K.T) / 2)
        assert model.eigen_result_.converged
        assert_allclose(model.eigenvalues_, values[1 : k + 1], rtol=1e-9)


def test_evenly_spaced_points_on_a_circle_have_pairs_of_equal_components():
    angles = 2 * np.pi * np.arange(400) / 400
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    expected, _ = naive.kernel_pca(Gaussian(2.0)(X), 9)
    model = KernelPCA(9, gamma=2.0).fit(X)
    assert_allclose(model.eigenvalues_, expected, rtol=1e-8)


def test_groups_of_copies_of_points():
    """Ten groups at equal distances: one eigenvalue, nine times, and nothing else."""
    X = np.repeat(np.eye(10), 40, axis=0)
    expected, _ = naive.kernel_pca(Gaussian(0.5)(X), 6)
    assert_allclose(KernelPCA(6, gamma=0.5).fit(X).eigenvalues_, expected, rtol=1e-10)


@needs_single_vectors
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_more_pairs_than_the_rank_are_no_reason_for_another_method(dtype):
    """An invariant subspace is left for its complement, where there is nothing but rounding errors."""
    X = np.random.default_rng(0).normal(size=(500, 2)).astype(dtype)
    centered = Gram(Gaussian(0.05), X).held().centered()
    result = SureKrylov().solve(centered, 55, np.random.default_rng(0))
    assert result.converged and not result.is_direct
    expected, _ = naive.kernel_pca(Gaussian(0.05)(X.astype(float)), 55)
    assert_allclose(result.values, expected, atol=100 * np.finfo(dtype).eps * expected[0])
    assert_allclose(result.vectors.T @ result.vectors, np.eye(55), atol=100 * np.finfo(dtype).eps)


@needs_single_vectors
def test_inaccurate_eigenvectors_of_the_small_matrix_are_no_reason_for_another_method(monkeypatch):
    """Some versions of LAPACK have residuals of 60 ε‖T‖ here, more than weak pairs are allowed."""
    exact = np.linalg.eigh

    def inaccurate(T):
        values, weights = exact(T)
        error = 60 * np.finfo(float).eps * np.abs(values).max()
        return values + error, weights

    X = np.random.default_rng(0).normal(size=(500, 2))
    centered = Gram(Gaussian(0.05), X).held().centered()
    monkeypatch.setattr(np.linalg, "eigh", inaccurate)
    result = SureKrylov().solve(centered, 55, np.random.default_rng(0))
    assert result.converged and not result.is_direct and result.excess < 0.5


def test_slow_iterations_are_given_up_for_lapack(rng):
    values = 1 + 0.1 * rng.random(size=400)
    vectors, _ = np.linalg.qr(rng.normal(size=(400, 400)))
    result = SureKrylov().solve((vectors * values) @ vectors.T, 10, rng)
    assert result.is_direct
    assert_allclose(result.values, np.sort(values)[::-1][:10], rtol=1e-12)


def test_columns_that_an_iteration_may_use_are_more_than_pairs():
    for n in (301, 1000, 5000):
        for k in (1, 10, int(0.15 * n)):
            assert k + 8 < affordable_columns(n, k) < n
    assert is_cached(2000, 8) and not is_cached(5000, 4)


def test_bases_have_room_for_a_restart():
    for k in (1, 10, 60, 1000):
        for is_held in (True, False):
            width = block_width(k, is_held)
            assert basis_size(k, width, is_held) >= k + 3 * width


def test_pairs_that_lapacks_driver_for_some_of_them_misses(spectrum, rng, monkeypatch):
    A, values, _ = spectrum
    none = np.empty(0), np.empty((0, 0))
    monkeypatch.setattr("preimage.eigensolvers._block_krylov.eigenpairs_between", lambda *arguments: none)
    assert_allclose(BlockKrylov().solve(A, 60, rng).values, values[:60], rtol=1e-9)


def test_identity_matrix(rng):
    result = BlockKrylov().solve(np.eye(400), 30, rng)
    assert_allclose(result.values, 1)
    assert result.converged


def test_zero_matrix(rng):
    result = BlockKrylov().solve(np.zeros((50, 50)), 5, rng)
    assert_allclose(result.values, 0)


def test_iteration_limit_is_reported_with_true_residuals(spectrum, rng):
    A, _, _ = spectrum
    result = BlockKrylov(max_iter=2, block_size=6, tol=1e-12).solve(A, 5, rng)
    assert not result.converged and result.reason == "iteration limit"
    true = np.linalg.norm(A @ result.vectors - result.vectors * result.values, axis=0)
    assert_allclose(result.residuals, true, atol=1e-10)


def test_too_few_iterations_for_so_many_pairs_is_an_error(spectrum, rng):
    with pytest.raises(ValueError, match="Raise max_iter or block_size"):
        BlockKrylov(max_iter=1, block_size=2).solve(spectrum[0], 5, rng)


def test_residuals_notice_a_wrong_eigenvector(spectrum):
    A, values, vectors = spectrum
    wrong = vectors[:, :3].copy()
    wrong[:, 1] = (vectors[:, 1] + 0.01 * vectors[:, 10]) / np.sqrt(1.0001)
    result = measured_result(values[:3], wrong, A @ wrong, 1e-7, 0, "test")
    assert not result.converged
    assert_allclose(result.residuals[1], 0.01 * (values[1] - values[10]), rtol=1e-2)
    assert_allclose(result.residuals[[0, 2]], 0, atol=1e-10)


def test_power_method_agrees(rng):
    X = rng.normal(size=(40, 2))
    K = naive.centered(Gaussian(0.3)(X))
    values, vectors = naive.power_method(K, 3)
    result = Dense().solve(K, 3, rng)
    assert_allclose(result.values, values, rtol=1e-10)
    assert_allclose(projector(result.vectors), projector(vectors), atol=1e-8)


def test_same_seed_same_answer(spectrum):
    first, second = (BlockKrylov().solve(spectrum[0], 5, np.random.default_rng(3)) for _ in range(2))
    assert (first.vectors == second.vectors).all()


def test_auto_chooses_by_size_and_count():
    assert isinstance(EigenOptions("auto").solver(size=150, k=5), Dense)
    assert isinstance(EigenOptions("auto").solver(size=500, k=5), SureKrylov)
    assert isinstance(EigenOptions("auto").solver(size=5001, k=32), BlockKrylov)
    assert isinstance(EigenOptions("auto").solver(size=1000, k=160), SureKrylov)
    assert isinstance(EigenOptions("auto").solver(size=1000, k=350), Dense)
    assert isinstance(EigenOptions("auto").solver(size=4000, k=700), Dense)
    assert isinstance(EigenOptions("auto", max_iter=5).solver(size=500, k=5), BlockKrylov)
    assert isinstance(EigenOptions("auto").solver(size=5000, k=2000), Dense)
    assert isinstance(EigenOptions("auto").solver(size=500, k=5, held=False), BlockKrylov)
    with pytest.raises(ValueError, match="known are 'auto', 'dense', 'block_krylov', 'arpack', or an Eigensolver"):
        EigenOptions("lobpcg").solver(size=10, k=2)


def test_arpack_refuses_other_libraries(rng):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(TypeError, match="NumPy"):
        Arpack().solve(Gram(Gaussian(0.3), torch.asarray(rng.normal(size=(30, 2)))).centered(), 3, rng)


def test_rank_one_centered_kernel(rng):
    """One direction of variance, many components asked for."""
    X = np.linspace(-1, 1, 600)[:, None]
    result = BlockKrylov().solve(Gram(Linear(), X).held().centered(), 5, rng)
    assert_allclose(result.values[0], np.sum(X**2), rtol=1e-10)
    assert_allclose(result.values[1:], 0, atol=1e-9)


def test_indefinite_kernel_matrix_free(rng):
    X = 2 * rng.normal(size=(700, 3))
    expected = np.linalg.eigvalsh(naive.centered(Sigmoid(0.5, -1.0)(X)))
    expected = expected[np.argsort(-np.abs(expected))][:8]
    result = BlockKrylov().solve(Gram(Sigmoid(0.5, -1.0), X).centered(), 8, rng, by_modulus=True)
    assert_allclose(result.values, expected, rtol=1e-8)


def test_float32_reaches_small_residuals_at_larger_sizes(rng):
    """Short directions are no rounding errors: an earlier limit of n·ε stopped the iteration far too soon."""
    X = rng.normal(size=(3000, 20)).astype(np.float32)
    result = BlockKrylov(tol=1e-5, block_size=12).solve(Gram(Gaussian(0.05), X).held().centered(), 10, rng)
    assert result.converged and result.reason == "converged"
    assert result.n_products < 600


def test_badly_scaled_start_blocks_stay_orthogonal():
    """One pass of orthogonalisation leaves ε·cond² of a start block; eigenvectors must not inherit it."""
    X = np.random.default_rng(0).standard_normal((1200, 60)) * np.logspace(0, -3.2, 60)
    result = BlockKrylov().solve(Gram(Linear(), X).held().centered(), 60, np.random.default_rng(0))
    assert_allclose(result.vectors.T @ result.vectors, np.eye(60), atol=1e-12)


class TestArpackThatStopsEarly:
    @pytest.fixture
    def K(self, rng):
        """Three eigenvalues that are found at once, and many that are hard to tell apart."""
        values = np.concatenate([[9e3, 4e3, 1e3], np.linspace(1.0, 0.99, 397)])
        vectors, _ = np.linalg.qr(rng.normal(size=(400, 400)))
        return (vectors * values) @ vectors.T

    def test_fewer_pairs_are_no_convergence(self, K):
        result = Arpack(max_iter=2).solve(K, 10, np.random.default_rng(0))
        found = len(result.values)
        assert 3 <= found < 10 and result.n_missing == 10 - found
        assert not result.converged and result.reason == "iteration limit"

    def test_kernel_pca_names_both_numbers(self, K):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = KernelPCA(10, kernel="precomputed", eigen_solver="arpack", max_iter=2).fit(K)
        assert [warning.category for warning in caught] == [ConvergenceWarning]
        assert f"found {model.n_components_} of the 10 eigenpairs" in str(caught[0].message)
        assert not model.eigen_result_.converged

    def test_a_share_of_the_variance(self, K):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            KernelPCA(0.99999, kernel="linear", eigen_solver="arpack", max_iter=2).fit(np.linalg.cholesky(K))
        assert [warning.category for warning in caught] == [ConvergenceWarning]

    def test_no_pair_at_all(self, rng):
        A = rng.normal(size=(400, 400))
        K = A @ A.T
        with pytest.raises(ArpackNoConvergence, match="none of the 10 eigenpairs converged within max_iter=1 restarts"):
            KernelPCA(10, kernel="precomputed", eigen_solver="arpack", max_iter=1).fit(K)

    @pytest.mark.parametrize("tol", [0.1, 1e-3, 1e-8, 1e-12, 1e-15, 0.0])
    def test_its_own_tolerance_counts(self, tol, K):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = KernelPCA(3, kernel="precomputed", eigen_solver="arpack", tol=tol, max_iter=100_000).fit(K)
        assert model.eigen_result_.converged and model.eigen_result_.reason == "converged"
        scale = model.eigenvalues_[0]
        assert model.eigen_result_.residuals.max() <= max(tol or 1e-6, 1e-12) * scale


@pytest.mark.parametrize(("k", "step", "width"), [(16, 1, 48), (16, 64, 63), (55, 64, 63), (56, 64, 127)])
def test_widths_fill_what_costs_the_same(k, step, width):
    """With one more column, for the means of rows, the first product is not wider than the multiple either."""
    assert block_width(k, is_held=False, column_step=step) == width


def test_the_first_product_mixes_few_columns():
    assert sketch_columns(10**6, 48, is_held=True) == 512
    assert sketch_columns(10**6, 600, is_held=True) == 1200
    assert sketch_columns(20_000, 48, is_held=False) == 512
    assert sketch_columns(10**5, 48, is_held=False) == 10**5 // 64
    assert sketch_columns(10**7, 48, is_held=False) == 4096


def test_eigenvectors_of_a_sample_save_products_where_the_matrix_is_not_held(rng, monkeypatch):
    X = (rng.normal(scale=3, size=(12, 8))[rng.integers(12, size=3000)] + rng.normal(size=(3000, 8))).astype(np.float32)
    found = BlockKrylov().solve(Gram(Gaussian(0.02), X).centered(), 8, np.random.default_rng(0))
    monkeypatch.setattr("preimage.eigensolvers._block_krylov.SAMPLE_STEPS", 0)
    random = BlockKrylov().solve(Gram(Gaussian(0.02), X).centered(), 8, np.random.default_rng(0))
    assert found.converged and random.converged
    assert found.n_products <= random.n_products
    assert_allclose(found.values, random.values, rtol=1e-4)


@needs_single_vectors
@pytest.mark.parametrize("gamma", [0.05, 1.0])
@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-8), (np.float32, 1e-3)])
def test_components_of_few_points_are_those_of_lapack(gamma, dtype, accuracy):
    X = (load_digits(return_X_y=True)[0][:500] / 16).astype(dtype)
    found, expected = (KernelPCA(8, gamma=gamma, eigensolver=name).fit(X) for name in ("auto", "dense"))
    assert not found.eigen_result_.is_direct
    assert_allclose(found.transform(X), expected.transform(X), atol=accuracy)


@needs_single_vectors
def test_iterations_end_where_rounding_errors_are_all_that_is_left(rng, monkeypatch):
    """Where products have larger errors than expected, further vectors would not help."""
    centered = Gram(Gaussian(0.05), rng.normal(size=(400, 2))).held().centered()
    monkeypatch.setattr("preimage.eigensolvers._lanczos.measured_result", inaccurate := Inaccurate())
    assert SureKrylov().solve(centered, 6, rng).is_direct
    assert inaccurate.calls == 2  # the second time with careful eigenvectors of the small matrix
    monkeypatch.setattr("preimage.eigensolvers._reduced_pairs.measured_result", inaccurate := Inaccurate())
    assert SureKrylov().solve(centered, 40, rng).is_direct
    assert inaccurate.calls == 2  # the whole reduction has residuals of its own


class Inaccurate:
    def __init__(self):
        self.calls = 0

    def __call__(self, *arguments):
        self.calls += 1
        return replace(measured_result(*arguments), converged=False, excess=2.0)


@pytest.mark.cuda
def test_single_precision_on_a_device_needs_the_products_that_it_needs_on_the_host():
    """Eigenvectors of the small projected matrix decide how small residuals can get."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    X = make_blobs(4000, 64, centers=30, cluster_std=3, random_state=0)[0].astype(np.float32)
    fit = KernelPCA(32, gamma=1e-3, eigensolver=BlockKrylov()).fit
    here, there = fit(X).eigen_result_, fit(torch.asarray(X).cuda()).eigen_result_
    assert here.converged and there.converged
    assert there.n_products <= 1.2 * here.n_products


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("by_modulus", [False, True])
def test_every_vector_is_an_eigenvector_of_zeros(solver, by_modulus, rng):
    found = solver.solve(np.zeros((30, 30)), 3, rng, by_modulus=by_modulus)
    assert_allclose(found.values, 0, atol=1e-15)
    assert_allclose(to_numpy(found.vectors).T @ to_numpy(found.vectors), np.eye(3), atol=1e-12)
    assert found.converged
