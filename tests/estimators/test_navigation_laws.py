"""Navigation between class means, and kernel PCA with a wide kernel, which is linear."""

import numpy as np
import pytest

from preimage import KernelPCA
from preimage.datasets import make_scans
from preimage.kernels import Gaussian

SCANS = make_scans(n_runs=2, n_times=30, size=12, snr=3.0, random_state=0)
A, B = SCANS.X[SCANS.y == 0], SCANS.X[SCANS.y == 1]
SQUARED = ((SCANS.X[:, None] - SCANS.X) ** 2).sum(axis=-1).mean()


def walked(width, steps=5):
    model = KernelPCA(6, gamma=1 / (width * SQUARED)).fit(SCANS.X)
    return model, model.navigate(A, B, steps)


def test_the_ends_are_the_pre_images_of_class_means():
    model, walk = walked(4.0)
    for end, rows in ((walk[0], A), (walk[-1], B)):
        mean = model.transform(rows).mean(axis=0, keepdims=True)
        direct = model.find_preimages(mean, start=end[None]).points[0]
        np.testing.assert_allclose(end, direct, atol=1e-4 * np.abs(direct).max())


def test_the_ends_agree_with_denoising_the_mean_of_a_class_where_the_kernel_is_wide():
    model, walk = walked(1e3)
    for end, rows in ((walk[0], A), (walk[-1], B)):
        np.testing.assert_allclose(end, model.denoise(rows.mean(axis=0, keepdims=True))[0], atol=0.02 * rows.std())


def test_the_way_is_straight_for_a_wide_kernel_and_curved_for_a_narrow_one():
    def bend(width):
        _, walk = walked(width)
        straight = np.linspace(0, 1, len(walk))[:, None] * (walk[-1] - walk[0]) + walk[0]
        return np.linalg.norm(walk - straight) / np.linalg.norm(walk[-1] - walk[0])

    assert bend(1e4) < 1e-2 < bend(0.3)


def test_patterns_fade_into_each_other_on_the_way():
    _, walk = walked(4.0, steps=9)
    amplitude = walk @ SCANS.patterns.T / SCANS.patterns.sum(axis=1)
    assert (np.diff(amplitude[:, 0]) < 0).all() and (np.diff(amplitude[:, 1]) > 0).all()


@pytest.mark.parametrize("sigma", [1e2, 1e3, 1e4, 1e5])
def test_a_wide_gaussian_is_linear_to_first_order(sigma):
    X = np.random.default_rng(0).normal(size=(40, 4))
    H = np.eye(40) - 1 / 40
    linear = 2 / sigma * H @ X @ X.T @ H
    error = np.linalg.norm(H @ Gaussian(1 / sigma)(X) @ H - linear) / np.linalg.norm(linear)
    assert 0.1 < error * sigma < 20


def test_eigenvalues_of_a_wide_gaussian_are_those_of_the_covariance():
    X = np.random.default_rng(0).normal(size=(40, 4)) * [4, 3, 2, 1]
    model = KernelPCA(4, gamma=1e-7).fit(X)
    covariance = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
    np.testing.assert_allclose(model.eigenvalues_, 2 * 40 * 1e-7 * covariance, rtol=1e-3)
