"""Increasing maps, and transfer of distributions by them."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import nnls
from sklearn.isotonic import IsotonicRegression

from preimage.inflation import renormalize, transfer_function
from preimage.inflation._transfer import IncreasingMap, fit_affine, fit_increasing, fit_isotonic, specify_histogram

rng = np.random.default_rng(0)
FITS = [fit_increasing, fit_isotonic, fit_affine]
KINDS = ["pchip", "isotonic", "affine"]
numbers = st.floats(-100, 100, width=32)
pairs = st.integers(1, 25).flatmap(
    lambda n: st.tuples(arrays(float, n, elements=numbers), arrays(float, n, elements=numbers))
)


@pytest.mark.parametrize("fit", FITS)
@given(pairs)
def test_maps_never_decrease_anywhere(fit, xy):
    x, y = xy
    curve = fit(x, y)
    t = np.linspace(x.min() - 10, x.max() + 10, 1001)
    out = curve(t)
    assert np.isfinite(out).all()
    assert (np.diff(out) >= -1e-9 * (1 + np.abs(out).max())).all()


@given(st.lists(st.floats(0, 5, width=32), min_size=9, max_size=9), st.floats(0.01, 100), st.floats(-5, 5))
def test_piecewise_linear_data_on_the_knots_are_met_exactly(increments, scale, shift):
    values = np.cumsum([0.0, *increments])
    knots = np.linspace(shift, shift + scale, 10)
    x = np.sort(np.r_[knots, np.linspace(shift, shift + scale, 61)])
    curve = fit_increasing(x, np.interp(x, knots, values))
    np.testing.assert_allclose(curve(knots), values, atol=1e-5 * (1 + values[-1]))


def test_knots_solve_the_monotone_least_squares_problem():
    x = rng.uniform(size=200)
    y = np.tanh(4 * x) + 0.5 * rng.normal(size=200)
    knots = np.linspace(x.min(), x.max(), 10)
    hats = np.stack([np.interp(x, knots, row) for row in np.eye(10)], axis=1)
    design = hats @ np.tril(np.ones((10, 10)))
    coefficients, residual = nnls(np.c_[design[:, :1], -design[:, :1], design[:, 1:]], y)
    curve = fit_increasing(x, y)
    np.testing.assert_allclose(np.linalg.norm(hats @ curve(knots) - y), residual, rtol=1e-8)
    np.testing.assert_allclose(curve(knots)[0], coefficients[0] - coefficients[1], atol=1e-5)


def test_knots_without_data_lie_between_their_neighbours():
    x = np.r_[np.linspace(0, 1, 30), 9.0]  # nothing between 1 and 9
    curve = fit_increasing(x, 2 * x)
    np.testing.assert_allclose(curve(np.linspace(0, 9, 19)), np.linspace(0, 18, 19), atol=1e-5)


def test_isotonic_is_that_of_scikit_learn_inside_its_range():
    x, y = rng.normal(size=60).round(1), rng.normal(size=60)
    reference = IsotonicRegression().fit(x, y)
    t = np.linspace(x.min(), x.max(), 200)
    np.testing.assert_allclose(fit_isotonic(x, y)(t), reference.predict(t), atol=1e-12)


def test_affine_matches_mean_and_deviation():
    x, y = rng.normal(2, 3, size=50), rng.normal(-1, 0.2, size=30)
    out = fit_affine(x, y)(x)
    assert out.mean() == pytest.approx(y.mean()) and out.std() == pytest.approx(y.std())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 8, 50])
def test_identity_when_nothing_is_inflated(kind, n):
    train = rng.normal(size=n)
    t = np.linspace(-5, 5, 41)
    np.testing.assert_allclose(transfer_function(train, train, kind)(t), t, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_scale_free(kind):
    train, left_out, t = rng.normal(size=40), 0.1 * rng.normal(size=40), np.linspace(-1, 1, 21)
    reference = transfer_function(train, left_out, kind)(t)
    for a, b in ((1e-8, 1e6), (1e9, 1e-4)):
        np.testing.assert_allclose(transfer_function(b * train, a * left_out, kind)(a * t), b * reference, rtol=1e-6)
        shifted = transfer_function(train - 3, left_out + 7, kind)(t + 7)
        np.testing.assert_allclose(shifted, reference - 3, atol=1e-8)


def test_isotonic_transfer_of_the_sample_is_histogram_specification():
    train, left_out = rng.normal(size=40), rng.exponential(size=40)
    transfer = transfer_function(train, left_out, "isotonic")
    np.testing.assert_allclose(transfer(left_out), specify_histogram(train, left_out), atol=1e-12)


def test_smooth_transfer_restores_an_inflated_law():
    law = rng.normal(size=(2, 3000))
    left_out, new = law
    train = 5 * left_out + left_out**3  # what monotone inflation would do
    out = transfer_function(train, left_out)(new)
    truth = 5 * new + new**3
    assert np.abs(out - truth).mean() < 0.05 * np.abs(truth).mean()


@pytest.mark.parametrize("fit", FITS)
def test_far_values_keep_their_side_and_their_order(fit):
    x = rng.normal(size=50)
    curve = fit(x, np.sign(x) * np.abs(x) ** 3)
    far = curve([-1e6, -1e3, 1e3, 1e6])
    assert (np.diff(far) > 0).all() and far[1] < 0 < far[2]


@pytest.mark.parametrize("fit", FITS)
def test_equal_values_are_shifted(fit):
    curve = fit(np.full(3, 2.0), np.full(3, 5.0))
    np.testing.assert_allclose(curve([1.0, 2.0, 3.0]), [4.0, 5.0, 6.0])


@pytest.mark.parametrize("fit", FITS)
def test_equal_targets_are_met(fit):
    np.testing.assert_allclose(fit(np.arange(1.0, 4.0), np.full(3, 5.0))([2.0, 3.0]), 5.0)


def test_values_apart_by_rounding_errors_are_equal_values():
    x = 1 + np.arange(4) * np.finfo(float).eps
    for fit in FITS:
        assert np.isfinite(fit(x, np.arange(4.0))([0.0, 1.0, 2.0])).all()


@pytest.mark.parametrize("smooth", [True, False])
def test_maps_survive_pickling(smooth):
    curve = IncreasingMap(np.arange(4.0), [0.0, 1.0, 1.0, 5.0], smooth=smooth)
    t = np.linspace(-2, 6, 30)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(curve))(t), curve(t))
    assert "4 knots" in repr(curve)


def test_shape_is_that_of_the_argument():
    curve = IncreasingMap([0.0, 1.0], [0.0, 2.0])
    assert curve(0.5) == 1.0 and curve(np.zeros((2, 3))).shape == (2, 3)
    assert IncreasingMap([0.0, 1.0], [0.0, 2.0], slope=0)(7.0) == 2.0


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="kinds pchip, isotonic, affine"):
        transfer_function([0.0], [0.0], "spline")
    with pytest.raises(ValueError, match="2 knots"):
        transfer_function([0.0, 1.0], [0.0, 1.0], n_knots=1)
    with pytest.raises(ValueError, match="as many"):
        transfer_function([0.0, 1.0], [0.0], weights=[1.0, 1.0])
    with pytest.raises(ValueError, match="NaN"):
        transfer_function([0.0, 1.0], [0.0, np.nan], "affine")
    with pytest.raises(ValueError, match="do not decrease"):
        IncreasingMap([0.0, 1.0], [1.0, 0.0])
    with pytest.raises(ValueError, match="slope"):
        IncreasingMap([0.0], [1.0], slope=-1.0)


finite = st.floats(-1e6, 1e6, width=32)
samples = arrays(float, st.integers(1, 30), elements=finite)
tied = arrays(float, st.integers(1, 30), elements=st.integers(-3, 3).map(float))


def naive_specification(train, test):
    """Ranks, quantiles and means of ties, one value at a time."""
    reference, n, m = sorted(train), len(train), len(test)

    def quantile(rank):
        place = (n - 1) * (rank / (m - 1) if m > 1 else 0.5)
        low = min(int(place), n - 1)
        high = min(low + 1, n - 1)
        return reference[low] + (place - low) * (reference[high] - reference[low])

    out = []
    for value in test:
        below = sum(other < value for other in test)
        equal = sum(other == value for other in test)
        out.append(np.mean([quantile(below + i) for i in range(equal)]))
    return np.array(out)


@given(samples | tied, samples | tied)
def test_it_equals_the_naive_version(train, test):
    np.testing.assert_allclose(specify_histogram(train, test), naive_specification(train, test), rtol=1e-9, atol=1e-6)


def test_the_result_is_a_permutation_of_training_values_for_equal_sizes():
    train, test = rng.normal(size=40), rng.exponential(size=40)
    out = specify_histogram(train, test)
    np.testing.assert_array_equal(np.sort(out), np.sort(train))


def test_argsort_and_rank_forms_agree():
    train, test = rng.normal(size=25), rng.normal(size=25)
    by_argsort = np.empty(25)
    by_argsort[np.argsort(test)] = np.sort(train)
    by_rank = np.sort(train)[np.argsort(np.argsort(test))]
    np.testing.assert_array_equal(specify_histogram(train, test), by_argsort)
    np.testing.assert_array_equal(specify_histogram(train, test), by_rank)


@given(samples | tied)
def test_identity_when_test_is_train(train):
    np.testing.assert_array_equal(specify_histogram(train, train), train)


@given(samples | tied, samples | tied)
def test_idempotent(train, test):
    once = specify_histogram(train, test)
    np.testing.assert_allclose(specify_histogram(train, once), once, rtol=1e-9, atol=1e-6)


@given(samples | tied, samples | tied)
def test_order_is_kept_and_equal_values_stay_equal(train, test):
    out = specify_histogram(train, test)
    order = np.argsort(test, kind="stable")
    assert (np.diff(out[order]) >= -1e-9 * np.abs(train).max()).all()
    for value in np.unique(test):
        assert np.unique(out[test == value]).size == 1


@given(samples, samples)
def test_results_stay_within_the_training_range(train, test):
    out = specify_histogram(train, test)
    assert (out >= train.min() - 1e-9).all() and (out <= train.max() + 1e-9).all()


def test_only_ranks_of_test_values_matter():
    train, test = rng.normal(size=30), rng.normal(size=17)
    np.testing.assert_array_equal(specify_histogram(train, np.exp(3 * test)), specify_histogram(train, test))


def test_scales_of_training_values_are_carried_over():
    train, test = rng.normal(size=30), rng.normal(size=17)
    np.testing.assert_allclose(specify_histogram(3e-200 * train, test), 3e-200 * specify_histogram(train, test))


def test_extremes_go_to_extremes_for_unequal_sizes():
    train, test = rng.normal(size=100), rng.normal(size=7)
    out = specify_histogram(train, test)
    assert out[test.argmax()] == train.max()
    assert out[test.argmin()] == train.min()


def test_one_point_becomes_the_median_and_no_point_nothing():
    assert specify_histogram([4.0, 1.0, 2.0], [99.0]).tolist() == [2.0]
    assert specify_histogram([4.0, 1.0, 2.0], []).shape == (0,)
    assert specify_histogram([4.0], [9.0, 8.0]).tolist() == [4.0, 4.0]


def test_all_ties_become_the_mean():
    np.testing.assert_allclose(specify_histogram([1.0, 2.0, 6.0], [5.0, 5.0, 5.0]), 3.0)


def test_columns_are_independent():
    train, test = rng.normal(size=(20, 3)), rng.normal(size=(11, 3))
    out = renormalize(train, test)
    for k in range(3):
        np.testing.assert_array_equal(out[:, k], specify_histogram(train[:, k], test[:, k]))
    assert renormalize(np.empty((4, 0)), np.empty((3, 0))).shape == (3, 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_no_numbers_are_refused(bad):
    with pytest.raises(ValueError, match="1 of 2 in `train`"):
        specify_histogram([0.0, bad], [1.0])
    with pytest.raises(ValueError, match="1 of 1 in `test`"):
        specify_histogram([0.0, 1.0], [bad])


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match="at least 1"):
        specify_histogram([], [1.0])
    with pytest.raises(ValueError, match="shape"):
        specify_histogram([[1.0]], [1.0])
    with pytest.raises(ValueError, match="same columns"):
        renormalize(np.ones((2, 2)), np.ones((2, 3)))
