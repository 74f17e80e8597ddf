"""Left-out losses by numbers of landmarks: refits without rows, and the smallest number that does."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage._models.regression import LandmarkRidge
from preimage._models.regression._left_out_curve import (
    LeftOutCurve,
    is_settled,
    numbers_to_try,
)
from preimage.kernels import Gaussian


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_curves_are_those_of_refits_without_rows(rng, intercept, weighted, block_shape):
    X = rng.normal(size=(25, 2))
    Y = np.stack([np.sin(2 * X[:, 0]), X[:, 1]], axis=1) + 0.1 * rng.normal(size=(25, 2))
    weights = rng.uniform(0.5, 2, size=25) if weighted else None
    options = {"alpha": 0.1, "intercept": intercept}
    curve = LandmarkRidge.fit(Gaussian(0.5), X[:6], X, Y, weights, **options).left_out_curve(
        X, Y, weights, intercept=intercept
    )
    losses = []
    for p in range(1, 7):
        errors = np.zeros(25)
        for i in range(25):
            rest = np.arange(25) != i
            kept = None if weights is None else weights[rest]
            fit = LandmarkRidge.fit(Gaussian(0.5), X[:p], X[rest], Y[rest], kept, **options)
            errors[i] = np.mean((Y[i] - fit.expansion(X[[i]])[0] - fit.intercept) ** 2)
        losses.append(errors)
    naive = LeftOutCurve.of_rows(list(range(1, 7)), losses, weights)
    assert_allclose(curve.n_landmarks, naive.n_landmarks)
    assert_allclose(curve.loss, naive.loss, rtol=1e-8)
    assert_allclose(curve.standard_error, naive.standard_error, rtol=1e-6, atol=1e-12)


def test_errors_of_means_are_those_of_statistics(rng):
    d = rng.normal(size=400)
    assert_allclose(LeftOutCurve.of_rows([1], [d], None).standard_error, np.std(d) / 20)
    w = 1.0 + np.arange(400) % 3
    means = [np.average(rng.normal(size=400), weights=w) for _ in range(4000)]
    assert_allclose(LeftOutCurve.of_rows([1], [d], w).standard_error, np.std(means), rtol=0.15)


def test_the_smallest_number_within_an_error_is_taken():
    curve = LeftOutCurve(np.array([1, 2, 4, 8]), np.array([9.0, 2.1, 2.0, 1.9]), np.array([5.0, 0.3, 0.2, 0.3]))
    assert curve.smallest == 2
    assert is_settled(curve)
    clear = LeftOutCurve(curve.n_landmarks, curve.loss, np.zeros(4))
    assert clear.smallest == 8
    assert not is_settled(clear)


@pytest.mark.parametrize("most", [1, 16, 17, 100])
def test_numbers_double_up_to_the_last(most):
    numbers = list(numbers_to_try(most))
    assert numbers[-1] == most
    assert numbers == sorted(set(numbers))
    assert numbers[0] == min(16, most)
