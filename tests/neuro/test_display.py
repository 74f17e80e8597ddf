"""Curves have the points of the results, maps the values given."""

import numpy as np
import pytest

from preimage.estimators._penalized_discriminant import PenalizedDiscriminant
from preimage.neuro import make_scans
from preimage.neuro._display import MapDisplay, SplitHalfDisplay
from preimage.neuro._split_half import pr_curve

plt = pytest.importorskip("matplotlib.pyplot", reason="figures need matplotlib")
plt.switch_backend("Agg")

SCANS = make_scans(n_runs=4, n_times=18, size=12, snr=0.7)
CURVE = pr_curve(PenalizedDiscriminant(), SCANS.X, SCANS.y, SCANS.run, param_range=[0.1, 1.0, 10.0])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_a_curve_is_drawn_through_its_means_and_named_with_its_distance():
    display = SplitHalfDisplay.from_curves({"raw": CURVE, "again": CURVE})
    x, y = display.lines_["raw"].get_data()
    np.testing.assert_allclose(x, CURVE.prediction.mean(axis=0))
    np.testing.assert_allclose(y, CURVE.reproducibility.mean(axis=0))
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == [f"{name} ({CURVE.best.distance.mean():.3f})" for name in ("raw", "again")]


def test_one_curve_may_come_alone_and_axes_be_given():
    _, ax = plt.subplots()
    display = SplitHalfDisplay.from_curves(CURVE, ax=ax, linewidth=3)
    assert display.ax_ is ax and list(display.lines_) == ["alpha"]
    with pytest.raises(ValueError, match="at least one curve"):
        SplitHalfDisplay.from_curves({})


def test_pictures_have_the_values_and_faint_ones_below_the_threshold():
    values = np.array([-3.0, 0.5, 1.0, 4.0, 0.0, -1.0])
    display = MapDisplay.from_maps({"map": values}, image_shape=(2, 3), threshold=1.0)
    image = display.images_[0]
    np.testing.assert_array_equal(image.get_array(), values.reshape(2, 3))
    assert image.get_clim() == (-4.0, 4.0)
    np.testing.assert_array_equal(image.get_alpha() == 1.0, np.abs(values.reshape(2, 3)) >= 1)


def test_slices_of_a_mask_lie_front_on_top():
    mask = np.zeros((3, 4, 3), dtype=bool)
    mask[0:2, 1:4, 1] = True
    mask[0, 1, 2] = True
    volume = np.arange(36.0).reshape(3, 4, 3)
    display = MapDisplay.from_maps({"map": volume[mask]}, mask=mask)
    np.testing.assert_array_equal(display.images_[0].get_array(), volume[0:2, 1:4, 1].T[::-1])
    both = MapDisplay.from_maps({"map": volume[mask]}, mask=mask, slices=[1, 2])
    assert [panel.get_title() for panel in both.axes_] == ["map, z = 1", "map, z = 2"]
    assert np.ma.getmaskarray(both.images_[1].get_array()).sum() == 5


def test_a_map_of_zeros_is_drawn():
    assert MapDisplay.from_maps({"none": np.zeros(6)}, image_shape=(2, 3)).images_[0].get_clim() == (-1.0, 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either `image_shape`"),
        ({"image_shape": (2, 3), "mask": np.ones((1, 2, 3), bool)}, "either `image_shape`"),
        ({"image_shape": (2, 2)}, "2 × 2 = 4 pixels"),
        ({"mask": np.ones((1, 2, 2), bool)}, r"has 4, the map 'map' has shape \(6,\)"),
    ],
)
def test_maps_of_another_size_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        MapDisplay.from_maps({"map": np.zeros(6)}, **options)


@pytest.mark.parametrize(
    ("maps", "options", "message"),
    [
        ({}, {"image_shape": (2, 2)}, "at least"),
        (np.ones(4), {"image_shape": (2, 2)}, "dict of names"),
        ({"a": np.ones(4)}, {"mask": np.ones((2, 2, 1), dtype=bool), "slices": [1]}, "slices below 1"),
        ({"a": np.ones(0)}, {"mask": np.zeros((2, 2, 1), dtype=bool)}, "mask with voxels"),
    ],
)
def test_what_cannot_be_drawn_is_named(maps, options, message):
    with pytest.raises(ValueError, match=message):
        MapDisplay.from_maps(maps, **options)


def test_what_is_no_curve_is_refused():
    with pytest.raises(ValueError, match="pr_curve"):
        SplitHalfDisplay.from_curves({"raw": np.ones(3)})
