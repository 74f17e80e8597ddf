"""Canonical variates with a ridge solve Fisher's problem, whatever the shape of the data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg

from preimage._models.discriminants import PenalizedFisher, _penalized


def labelled(n, d, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    return rng.normal(size=(n, d)) + rng.normal(size=(n_classes, d))[codes], codes


def covariances(X, codes):
    means = np.stack([X[codes == c].mean(axis=0) for c in range(codes.max() + 1)])
    within = X - means[codes]
    between = means[codes] - X.mean(axis=0)
    return between.T @ between / len(X), within.T @ within / len(X), means


@given(
    n=st.integers(6, 30),
    d=st.integers(1, 40),
    n_classes=st.integers(2, 4),
    ridge=st.floats(1e-3, 1e3),
    seed=st.integers(0, 10**6),
)
def test_variates_solve_the_dense_generalised_eigenproblem(n, d, n_classes, ridge, seed):
    X, codes = labelled(n, d, n_classes, seed)
    between, within, means = covariances(X, codes)
    ratios, W, along = PenalizedFisher(X).directions(codes, n_classes, ridge)
    dense = linalg.eigh(between, within + ridge * np.eye(d), eigvals_only=True)[::-1]
    rank = min(d, n_classes - 1)
    np.testing.assert_allclose(ratios[:rank], dense[:rank], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ratios[rank:], 0, atol=1e-10)
    W = W[:, :rank]
    np.testing.assert_allclose(W.T @ (within + ridge * np.eye(d)) @ W, np.eye(rank), atol=1e-8)
    np.testing.assert_allclose(W.T @ between @ W, np.diag(ratios[:rank]), atol=1e-8 * (1 + ratios[0]))
    np.testing.assert_allclose(along[:, :rank], (means - X.mean(axis=0)) @ W, atol=1e-8 * (1 + np.abs(along).max()))


def test_two_classes_have_the_ridged_difference_of_means_towards_the_second():
    X, codes = labelled(20, 50, 2)
    _, within, means = covariances(X, codes)
    _, W, along = PenalizedFisher(X).directions(codes, 2, 0.3)
    expected = linalg.solve(within + 0.3 * np.eye(50), means[1] - means[0])
    np.testing.assert_allclose(W[:, 0] / linalg.norm(W), expected / linalg.norm(expected), atol=1e-12)
    assert along[1, 0] > along[0, 0]
    swapped = PenalizedFisher(X).directions(1 - codes, 2, 0.3)[1]
    np.testing.assert_allclose(swapped, -W, atol=1e-10)


def test_ratios_of_the_two_forms_are_related():
    X, codes = labelled(25, 8, 3)
    between, within, _ = covariances(X, codes)
    theta, _, _ = PenalizedFisher(X).directions(codes, 3, 0.5)
    rho = linalg.eigh(between, between + within + 0.5 * np.eye(8), eigvals_only=True)[::-1][:2]
    np.testing.assert_allclose(rho, theta / (1 + theta), rtol=1e-10)


def test_a_large_ridge_gives_the_difference_of_the_means():
    X, codes = labelled(20, 50, 2)
    _, _, means = covariances(X, codes)
    W = PenalizedFisher(X).directions(codes, 2, 1e9)[1][:, 0]
    assert np.corrcoef(W, means[1] - means[0])[0, 1] > 1 - 1e-9


@pytest.mark.parametrize("power", [0, 3, 6])
@pytest.mark.parametrize("shape", [(20, 90), (20, 30), (30, 20)])
def test_decompositions_are_exact_whatever_the_shape(shape, power):
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.normal(size=(size, 20)))[0] for size in shape)
    values = np.logspace(0, -power, 20)
    A = U * values @ V.T
    left, found, right = _penalized.thin_svd(A)
    np.testing.assert_allclose(found, values, atol=1e-13)
    np.testing.assert_allclose(left * found @ right, A, atol=1e-13)
    for factor in (left.T, right):
        np.testing.assert_allclose(factor @ factor.T, np.eye(20), atol=1e-12)


def test_wide_data_lose_only_what_is_lost_already():
    rng = np.random.default_rng(0)
    U, V = np.linalg.qr(rng.normal(size=(20, 20)))[0], np.linalg.qr(rng.normal(size=(90, 20)))[0]
    A = U * np.logspace(0, -14, 20) @ V.T
    left, found, right = _penalized.thin_svd(A)
    assert 9 <= found.size < 20
    np.testing.assert_allclose(left * found @ right, A, atol=1e-6)
    assert [part.size for part in _penalized.thin_svd(np.zeros((3, 9)))] == [0, 0, 0]


@pytest.mark.parametrize("d", [15, 60])
def test_a_failing_decomposition_is_done_again_by_the_other_driver(monkeypatch, d):
    X, codes = labelled(12, d, 3)
    expected = PenalizedFisher(X).directions(codes, 3, 1.0)

    def fail(*arguments, **options):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(_penalized.np.linalg, "svd", fail)
    for mine, theirs in zip(PenalizedFisher(X).directions(codes, 3, 1.0), expected):
        np.testing.assert_allclose(mine, theirs, atol=1e-9)


def test_data_of_low_rank_have_variates_of_zero():
    X, codes = labelled(12, 1, 4)
    ratios, W, means = PenalizedFisher(np.repeat(X, 5, axis=1)).directions(codes, 4, 1.0)
    assert ratios[0] > 0 and W.shape == (5, 3) and means.shape == (4, 3)
    assert not ratios[1:].any() and not W[:, 1:].any()


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_constant_data_have_no_variates(shift):
    X = np.full((6, 4), 1 / 3 + shift)
    ratios, W, _ = PenalizedFisher(X).directions(np.array([0, 0, 0, 1, 1, 1]), 2, 1.0)
    assert not ratios.any() and not W.any()


def test_no_ridge_is_an_ordinary_discriminant_where_there_are_samples_enough():
    X, codes = labelled(40, 5, 3)
    between, within, _ = covariances(X, codes)
    ratios, _, _ = PenalizedFisher(X).directions(codes, 3, 0.0)
    np.testing.assert_allclose(ratios, linalg.eigh(between, within, eigvals_only=True)[::-1][:2], rtol=1e-9)


def test_single_precision_is_solved_in_double():
    X, codes = labelled(20, 400, 3)
    X = X.astype(np.float32)
    exact = PenalizedFisher(X.astype(float)).directions(codes, 3, 1.0)
    for mine, theirs in zip(PenalizedFisher(X).directions(codes, 3, 1.0), exact):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("d", [3, 60])
@pytest.mark.parametrize("ridge", [0.01, 1.0])
def test_weights_are_repetitions(d, ridge):
    X, codes = labelled(20, d, 3)
    times = np.random.default_rng(0).integers(1, 5, size=20)
    repeated = PenalizedFisher(np.repeat(X, times, axis=0)).directions(np.repeat(codes, times), 3, ridge)
    for mine, theirs in zip(PenalizedFisher(X, times.astype(float)).directions(codes, 3, ridge), repeated):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("factor", [1e-99, 1e-30, 1e30, 1e99])
def test_data_of_any_size_have_the_same_variates(factor):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(30, 4)), np.arange(30) % 3
    X[codes == 1] += 2
    ratios, _, means = PenalizedFisher(X).directions(codes, 3, 0.0)
    large_ratios, W, large_means = PenalizedFisher(factor * X).directions(codes, 3, 0.0)
    np.testing.assert_allclose(large_ratios, ratios, rtol=1e-9)
    np.testing.assert_allclose(np.abs(large_means), np.abs(means), rtol=1e-9, atol=1e-9)
    assert np.isfinite(W).all()
