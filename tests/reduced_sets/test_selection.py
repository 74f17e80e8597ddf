"""Greedy subsets of the points."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from random_targets import random_target

from preimage.feature_space import Expansion
from preimage.kernels import Gaussian, Laplacian, Polynomial
from preimage.reduced_sets import Select, _selection, project, relative_error, squared_error
from preimage.reduced_sets._selection import _forward_order, _inverse, _remove


def numbers_of(target):
    """K and α in the order in which reducers see them."""
    target = target.merged()
    return target.kernel(target.points), target.coefficients


def refit_error(K, alpha, keep):
    """Σ‖Ψ‖² − Σ‖PΨ‖² for the span of the points `keep`."""
    values = (K @ alpha)[keep]
    return np.sum(alpha * (K @ alpha)) - np.sum(values * np.linalg.solve(K[np.ix_(keep, keep)], values))


def naive_removal(K, alpha):
    """Leave one out, again and again, by refitting."""
    keep, order, costs = list(range(len(K))), [], []
    while len(keep) > 1:
        errors = [refit_error(K, alpha, [j for j in keep if j != i]) for i in keep]
        costs.append(min(errors) - sum(costs))
        order.append(keep.pop(int(np.argmin(errors))))
    return [*order, *keep], costs


def naive_forward(K, alpha, n):
    chosen = []
    for _ in range(n):
        rest = [i for i in range(len(K)) if i not in chosen]
        chosen.append(min(rest, key=lambda i: refit_error(K, alpha, [*chosen, i])))
    return chosen


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(0.5)], ids=repr)
def test_removal_is_leaving_one_out(kernel, k, rng):
    K, alpha = numbers_of(random_target(rng, kernel, m=15, k=k))
    assert_array_equal(_remove(K, alpha), naive_removal(K, alpha)[0])


@pytest.mark.parametrize("block", [1, 3, 48])
def test_blocks_do_not_change_the_order(block, rng, monkeypatch):
    K, alpha = numbers_of(random_target(rng, Gaussian(1.0), m=120))
    expected = []
    keep, coefficients = np.arange(120), alpha
    while keep.size > 1:  # (R9), (R10), with a new inverse every time
        P = np.linalg.inv(K[np.ix_(keep, keep)])
        n = np.argmin((coefficients**2).sum(axis=1) / np.diagonal(P))
        coefficients = np.delete(coefficients - np.outer(P[:, n] / P[n, n], coefficients[n]), n, axis=0)
        expected.append(keep[n])
        keep = np.delete(keep, n)
    monkeypatch.setattr(_selection, "BLOCK", block)
    assert_array_equal(_remove(K, alpha), [*expected, *keep])


@pytest.mark.parametrize("k", [1, 3])
def test_costs_of_removals_add_up(k, rng):
    target = random_target(rng, Gaussian(1.0), m=15, k=k)
    K, alpha = numbers_of(target)
    order, costs = naive_removal(K, alpha)
    short = target.merged()
    for t in (1, 5, 10):
        gone = project(short, short.points[order[t:]])
        assert_allclose(squared_error(target, gone), sum(costs[:t]), rtol=1e-6)
        # ρ* of the point that goes next, from the solution without the earlier ones
        P = np.linalg.inv(K[np.ix_(order[t:], order[t:])])
        rho = np.sum(gone.coefficients**2, axis=1) / np.diagonal(P)
        assert_allclose(rho.min(), costs[t], rtol=1e-5)
        assert np.argmin(rho) == 0


def naive_removal_by_eigenvectors(K, alpha):
    """The smallest (R7) over points and eigenvectors; coefficients change by (R8), whose error it is."""
    keep, order = list(range(len(K))), []
    while len(keep) > 1:
        values, vectors = np.linalg.eigh(K[np.ix_(keep, keep)])
        rho = np.sum(alpha**2, axis=1)[:, None] * values / vectors**2
        n, i = np.unravel_index(np.argmin(rho), rho.shape)
        change = -np.outer(vectors[:, i] / vectors[n, i], alpha[n])
        assert_allclose(np.sum(change * (K[np.ix_(keep, keep)] @ change)), rho[n, i], rtol=1e-6)
        alpha = np.delete(alpha + change, n, axis=0)
        order.append(keep.pop(n))
    return [*order, *keep]


@pytest.mark.parametrize("k", [1, 3])
def test_the_published_removal_by_eigenvectors_bounds_the_best(k, rng):
    """(R9) ≤ (R7) ≤ m · (R9): an eigenvector removes a point at the price of at most m best removals."""
    K, alpha = numbers_of(random_target(rng, Gaussian(1.0), m=12, k=k))
    order = naive_removal_by_eigenvectors(K, alpha)
    cost = lambda n: refit_error(K, alpha, np.delete(np.arange(12), n))
    best, first = cost(_remove(K, alpha)[0]), cost(order[0])
    assert best <= first <= 12 * best


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian(0.5), Polynomial(4)], ids=repr)
def test_forward_is_orthogonal_matching_pursuit(kernel, k, rng):
    target = random_target(rng, kernel, m=20, k=k).merged()
    assert_array_equal(_forward_order(target, 6), naive_forward(*numbers_of(target), 6))


@pytest.mark.parametrize("rule", ["removal", "forward"])
def test_one_target_is_the_special_case_of_several(rule, rng):
    target = random_target(rng, k=1)
    thrice = target @ np.ones((1, 3))
    one, three = Select(rule).reduce(target, 7).expansion, Select(rule).reduce(thrice, 7).expansion
    assert_array_equal(one.points, three.points)
    assert_allclose(three.coefficients, one.coefficients * np.ones((1, 3)), rtol=1e-8)


def test_order_is_the_same_every_time(rng):
    target = random_target(rng)
    assert_array_equal(Select().reduce(target, 7).expansion.points, Select().reduce(target, 7).expansion.points)


def test_removal_needs_no_well_conditioned_matrix(rng):
    target = random_target(rng, Gaussian(1e-3), m=60)
    errors = [relative_error(target, Select().reduce(target, n).expansion) for n in (1, 10, 30)]
    assert errors[2] <= errors[1] + 1e-12
    assert errors[1] < 1e-4


def test_values_that_are_no_numbers_are_refused(rng):
    target = random_target(rng)
    points = target.points.copy()
    points[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        Select().reduce(Expansion(target.kernel, points, target.coefficients), 4)


def test_inverse_of_nothing_is_finite():
    assert np.isfinite(_inverse(np.zeros((3, 3)))).all()


def test_unknown_rules_are_refused(rng):
    with pytest.raises(ValueError, match="rule"):
        Select("best").reduce(random_target(rng), 3)
    with pytest.raises(ValueError, match="rule='removal' is exact"):
        Select("eigenvectors").reduce(random_target(rng), 3)


@pytest.mark.parametrize("unit", [2.0**900, 2.0**-900])
def test_the_unit_of_the_coefficients_does_not_matter(unit, rng):
    points, coefficients = rng.normal(size=(9, 2)), rng.normal(size=(9, 2))
    order = Select().order(Expansion(Gaussian(0.3), points, coefficients), 9)
    assert_array_equal(Select().order(Expansion(Gaussian(0.3), points, unit * coefficients), 9), order)
