"""What `landmarks` means is the same in all estimators."""

import numpy as np
import pytest

from preimage import (
    KernelFisherDiscriminant,
    KernelFisherDiscriminantCV,
    KernelKMeans,
    KernelPCA,
    OrientedKernelPCA,
    SemiSupervisedKernelPCA,
)
from preimage.estimators import _kernel_input, _semisupervised_kernel_pca
from preimage.estimators._kernel_input import as_selector, decided_landmarks, selection_rng, uses_landmarks
from preimage.landmarks import AutoLandmarks, Uniform

rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 3)), np.arange(60) % 2

ESTIMATORS = [
    KernelPCA(2, gamma=0.2, landmarks="auto"),
    OrientedKernelPCA(2, gamma=0.2, landmarks="auto"),
    SemiSupervisedKernelPCA(2, gamma=0.2, landmarks="auto"),
    KernelKMeans(2, gamma=0.2, landmarks="auto"),
    KernelFisherDiscriminant(gamma=0.2, landmarks="auto"),
    KernelFisherDiscriminantCV(gammas=[0.2], alphas=[0.1], landmarks="auto"),
]


def n_points(model):
    """How many points the functions of a fitted model are made of."""
    model = getattr(model, "best_estimator_", model)
    if hasattr(model, "subspace_"):
        return model.subspace_.frame.points.shape[0]
    return (model.centers_ if hasattr(model, "centers_") else model.expansion_).points.shape[0]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_auto_takes_all_rows_while_they_are_few(estimator):
    assert n_points(estimator.fit(X, y)) == 60


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_auto_takes_landmarks_from_many_rows(estimator, monkeypatch):
    monkeypatch.setattr(_kernel_input, "MOST_EXACT_ROWS", 50)
    monkeypatch.setattr(_kernel_input, "DEFAULT_LANDMARKS", 20)
    monkeypatch.setattr(_semisupervised_kernel_pca, "MOST_DENSE", 50)
    monkeypatch.setattr(_semisupervised_kernel_pca, "FEW", 20)
    assert n_points(estimator.fit(X, y)) <= 20


def test_memory_decides_as_well():
    assert not uses_landmarks("Kernel PCA", "auto", X)
    assert uses_landmarks("Kernel PCA", "auto", X, max_memory=1000)
    assert not uses_landmarks("Kernel PCA", None, X, max_memory=1000)
    assert uses_landmarks("Kernel PCA", 10, X)


def test_chunks_need_landmarks():
    chunks = pytest.importorskip("dask.array").from_array(X, chunks=20)
    assert uses_landmarks("Kernel PCA", "auto", chunks)
    with pytest.raises(TypeError, match=r"Kernel PCA needs all rows in memory.*landmarks=500"):
        uses_landmarks("Kernel PCA", None, chunks)


def test_parameters_become_selectors():
    assert as_selector("auto").n_landmarks == as_selector(None).n_landmarks == 1000
    assert isinstance(as_selector(30), AutoLandmarks)
    points = X[:5]
    assert decided_landmarks("", "auto", X) is None and decided_landmarks("", points, X) is points
    assert selection_rng(Uniform(3), 0) is None
    assert selection_rng(3, 0).random() == np.random.default_rng(0).random()


def test_labels_of_rows_without_weight_do_not_count():
    weights = np.where(np.arange(60) < 40, 1.0, 0.0)
    model = KernelPCA(2, gamma="enclosing_ball", landmarks=10)
    weighted = model.fit(X, y, sample_weight=weights).gamma_
    assert weighted == model.fit(X[:40], y[:40]).gamma_
