"""The drawn pictures are those given, under their names."""

import numpy as np
import pytest

from preimage.plotting import DenoisingDisplay

plt = pytest.importorskip("matplotlib.pyplot", reason="figures need matplotlib")
plt.switch_backend("Agg")

RNG = np.random.default_rng(0)
CLEAN = RNG.uniform(size=(12, 6))
NOISY = CLEAN + RNG.normal(size=CLEAN.shape)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_every_row_has_its_pictures_side_by_side():
    display = DenoisingDisplay.from_images(NOISY, {"half": NOISY / 2}, (2, 3), clean=CLEAN, n_images=4)
    assert list(display.rows) == ["clean", "noisy", "half"] and len(display.axes_) == 3
    drawn = display.images_[2].get_array()
    np.testing.assert_allclose(drawn[:, 4:7], (NOISY[1] / 2).reshape(2, 3))  # after a gap of one pixel
    assert np.ma.getmaskarray(drawn)[:, 3].all() and drawn.shape == (2, 4 * 3 + 3)


def test_rows_are_labelled_with_their_error_over_all_pictures():
    display = DenoisingDisplay.from_images(NOISY, {"truth": CLEAN}, (2, 3), clean=CLEAN, n_images=2)
    labels = [panel.get_ylabel() for panel in display.axes_]
    assert labels == ["clean", f"noisy\nMSE {np.mean((NOISY - CLEAN) ** 2):.4f}", "truth\nMSE 0.0000"]


def test_without_the_truth_there_are_no_errors_and_outputs_set_the_scale():
    display = DenoisingDisplay.from_images(NOISY, {"half": CLEAN / 2}, (2, 3))
    assert [panel.get_ylabel() for panel in display.axes_] == ["noisy", "half"]
    assert display.images_[0].get_clim() == pytest.approx((CLEAN.min() / 2, CLEAN.max() / 2))


def test_all_rows_share_the_grey_scale_of_the_truth():
    display = DenoisingDisplay.from_images(NOISY, {"half": NOISY / 2}, (2, 3), clean=CLEAN)
    assert {image.get_clim() for image in display.images_} == {(CLEAN.min(), CLEAN.max())}


def test_given_axes_are_used():
    figure, axes = plt.subplots(2)
    display = DenoisingDisplay.from_images(NOISY, {"half": NOISY / 2}, (2, 3), ax=axes)
    assert display.figure_ is figure and list(display.axes_) == list(axes)


def test_pictures_of_another_size_are_refused():
    with pytest.raises(ValueError, match=r"8 × 8 = 64 pixels; the rows of noisy have 6 values"):
        DenoisingDisplay.from_images(NOISY, {}, (8, 8))
    with pytest.raises(ValueError, match=r"\(height, width\); got \(2, 1, 3\)"):
        DenoisingDisplay.from_images(NOISY, {}, (2, 1, 3))


def test_sets_of_different_length_are_refused():
    with pytest.raises(ValueError, match=r"same pictures in every row; got \{'noisy': 12, 'half': 3\}"):
        DenoisingDisplay.from_images(NOISY, {"half": NOISY[:3]}, (2, 3))
