"""Results of solvers, and the objective they report; values with one row per problem, and blocks of problems."""

from dataclasses import dataclass

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from preimage._engine.arrays import to_numpy
from preimage._engine.typing import Array
from preimage.descent import Batched
from preimage.feature_space import Expansion
from preimage.kernels import Gaussian, ShiftedInputs
from preimage.solvers import FixedPoint, PreimageResult, Reason, objective_at
from preimage.solvers._preimage import direct_result


def test_objective_at_is_the_paired_distance(rng, block_shape):
    target = Expansion(Gaussian(0.5), rng.normal(size=(15, 3)), rng.normal(size=(15, 40)))
    Z = rng.normal(size=(40, 3))
    assert_allclose(objective_at(target, Z), np.diagonal(target.squared_distances(Z)), atol=1e-12)


def some_result(xp, objective, reason):
    q = len(objective)
    points = xp.asarray(np.outer(objective, [1.0, 2.0]))
    return PreimageResult(
        points, xp.asarray(np.asarray(objective)), np.arange(q), np.ones(q, bool), Reason.array(q, reason)
    )


def test_the_smaller_objective_wins_and_iterations_add_up(xp):
    mine = some_result(xp, [1.0, 2.0, 3.0], Reason.CONVERGED)
    other = some_result(xp, [2.0, 1.0, np.nan], Reason.STALLED)
    best = mine.better_of(other)
    assert_allclose(to_numpy(best.objective), [1.0, 1.0, 3.0])
    assert_allclose(to_numpy(best.points)[:, 1], [2.0, 2.0, 6.0])
    assert best.reason.tolist() == [Reason.CONVERGED, Reason.STALLED, Reason.CONVERGED]
    assert best.n_iter.tolist() == [0, 2, 4]


def test_some_problems_are_replaced(xp):
    result, other = some_result(xp, [1.0, 2.0, 3.0], Reason.CONVERGED), some_result(xp, [9.0], Reason.DIRECT)
    replaced = result.replaced(np.array([1]), other)
    assert_allclose(to_numpy(replaced.objective), [1.0, 9.0, 3.0])
    assert replaced.reason[1] is Reason.DIRECT


def test_reasons_are_members_of_the_enum_and_sentences():
    chosen = Reason.choose(np.array([True, False]), Reason.CONVERGED, Reason.STALLED)
    assert chosen[0] is Reason.CONVERGED and chosen[1] is Reason.STALLED
    assert ", ".join(sorted(set(chosen))) == f"{Reason.STALLED}, {Reason.CONVERGED}"
    assert all(len(str(reason).split()) > 3 for reason in Reason)


def test_formulas_without_a_finite_value_do_not_converge():
    result = direct_result(np.array([[1.0], [np.nan]]), np.zeros(2))
    assert result.reason.tolist() == [Reason.DIRECT, Reason.UNDEFINED]
    assert result.converged.tolist() == [True, False]


def test_kernels_of_shifted_inputs_are_solved_where_their_origin_is(rng):
    X, W = rng.normal(size=(10, 3)) + 50.0, np.eye(10)[:, :2]
    target = Expansion(Gaussian(0.5), X, W)
    shifted = Expansion(ShiftedInputs(Gaussian(0.5), X.mean(axis=0)), X, W)
    found = FixedPoint(tol=1e-9).solve(shifted, X[:2] + 0.1)
    assert_allclose(found.points, FixedPoint(tol=1e-9).solve(target, X[:2] + 0.1).points, atol=1e-6)


@dataclass(frozen=True)
class Inner(Batched):
    vectors: Array


@dataclass(frozen=True)
class Outer(Batched):
    numbers: Array
    names: np.ndarray
    inner: tuple[Inner, ...]
    nothing: Array = None


def batch(xp, first):
    numbers = np.arange(first, first + 4.0)
    names = np.array([f"problem {number:.0f}" for number in numbers], dtype=object)
    return Outer(xp.asarray(numbers), names, (Inner(xp.asarray(np.outer(numbers, [1.0, 10.0]))),))


def rows(value):
    numbers = to_numpy(value.numbers)
    assert_array_equal(to_numpy(value.inner[0].vectors), np.outer(numbers, [1.0, 10.0]))
    assert value.names.tolist() == [f"problem {number:.0f}" for number in numbers]
    assert value.nothing is None
    return numbers.tolist()


def test_all_arrays_are_taken_chosen_and_joined_alike(xp):
    first, second = batch(xp, 0), batch(xp, 4)
    assert rows(first.take(np.array([2, 0]))) == [2, 0]
    assert rows(first.where(first.numbers * (3 - first.numbers) == 0, second)) == [0, 5, 6, 3]
    assert rows(Outer.join([first, second])) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert Outer.join([first]) is first


def test_objectives_within_the_range_of_numbers_are_finite():
    result = direct_result(np.zeros((3, 1)), np.array([1.0, np.inf, np.nan])).within_range()
    assert result.objective[0] == 1.0
    assert np.all(result.objective[1:] == np.finfo(float).max)
