"""What counts as objects, how a column of them is made of any container, and which of them are equal."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from preimage._engine.arrays import as_rows, in_double, in_precision, is_objects
from preimage._engine.objects import (
    are_objects,
    as_objects,
    column_of,
    describe_objects,
    object_key,
    object_numbers,
    refuse_objects,
)
from preimage.exceptions import UnsupportedKernelError


class Graph:
    """Has a length and items, as graphs of other libraries have, and must not be looked into."""

    def __len__(self):
        return 3

    def __getitem__(self, key):
        raise KeyError(key)


TEXTS = ["ab", "", "été"]
OBJECTS = {
    "list of texts": TEXTS,
    "tuple of texts": tuple(TEXTS),
    "array of texts": np.array(TEXTS),
    "array of objects": np.array(TEXTS, dtype=object),
    "column of objects": np.array(TEXTS, dtype=object)[:, None],
    "series of pandas": pd.Series(TEXTS),
    "series of polars": pl.Series(TEXTS),
    "table of one column": pd.DataFrame({"text": TEXTS}),
    "table of polars": pl.DataFrame({"text": TEXTS}),
    "sets": [{1}, set(), {2, 3}],
    "graphs": [Graph(), Graph(), Graph()],
    "rows of several lengths": [[1.0, 2.0], [1.0], [3.0]],
    "arrays of several lengths": [np.ones(2), np.ones(3), np.zeros(0)],
    "matrices": [np.eye(2), np.eye(2), np.eye(2)],
    "lists of words": [["a", "b"], ["c", "d"], ["e", "f"]],
    "dictionaries": [{"a": 1}, {}, {"b": 2}],
    "one text among numbers": [1.0, "a", 2.0],
}
ROWS = {
    "array": np.eye(3),
    "single column": np.eye(3)[:, :1],
    "numbers": [1.0, 2.0, 3.0],
    "lists": [[1, 2], [3, 4], [5, 6]],
    "arrays": [np.ones(2), np.ones(2)],
    "a missing entry": [[1.0, None], [2.0, 3.0]],
    "objects that are numbers": np.array([[1], [2]], dtype=object),
    "table": pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}),
    "table with a column of text": pd.DataFrame({"a": ["x", "y"], "b": [3.0, 4.0]}),
    "table of one column of numbers": pd.DataFrame({"a": [1.0, 2.0]}),
    "series of numbers": pd.Series([1.0, 2.0]),
    "sparse": sparse.csr_array(np.eye(3)),
    "array of three axes": np.ones((2, 2, 2)),
    "columns of objects": np.array([["a", "b"], ["c", "d"]], dtype=object),
    "nothing": [],
    "a stream": iter([["a"]]),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_become_a_column(name):
    X = OBJECTS[name]
    assert are_objects(X)
    column = as_objects("Model", X)
    assert is_objects(column) and column.shape == (3, 1) and as_objects("Model", column) is column
    given = X if isinstance(X, (list, tuple)) else TEXTS
    assert all(each is other or each == other for each, other in zip(column_of(column), given, strict=True))


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_numbers_are_no_objects(name):
    assert not are_objects(ROWS[name])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("text", r"a single str. Pass \['text'\]"),
        (b"text", "a single bytes"),
        ({"a", "b"}, "Pass list"),
        ({"a": 1}, "Pass list"),
        (iter(["a"]), "Pass list"),
        (np.eye(3), "3 columns"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), "2 columns"),
        (np.ma.array(["a", "b"], mask=[True, False]), "masked"),
        (sparse.csr_array(np.eye(1)), "objects in memory"),
        (3.0, "objects in memory"),
        (None, "objects in memory"),
    ],
)
def test_what_has_no_objects_in_order_is_refused(X, message):
    with pytest.raises((TypeError, ValueError), match=message) as refused:
        as_objects("Model", X)
    assert "Model" in str(refused.value)


def test_a_column_passes_through_conversions_of_numbers():
    column = as_objects("Model", TEXTS)
    assert in_double(column) is in_precision(column, np.dtype("float32")) is as_rows(column) is column
    assert as_rows([[1, 2]]).dtype == np.float64
    numbers = np.eye(2)
    assert column_of(numbers) is numbers and column_of(column).shape == (3,)


def test_equal_objects_have_one_key():
    graph, other = Graph(), Graph()
    groups = [
        ["a", "a"],
        [{1, 2}, {2, 1}],
        [frozenset("ab"), frozenset("ba")],
        [[1, [2]], [1, [2]]],
        [{"a": [1]}, {"a": [1]}],
        [np.arange(3), np.arange(3)],
        [1, 1],
        [graph, graph],
        [other],
        [["a"]],
        [("a",)],
    ]
    keys = [{object_key(each) for each in group} for group in groups]
    assert all(len(each) == 1 for each in keys) and len(set().union(*keys)) == len(groups)

    class Unhashable:
        __hash__ = None

    one, two = Unhashable(), Unhashable()
    assert object_key(one) == object_key(one) != object_key(two)


def test_numbers_of_objects():
    assert object_numbers(as_objects("Model", ["b", "a", "b"])).tolist() == [1, 0, 1]
    assert object_numbers(as_objects("Model", [{2}, {1}, {2}])).tolist() == [0, 1, 0]
    assert object_numbers(as_objects("Model", ["a", "a\x00"])).tolist() == [0, 1]


def test_messages_name_what_came():
    assert describe_objects(as_objects("Model", ["a", {1}])) == "objects of type set, str"
    assert describe_objects(as_objects("Model", [1, "a", {1}, [1], 2.0])).endswith(", ...")
    refuse_objects("explore", np.eye(2), "")
    with pytest.raises(UnsupportedKernelError, match=r"explore needs rows of numbers.*type str\. Do that"):
        refuse_objects("explore", as_objects("Model", ["a"]), "Do that.")
