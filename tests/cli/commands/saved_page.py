"""Pages of the explorer as they are read again."""

import base64
import gzip
import json
import re

import numpy as np


def read_page(path):
    """The header of a page, with its arrays in their places."""
    text = path.read_text(encoding="utf-8")
    element = lambda name: re.search(rf'<script type="[^"]*" id="{name}">(.*?)</script>', text, re.DOTALL)[1]
    header, data = json.loads(element("page-data")), gzip.decompress(base64.b64decode(element("page-arrays")))
    arrays = [
        np.frombuffer(data, each["dtype"], int(np.prod(each["shape"])), each["first"]).reshape(each["shape"])
        for each in header.pop("arrays")
    ]
    return _filled(header, arrays)


def _filled(value, arrays):
    if isinstance(value, dict):
        if value.keys() == {"array"}:
            return arrays[value["array"]]
        return {key: _filled(each, arrays) for key, each in value.items()}
    return [_filled(each, arrays) for each in value] if isinstance(value, list) else value


def assert_same_page(one, other):
    """Equal to the last bit, arrays and texts."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same_page(one[key], other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for first, second in zip(one, other):
            assert_same_page(first, second)
    elif isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other)
    else:
        assert one == other
