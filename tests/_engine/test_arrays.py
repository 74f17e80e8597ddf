"""Array namespaces and devices: the same operations for every library, without writing to what was given."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from preimage._engine.arrays import (
    array_namespace,
    as_points,
    clamp_at_zero,
    concat_rows,
    copy_transposed,
    describe_device,
    device_kwargs,
    epsilon,
    floating_type,
    from_numpy,
    in_double,
    in_memory,
    in_precision,
    inner_products,
    integer_power,
    is_chunked,
    is_foreign,
    is_host,
    is_lazy,
    itemsize,
    on_device,
    own_copy,
    squared_row_norms,
    take_columns,
    take_rows,
    to_dense,
    to_device_of,
    to_numpy,
    transposed,
)
from preimage._engine.validation import own_parameters
from preimage.kernels import Gaussian

X = np.random.default_rng(0).normal(size=(6, 4))


@pytest.fixture(params=["dense", "sparse"])
def host(request):
    """A NumPy array and a SciPy matrix with the same entries."""
    return X if request.param == "dense" else sparse.csr_matrix(X)


def is_numpys(xp):
    return xp.name in ("numpy", "read-only numpy")


class TestKinds:
    def test_a_library_is_foreign_or_on_the_host(self, xp):
        array = xp.asarray(X)
        assert is_host(array) == is_numpys(xp) == (not is_foreign(array))
        assert not is_lazy(array) and not is_chunked(array)

    def test_sparse_matrices_and_ranges_are_on_the_host(self, host):
        assert is_host(host) and is_host(range(3)) and not is_foreign(host)

    def test_memory_maps_and_chunks_are_lazy(self, tmp_path):
        X.tofile(tmp_path / "X")
        assert is_lazy(np.memmap(tmp_path / "X", dtype=float, shape=X.shape, mode="r"))
        da = pytest.importorskip("dask.array")
        chunked = da.from_array(X, chunks=(2, 4))
        assert is_lazy(chunked) and is_chunked(chunked) and not is_foreign(chunked)
        assert_array_equal(in_memory(chunked), X)

    def test_what_is_in_memory_stays(self, xp):
        array = xp.asarray(X)
        assert in_memory(array) is array and in_memory(None) is None

    def test_namespaces_of_mixed_arguments(self, xp):
        assert array_namespace(xp.asarray(X), None) is array_namespace(xp.asarray(X))
        assert array_namespace(sparse.csr_matrix(X)) is array_namespace(X)

    def test_descriptions_name_the_library(self, xp):
        expected = "a NumPy array" if is_numpys(xp) else f"a {xp.name} array on "
        assert describe_device(xp.asarray(X)).startswith(expected)
        assert describe_device(sparse.csr_matrix(X)) == "a SciPy sparse matrix"


class TestMoves:
    def test_there_and_back(self, xp):
        there = from_numpy(X, xp.asarray(X))
        assert type(there) is type(xp.asarray(X))
        assert_array_equal(to_numpy(there), X)

    def test_read_only_values_are_moved_without_a_warning(self, xp, recwarn):
        values = X.copy()
        values.flags.writeable = False
        assert_array_equal(to_numpy(from_numpy(values, xp.asarray(X))), X)
        assert not recwarn.list

    def test_the_dtype_is_that_of_the_other_array_or_the_one_given(self, xp):
        other = xp.asarray(X)
        namespace = array_namespace(other)
        assert from_numpy(X.astype(np.float32), other).dtype == other.dtype
        assert from_numpy(np.arange(3), other, dtype=namespace.int64).dtype == namespace.int64

    def test_arrays_go_to_the_device_of_another(self, xp, host):
        other = xp.asarray(X)
        assert type(to_device_of(X.astype(np.float32), other)) is type(other)
        assert to_device_of(X.astype(np.float32), other).dtype == other.dtype
        assert to_device_of(host.astype(np.float32), X).dtype == np.float64

    def test_new_arrays_are_created_on_the_device(self, xp):
        array = xp.asarray(X)
        zeros = array_namespace(array).zeros(3, **device_kwargs(array))
        assert describe_device(zeros) == describe_device(array)

    def test_a_device_by_name(self):
        torch = pytest.importorskip("torch")
        assert isinstance(on_device(X, "cpu"), torch.Tensor)

    def test_a_gpu_that_is_not_there_is_named_with_a_remedy(self, monkeypatch):
        torch = pytest.importorskip("torch")
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        with pytest.raises(RuntimeError, match=r"device='cuda:1' needs a GPU.*Leave `device` out"):
            on_device(X, "cuda:1")

    def test_dense_copies_of_sparse_matrices(self, host):
        assert_array_equal(to_dense(host), X)
        assert_array_equal(to_numpy(host), X)


class TestPrecision:
    def test_points_are_floating(self, xp):
        assert as_points(xp.asarray(np.arange(6).reshape(3, 2), dtype=int)).dtype == as_points(xp.asarray(X)).dtype
        assert as_points([[1, 2]]).dtype == np.float64
        assert as_points(sparse.csr_matrix(np.eye(2, dtype=int))).dtype == np.float64

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_single_precision_stays_until_double_is_asked_for(self, xp, dtype):
        array = xp.asarray(X, dtype=dtype)
        assert floating_type(array) == array.dtype
        assert itemsize(array.dtype) == np.dtype(dtype).itemsize
        assert epsilon(array.dtype) == np.finfo(dtype).eps
        assert itemsize(in_double(array).dtype) == 8
        assert in_precision(in_double(array), array.dtype).dtype == array.dtype

    def test_sparse_matrices_change_precision_too(self):
        single = sparse.csr_matrix(X.astype(np.float32))
        assert in_double(single).dtype == np.float64
        assert in_precision(sparse.csr_matrix(X), np.float32).dtype == np.float32


class TestOperations:
    @pytest.mark.parametrize("exponent", [1, 2, 3, 7, 10])
    def test_integer_powers(self, xp, exponent):
        assert_allclose(to_numpy(integer_power(xp.asarray(X), exponent)), X**exponent)

    def test_inner_products_and_norms(self, host, xp):
        assert_allclose(inner_products(host, host), X @ X.T)
        assert_allclose(squared_row_norms(host), (X**2).sum(axis=1))
        assert_allclose(to_numpy(squared_row_norms(xp.asarray(X))), (X**2).sum(axis=1))

    def test_rows_are_stacked_and_taken(self, host, xp):
        numbers = np.array([4, 0, 0])
        assert_array_equal(to_dense(concat_rows(host, host)), np.concatenate([X, X]))
        assert_array_equal(to_dense(take_rows(host, numbers)), X[numbers])
        array = xp.asarray(X)
        assert_array_equal(to_numpy(concat_rows(array, array)), np.concatenate([X, X]))
        assert_array_equal(to_numpy(take_rows(array, numbers)), X[numbers])
        assert_array_equal(to_numpy(take_rows(xp.asarray(X[:, 0]), numbers)), X[numbers, 0])
        columns = np.array([1, 0, 1])
        assert_array_equal(to_dense(take_columns(host, columns)), X[:, columns])
        assert_array_equal(to_numpy(take_columns(array, columns)), X[:, columns])

    def test_clamps_keep_missing_values(self, xp):
        values = X.copy()
        values[0, 0] = np.nan
        clamped = to_numpy(clamp_at_zero(xp.module.asarray(values)))
        assert np.isnan(clamped[0, 0])
        assert_array_equal(clamped.ravel()[1:], np.maximum(X, 0).ravel()[1:])
        assert clamp_at_zero(np.float64(-1) * np.ones(())) == 0

    @pytest.mark.parametrize("shape", [(1, 1), (5, 3), (40, 33), (300, 64), (257, 128), (0, 64)])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_transposed_copies(self, xp, rng, shape, dtype):
        values = rng.normal(size=shape).astype(dtype)
        result = transposed(xp.asarray(values, dtype=dtype))
        assert_array_equal(to_numpy(result), values.T)
        target = np.empty(shape[::-1], dtype)
        copy_transposed(target, values)
        assert_array_equal(target, values.T)

    def test_what_a_model_keeps_is_its_own(self, xp):
        given = xp.asarray(X)
        kept = own_copy(given, given)
        assert kept is not given and not np.may_share_memory(to_numpy(kept), to_numpy(given))
        fresh = np.asarray([[1.0]])
        assert own_copy(fresh, [[1.0]]) is fresh  # made from a list, which shares nothing
        assert not np.may_share_memory(own_copy(X[1:], X), X)

    def test_sparse_matrices_are_copied(self):
        given = sparse.csr_matrix(X)
        assert not np.may_share_memory(own_copy(given, given).data, given.data)


@pytest.mark.parametrize("number", [np.float64(0.5), np.float32(0.5), np.int64(1), np.bool_(True), 0.5])
def test_numbers_of_numpy_belong_to_numpy(number):
    assert not is_foreign(number)
    assert own_parameters(Gaussian(number)).gamma is number
