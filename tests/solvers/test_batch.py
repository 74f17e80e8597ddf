"""Values with one row per problem, and blocks of problems."""

from dataclasses import dataclass

import numpy as np
from numpy.testing import assert_array_equal

from preimage._arrays import to_numpy
from preimage._typing import Array
from preimage.solvers._batch import Batched, query_blocks, target_parts


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


def test_blocks_cover_all_queries_once(xp):
    queries = xp.asarray(np.zeros((5000, 3)))
    for n in (10, 10_000, 1_000_000):
        points = np.broadcast_to(np.zeros((1, 3)), (n, 3))
        for blocks in (query_blocks(queries, points), target_parts(queries, points)):
            assert np.concatenate([np.arange(5000)[block] for block in blocks]).tolist() == list(range(5000))
