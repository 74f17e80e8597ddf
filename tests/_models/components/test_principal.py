"""Exact kernel PCA below the estimator: what is wanted, what is kept, what users are told."""

import warnings

import naive
import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._engine.arrays import to_numpy
from preimage._models.components import Wanted, principal_subspace
from preimage.eigensolvers import BlockKrylov, Dense, EigenOptions
from preimage.exceptions import ConvergenceWarning, IndefiniteKernelWarning, RankWarning
from preimage.feature_space import Gram
from preimage.kernels import Gaussian, Linear, Polynomial, Precomputed, Sigmoid

POINTS = np.random.default_rng(0).normal(size=(60, 3))


KERNEL = Gaussian(0.2)


def fitted(wanted, kernel=KERNEL, X=POINTS, held=True, **options):
    gram = Gram(kernel, X)
    weights = options.pop("weights", None)
    return principal_subspace(
        gram.held() if held else gram,
        wanted,
        np.random.default_rng(0),
        weights=weights,
        options=EigenOptions(**options),
    )


class TestWanted:
    def test_numbers_of_any_type(self):
        assert Wanted.of(np.int64(3)) == Wanted(number=3)
        assert Wanted.of(np.float32(0.5)) == Wanted(fraction=0.5)
        assert Wanted.of(None) == Wanted()

    def test_counts(self):
        values = np.array([5.0, 3.0, 1.0, 1.0])
        assert Wanted(number=2).count(values, 10.0) == 2
        assert Wanted().count(values, 10.0) == 4
        assert [Wanted(fraction=share).count(values, 10.0) for share in (0.4, 0.5, 0.51, 0.8, 0.95)] == [1, 1, 2, 2, 4]

    def test_a_fraction_is_missed_by_more_than_rounding(self):
        assert not Wanted(fraction=0.9).is_missed_by(0.9 * (1 - 1e-12))
        assert Wanted(fraction=0.9).is_missed_by(0.899)
        assert not Wanted(number=3).is_missed_by(0.1)


class TestSubspace:
    def test_it_is_that_of_the_shortest_formula(self, xp):
        result = fitted(Wanted(5), X=xp.asarray(POINTS))
        values, vectors = naive.kernel_pca(Gaussian(0.2)(POINTS), 5)
        assert_allclose(to_numpy(result.eigenvalues), values, rtol=1e-9)
        scores = to_numpy(result.scores)
        assert_allclose(np.abs(scores), np.abs(vectors * values), atol=1e-9)
        assert_allclose(to_numpy(result.subspace.coordinates(xp.asarray(POINTS))), scores, atol=1e-10)

    def test_axes_are_orthonormal_and_perpendicular_to_nothing_but_the_mean(self):
        space = fitted(Wanted(6)).subspace
        assert_allclose(space.frame.inner(space.frame), np.eye(6), atol=1e-9)
        assert_allclose(space.coordinates(POINTS).mean(axis=0), 0, atol=1e-12)

    @pytest.mark.parametrize("held", [True, False])
    def test_a_fraction_takes_the_fewest_components(self, held):
        result = fitted(Wanted(fraction=0.8), held=held)
        fractions = to_numpy(result.fractions)
        assert fractions.sum() >= 0.8 > fractions[:-1].sum()
        assert_allclose(result.total, np.trace(naive.centered(Gaussian(0.2)(POINTS))), rtol=1e-12)

    def test_a_fraction_by_doubling_is_that_of_all_eigenvalues(self):
        X = np.random.default_rng(1).normal(size=(300, 6))
        direct = fitted(Wanted(fraction=0.9), X=X, eigensolver="dense")
        doubled = fitted(Wanted(fraction=0.9), X=X, eigensolver="block_krylov")
        assert len(direct.subspace) == len(doubled.subspace) > 64
        assert_allclose(doubled.eigenvalues, direct.eigenvalues, rtol=1e-8)

    def test_weights_are_repetitions(self):
        weights = np.random.default_rng(2).integers(1, 4, 60)
        weighted, repeated = fitted(Wanted(4), weights=weights), fitted(Wanted(4), X=np.repeat(POINTS, weights, axis=0))
        assert_allclose(weighted.eigenvalues, repeated.eigenvalues, rtol=1e-9)
        assert_allclose([weighted.count, weighted.total], [repeated.count, repeated.total], rtol=1e-9)
        Z = POINTS[:7] + 0.1
        assert_allclose(weighted.subspace.coordinates(Z), repeated.subspace.coordinates(Z), atol=1e-8)

    def test_conversion_keeps_all_numbers(self):
        result = fitted(Wanted(3))
        single = result.converted(lambda array: array.astype(np.float32))
        assert single.eigenvalues.dtype == single.scores.dtype == single.subspace.offset.dtype == np.float32
        assert single.subspace.frame.points.dtype == np.float32
        assert_allclose(single.subspace.coordinates(POINTS.astype("f")), result.scores, atol=1e-5)


class TestWhatUsersAreTold:
    def test_a_number_beyond_the_rank(self):
        with pytest.warns(RankWarning, match="5 components were asked for, but the data determine only 3"):
            assert len(fitted(Wanted(5), kernel=Linear()).subspace) == 3

    def test_zeros_in_place_of_what_is_missing(self):
        with pytest.warns(RankWarning, match="3 are kept, and the others are zeros"):
            result = fitted(Wanted(5, with_zeros=True), kernel=Linear())
        assert len(result.subspace) == result.eigenvalues.shape[0] == result.scores.shape[1] == 5
        assert not result.scores[:, 3:].any() and not result.subspace.coordinates(POINTS)[:, 3:].any()

    def test_an_indefinite_kernel(self):
        with pytest.warns(IndefiniteKernelWarning, match="negative eigenvalues"):
            result = fitted(Wanted(10), kernel=Sigmoid(0.5, -1.0))
        values = to_numpy(result.eigenvalues)
        assert (np.diff(np.abs(values)) <= 1e-12).all() and values.min() < 0
        assert_allclose(to_numpy(result.subspace.signature), np.sign(values))

    @pytest.mark.parametrize("kernel", [Sigmoid(0.5, -1.0), Sigmoid(0.1, 1.0), Polynomial(3, 1.0, -1.0)], ids=repr)
    @pytest.mark.parametrize("solver", [Dense(), BlockKrylov()], ids=repr)
    def test_fractions_of_an_indefinite_kernel_add_up_to_at_most_one(self, kernel, solver):
        K = kernel(POINTS)
        H = np.eye(len(K)) - 1 / len(K)
        moduli = np.abs(np.linalg.eigvalsh(H @ K @ H)).sum()
        for count in (1, 2, 5, len(K)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = fitted(Wanted(count), kernel=kernel, eigensolver=solver)
            fractions = to_numpy(found.fractions)
            assert np.abs(fractions).sum() <= 1 + 1e-12
            if isinstance(solver, Dense):
                assert_allclose(fractions, to_numpy(found.eigenvalues) / moduli)

    def test_fractions_of_values_that_are_definite_are_those_of_the_trace_whoever_finds_them(self):
        """A given matrix does not say that it is positive semidefinite."""
        given, rows = Precomputed(KERNEL(POINTS)), np.arange(60)[:, None]
        for solver in (Dense(), BlockKrylov()):
            found = fitted(Wanted(3), kernel=given, X=rows, eigensolver=solver)
            assert_allclose(found.fractions, fitted(Wanted(3)).fractions, rtol=1e-9)

    def test_a_fraction_of_an_indefinite_kernel_needs_the_matrix(self):
        with pytest.raises(ValueError, match="fraction of the variance of a kernel that may be indefinite"):
            fitted(Wanted(fraction=0.9), kernel=Sigmoid(0.5, -1.0), held=False)

    def test_an_iteration_that_stops_early(self):
        X = np.random.default_rng(1).normal(size=(400, 8))
        with pytest.warns(ConvergenceWarning, match="stopped before its tolerance"):
            result = fitted(Wanted(20), X=X, eigensolver=BlockKrylov(max_iter=2, block_size=20))
        assert not result.eigen.converged

    def test_points_without_variance(self):
        with pytest.raises(ValueError, match="no variance in feature space"):
            fitted(Wanted(2), X=np.ones((10, 3)))

    def test_a_diagonal_matrix(self):
        with pytest.warns(UserWarning, match="no point is like another"):
            fitted(Wanted(2), kernel=Gaussian(1e6))

    def test_more_work_than_memory(self):
        options = EigenOptions(max_bytes=1)
        gram = Gram(Gaussian(0.2), np.zeros((40_000, 1))).centered()
        with pytest.raises(ValueError, match="Ask for fewer components, or raise max_memory"):
            options.require_room(gram, 200)
        options.require_room(gram, 1)


@pytest.mark.filterwarnings("ignore::preimage.exceptions.RankWarning")
def test_fractions_of_the_variance_are_at_most_one_in_all():
    """In single precision the trace of a wide kernel has lost more digits than the eigenvalues."""
    X = np.random.default_rng(0).normal(size=(400, 2), scale=0.5).astype(np.float32)
    for gamma in (3e-5, 1e-4, 3e-4):
        gram = Gram(Gaussian(gamma), X).held()
        assert principal_subspace(gram, Wanted(), np.random.default_rng(0)).fractions.sum() <= 1 + 1e-6
