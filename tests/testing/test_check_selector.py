"""Every selector of the library keeps the contract, and the contract notices those that do not."""

from dataclasses import replace

import numpy as np
import pytest

from preimage.kernels import Gaussian, Laplacian, Matern, Polynomial
from preimage.landmarks import (
    SELECTORS,
    AutoLandmarks,
    FeatureAnalysis,
    LandmarkSelector,
    PivotedCholesky,
    RandomlyPivotedCholesky,
    SparseGreedy,
    Uniform,
)
from preimage.testing import check_selector

CASES = [
    *((part.exemplar(), None) for part in SELECTORS),
    (AutoLandmarks(), None),
    (AutoLandmarks(), Laplacian(0.2)),
    (Uniform(), Matern(0.2)),
    (PivotedCholesky(), Laplacian(0.2)),
    (PivotedCholesky(block_size=3), Polynomial(3)),
    (RandomlyPivotedCholesky(), Laplacian(0.2)),
    (RandomlyPivotedCholesky(block_size=1), None),
    (FeatureAnalysis(criterion="kurtosis", n_candidates=None), Polynomial(3)),
    (FeatureAnalysis(norm="l2", center=False, n_candidates=5), Laplacian(0.2)),
    (SparseGreedy(), Polynomial(3)),
    (SparseGreedy(n_candidates=5, block_size=2), Laplacian(0.2)),
    (SparseGreedy(n_candidates=5, block_size=1), None),
    (SparseGreedy(rule="residual", n_candidates=5), None),
    (SparseGreedy(rule="column", n_candidates=5), Laplacian(0.2)),
    (SparseGreedy(rule="column", n_candidates=5, block_size=1), None),
    (SparseGreedy(rearrange=True), None),
    (SparseGreedy(n_candidates=2, block_size=1, rearrange=True), Polynomial(3)),
    (SparseGreedy(space="column", n_candidates=5, block_size=3), None),
    (SparseGreedy(space="column", rule="residual", block_size=1), None),
]


@pytest.mark.parametrize(("selector", "kernel"), CASES, ids=repr)
def test_selectors_keep_the_contract(selector, kernel):
    check_selector(selector, kernel)


CHANCE = np.random.default_rng(0)  # goes on from selection to selection, whatever their seeds


class Broken(LandmarkSelector):
    """Takes rows in order, with one fault."""

    def __init__(self, fault=None, n_landmarks=100, tol=None, sample_size=None, random_state=0):
        self.fault = fault
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.sample_size = sample_size
        self.random_state = random_state

    def propose(self, span, limit, rng):
        numbers, _ = span.open_rows()
        return CHANCE.permutation(numbers)[:5] if self.fault == "seed" else numbers[:5]

    def select(self, kernel, X, **options):
        found = super().select(kernel, X, **options)
        if self.fault == "indices":
            return replace(found, indices=None if found.indices is None else found.indices[::-1])
        if self.fault == "trace":
            return replace(found, residual_trace=found.residual_trace / 2)
        if self.fault == "reason":
            return replace(found, reason="done")
        if self.fault == "changes":
            self.n_landmarks = 7
        return found


def test_rows_in_order_keep_it():
    check_selector(Broken())


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("seed", "a seed means the same again"),
        ("indices", "points are the rows"),
        ("trace", "residual_trace"),
        ("reason", "reason is 'done'"),
    ],
)
def test_faults_are_found(fault, message):
    with pytest.raises(AssertionError, match=message):
        check_selector(Broken(fault))


def test_proposals_of_rows_that_are_not_open_are_refused():
    class Stubborn(Broken):
        def propose(self, span, limit, rng):
            return np.array([0])

    with pytest.raises(ValueError, match="at least one open row"):
        Stubborn(n_landmarks=3).select(Gaussian(1.0), np.eye(4))
