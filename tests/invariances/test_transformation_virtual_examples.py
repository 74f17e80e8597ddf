"""Virtual examples keep labels and order."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from preimage._engine.arrays import to_numpy
from preimage.invariances import TranslateX, TranslateY, VirtualExamples

X, y = np.random.default_rng(0).normal(size=(6, 16)), np.array(list("abcabc"))
PARTS = [TranslateX((4, 4)), TranslateY((4, 4))]


def test_rows_come_in_order_with_their_labels():
    X_more, y_more = VirtualExamples(PARTS, amounts=(-1, 0.5)).augment(X, y)
    np.testing.assert_array_equal(X_more[:6], X)
    np.testing.assert_array_equal(X_more[6:12], PARTS[0].apply(X, -1))
    np.testing.assert_array_equal(X_more[24:], PARTS[1].apply(X, 0.5))
    np.testing.assert_array_equal(y_more, np.tile(y, 5))


def test_originals_can_be_left_out():
    X_more, y_more = VirtualExamples(PARTS[0], keep_original=False).fit_resample(X, list(y))
    assert X_more.shape == (12, 16)
    assert y_more.shape == (12,)


def test_functions_are_transformations():
    np.testing.assert_array_equal(VirtualExamples(lambda X, t: X + t, amounts=[2]).augment(X)[6:], X + 2)


def test_centers_are_means_of_rows_and_virtual_ones():
    virtual = VirtualExamples(PARTS)
    centers = virtual.points(X, 1)
    np.testing.assert_allclose(centers[0], virtual.augment(X).mean(axis=0))
    assert virtual.points(X, 4, random_state=1).shape == (4, 16)
    with pytest.raises(ValueError, match="between 1 and 30"):
        virtual.points(X, 31)


def test_lists_and_sparse_rows_are_rows():
    virtual = VirtualExamples(PARTS)
    np.testing.assert_array_equal(virtual.augment(X.tolist()), virtual.augment(X))
    np.testing.assert_allclose(virtual.augment(csr_array(X)).toarray(), virtual.augment(X))


def test_array_libraries_are_kept(xp):
    X_more, y_more = VirtualExamples(PARTS).augment(xp.asarray(X), xp.asarray(np.arange(6.0)))
    assert type(X_more) is type(xp.asarray(X))
    np.testing.assert_allclose(to_numpy(X_more), VirtualExamples(PARTS).augment(X), atol=1e-14)
    np.testing.assert_array_equal(to_numpy(y_more), np.tile(np.arange(6.0), 5))


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="5 labels for 6 rows"):
        VirtualExamples(PARTS).augment(X, y[:5])
    with pytest.raises(ValueError, match="VirtualExamples needs at least one transformation"):
        VirtualExamples([]).augment(X)
    with pytest.raises(ValueError, match="at least one amount"):
        VirtualExamples(PARTS, amounts=()).augment(X)
    with pytest.raises(ValueError, match="16 pixels; X has 5"):
        VirtualExamples(PARTS).augment(X[:, :5])
