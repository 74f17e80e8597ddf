"""Selections of landmarks end, whatever the kernel values are."""

from contextlib import suppress

import numpy as np
import pytest
from for_each import for_each
from scipy.sparse import csr_matrix

from preimage import EmpiricalKernelMap, KernelPCA, SparseGreedyRegressor
from preimage._engine.arrays import to_numpy
from preimage.feature_space import GrowingSpan, Proposal
from preimage.kernels import Constant, Cosine, Gaussian, Linear, Polynomial, Sigmoid
from preimage.landmarks import (
    AutoLandmarks,
    FeatureAnalysis,
    KMeans,
    PivotedCholesky,
    RandomlyPivotedCholesky,
    SparseGreedy,
    Uniform,
)

X = np.random.default_rng(0).normal(size=(30, 3))
SELECTORS = [AutoLandmarks, FeatureAnalysis, KMeans, PivotedCholesky, RandomlyPivotedCholesky, SparseGreedy, Uniform]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@for_each("scale", [1e100, 1e200, 1e300])
@for_each("kernel", [Linear(), Sigmoid(0.5), Polynomial(2), Gaussian()], ids=repr)
@pytest.mark.parametrize("selector", SELECTORS)
def test_huge_values_are_answered_or_refused(selector, kernel, scale):
    with suppress(ValueError):  # values that overflow are refused
        assert np.isfinite(
            KernelPCA(1, kernel=kernel, landmarks=selector(10)).fit(scale * X).transform(scale * X)
        ).all()


@pytest.mark.parametrize("scale", [1e-100, 1e-50, 1e50, 1e95])
@pytest.mark.parametrize("alpha", [0, 1e-3])
def test_regression_on_huge_precomputed_values_ends(scale, alpha):
    K = scale * (X @ X.T)
    model = SparseGreedyRegressor(kernel="precomputed", alpha=alpha).fit(K, X[:, 0])
    assert np.isfinite(model.predict(K)).all()


def test_proposals_in_vain_are_offered_no_more():
    span = GrowingSpan(Gaussian(), X)
    proposal = Proposal(np.arange(30), choose=lambda residuals, is_open: None)
    count = 0
    while span.open_rows()[0].size:
        span.extend(proposal)
        count += 1
        assert count < 100


@pytest.mark.parametrize("scale", [1e100, 1e300])
def test_whitened_maps_say_that_values_overflow(scale):
    with pytest.raises(ValueError, match="Scale the data"):
        EmpiricalKernelMap(kernel=Polynomial(3), whiten=True).fit(scale * X)


@pytest.mark.parametrize("kernel", [Cosine(), Linear()], ids=repr)
def test_a_kernel_that_vanishes_predicts_the_mean_at_every_stage(kernel):
    model = SparseGreedyRegressor(kernel=kernel).fit(np.zeros((5, 2)), np.ones((5, 2)))
    assert list(model.staged_predict(np.ones((3, 2)))) == []
    np.testing.assert_array_equal(model.predict(np.ones((3, 2))), 1)


def test_traces_that_overflow_are_refused():
    with pytest.raises(ValueError, match="Scale the data"):
        SparseGreedyRegressor(kernel="precomputed").fit(np.full((4, 4), 1e308), np.arange(4.0))


def test_errors_of_huge_targets_are_refused():
    model = SparseGreedyRegressor().fit(X, 1e300 * X[:, 0])
    with pytest.raises(ValueError, match=r"SparseGreedyRegressor\.path"):
        model.path()


@pytest.mark.parametrize("make", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("scale", [1e-99, 1e20, 1e99])
def test_centres_of_clusters_scale_with_the_rows(scale, make):
    plain = KMeans(5).select(Constant(1.0) + Gaussian(1e-300), make(X), judged=False)
    found = KMeans(5).select(Constant(1.0) + Gaussian(1e-300), make(scale * X), judged=False)
    np.testing.assert_allclose(to_numpy(found.points)[0] / scale, to_numpy(plain.points)[0], rtol=1e-6)
