"""Widths of columns: which columns stay, and what they do not depend on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import Gaussian, Laplacian, Linear, Matern, Multiquadric, Polynomial, resolve_gamma
from preimage.widths._relevance import learn_relevance, require_relevance

KERNEL = Gaussian("relevance")


def problem(rng, n=200, d=8, noise=0.1):
    X = rng.normal(size=(n, d))
    return X, (np.sin(2 * X[:, 1]) * X[:, 3] + (X[:, 5] > 0) + noise * rng.normal(size=n))[:, None]


def learned(X, Y, weights=None, kernel=KERNEL, **options):
    return learn_relevance(kernel, X, Y, np.ones(len(X)) if weights is None else weights, **options)


@pytest.mark.parametrize("kernel", [KERNEL, Matern("relevance", nu=2.5)], ids=str)
def test_columns_that_do_not_help_get_little_and_most_of_them_nothing(kernel, rng):
    """An interaction and a step. Akaike's price lets a column of noise pass with probability 0.16 or less."""
    found = learned(*problem(rng), kernel=kernel)
    others = [0, 2, 4, 6, 7]
    assert found.per_column.shares[[1, 3, 5]].min() > 0.05 and found.per_column.shares[others].sum() < 0.05
    assert np.sum(found.per_column.gammas[others] == 0) >= 3
    assert_allclose([each.shares.sum() for each in (found.one, found.standardized, found.per_column)], 1)
    assert (
        np.all((found.per_column.gammas == 0) == (found.per_column.shares == 0)) and found.per_column.gammas.min() >= 0
    )


def test_linear_columns_are_relevant_although_their_widths_are_large(rng):
    """γ says how curved the function is along a column, and relevances how far it changes."""
    X = rng.uniform(size=(200, 3))
    found = learned(X, (3 * X[:, 0] + np.sin(9 * X[:, 1]) + 0.05 * rng.normal(size=200))[:, None])
    assert found.per_column.gammas[0] < 0.1 * found.per_column.gammas[1] and found.per_column.shares[0] > 0.1


def test_units_of_columns_and_targets_do_not_matter(rng):
    X, Y = problem(rng)
    units = 10.0 ** rng.integers(-30, 30, size=X.shape[1])
    one, other = learned(X, Y), learned(X * units, 1e9 * Y - 3e9)
    # The best kernel with one width, which depends on units, is one of the starts.
    assert_allclose(other.per_column.shares, one.per_column.shares, atol=0.05)
    assert_allclose(other.per_column.shares[[1, 3, 5]], one.per_column.shares[[1, 3, 5]], rtol=0.2)


def test_one_unit_for_all_columns_does_not_matter_at_all(rng):
    X, Y = problem(rng)
    one, other = learned(X, Y), learned(2.0**40 * X, Y)
    assert_allclose(other.per_column.gammas * 2.0**80, one.per_column.gammas, rtol=1e-6)
    assert_allclose(other.one.gammas * 2.0**80, one.one.gammas, rtol=1e-6)


def test_columns_may_be_exchanged(rng):
    X, Y = problem(rng)
    order = rng.permutation(X.shape[1])
    one, other = learned(X, Y), learned(X[:, order], Y)
    assert_allclose(other.per_column.shares, one.per_column.shares[order], atol=0.02)


def test_constant_columns_have_no_part(rng):
    X, Y = problem(rng)
    found = learned(np.column_stack([X[:, :4], np.full(200, 7.0), X[:, 4:]]), Y)
    assert found.per_column.gammas[4] == found.standardized.gammas[4] == found.one.shares[4] == 0
    assert_allclose(np.delete(found.per_column.gammas, 4), learned(X, Y).per_column.gammas, rtol=1e-6)


def test_a_column_given_twice_shares_its_relevance(rng):
    X, Y = problem(rng)
    found = learned(np.column_stack([X, X[:, 1]]), Y)
    assert_allclose(found.per_column.gammas[8], found.per_column.gammas[1], rtol=1e-6)


def test_weights_of_rows_say_how_certain_targets_are(rng):
    """Wrong targets of small weight change little, those of weight one much."""
    X, Y = problem(rng)
    wrong = np.where(np.arange(200)[:, None] % 3 == 0, rng.permutation(Y), Y)
    weights = np.where(np.arange(200) % 3 == 0, 1e-4, 1.0)
    right = learned(X, Y).per_column.shares
    assert (
        abs(learned(X, wrong, weights).per_column.shares - right).sum()
        < abs(learned(X, wrong).per_column.shares - right).sum()
    )


def test_the_evidence_with_one_width_is_as_good_as_that_of_a_grid(rng):
    from preimage.widths._evidence import Evidence

    X = rng.normal(size=(120, 2))
    Y = np.sin(X.sum(axis=1, keepdims=True)) + 0.1 * rng.normal(size=(120, 1))
    found = learned(X, Y).one.gammas[0]
    evidence = Evidence(Gaussian(1.0), X - X.mean(axis=0), (Y - Y.mean()) / Y.std(), np.ones(120))
    best = lambda gamma: min(evidence.at(np.full(2, gamma), ridge) for ridge in np.geomspace(1e-6, 10, 60))
    assert best(found) <= min(best(found * factor) for factor in (0.3, 0.7, 1.4, 3.0)) + 1e-3


def test_one_column(rng):
    X = rng.normal(size=(60, 1))
    found = learned(X, np.sin(X))
    assert found.per_column.shares == found.one.shares == [1.0] and found.per_column.gammas[0] > 0


@pytest.mark.parametrize(
    "kernel", [Laplacian("relevance"), Polynomial(2, "relevance"), Multiquadric("relevance")], ids=str
)
def test_other_kernels_are_refused(kernel):
    with pytest.raises(UnsupportedKernelError, match=r"kernel of the squared distance.*Gaussian, Matern.*; got"):
        require_relevance(kernel)


def test_parts_of_kernels_are_refused():
    with pytest.raises(UnsupportedKernelError, match=r"a part of it has it\. Learn the weights with that part alone"):
        require_relevance(KERNEL + Linear())


def test_the_rule_alone_says_that_it_needs_targets(rng):
    with pytest.raises(ValueError, match=r"learns a width for each column from targets or labels: call fit\(X, y\)"):
        resolve_gamma("relevance", rng.normal(size=(5, 2)))
    with pytest.raises(ValueError, match="learns a width for each column"):
        KERNEL.resolve(rng.normal(size=(5, 2)))
