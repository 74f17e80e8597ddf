"""Spans that grow point by point, against projections written out."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from preimage._engine.arrays import to_numpy
from preimage.feature_space import Expansion, GrowingSpan, Proposal
from preimage.feature_space._growing_span import BLOCK
from preimage.kernels import Gaussian, Linear, Polynomial, Precomputed

KERNEL = Gaussian(0.3)


@pytest.fixture
def rows(rng):
    return rng.normal(size=(30, 3))


def projection(kernel, X, points):
    C = kernel(X, points)
    return C @ np.linalg.solve(kernel(points), C.T)


def assert_spans(span, kernel, X, points, atol=1e-10):
    """Everything that a span says about rows X when it has the given points."""
    K = kernel(X)
    inside = projection(kernel, X, points)
    assert_allclose(to_numpy(span.axes.T @ span.axes), inside, atol=atol)
    assert_allclose(span.residuals, np.diagonal(K - inside), atol=atol)
    assert_allclose(span.residual_trace, np.trace(K - inside), atol=len(X) * atol)
    assert_allclose(span.path[-1], span.residual_trace)
    frame = span.frame()
    assert_allclose(to_numpy(frame.points), points)
    assert_allclose(to_numpy(frame.inner(frame)), np.eye(len(points)), atol=1e-8)
    assert_allclose(to_numpy(frame(span.rows)), to_numpy(span.axes).T, atol=1e-8)


@pytest.mark.parametrize("grow", ["rows", "order", "block", "points"])
def test_whatever_way_points_join_the_span_is_theirs(grow, rows, xp):
    span, chosen = GrowingSpan(KERNEL, xp.asarray(rows)), np.array([4, 17, 0, 9, 23])
    if grow == "rows":
        assert all(span.add_row(number) for number in chosen)
    elif grow == "order":
        span.add_in_order(chosen)
    elif grow == "block":
        assert span.extend(Proposal(chosen)) == 5
    else:
        assert all(span.add_point(xp.asarray(rows[number : number + 1])) for number in chosen)
    assert_array_equal(span.pivots, np.full(5, -1) if grow == "points" else chosen)
    assert_spans(span, KERNEL, rows, rows[chosen])


def test_points_need_not_be_rows(rows, rng):
    span, others = GrowingSpan(KERNEL, rows), rng.normal(size=(3, 3))
    span.add_row(5)
    for point in others:
        assert span.add_point(point[None])
    assert_array_equal(span.pivots, [5, -1, -1, -1])
    assert_spans(span, KERNEL, rows, np.vstack([rows[5:6], others]))
    assert not span.add_point(others[:1]), "a point joins once"
    span.add_row(7)
    assert_spans(span, KERNEL, rows, np.vstack([rows[5:6], others, rows[7:8]]))


def test_a_start_is_the_same_span_on_other_rows(rows, rng):
    first = GrowingSpan(KERNEL, rows)
    first.add_in_order(np.array([3, 1, 20]))
    X = rng.normal(size=(12, 3))
    span = GrowingSpan(KERNEL, X, start=first)
    assert_spans(span, KERNEL, X, rows[[3, 1, 20]])
    assert span.add_row(6)
    assert_spans(span, KERNEL, X, np.vstack([rows[[3, 1, 20]], X[6:7]]))
    with pytest.raises(ValueError, match="follow vectors"):
        GrowingSpan(KERNEL, X, start=first, values=np.ones((12, 1)))


@pytest.mark.parametrize("grow", ["order", "points"])
def test_residuals_of_vectors_are_followed(grow, rows, rng):
    target = Expansion(KERNEL, rng.normal(size=(8, 3)), rng.normal(size=(8, 2)))
    span, chosen = GrowingSpan(KERNEL, rows, values=target(rows)), np.array([2, 11, 5])
    if grow == "order":
        span.add_in_order(chosen)
    else:
        for number in chosen:
            span.add_point(rows[number : number + 1], target(rows[number : number + 1]))
    frame = span.frame()
    assert_allclose(span.coordinates, frame.inner(target), atol=1e-10)
    assert_allclose(span.residual_values, (target - frame @ span.coordinates)(rows), atol=1e-10)


def test_rows_that_depend_on_others_are_passed_over(rng):
    points = rng.normal(size=(9, 2))
    rows = np.repeat(points, 2, axis=0)
    span = GrowingSpan(KERNEL, rows)
    span.add_in_order()
    assert_array_equal(span.pivots, np.arange(0, 18, 2))
    assert not span.add_row(1)
    linear = GrowingSpan(Linear(), rows)
    linear.add_in_order()
    assert_array_equal(linear.pivots, [0, 2])
    assert linear.open_rows()[0].size == 0
    assert len(GrowingSpan.of(Polynomial(2), rows)) == 6


@pytest.mark.parametrize("gamma", [1e-4, 1e-2])
def test_wide_kernels_stop_where_rounding_begins(gamma, rng):
    X = rng.normal(size=(200, 2))
    span = GrowingSpan.of(Gaussian(gamma), X)
    assert len(span) < 60
    assert span.residual_trace < 1e-9 * len(X)
    frame = span.frame()
    assert_allclose(frame.inner(frame), np.eye(len(span)), atol=0.5)  # every axis is more than rounding


def test_more_points_than_a_block_and_than_there_was_room_for(rng):
    X = rng.normal(size=(2 * BLOCK + 10, 8))
    span = GrowingSpan(Gaussian(1.0), X, capacity=3)
    span.add_in_order()
    assert len(span) == len(X)
    assert span.residual_trace < 1e-12 * len(X)
    nested = GrowingSpan.nested(Gaussian(1.0)(X))
    assert_allclose(nested.coefficients, span.coefficients, atol=1e-10)
    assert_allclose(np.triu(span.coefficients, 1), 0)


def test_a_nested_span_of_nearly_dependent_points_does_not_doubt_the_kernel():
    """Pivots in a given order are tiny, so what is left depends on rounding: on the draw, and on the processor."""
    left = []
    for seed in range(10):
        X = np.random.default_rng(seed).normal(scale=0.5, size=(200, 2))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            left.append(GrowingSpan.nested(Gaussian(1.0)(X)).residual_trace / len(X))
    assert np.median(left) < 2e-5
    assert max(left) < 1e-3


def test_candidates_weights_and_goals(rows):
    weights = np.linspace(0, 2, 30)
    span = GrowingSpan(KERNEL, rows, weights=weights, n_candidates=10)
    assert span.open_rows()[0].max() == 9
    goal = 0.5 * span.residual_trace
    while span.residual_trace > goal:
        span.extend(span.farthest(), goal=goal)
    assert span.path[-2] > goal >= span.path[-1]
    assert_allclose(span.residual_trace, weights @ span.residuals)
    assert span.pivots.max() < 10


def test_chosen_columns_have_the_basis_of_the_factor(rows):
    span = GrowingSpan(KERNEL, rows)
    for number in (3, 8, 21):
        span.add_row(number)
        basis, columns = span.column_basis(), KERNEL(rows)[:, span.pivots]
        assert_allclose(basis.T @ basis, np.eye(len(span)), atol=1e-12)
        assert_allclose(basis @ (basis.T @ columns), columns, atol=1e-12)


def test_sparse_rows_and_given_values(rows):
    thin = np.where(np.abs(rows) > 0.5, rows, 0)
    spans = [
        GrowingSpan(KERNEL, sparse.csr_matrix(thin)),
        GrowingSpan(KERNEL, thin),
        GrowingSpan(Precomputed(KERNEL(thin)), np.arange(30)[:, None]),
    ]
    for span in spans:
        span.add_in_order(np.array([1, 6, 2]))
    for span in spans:
        assert_allclose(span.residuals, spans[1].residuals, atol=1e-12)
