"""Maps learned from coordinates to inputs."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage import KernelPCA
from preimage._engine.arrays import to_numpy
from preimage.kernels import (
    Gaussian,
)
from preimage.solvers import LearnedMap


class TestLearnedMap:
    def test_interpolates_training_points_without_ridge(self, rng):
        X = rng.normal(size=(30, 3))
        model = KernelPCA(gamma=0.5, preimage=LearnedMap("rbf", ridge=1e-10, gamma=2.0)).fit(X)
        assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-4)

    def test_mean_is_kept(self, rng):
        X = rng.normal(size=(30, 3)) + 100
        model = KernelPCA(2, kernel="linear", preimage=LearnedMap(ridge=1e9)).fit(X)
        assert_allclose(model.inverse_transform(model.transform(X)), np.tile(X.mean(axis=0), (30, 1)), atol=1e-3)

    def test_ridge_is_the_best_by_leave_one_out(self, rng):
        X = rng.normal(size=(25, 3))
        model = KernelPCA(3, gamma=0.5, preimage=LearnedMap("rbf", gamma=0.5)).fit(X)
        B, fitted = model.transform(X), model.preimage_
        mean = X.mean(axis=0)

        def error(ridge):
            total = 0.0
            for i in range(25):
                rest = np.arange(25) != i
                weights = np.linalg.solve(Gaussian(0.5)(B[rest]) + ridge * np.eye(24), X[rest] - mean)
                total += np.sum((Gaussian(0.5)(B[i : i + 1], B[rest]) @ weights - (X[i] - mean)) ** 2)
            return total

        assert error(fitted.ridge) <= min(error(fitted.ridge * 3), error(fitted.ridge / 3)) + 1e-9

    def test_unfitted_map_says_so(self, rng):
        with pytest.raises(ValueError, match="fit"):
            LearnedMap().inverse(None, np.ones((1, 2)))

    def test_array_libraries_agree(self, xp, rng):
        X = rng.normal(size=(30, 3))
        expected = KernelPCA(3, gamma=0.5, preimage="learned").fit(X)
        model = KernelPCA(3, gamma=0.5, preimage="learned").fit(xp.asarray(X))
        Y = expected.transform(X)
        assert_allclose(to_numpy(model.inverse_transform(xp.asarray(Y))), expected.inverse_transform(Y), atol=1e-5)


def test_coordinates_of_another_model_get_a_map_of_their_own(rng):
    X = rng.normal(size=(80, 4)) @ np.diag([3.0, 2.0, 1.0, 0.5])
    model, other = KernelPCA(3, gamma=0.05).fit(X), KernelPCA(3, gamma=0.05).fit(X[40:])
    fitted = model.preimage_.reconstruction
    Y = other.transform(X)
    own = LearnedMap().fit(other.subspace_, X).inverse(other.subspace_, Y).points
    model.inverse_transform(model.transform(X))
    assert_allclose(fitted.inverse(other.subspace_, Y).points, own, atol=1e-8)
    assert fitted.of(model.subspace_) is fitted.maps[3]


def test_models_travel_before_and_after_their_first_question(rng):
    X = rng.normal(size=(60, 4))
    model = KernelPCA(3, gamma=0.1).fit(X)
    Y = model.transform(X)
    fresh = pickle.loads(pickle.dumps(model))
    answer = model.inverse_transform(Y)
    assert_allclose(fresh.inverse_transform(Y), answer, rtol=0, atol=0)
    assert_allclose(pickle.loads(pickle.dumps(model)).inverse_transform(Y), answer, rtol=0, atol=0)


def test_training_data_that_change_later_change_nothing(rng):
    X = rng.normal(size=(60, 4))
    for options in ({}, {"landmarks": 20}):
        given = X.copy()
        model = KernelPCA(3, gamma=0.1, **options).fit(given)
        given[...] = 0
        expected = KernelPCA(3, gamma=0.1, **options).fit(X)
        assert_allclose(
            model.inverse_transform(model.transform(X)), expected.inverse_transform(expected.transform(X)), atol=1e-10
        )


@pytest.mark.parametrize("rows", [2, 3, 5])
def test_very_few_rows(rows, rng):
    X = rng.normal(size=(rows, 4))
    model = KernelPCA(gamma=0.1).fit(X)
    assert np.isfinite(model.inverse_transform(model.transform(X))).all()


class TestBounds:
    """Answers stay within the range of the training rows and a margin."""

    @pytest.mark.parametrize("options", [{}, {"landmarks": 40}, {"kernel": "poly", "gamma": 0.2}], ids=str)
    def test_answers_stay_within_bounds_wherever_coordinates_are(self, options, rng):
        X = np.column_stack([rng.standard_t(2, size=(80, 3)), rng.integers(0, 2, size=80)])
        model = KernelPCA(3, **{"gamma": 0.1} | options).fit(X)
        Y = np.concatenate([1e3 * rng.normal(size=(50, 3)), model.transform(X)])
        Z = model.inverse_transform(Y)
        bounds = model.preimage_.reconstruction
        assert (bounds.lower <= X.min(axis=0)).all() and (bounds.upper >= X.max(axis=0)).all()
        assert (bounds.lower <= Z).all() and (bounds.upper >= Z).all()
        assert Z[:, 3].min() >= 0 and Z[:, 3].max() <= 1

    def test_maps_of_a_given_kernel_have_none(self, rng):
        X = rng.normal(size=(40, 3))
        model = KernelPCA(2, gamma=0.1, preimage=LearnedMap("rbf")).fit(X)
        assert model.preimage_.lower is None and model.preimage_.upper is None

    def test_chunks_and_other_libraries_have_the_same(self, xp, rng):
        X = rng.normal(size=(60, 3))
        expected, model = (KernelPCA(2, gamma=0.1).fit(rows) for rows in (X, xp.asarray(X)))
        for each in (expected, model):
            each.inverse_transform(each.transform(xp.asarray(X) if each is model else X))
        assert_allclose(to_numpy(model.preimage_.reconstruction.upper), expected.preimage_.reconstruction.upper)


def test_maps_go_on_linearly_where_there_are_no_training_rows(rng):
    u = rng.uniform(-1, 1, size=200)
    X = np.column_stack([u + 0.2 * np.sin(6 * u), u - 0.2 * np.sin(6 * u)]) + 0.01 * rng.normal(size=(200, 2))
    model = KernelPCA(1, gamma=1e-6).fit(X)
    far = model.inverse_transform(model.transform(np.array([[1.2, 1.2], [-1.3, -1.3]])))
    assert model.preimage_.reconstruction.linear is not None
    assert_allclose(far, [[1.2, 1.2], [-1.3, -1.3]], atol=0.3)
