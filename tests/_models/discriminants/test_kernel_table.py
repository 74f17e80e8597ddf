"""The Fisher problem of labelled data: tables of kernel values and passes over the data agree."""

from dataclasses import replace

import numpy as np
import pytest
from fisher_data import data, same_up_to_scale
from numpy.testing import assert_allclose

from preimage._models.discriminants import (
    ClassScatters,
    FisherOptions,
    KernelTable,
    LabelledData,
    fisher_problem,
    fit_discriminants,
    select_points,
)
from preimage.invariances import FunctionTransformation, TangentCovariance
from preimage.kernels import Gaussian
from preimage.landmarks import Uniform

SHIFTS = TangentCovariance(FunctionTransformation(lambda X, t: X + t * np.array([1.0, 0.0, 0.0])))


def labelled(rng, weighted=True):
    X, codes = data(rng, n=40, n_classes=3)
    weights = rng.uniform(0.5, 2, size=40) if weighted else None
    return LabelledData(Gaussian(0.3), X, codes, np.arange(3), weights)


@pytest.mark.parametrize("regularizer", ["norm", "identity"])
@pytest.mark.parametrize("invariances", [None, SHIFTS], ids=["plain", "invariant"])
@pytest.mark.parametrize("on_landmarks", [False, True])
def test_tables_and_passes_give_the_same_discriminants(rng, regularizer, invariances, on_landmarks):
    rows, options = labelled(rng), FisherOptions(regularizer, invariances=invariances)
    points = rows.X[:12].copy() if on_landmarks else rows.X
    table = KernelTable.of(rows, points, options)
    one_pass = ClassScatters.of(rows, points, options).problem(rows, options)
    (ratios, alpha), (expected, other) = (problem.directions([0.1])[0] for problem in (table.problem(), one_pass))
    assert_allclose(ratios, expected, rtol=1e-6)
    same_up_to_scale(table.values @ alpha, table.values @ other)


@pytest.mark.parametrize("on_landmarks", [False, True])
def test_a_problem_on_some_rows_is_that_of_these_rows(rng, on_landmarks):
    rows, options, some = labelled(rng), FisherOptions(invariances=None), np.arange(0, 40, 2)
    points = rows.X[:12].copy() if on_landmarks else rows.X
    table = KernelTable.of(rows, points, options)
    few = replace(rows, X=rows.X[some], codes=rows.codes[some], weights=rows.weights[some])
    alone = fisher_problem(few, points if on_landmarks else few.X, options)
    ratios, alpha = table.problem(some).directions([0.1])[0]
    expected, other = alone.directions([0.1])[0]
    assert_allclose(ratios, expected, rtol=1e-8)
    values = table.values_with(some, some)
    same_up_to_scale(values @ alpha, values @ other)


def test_batches_add_up(rng):
    rows, options = labelled(rng), FisherOptions(invariances=SHIFTS)
    points = rows.X[:12].copy()
    part = lambda half: replace(rows, X=rows.X[half], codes=rows.codes[half], weights=rows.weights[half])
    first = ClassScatters.of(part(slice(0, 25)), points, options)
    both = first + first.batch(part(slice(25, None)), options)
    whole = ClassScatters.of(rows, points, options)
    assert_allclose(both.moments.within, whole.moments.within, atol=1e-10)
    assert_allclose(both.tangent, whole.tangent, atol=1e-10)


def test_points_are_all_rows_a_selection_or_those_given(rng):
    rows = labelled(rng)
    assert select_points(rows, None) == (rows.X, None)
    points, landmarks = select_points(rows, Uniform(5), np.random.default_rng(0))
    assert points.shape == (5, 3) and landmarks.points is points
    given, none = select_points(rows, rows.X[:4])
    assert none is None and given is not rows.X and given.shape == (4, 3)
    with pytest.raises(ValueError, match=r"shape \(m, 3\)"):
        select_points(rows, np.zeros((4, 2)))


def test_memory_is_asked_for_before_it_is_used(rng):
    rows = labelled(rng)
    with pytest.raises(MemoryError, match="landmarks=1000"):
        fisher_problem(rows, rows.X, FisherOptions(max_memory=1000))


def test_ridges_together_are_ridges_one_by_one(rng):
    rows, options = labelled(rng), FisherOptions()
    problem = KernelTable.of(rows, rows.X, options).problem(n_ridges=3)
    together = fit_discriminants(problem, [10.0, 0.1, 1e-3], options)
    for ridge, fitted in zip([10.0, 0.1, 1e-3], together, strict=True):
        alone = fit_discriminants(problem, [ridge], options)[0]
        assert_allclose(fitted.coefficients, alone.coefficients, rtol=1e-10, atol=1e-12)
        assert_allclose(fitted.rule.weights, alone.rule.weights, rtol=1e-8)
        assert_allclose(fitted.rule.intercept, alone.rule.intercept, rtol=1e-8)
        assert_allclose(fitted.moments.scatters, alone.moments.scatters, rtol=1e-8, atol=1e-12)


def test_ridges_with_fewer_directions_than_others(rng):
    """Under a huge ridge rounding hides the direction in which classes hardly differ; all ridges are fitted."""
    X = np.repeat([[0.0], [1.0], [1.0 + 1e-9]], 10, axis=0) + 1e-3 * rng.normal(size=(30, 1))
    rows = LabelledData(Gaussian(0.3), X, np.repeat(np.arange(3), 10), np.arange(3), None)
    problem = KernelTable.of(rows, X, FisherOptions()).problem(n_ridges=2)
    for fitted in fit_discriminants(problem, [1e14, 1e-3], FisherOptions()):
        assert np.all(np.isfinite(fitted.coefficients))


@pytest.mark.parametrize("on_landmarks", [False, True])
def test_as_many_problems_at_once_as_fit_in_memory(rng, on_landmarks):
    rows = labelled(rng)
    points = rows.X[:12].copy() if on_landmarks else rows.X
    table = lambda memory: KernelTable.of(rows, points, FisherOptions(max_memory=memory))
    counts = [table(memory).problems_at_once(2) for memory in (80_000, 400_000, 4_000_000)]
    assert counts[0] >= 1
    assert counts == sorted(counts) and counts[2] > 20
    small = table(400_000)
    assert 2 * small.n_bytes + counts[1] * small._n_problem_bytes <= 400_000
