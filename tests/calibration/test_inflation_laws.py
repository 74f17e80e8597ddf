"""The laws of variance inflation, by simulation."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from preimage.calibration import linear_leave_one_out


@pytest.mark.parametrize(("n", "sigma"), [(40, 0.3), (160, 0.3), (40, 1.5)])
def test_the_first_axis_meets_a_single_spike_as_the_law_says(n, sigma):
    rng, d, overlaps = np.random.default_rng(0), 400, []
    for _ in range(12):
        X = sigma * rng.normal(size=(n, d))
        X[:, 0] += rng.normal(size=n)
        overlaps.append(PCA(1, svd_solver="full").fit(X).components_[0, 0] ** 2)
    alpha, S = n / d, 1 / sigma**2
    law = max(0.0, (alpha * S**2 - 1) / (alpha * S**2 + S))  # 0 below the transition at N = D/S²
    assert np.mean(overlaps) == pytest.approx(law, abs=0.05)


@pytest.mark.parametrize("n", [4, 10, 15])
def test_minimum_norm_regression_shrinks_new_predictions_as_the_law_says(n):
    rng, d, noise = np.random.default_rng(1), 20, 0.5
    w = np.full(d, 2 / np.sqrt(d))
    squared_norm, squared_error, train = [], [], []
    for _ in range(3000):
        X = rng.normal(size=(n, d))
        y = X @ w + np.sqrt(noise) * rng.normal(size=n)
        found = X.T @ np.linalg.solve(X @ X.T, y)
        squared_norm.append(found @ found)  # the variance of predictions for new points
        squared_error.append((found - w) @ (found - w) + noise)
        train.append(np.mean(y**2))  # it interpolates
    assert np.mean(train) == pytest.approx(4 + noise, rel=0.05)
    assert np.mean(squared_norm) == pytest.approx(n / d * 4 + noise * n / (d - n - 1), rel=0.1)
    assert np.mean(squared_error) == pytest.approx((1 - n / d) * 4 + (d - 1) / (d - n - 1) * noise, rel=0.1)


def test_leave_one_out_deviations_are_those_of_new_data_on_average():
    # The table of four signals in noise: training scores are two to four times too large.
    logs = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        draw = lambda n, rng=rng: (
            0.2 * rng.normal(size=(n, 800)) + np.pad(rng.normal(size=(n, 4)) * [1.4, 1.2, 1.0, 0.8], ((0, 0), (0, 796)))
        )
        X, X_new = draw(40), draw(500)
        fresh = PCA(4, svd_solver="full").fit(X).transform(X_new).std(axis=0)
        scores = linear_leave_one_out(X, 4)
        logs.append([np.log(scores.left_out.std(axis=0) / fresh), np.log(scores.train.std(axis=0) / fresh)])
    left_out, train = np.mean(logs, axis=0)
    assert (np.abs(left_out) < 0.15).all() and (train > 0.3).all()
