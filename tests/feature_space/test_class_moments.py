"""Moments of classes: a monoid, and one pass over any kind of data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preimage.feature_space import ClassMoments, Moments
from preimage.kernels import Gaussian


def assert_same(a, b):
    assert_allclose(a.counts, b.counts)
    assert_allclose(a.means, b.means, atol=1e-12)
    assert_allclose(a.within, b.within, atol=1e-10)


def labelled(rng, n=40):
    return rng.normal(size=(n, 3)), rng.integers(0, 3, size=n), rng.uniform(0.5, 2, size=n)


def test_merged_parts_are_the_whole(rng):
    X, codes, weights = labelled(rng)
    parts = [
        ClassMoments.of(X[part], codes[part], 3, weights[part]) for part in (slice(0, 1), slice(1, 17), slice(17, 40))
    ]
    assert_same(parts[0] + parts[1] + parts[2], ClassMoments.of(X, codes, 3, weights))
    assert_same(parts[0] + (parts[1] + parts[2]), ClassMoments.of(X, codes, 3, weights))


def test_within_and_between_add_up_to_the_scatter_of_all(rng):
    X, codes, weights = labelled(rng)
    moments, total = ClassMoments.of(X, codes, 3, weights), Moments.of(X, weights)
    assert_allclose(moments.within + moments.between_factor @ moments.between_factor.T, total.scatter)
    assert_allclose(moments.mean, total.mean)


def test_two_groups_of_classes(rng):
    X, codes, weights = labelled(rng)
    merged = ClassMoments.of(X, codes, 3, weights).merged(np.arange(3) == 2)
    assert_same(merged, ClassMoments.of(X, (codes == 2).astype(int), 2, weights))


def test_projections(rng):
    X, codes, weights = labelled(rng)
    A = rng.normal(size=(3, 2))
    assert_same(ClassMoments.of(X, codes, 3, weights).projected(A), ClassMoments.of(X @ A, codes, 3, weights))


def test_a_class_without_rows_has_count_zero(rng):
    X, codes, _ = labelled(rng)
    moments = ClassMoments.of(X, codes, 5)
    assert_allclose(moments.counts[3:], 0)
    assert_allclose(moments.between_factor[:, 3:], 0)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_pass_over_arrays_memory_maps_and_dask(rng, tmp_path, weighted):
    da = pytest.importorskip("dask.array")
    X, codes, weights = labelled(rng, 1000)
    weights = weights if weighted else None
    kernel, points = Gaussian(0.4), X[:7]
    expected = ClassMoments.of(kernel(X, points), codes, 3, weights)
    X.tofile(tmp_path / "X")
    mapped = np.memmap(tmp_path / "X", dtype=float, shape=X.shape, mode="r")
    for data in (X, mapped, da.from_array(X, chunks=(170, 2))):
        assert_same(ClassMoments.of_kernel_values(kernel, points, data, codes, 3, weights), expected)


def test_other_array_libraries(rng, xp):
    X, codes, weights = labelled(rng)
    kernel = Gaussian(0.4)
    data = xp.asarray(X)
    moments = ClassMoments.of_kernel_values(kernel, xp.asarray(X[:7]), data, codes, 3, weights)
    assert_same(moments, ClassMoments.of(kernel(X, X[:7]), codes, 3, weights))
