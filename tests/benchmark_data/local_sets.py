"""Data sets on this computer, and arrays of their kind where there are none."""

import functools

import data as datasets
import numpy as np
import pytest
from data import _gene_expression, _haxby, _ida, _images, _tables

LOADERS = {
    _images.USPS: datasets.load_usps,
    _images.MNIST: datasets.load_mnist,
    _images.COIL20: datasets.load_coil20,
    _tables.IONOSPHERE: datasets.load_ionosphere,
    _tables.ABALONE: datasets.load_abalone,
    _tables.BOSTON: datasets.load_boston,
    _haxby.HAXBY: datasets.load_haxby,
}
LOADERS |= {
    data_set: functools.partial(datasets.load_gene_expression, name)
    for name, data_set in _gene_expression.GENE_EXPRESSION.items()
}
LOADERS |= {data_set: functools.partial(datasets.load_ida, name) for name, data_set in _ida.IDA.items()}
each_set = pytest.mark.parametrize("data_set", LOADERS, ids=lambda data_set: data_set.name)


def local_arrays(data_set):
    """The arrays of the file on this computer, or None."""
    folder = datasets.data_directory()
    if folder is None or not (folder / data_set.file).is_file():
        return None
    with np.load(folder / data_set.file) as arrays:
        return dict(arrays)


# Sets whose arrays depend on each other, so that made ones will not do.
STRUCTURED = ("abalone", "boston_housing", "leukemia_allaml", "lung_cancer")


def some_arrays(data_set):
    """Arrays of the file on this computer, or made ones: few of many variables, few of many images."""
    found = local_arrays(data_set)
    if found is None and data_set.name in STRUCTURED:
        pytest.skip(f"needs {data_set.file} in the folder that PREIMAGE_DATA names")
    if found is None:
        rng = np.random.default_rng(0)
        found = {name: rng.integers(0, 2, shape).astype(dtype) for name, (shape, dtype) in data_set.arrays.items()}
        found |= {name: 2 * array - 1 for name, array in found.items() if array.dtype == np.int8}
    if data_set in (_images.USPS, _images.MNIST):
        return {name: array[:100] for name, array in found.items()}
    if data_set in _gene_expression.GENE_EXPRESSION.values():
        return found | {"X": found["X"][:, :50]}
    return found


def assert_arrays(loaded, arrays):
    assert loaded.keys() == arrays.keys()
    for name, array in arrays.items():
        assert loaded[name].dtype == array.dtype, name
        np.testing.assert_array_equal(loaded[name], array, err_msg=name)
