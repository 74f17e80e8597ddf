"""Navigation between class means, and kernel PCA with a wide kernel, which is linear."""

import warnings

import numpy as np
import pytest

from preimage import KernelPCA
from preimage.kernels import Gaussian
from preimage.neuro import make_scans

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


def test_the_walk_goes_on_straight_beyond_its_ends_for_a_linear_kernel(rng):
    X = rng.normal(size=(40, 3))
    model = KernelPCA(3, kernel="linear").fit(X)
    walk = model.navigate(X[:5], X[5:9], 9, beyond=(1.0, 2.0))
    a, b = X[:5].mean(axis=0), X[5:9].mean(axis=0)
    np.testing.assert_allclose(walk, a + np.linspace(-1, 3, 9)[:, None] * (b - a), atol=1e-8)


def test_between_the_ends_nothing_changes():
    model, walk = walked(4.0, steps=5)
    longer = model.navigate(A, B, 9, beyond=0.5)
    np.testing.assert_allclose(longer[2:7], walk, atol=1e-3 * np.abs(walk).max())
    np.testing.assert_array_equal(model.navigate(A, B, 5, beyond=0.0), walk)
    np.testing.assert_array_equal(model.navigate(A, B, 5, beyond=(0.0, 1.0))[0], walk[0])


def test_beyond_the_ends_differences_are_exaggerated():
    model, _ = walked(4.0)
    walk = model.navigate(A, B, 13, beyond=1.0)
    amplitude = walk @ SCANS.patterns.T / SCANS.patterns.sum(axis=1)
    assert amplitude[0, 0] > amplitude[4, 0] and amplitude[-1, 1] > amplitude[8, 1]
    assert (np.diff(amplitude[:, 0]) < 0).all() and (np.diff(amplitude[:, 1]) > 0).all()


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian", "cosine"])
def test_far_beyond_the_ends_pre_images_are_finite(kernel, rng):
    X = rng.normal(size=(40, 3))
    model = KernelPCA(3, kernel=kernel).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        walk = model.navigate(X[:1], X[1:2], 6, beyond=50.0)
        farther = model.navigate(X[:1], X[1:2], 6, beyond=5000.0)
    assert np.isfinite(walk).all() and np.isfinite(farther).all()
    if kernel == "rbf":  # the direction of the line alone decides there
        np.testing.assert_allclose(farther[-1], walk[-1], atol=0.1)


@pytest.mark.parametrize("beyond", [-0.1, (0.1, -1.0), np.nan, np.inf, (1.0, 2.0, 3.0), "far", None])
def test_lengths_beyond_the_ends_are_checked(beyond):
    model, _ = walked(4.0)
    with pytest.raises(ValueError, match="beyond="):
        model.navigate(A, B, 5, beyond=beyond)


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
