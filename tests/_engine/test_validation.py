"""Checks of what users pass: what is accepted, what it becomes, and what messages say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator

from preimage import KernelPCA
from preimage._engine.arrays import to_numpy
from preimage._engine.validation import (
    ASYMMETRY,
    check_coordinates,
    check_gram,
    check_labels,
    check_lazy_points,
    check_model_inputs,
    check_points,
    check_targets,
    check_weights,
    generator,
    require_in_memory,
    with_weight,
)


class Model(BaseEstimator):
    """An estimator, as far as checks look at one; fitted when it is given a number of features."""

    def __init__(self, n_features=None):
        if n_features is not None:
            self.n_features_in_ = n_features


X = np.random.default_rng(0).normal(size=(5, 3))


class TestPoints:
    def test_good_rows_stay_where_they_are(self, xp):
        model = Model()
        checked = check_points(model, xp.asarray(X), reset=True)
        assert model.n_features_in_ == 3
        assert type(checked) is type(xp.asarray(X))
        assert_array_equal(to_numpy(checked), X)

    def test_a_plain_array_is_not_copied_by_a_fitted_model(self):
        assert check_points(Model(3), X, reset=False) is X

    @pytest.mark.parametrize("size", [2, 10_000])  # few entries are looked at one by one, many are summed
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_missing_values_are_refused(self, xp, bad, size):
        rows = np.ones((size, 3))
        rows[1, 2] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            check_points(Model(3), xp.asarray(rows), reset=False)

    def test_large_finite_values_are_no_missing_values(self):
        rows = np.full((10_000, 3), 1e149)  # their sum of squares overflows
        assert check_points(Model(3), rows, reset=False).shape == rows.shape
        with pytest.raises(ValueError, match="range of numbers"):
            check_points(Model(3), 1e2 * rows, reset=False)

    def test_the_number_of_columns_must_match(self, xp):
        with pytest.raises(ValueError, match="X has 3 features, but Model is expecting 4 features"):
            check_points(Model(4), xp.asarray(X), reset=False)

    def test_rows_are_two_dimensional_and_enough(self, xp):
        with pytest.raises(ValueError, match=r"2D|1D array"):
            check_points(Model(), xp.asarray(X[0]), reset=True)
        with pytest.raises(ValueError, match="minimum of 9"):
            check_points(Model(), xp.asarray(X), reset=True, min_samples=9)

    def test_complex_numbers_are_refused(self, xp):
        with pytest.raises(ValueError, match=r"[Cc]omplex|real numbers"):
            check_points(Model(), xp.asarray(X, dtype=complex), reset=True)

    def test_integers_become_floating(self, xp):
        checked = check_points(Model(), xp.asarray(np.arange(6).reshape(3, 2), dtype=int), reset=True)
        assert checked.dtype == xp.asarray(X).dtype

    def test_models_do_not_track_gradients(self):
        torch = pytest.importorskip("torch")
        rows = torch.tensor(X, requires_grad=True)
        assert not check_points(Model(), rows, reset=True).requires_grad


class TestLazyPoints:
    def test_what_can_be_seen_without_reading_is_checked(self):
        da = pytest.importorskip("dask.array")
        model = Model()
        lazy = da.from_array(X, chunks=(2, 3))
        unknown = lazy[lazy[:, 0] > -np.inf]
        assert check_lazy_points(model, lazy, reset=True) is lazy and model.n_features_in_ == 3
        assert np.isnan(check_lazy_points(model, unknown, reset=False).shape[0])
        assert check_lazy_points(model, unknown, reset=False, min_samples=1).shape == (5, 3)
        with pytest.raises(ValueError, match="minimum of 6 is required by Model"):
            check_lazy_points(model, unknown, reset=False, min_samples=6)
        with pytest.raises(ValueError, match="2D"):
            check_lazy_points(model, lazy[:, 0], reset=False)
        with pytest.raises(ValueError, match="real numbers"):
            check_lazy_points(model, lazy.astype(complex), reset=False)
        with pytest.raises(ValueError, match="2 features"):
            check_lazy_points(model, lazy[:, :2], reset=False)

    def test_chunks_are_refused_where_rows_must_be_in_memory(self):
        da = pytest.importorskip("dask.array")
        with pytest.raises(
            TypeError, match=r"Exact fits need all rows in memory; got a Dask collection\. Give landmarks\."
        ):
            require_in_memory(da.from_array(X), "Exact fits need all rows", "Give landmarks.")
        require_in_memory(X, "Exact fits need all rows")


class TestModelInputs:
    def test_the_precision_is_that_of_the_model(self, xp):
        fitted = xp.asarray(X, dtype=np.float32)
        assert check_model_inputs(Model(3), xp.asarray(X), fitted=fitted).dtype == fitted.dtype
        assert check_coordinates(Model(3), xp.asarray(X), 3, fitted=fitted).dtype == fitted.dtype

    def test_another_library_is_refused_with_a_way_to_convert(self, xp):
        if xp.name in ("numpy", "read-only numpy"):
            pytest.skip("the same library")
        with pytest.raises(ValueError, match=rf"fitted on a {xp.name} array.*given a NumPy array.*asarray\(X, device="):
            check_model_inputs(Model(3), X, fitted=xp.asarray(X))
        with pytest.raises(ValueError, match=r"fitted on a NumPy array.*cpu\(\)\.numpy\(\)"):
            check_model_inputs(Model(3), xp.asarray(X), fitted=X)

    def test_coordinates_are_along_the_first_axes(self, xp):
        Y = xp.asarray(X)
        assert check_coordinates(Model(), Y, 5, fitted=Y).shape == (5, 3)
        with pytest.raises(ValueError, match="has 2 components"):
            check_coordinates(Model(), Y, 2, fitted=Y)
        with pytest.raises(ValueError, match="NaN"):
            check_coordinates(Model(), xp.asarray(X * np.nan), 3, fitted=Y)


class TestGram:
    K = X @ X.T

    def test_symmetric_matrices_pass(self, xp):
        K = xp.asarray(self.K)
        kept = check_gram(Model(), K)
        assert_allclose(kept, K)
        assert kept is not K  # a model keeps no matrix that its caller may change
        assert_allclose(check_gram(Model(), sparse.csr_matrix(self.K)), self.K)

    def test_other_matrices_are_refused(self, xp):
        with pytest.raises(ValueError, match="square matrix"):
            check_gram(Model(), xp.asarray(self.K[:2]))
        noisy = self.K.copy()
        noisy[0, 1] += 2 * ASYMMETRY * np.finfo(float).eps * np.abs(self.K).max()
        with pytest.raises(ValueError, match="symmetric"):
            check_gram(Model(), xp.asarray(noisy))
        assert check_gram(Model(), xp.asarray(noisy + np.tril(noisy.T - noisy, -1))).shape == (5, 5)

    def test_centring_forgives_what_it_removes(self, xp, rng):
        shifted = self.K + rng.normal(size=(5, 1)) + rng.normal(size=(1, 5))
        with pytest.raises(ValueError, match="symmetric"):
            check_gram(Model(), xp.asarray(shifted))
        checked = to_numpy(check_gram(Model(), xp.asarray(shifted), centered=True))
        assert_array_equal(checked, checked.T)
        H = np.eye(5) - 1 / 5
        assert_allclose(H @ checked @ H, H @ self.K @ H, atol=1e-12)
        # Rows were changed by a number each, and columns not at all: new rows of kernel values fit as they are.
        assert_allclose(np.ptp(checked - shifted, axis=1), 0, atol=1e-12)


class TestTargets:
    def test_targets_labels_and_weights_come_back_in_numpy(self, xp):
        y = xp.asarray(np.arange(5.0))
        for check in (check_targets, check_weights):
            assert_array_equal(check(Model(), y, 5), np.arange(5.0))
        assert_array_equal(check_labels(Model(), ["a", "b", "a"], 3), ["a", "b", "a"])

    @pytest.mark.parametrize("check", [check_targets, check_labels, check_weights])
    def test_one_value_per_row(self, check):
        with pytest.raises(ValueError, match="4 rows of X but 3 of"):
            check(Model(), [1, 2, 1], 4)

    @pytest.mark.parametrize("check", [check_targets, check_labels])
    def test_none_are_no_targets(self, check):
        with pytest.raises(ValueError, match="requires y"):
            check(Model(), None, 3)

    def test_shapes(self):
        assert check_targets(Model(), np.ones((3, 2)), 3).shape == (3, 2)
        with pytest.raises(ValueError, match=r"\(n,\) or \(n, k\)"):
            check_targets(Model(), np.ones((3, 2, 2)), 3)
        with pytest.raises(ValueError, match=r"weights of shape \(3,\)"):
            check_weights(Model(), np.ones((3, 1)), 3)

    def test_no_weights_and_one_weight(self):
        assert check_weights(Model(), None, 3) is None
        assert_array_equal(check_weights(Model(), 2, 3), [2, 2, 2])

    @pytest.mark.parametrize("weights", [[0.0, 0.0], [1.0, -1.0]])
    def test_weights_are_not_negative_and_not_all_zero(self, weights):
        with pytest.raises(ValueError, match="not negative and not all zero"):
            check_weights(Model(), weights, 2)

    def test_rows_without_weight_are_left_out(self, xp):
        weights = np.array([1.0, 0, 2, 0, 0])
        rows, kept = with_weight(Model(), xp.asarray(X), weights)
        assert_array_equal(to_numpy(rows), X[[0, 2]])
        assert_array_equal(kept, [1, 2])
        with pytest.raises(ValueError, match="at least 3 rows of positive sample_weight; got 2"):
            with_weight(Model(), X, weights, least=3)


class TestSeeds:
    def test_a_seed_means_the_same_numbers(self):
        for seed in (3, np.random.RandomState(3)):
            again = 3 if seed == 3 else np.random.RandomState(3)
            assert generator(seed).random() == generator(again).random()

    def test_a_generator_goes_on(self):
        rng = np.random.default_rng(0)
        assert generator(rng) is rng


def test_masked_entries_are_missing_values():
    """scikit-learn takes the numbers behind a mask."""
    X = np.ma.masked_less(np.random.default_rng(0).normal(size=(20, 3)), 0)
    with pytest.raises(ValueError, match="masked entries, which are missing values"):
        KernelPCA(2).fit(X)
    whole = np.ma.masked_array(np.asarray(X), False)
    np.testing.assert_array_equal(KernelPCA(2).fit(whole).eigenvalues_, KernelPCA(2).fit(np.asarray(X)).eigenvalues_)
