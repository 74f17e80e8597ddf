"""The permutation test of independence."""

import numpy as np
import pytest

from preimage.inflation._dependence import dependence_test

RNG = np.random.default_rng(0)


def mutual_information(a, b, bins):
    p = np.histogram2d(a, b, bins)[0] / len(a)
    q = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    return float((p[p > 0] * np.log(p[p > 0] / q[p > 0])).sum())


@pytest.mark.parametrize("n", [10, 57, 400])
def test_information_is_that_of_the_joint_histogram(n):
    scores = RNG.normal(size=(n, 3))
    scores[:, 2] += scores[:, 0] ** 2
    test = dependence_test(scores, 2, rng=0)
    bins = max(2, round(np.sqrt(n / 5)))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        expected = mutual_information(scores[:, i], scores[:, j], bins)
        assert test.information[i, j] == test.information[j, i] == pytest.approx(expected, abs=1e-12)
    assert np.isnan(np.diagonal(test.information)).all() and test.n_pairs == 3


def test_p_values_are_shares_of_permutations():
    a, b = RNG.normal(size=(2, 40))
    test = dependence_test(np.column_stack([a, b]), 300, bins=3, rng=1)
    rng = np.random.default_rng(5)
    observed = mutual_information(a, b, 3)
    null = np.array([mutual_information(a, rng.permutation(b), 3) for _ in range(3000)])
    share = np.mean(null >= observed - 1e-12)
    assert abs(test.p_values[0, 1] - share) < 4 * np.sqrt(share * (1 - share) / 300) + 0.01


def test_p_values_are_uniform_under_independence():
    p = [dependence_test(RNG.normal(size=(60, 2)), 99, rng=seed).p_values[0, 1] for seed in range(200)]
    for level in (0.1, 0.5):
        # Ties make the test a little conservative, never liberal.
        assert level - 0.12 < np.mean(np.array(p) <= level) < level + 0.07


def test_dependence_without_correlation_is_found():
    x = RNG.normal(size=150)
    test = dependence_test(np.column_stack([x, x**2, RNG.normal(size=150)]), 199, rng=0)
    assert test.p_values[0, 1] == pytest.approx(1 / 200) and test.n_rejected >= 1
    assert "of 3 pairs rejected at level 0.05" in repr(test)


def test_scale_and_order_of_points_are_of_no_account():
    scores = RNG.normal(size=(50, 2))
    base = dependence_test(scores, 10, rng=0)
    np.testing.assert_allclose(dependence_test(1e-13 * scores, 10, rng=0).information, base.information)
    np.testing.assert_allclose(dependence_test(scores[::-1], 10, rng=0).information, base.information)


def test_constant_columns_depend_on_nothing():
    test = dependence_test(np.column_stack([np.ones(30), RNG.normal(size=30)]), 20, rng=0)
    assert test.information[0, 1] == 0 and test.p_values[0, 1] == 1


def test_one_column_has_no_pairs():
    test = dependence_test(RNG.normal(size=(10, 1)), 5, rng=0)
    assert test.n_pairs == test.n_rejected == 0


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        (np.zeros(4), {}, r"shape \(n, q\) with 2 rows at least; got \(4,\)"),
        (np.array([[1.0, np.nan], [0, 0]]), {}, "finite"),
        (np.zeros((4, 2)), {"bins": 1}, "bins=1"),
        (np.zeros((4, 2)), {"n_permutations": 0}, "n_permutations=0"),
    ],
)
def test_bad_input_is_refused(scores, options, message):
    with pytest.raises(ValueError, match=message):
        dependence_test(scores, **options)
