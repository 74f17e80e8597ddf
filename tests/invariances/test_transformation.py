"""Transformations: tangents are derivatives, nothing moves at zero, bad input is refused."""

import numpy as np
import pytest
from for_each import for_each
from labels import label
from scipy import sparse
from scipy.ndimage import gaussian_filter
from sklearn.base import clone

from preimage._engine.arrays import to_numpy
from preimage.invariances import (
    FunctionTransformation,
    Rotate,
    Scale,
    Thicken,
    TimeShift,
    TranslateX,
    TranslateY,
)

SHAPE = (9, 8)
# As many values, in colour: three channels of each pixel.
COLOR = (6, 4, 3)


def _square(X, t):
    return X + t * X**2


ALL = [
    *(kind(SHAPE, exact=exact) for kind in (TranslateX, TranslateY, Rotate, Scale) for exact in (False, True)),
    *(kind(COLOR, exact=exact) for kind in (TranslateX, Rotate) for exact in (False, True)),
    Thicken(SHAPE),
    Thicken(COLOR),
    TimeShift(),
    TimeShift(n_channels=4, exact=True),
    FunctionTransformation(_square),
    FunctionTransformation(_square, tangent_function=np.square),
]
by_repr = pytest.mark.parametrize("transformation", ALL, ids=label)


def images(n=3):
    """Smooth images that vanish near the border."""
    rng = np.random.default_rng(0)
    raw = np.zeros((n, *SHAPE))
    raw[:, 3:6, 3:5] = rng.uniform(0.5, 1.0, size=(n, 3, 2))
    return gaussian_filter(raw, (0, 0.8, 0.8)).reshape(n, -1)


@by_repr
def test_nothing_moves_at_zero(transformation):
    np.testing.assert_allclose(transformation.apply(images(), 0.0), images(), atol=1e-12)


@by_repr
def test_tangents_are_derivatives(transformation):
    X, t = images(), 1e-3
    difference = (transformation.apply(X, t) - transformation.apply(X, -t)) / (2 * t)
    np.testing.assert_allclose(transformation.tangents(X), difference, atol=1e-5)


@by_repr
def test_rows_do_not_depend_on_each_other(transformation):
    X = images()
    np.testing.assert_allclose(transformation.apply(X, 0.3)[1:2], transformation.apply(X[1:2], 0.3), atol=1e-14)
    np.testing.assert_allclose(transformation.tangents(X)[1:2], transformation.tangents(X[1:2]), atol=1e-10)


@by_repr
def test_it_is_a_value(transformation):
    before = repr(transformation)
    copy = clone(transformation)
    copy.apply(images(), 0.5)
    assert repr(copy) == before == repr(transformation)


@pytest.mark.parametrize("transformation", ALL[:-2], ids=label)
def test_every_row_may_have_an_amount_of_its_own(transformation):
    X, amounts = images(), np.array([0.2, -0.7, 0.0])
    expected = np.concatenate([transformation.apply(X[i : i + 1], amounts[i]) for i in range(3)])
    np.testing.assert_allclose(transformation.apply(X, amounts), expected, atol=1e-12)


@pytest.mark.parametrize("kind", [TranslateX, TranslateY, Rotate, Scale])
def test_first_order_is_that_of_the_warp_of_smooth_images(kind):
    bar = np.zeros((1, 31, 29))
    bar[:, 13:16, 6:19] = 1
    bar[:, 10:20, 16:19] = 1
    X = gaussian_filter(bar, (0, 2.5, 2.5)).reshape(1, -1)
    first, exact = kind((31, 29), smoothing=0).tangents(X), kind((31, 29), exact=True).tangents(X)
    # Pixel differences and splines differentiate differently, but hardly so on smooth images.
    assert np.linalg.norm(first - exact) < 0.06 * np.linalg.norm(exact)


def test_tangents_are_those_of_the_table():
    X, (h, w) = images(), SHAPE
    G = np.stack([gaussian_filter(image, 0.9) for image in X.reshape(-1, h, w)])
    gv, gu = np.gradient(G, axis=1), np.gradient(G, axis=2)
    v, u = np.meshgrid(np.arange(h) - (h - 1) / 2, np.arange(w) - (w - 1) / 2, indexing="ij")
    flat = lambda a: a.reshape(len(X), -1)
    np.testing.assert_allclose(TranslateX(SHAPE).tangents(X), flat(-gu))
    np.testing.assert_allclose(TranslateY(SHAPE).tangents(X), flat(-gv))
    np.testing.assert_allclose(Rotate(SHAPE).tangents(X), flat(v * gu - u * gv) / 4.5)
    np.testing.assert_allclose(Scale(SHAPE).tangents(X), flat(-u * gu - v * gv) / 4.5)
    np.testing.assert_allclose(Thicken(SHAPE).tangents(X), flat(gu**2 + gv**2))


def test_turning_there_and_back_changes_little():
    X, rotate = images(), Rotate(SHAPE, exact=True)
    back = rotate.apply(rotate.apply(X, rotate.amount(30)), rotate.amount(-30))
    assert np.abs(back - X).max() < 0.05 * np.abs(X).max()


def test_channels_move_together():
    signal = np.exp(-((np.arange(30) - 12.0) ** 2) / 8)
    X = np.concatenate([signal, 2 * signal])[None, :]
    moved = TimeShift(n_channels=2, exact=True).apply(X, 3)
    np.testing.assert_allclose(moved[0, 3:30], signal[:-3], atol=1e-3)
    np.testing.assert_allclose(moved[0, 30:], 2 * moved[0, :30], atol=1e-12)


@for_each("dtype", [np.float32, np.float64])
@by_repr
def test_precision_is_kept(transformation, dtype):
    X = images().astype(dtype)
    assert transformation.apply(X, 0.5).dtype == dtype
    assert transformation.tangents(X).dtype == dtype


def test_array_libraries_are_kept(xp):
    X = xp.asarray(images())
    for transformation in (Rotate(SHAPE), Rotate(SHAPE, exact=True), Thicken(SHAPE), TimeShift()):
        moved = transformation.apply(X, 0.5)
        assert type(moved) is type(X)
        np.testing.assert_allclose(to_numpy(moved), transformation.apply(images(), 0.5), atol=1e-12)


@pytest.mark.parametrize("transformation", [TranslateX((5, 5)), Thicken((5, 5)), Rotate((5, 5), exact=True)])
def test_images_of_another_shape_are_refused(transformation):
    with pytest.raises(ValueError, match=r"5 × 5 = 25 pixels; X has 72 columns"):
        transformation.apply(images(), 1.0)


@pytest.mark.parametrize("shape", [(8,), (0, 8), (2.5, 8), (2, 3, 4)])
def test_shapes_are_two_numbers(shape):
    with pytest.raises(ValueError, match="height and width"):
        TranslateX(shape).tangents(images())


def test_signals_must_fit_into_channels():
    with pytest.raises(ValueError, match="5 signals of equal length; X has 72"):
        TimeShift(n_channels=5).tangents(images())


@by_repr
def test_missing_values_are_refused(transformation):
    X = images()
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        transformation.apply(X, 1.0)
    with pytest.raises(ValueError, match="NaN"):
        transformation.tangents(X)


@pytest.mark.parametrize("amount", [np.nan, np.inf])
def test_amounts_are_finite(amount):
    with pytest.raises(ValueError, match="finite amount"):
        Rotate(SHAPE).apply(images(), amount)


def test_amounts_are_one_or_one_a_row():
    with pytest.raises(ValueError, match="one for each of 3 rows"):
        Rotate(SHAPE, exact=True).apply(images(), np.zeros(2))


def test_functions_must_return_rows():
    with pytest.raises(ValueError, match=r"must return an array of the shape.*returned \(3, 2\)"):
        FunctionTransformation(lambda X, t: X[:, :2]).apply(images(), 1.0)
    with pytest.raises(ValueError, match="returned NaN"), np.errstate(all="ignore"):
        FunctionTransformation(lambda X, t: X / 0).apply(images(), 1.0)


@pytest.mark.parametrize("transformation", ALL, ids=label)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_integers_are_numbers_like_others(rng, transformation, kind):
    X = rng.integers(0, 256, size=(3, 72)).astype(np.uint8)
    np.testing.assert_allclose(transformation.tangents(kind(X)), transformation.tangents(X.astype(float)))
    np.testing.assert_allclose(transformation.apply(kind(X), 0.5), transformation.apply(X.astype(float), 0.5))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("kind", [TranslateX, TranslateY, Rotate, Scale, Thicken])
def test_channels_of_an_image_in_colour_move_like_images(kind, exact):
    options = {} if kind is Thicken else {"exact": exact}
    rng = np.random.default_rng(1)
    channels = gaussian_filter(rng.random((3, 5, 7, 6)), (0, 0, 1, 1))  # (channel, image, height, width)
    X = channels.transpose(1, 2, 3, 0).reshape(5, -1)
    amounts = np.array([0.3, -1.0, 0.0, 2.0, 0.5])
    moved = kind((7, 6, 3), **options).apply(X, amounts).reshape(5, 7, 6, 3)
    tangents = kind((7, 6, 3), **options).tangents(X).reshape(5, 7, 6, 3)
    for channel in range(3):
        one = kind((7, 6), **options)
        rows = channels[channel].reshape(5, -1)
        np.testing.assert_allclose(moved[..., channel].reshape(5, -1), one.apply(rows, amounts), atol=1e-12)
        np.testing.assert_allclose(tangents[..., channel].reshape(5, -1), one.tangents(rows), atol=1e-9)


def test_a_grey_image_is_one_of_one_channel():
    X = images()
    for exact in (False, True):
        grey, one = (Rotate(shape, exact=exact).apply(X, 0.7) for shape in (SHAPE, (*SHAPE, 1)))
        np.testing.assert_array_equal(grey, one)


@pytest.mark.parametrize("shape", [(4,), (4, 4, 0), (2, 2, 2, 2), (4, 4, 1.5)])
def test_shapes_that_are_none_are_refused(shape):
    with pytest.raises(ValueError, match=r"height and width in pixels.*\(16, 16, 3\); got"):
        TranslateX(shape).apply(np.ones((2, 16)), 1.0)


def test_colour_images_of_another_size_say_what_they_should_have():
    with pytest.raises(ValueError, match=r"16 pixels with 3 channels, 48 values; X has 16 columns"):
        TranslateX((4, 4, 3)).apply(np.ones((2, 16)), 1.0)
