"""Folds are chosen where they are better beyond doubt, and the plain model stays where they may be worse."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from preimage import KernelPCA
from preimage.estimators._automatic_folds import automatic_folds
from preimage.estimators._cross_fit import clone_with_kernel, fitted_to


def loud_rows(rng, n=60, d=40):
    clean = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d))
    return clean, clean + 2.0 * rng.normal(size=clean.shape)


def heavy_rows(rng, n=80, d=6):
    clean = np.exp(rng.normal(size=(n, 3))) @ rng.normal(size=(3, d))
    return clean, clean + 0.1 * rng.normal(size=clean.shape)


def error(denoised, clean):
    return np.mean((denoised - clean) ** 2)


def test_loud_noise_and_all_components_want_folds(rng):
    clean, X = loud_rows(rng)
    model = KernelPCA(gamma="median").fit(X)
    assert automatic_folds(model) == 5
    automatic = model.denoise(X, cross_fit="auto")
    assert_array_equal(automatic, model.denoise(X, cross_fit=5))
    assert error(automatic, clean) < 0.7 * error(model.denoise(X), clean)


@pytest.mark.parametrize("n_components", [10, 20, None])
def test_rows_that_others_do_not_know_stay_in_their_own_model(n_components, rng):
    clean, X = heavy_rows(rng)
    model = KernelPCA(n_components, gamma="median").fit(X)
    assert_array_equal(model.denoise(X, cross_fit="auto"), model.denoise(X))
    assert error(model.denoise(X, cross_fit=5), clean) > 2 * error(model.denoise(X), clean)


@pytest.mark.parametrize("make", [loud_rows, heavy_rows])
@pytest.mark.parametrize("fraction", [1 / 8, 1 / 4, 1 / 2])
def test_the_choice_is_never_much_worse_than_none(make, fraction, rng):
    for _ in range(3):
        clean, X = make(rng)
        model = KernelPCA(int(fraction * len(X)), gamma="median").fit(X)
        plain, automatic = (error(model.denoise(X, cross_fit=each), clean) for each in (None, "auto"))
        assert automatic < 1.05 * plain


def test_the_choice_does_not_depend_on_the_rows_asked_for(rng):
    _, X = loud_rows(rng)
    model = KernelPCA(gamma="median").fit(X)
    whole = model.denoise(X, cross_fit="auto")
    assert_allclose(model.denoise(X[:3], cross_fit="auto"), whole[:3], atol=1e-6)


def test_units_do_not_matter(rng):
    _, X = loud_rows(rng)
    for scale in (1e-6, 1e6):
        assert automatic_folds(KernelPCA(gamma="median").fit(scale * X)) == 5


def test_where_nothing_can_judge_there_are_no_folds(rng):
    _, X = loud_rows(rng)
    assert automatic_folds(KernelPCA(5, gamma="median").fit(X)) is None  # few components
    assert automatic_folds(KernelPCA(gamma="median").fit(X), n_components=5) is None
    assert automatic_folds(KernelPCA(20, gamma="median", landmarks=40).fit(X)) is None
    assert automatic_folds(KernelPCA(gamma="median").fit(csr_array(X))) is None
    assert automatic_folds(KernelPCA(gamma="median").fit(np.repeat(X[:3], 20, axis=0))) is None  # three different rows


def test_labels_are_the_folds_that_judge(rng):
    _, X = loud_rows(rng)
    runs = np.repeat([0, 1, 2], 20)
    assert automatic_folds(KernelPCA(gamma="median").fit(X), cross_fit=runs) is runs


@pytest.mark.parametrize("weighted", [False, True])
def test_a_model_of_the_same_rows_is_the_same(weighted, rng):
    _, X = loud_rows(rng)
    weights = rng.uniform(0.5, 2.0, len(X)) if weighted else None
    model = KernelPCA(5, gamma="median").fit(X, sample_weight=weights)
    again = fitted_to(model, model.subspace_.frame.points)
    assert_allclose(again.denoise(X), model.denoise(X), atol=1e-8)
    assert clone_with_kernel(model).kernel is not None and clone_with_kernel(model).gamma is None
