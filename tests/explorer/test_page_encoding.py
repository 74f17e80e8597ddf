"""Data of a page: what goes in comes out, and nothing in it can end the element that holds it."""

import base64
import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from preimage.explorer._page import encode


def decoded(text, block):
    """The same header, read as the page reads it."""
    header = json.loads(text)
    data = gzip.decompress(base64.b64decode(block))
    arrays = []
    for each in header.pop("arrays"):
        assert each["first"] % 8 == 0
        values = np.frombuffer(data, each["dtype"], int(np.prod(each["shape"])), each["first"])
        arrays.append(values.reshape(each["shape"]))
    return header, arrays


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
@pytest.mark.parametrize("shape", [(0,), (1,), (3, 5), (2, 3, 3)])
def test_arrays_come_back_as_they_were(dtype, shape):
    given_array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    other = np.asfortranarray(np.array([[1.0, np.nan], [2.0, np.inf]], dtype=">f8")).astype("float64")
    header, arrays = decoded(*encode({"first": given_array, "parts": [{"second": other}, None, "text"]}))
    assert header == {"first": {"array": 0}, "parts": [{"second": {"array": 1}}, None, "text"]}
    np.testing.assert_array_equal(arrays[0], given_array)
    np.testing.assert_array_equal(arrays[1], other)


@given(st.lists(st.text()))
def test_texts_come_back_and_no_markup_is_left(texts):
    text, block = encode({"texts": texts})
    assert not set(text) & set("<>&\u2028\u2029")
    assert decoded(text, block)[0]["texts"] == texts


def test_half_characters_do_not_prevent_a_file():
    text, _ = encode({"title": "half \ud83d of a smile"})
    assert text.encode("utf-8")


def test_equal_headers_are_equal_files():
    assert encode({"a": np.zeros(3)}) == encode({"a": np.zeros(3)})


def test_numbers_that_json_does_not_have_are_refused():
    with pytest.raises(ValueError):
        encode({"a": float("nan")})


def test_other_types_of_arrays_are_refused():
    with pytest.raises(TypeError, match="int64"):
        encode({"a": np.zeros(3, dtype=np.int64)})


def test_equal_arrays_are_stored_once():
    array = np.random.default_rng(0).normal(size=(40, 50))
    once, twice = (encode({"arrays of a page": copies})[1] for copies in ([array], [array, array.copy()]))
    assert once == twice
    others = [array.astype(np.float32), array.reshape(50, 40), array + 1]
    text, _ = encode({"different": [array, *others]})
    assert [each["array"] for each in json.loads(text)["different"]] == [0, 1, 2, 3]
