"""Data on which a kernel vanishes, or has no positive diagonal, have no landmarks; estimators say so."""

import numpy as np
import pytest

from preimage import (
    KernelFisherDiscriminant,
    KernelFisherDiscriminantCV,
    KernelKMeans,
    KernelPCA,
    OrientedKernelPCA,
    SemiSupervisedKernelPCA,
    SparseGreedyClassifier,
)
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import AdditiveChi2, Linear, Multiquadric

ESTIMATORS = [
    KernelPCA(2, landmarks=3),
    KernelFisherDiscriminant(landmarks=3),
    KernelFisherDiscriminantCV(landmarks=3, alphas=[0.1]),
    KernelKMeans(2, landmarks=3),
    OrientedKernelPCA(2, landmarks=3),
    SemiSupervisedKernelPCA(2, landmarks=3),
]
LABELS = np.arange(12) % 2


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_a_kernel_that_vanishes_is_refused(estimator):
    with pytest.raises(ValueError, match="no landmark: the kernel vanishes"):
        estimator.set_params(kernel=Linear()).fit(np.zeros((12, 2)), LABELS)


def test_sparse_greedy_models_are_constant_then():
    model = SparseGreedyClassifier(3, kernel=Linear()).fit(np.zeros((12, 2)), LABELS)
    assert np.isin(model.predict(np.ones((3, 2))), LABELS).all()


@pytest.mark.parametrize("kernel", [AdditiveChi2(), Multiquadric(1.0)], ids=repr)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_a_kernel_without_positive_diagonal_is_refused(estimator, kernel, rng):
    with pytest.raises(UnsupportedKernelError, match="positive semidefinite"):
        estimator.set_params(kernel=kernel).fit(rng.random((12, 2)), LABELS)
