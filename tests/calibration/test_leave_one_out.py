"""Leave-one-out scores are those of models fitted without the point."""

from itertools import permutations

import numpy as np
import pytest
from _refits import refitted_scores
from sklearn.decomposition import PCA

from preimage import KernelPCA
from preimage.calibration import leave_one_out, linear_leave_one_out


def spiked(n, d, seed=0, sizes=(6.0, 4.0, 2.5)):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, : len(sizes)] *= sizes[:d]
    return X


def by_refitting(make, X, count):
    """Scores of left-out points by fitting again, with the signs of the full fit."""
    full = make(X)  # with a few components more, for axes that change places
    scores = np.empty((len(X), count))
    for n in range(len(X)):
        others = np.delete(X, n, axis=0)
        model = make(others)
        # ⟨axis, axis⟩ from scores: axes are combinations of points with scores over eigenvalues as weights.
        fold = model.transform(others)
        products = (fold / (fold**2).sum(axis=0)).T @ full.transform(others)[:, :count]
        order = max(
            permutations(range(fold.shape[1]), count), key=lambda p: sum(abs(products[j, k]) for k, j in enumerate(p))
        )
        signs = np.sign([products[j, k] for k, j in enumerate(order)])
        scores[n] = signs * model.transform(X[n : n + 1])[0, list(order)]
    return full.transform(X)[:, :count], scores


def refitted_linear(X, n_components):
    X = X - X.mean(axis=0)
    return refitted_scores(X @ X.T, n_components)


def up_to_signs(scores, train):
    signs = np.sign((scores.train * train).sum(axis=0))
    np.testing.assert_allclose(signs * scores.train, train, atol=1e-8 * np.abs(train).max())
    return signs * scores.left_out


@pytest.mark.parametrize("shape", [(15, 60), (40, 6), (12, 11), (11, 12)])
def test_exact_scores_are_those_of_refitted_pca(shape):
    X = spiked(*shape)
    train, expected = by_refitting(lambda rows: PCA(min(6, rows.shape[1])).fit(rows), X, 3)
    np.testing.assert_allclose(up_to_signs(linear_leave_one_out(X, 3), train), expected, atol=1e-9)
    np.testing.assert_allclose(up_to_signs(leave_one_out(X @ X.T, 3), train), expected, atol=1e-8)


@pytest.mark.parametrize("gamma", [1e-3, 1e-2, 0.05])
def test_exact_scores_are_those_of_refitted_kernel_pca(gamma):
    X = spiked(25, 30)
    kernel_pca = lambda rows: KernelPCA(6, gamma=gamma, eigen_solver="dense").fit(rows)
    train, expected = by_refitting(kernel_pca, X, 3)
    gram = kernel_pca(X).kernel_(X, X)
    np.testing.assert_allclose(up_to_signs(leave_one_out(gram, 3), train), expected, atol=1e-9)


def test_exact_is_refitting_for_strong_inflation_too():
    X = np.random.default_rng(0).normal(size=(60, 200))
    gram = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 40)
    fast, slow = leave_one_out(gram, 4), refitted_scores(gram, 4)
    assert (slow.inflation > 1000).all()
    np.testing.assert_allclose(fast.left_out, slow.left_out, atol=1e-7 * slow.left_out.std())


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("shape", [(12, 40), (30, 5)])
def test_all_methods_of_the_gram_matrix_agree_on_training_scores(shape, centered):
    X = spiked(*shape)
    fast, slow = (scores(X @ X.T, 4, centered=centered) for scores in (leave_one_out, refitted_scores))
    np.testing.assert_allclose(fast.left_out, slow.left_out, atol=1e-8)
    np.testing.assert_allclose(fast.left_out_eigenvalues, slow.left_out_eigenvalues, rtol=1e-9)
    first = leave_one_out(X @ X.T, 4, centered=centered, method="first_order")
    np.testing.assert_allclose(first.train, fast.train)


def test_left_out_scores_do_not_know_the_point():
    # Without the point the axes stay the same, so scores move in proportion to the distance from the mean.
    X = spiked(20, 50)
    X[0] = X[1:].mean(axis=0) + 0.5 * (X[0] - X[1:].mean(axis=0))
    near = linear_leave_one_out(X, 2).left_out[0]
    X[0] = X[1:].mean(axis=0) + 3 * (X[0] - X[1:].mean(axis=0))
    np.testing.assert_allclose(np.abs(linear_leave_one_out(X, 2).left_out[0]), 3 * np.abs(near), rtol=1e-9)


def test_first_order_scores_are_projections():
    X = spiked(12, 30)
    centered = X - X.mean(axis=0)
    U, sizes, Vt = np.linalg.svd(centered, full_matrices=False)
    scores = linear_leave_one_out(X, 3, method="first_order")
    signs = np.sign((scores.train * (U * sizes)[:, :3]).sum(axis=0))
    for n in range(len(X)):
        others = np.delete(X, n, axis=0)
        directions = (others[1:] - others[0]).T
        inside = others[0] + directions @ np.linalg.lstsq(directions, X[n] - others[0], rcond=None)[0]
        expected = Vt[:3] @ (inside - others.mean(axis=0))
        np.testing.assert_allclose(signs * scores.left_out[n], expected, atol=1e-12)


def test_first_order_scores_only_grow_by_the_mean_where_the_others_span_the_point():
    X = spiked(40, 6)
    scores = linear_leave_one_out(X, 3, method="first_order")
    np.testing.assert_allclose(scores.left_out, scores.train * 40 / 39)


def test_duplicates_are_no_obstacle():
    X = spiked(14, 40)
    X[3] = X[8] = X[5]
    fast, slow = linear_leave_one_out(X, 3), refitted_linear(X, 3)
    np.testing.assert_allclose(np.abs(fast.left_out), np.abs(slow.left_out), atol=1e-8)


def test_identical_rows_have_no_components():
    scores = linear_leave_one_out(np.ones((5, 3)), 2)
    assert scores.train.shape == scores.left_out.shape == (5, 0)


def test_equal_eigenvalues_give_left_out_scores_of_an_existing_axis():
    X = np.kron(np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]), np.ones((3, 1)))
    scores = linear_leave_one_out(X)
    assert np.isfinite(scores.left_out).all()
    assert (scores.left_out**2).sum() <= (12 / 11) ** 2 * (X**2).sum() + 1e-9


def test_an_outlier_alone_on_its_axis_has_no_score_when_it_is_left_out():
    rng = np.random.default_rng(0)
    X = np.zeros((20, 4))
    X[:, :2] = rng.normal(size=(20, 2)) * [3, 1]
    X[7, 3] = 100.0
    fast, slow = linear_leave_one_out(X, 3), refitted_linear(X, 3)
    assert abs(fast.train[7, 0]) > 90 and abs(fast.left_out[7, 0]) < 1e-9
    np.testing.assert_allclose(np.abs(fast.left_out), np.abs(slow.left_out), atol=1e-9)


def test_scores_and_their_signs_follow_scale_and_order_of_points():
    X = spiked(18, 40)
    scores, order = linear_leave_one_out(X, 3), np.random.default_rng(1).permutation(18)
    np.testing.assert_allclose(np.abs(linear_leave_one_out(1e-6 * X, 3).left_out), 1e-6 * np.abs(scores.left_out))
    np.testing.assert_allclose(np.abs(linear_leave_one_out(X[order], 3).left_out), np.abs(scores.left_out[order]))


def test_folds_hold_the_training_scores_of_the_others():
    X = spiked(16, 50)
    scores = linear_leave_one_out(X, 3)
    for n in (0, 7):
        others = np.delete(X, n, axis=0)
        expected = PCA(3).fit(others).transform(others)
        found = scores.fold(n)
        sizes = lambda columns: np.sort(np.abs(columns), axis=1)
        np.testing.assert_allclose(sizes(found), sizes(expected), atol=1e-9)
        aligned = (found * np.delete(scores.train, n, axis=0)).sum(axis=0)
        assert (aligned > 0).all()
    with pytest.raises(ValueError, match="method='exact' alone"):
        linear_leave_one_out(X, 3, method="first_order").fold(0)


def test_inflation_is_that_of_new_data():
    rng = np.random.default_rng(3)
    signal = np.zeros(1500)
    signal[0] = 1.0
    draw = lambda n: rng.normal(size=(n, 1)) * 8 * signal + rng.normal(size=(n, 1500))
    X, X_new = draw(60), draw(3000)
    model = PCA(1).fit(X)
    fresh = model.transform(X).std() / model.transform(X_new).std()
    assert linear_leave_one_out(X, 1).inflation[0] == pytest.approx(fresh, rel=0.15)


def test_more_components_than_there_are_give_those_there_are():
    X = spiked(8, 30)
    scores = linear_leave_one_out(X, 100)
    assert scores.train.shape == (8, 7)
    slow = refitted_linear(X, 100)
    # Without a point there are six: some score of each row has no axis.
    assert (np.abs(scores.left_out).min(axis=1) < 1e-8).all()
    np.testing.assert_allclose(np.sort(np.abs(scores.left_out)), np.sort(np.abs(slow.left_out)), atol=1e-7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.eye(4), 0), "at least 1; got 0"),
        ((np.eye(2), 1), "3 points at least; got 2"),
        ((np.ones((3, 4)), 1), r"shape \(n, n\); got shape \(3, 4\)"),
        ((np.full((3, 3), np.nan), 1), "not finite"),
    ],
)
def test_bad_gram_matrices_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        leave_one_out(*arguments)


def test_unknown_methods_are_refused_with_a_list():
    with pytest.raises(ValueError, match="method='exact' gives the same"):
        leave_one_out(np.eye(4), method="refit")
    with pytest.raises(ValueError, match="exact, first_order; got 'fast'"):
        leave_one_out(np.eye(4), method="fast")
    with pytest.raises(ValueError, match="NaN or infinity"):
        linear_leave_one_out([[np.nan], [1.0], [2.0]])


@pytest.mark.parametrize("offset", [0.0, 5.0, 300.0])
def test_axes_that_the_others_lack_are_zero_wherever_the_data_are(offset):
    """All components of few points: rounding errors of far data are not an axis, with a score of its own."""
    for seed in range(10):
        X = offset + np.random.default_rng(seed).normal(size=(6, 30)) * np.r_[3, 2, np.ones(28)]
        scores = linear_leave_one_out(X)
        centered = X - X.mean(axis=0)
        slow = refitted_scores(centered @ centered.T)
        assert scores.train.shape == (6, 5)
        np.testing.assert_array_equal((scores.left_out_eigenvalues == 0).sum(axis=1), 1)
        np.testing.assert_array_equal(scores.left_out == 0, scores.left_out_eigenvalues == 0)
        np.testing.assert_allclose(np.abs(scores.left_out), np.abs(slow.left_out), atol=1e-6)
        np.testing.assert_allclose(np.abs(leave_one_out(X @ X.T).left_out), np.abs(slow.left_out), atol=1e-6)


@pytest.mark.parametrize(("n", "sigma"), [(40, 0.3), (160, 0.3), (40, 1.5)])
def test_left_out_scores_of_a_single_spike_have_the_variance_of_the_law(n, sigma):
    rng, d, variances = np.random.default_rng(0), 400, []
    for _ in range(24):
        X = sigma * rng.normal(size=(n, d))
        X[:, 0] += rng.normal(size=n)
        variances.append(linear_leave_one_out(X, 1).left_out.var())
    # The squared cosine of first axis and spike; zero below the transition at n = d/S².
    alpha, S = n / d, 1 / sigma**2
    cosine = max(0.0, (alpha * S**2 - 1) / (alpha * S**2 + S))
    assert np.mean(variances) == pytest.approx(sigma**2 + cosine, rel=0.15)


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
