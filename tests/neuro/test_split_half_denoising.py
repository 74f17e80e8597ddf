"""Reproducibility of denoised rows between halves, and components chosen by a reference."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

import preimage
from preimage import KernelPCA
from preimage.neuro import make_scans, reference_components, split_half_denoising
from preimage.solvers import FixedPoint, LearnedMap, SparsePath

SCANS = make_scans(n_runs=4, n_times=24, size=12, snr=1.0, random_state=0)
X, Y, RUN = SCANS.X, SCANS.y, SCANS.run


def test_every_figure_is_what_its_definition_says():
    model, rule = KernelPCA(4, preimage=FixedPoint()), LogisticRegression(max_iter=2000)
    found = split_half_denoising(model, X, RUN, estimator=rule, y=Y, target=SCANS.signal)
    assert found.correlations.shape == (3, len(X))
    for number, half in enumerate(found.halves):
        first = np.isin(RUN, found.groups[half])
        one, two = (KernelPCA(4, preimage=FixedPoint()).fit(X[rows]).denoise(X) for rows in (first, ~first))
        r = [np.corrcoef(a, b)[0, 1] for a, b in zip(one, two)]
        np.testing.assert_allclose(found.correlations[number], r, atol=1e-6)
        p = [
            rule.fit(one[first], Y[first]).score(one[~first], Y[~first]),
            rule.fit(two[~first], Y[~first]).score(two[first], Y[first]),
        ]
        assert found.prediction[number] == pytest.approx(np.mean(p))
        error = (np.mean((one - SCANS.signal) ** 2) + np.mean((two - SCANS.signal) ** 2)) / 2
        assert found.error[number] == pytest.approx(error, rel=1e-6)
    np.testing.assert_allclose(found.reproducibility_of(Y == 1), found.correlations[:, Y == 1].mean(axis=1))
    assert "r = " in str(found) and "p = " in str(found)


def test_rows_without_noise_are_perfectly_reproducible_and_labels_are_not_needed():
    rows = np.tile(np.random.default_rng(0).normal(size=(12, 5)), (2, 1))
    found = split_half_denoising(PCA(5), rows, np.repeat([0, 1], 12))
    np.testing.assert_allclose(found.correlations, 1.0)
    assert found.prediction is None and found.error is None


def test_sparse_preimages_are_sparse():
    dense = split_half_denoising(KernelPCA(3, preimage=FixedPoint()), X, RUN, n_splits=1)
    sparse = split_half_denoising(KernelPCA(3, preimage=SparsePath(n_nonzero=14)), X, RUN, n_splits=1)
    assert dense.density == 1 and 0 < sparse.density <= 14 / X.shape[1]


def test_components_that_follow_the_reference_are_chosen_and_no_others(rng):
    model = KernelPCA(8).fit(X)
    correlations = np.abs([np.corrcoef(column, Y)[0, 1] for column in model.transform(X).T])
    chosen = reference_components(model, X, Y, min_correlation=0.15)
    assert set(chosen) == set(np.flatnonzero(correlations > 0.15))
    assert np.all(np.diff(correlations[chosen]) <= 0)
    np.testing.assert_array_equal(chosen, reference_components(model, X, 3.0 - 2.0 * Y, min_correlation=0.15))
    found = split_half_denoising(KernelPCA(8), X, RUN, reference=Y, n_splits=1)
    first = np.isin(RUN, found.groups[found.halves[0]])
    some = KernelPCA(8).fit(X[first])
    some = some.with_components(reference_components(some, X[first], Y[first]))
    assert some.n_components_ < 8
    other = KernelPCA(8).fit(X[~first])
    other = other.with_components(reference_components(other, X[~first], Y[~first]))
    r = [np.corrcoef(a, b)[0, 1] for a, b in zip(some.denoise(X), other.denoise(X))]
    np.testing.assert_allclose(found.correlations[0], r, atol=1e-6)


def test_references_that_nothing_follows_are_refused():
    model = KernelPCA(3).fit(X)
    with pytest.raises(ValueError, match=r"No component of KernelPCA has a correlation above 0\.99.*the largest is"):
        reference_components(model, X, Y, min_correlation=0.99)
    with pytest.raises(ValueError, match="needs a reference that varies"):
        reference_components(model, X, np.ones(len(X)))
    for wrong in (1.5, "much"):
        with pytest.raises(ValueError, match="min_correlation from 0 to below 1"):
            reference_components(model, X, Y, min_correlation=wrong)
    with pytest.raises(TypeError, match=r"of a fitted KernelPCA; got PCA"):
        split_half_denoising(PCA(2), X, RUN, reference=Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        reference_components(model, X, Y[1:])
    with pytest.raises(ValueError, match="needs labels"):
        split_half_denoising(KernelPCA(2), X, RUN, estimator=LogisticRegression())


@pytest.mark.parametrize("landmarks", [None, 30])
@pytest.mark.parametrize("solver", ["auto", FixedPoint(), LearnedMap()], ids=["auto", "fixed point", "learned"])
def test_a_model_of_some_components_is_that_of_its_subspace(landmarks, solver, tmp_path):
    model = KernelPCA(6, landmarks=landmarks, preimage=solver, random_state=0).fit(X)
    some = model.with_components([4, 1])
    np.testing.assert_allclose(some.transform(X), model.transform(X)[:, [4, 1]], atol=1e-10)
    np.testing.assert_allclose(some.eigenvalues_, model.eigenvalues_[[4, 1]])
    lost = np.delete(model.transform(X), [1, 4], axis=1)
    more = some.reconstruction_error(X) - model.reconstruction_error(X)
    np.testing.assert_allclose(more, (lost**2).sum(axis=1), atol=1e-9)
    assert model.n_components_ == 6 and some.denoise(X).shape == X.shape
    some.save(tmp_path / "some.preimage")
    again = preimage.load(tmp_path / "some.preimage")
    np.testing.assert_allclose(again.denoise(X[:5]), some.denoise(X[:5]))


def test_all_components_in_their_order_are_the_model():
    model = KernelPCA(5).fit(X)
    np.testing.assert_array_equal(model.with_components(range(5)).denoise(X), model.denoise(X))
    mask = np.array([True, False, True, False, False])
    np.testing.assert_array_equal(model.with_components(mask).transform(X), model.with_components([0, 2]).transform(X))


@pytest.mark.parametrize("wrong", [[], [0, 0], [5], [-1], [0.5], 2, [[0]], [False] * 5, [True] * 4])
def test_numbers_that_are_not_components_are_refused(wrong):
    with pytest.raises(ValueError, match="numbers of components, each once, from 0 to 4"):
        KernelPCA(5).fit(X).with_components(wrong)
