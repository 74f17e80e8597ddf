"""Figures of pictures, clouds and spectra, as commands write them."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="figures need matplotlib")

from preimage.plotting._command_figures import draw_outliers, draw_rows

ROWS = np.random.default_rng(0).random(size=(20, 12))


@pytest.mark.parametrize(
    ("width", "options", "panels"),
    [(12, {"image_shape": (3, 4)}, 16), (12, {"image_shape": (2, 2, 3)}, 16), (2, {}, 1), (12, {}, 4)],
    ids=["pictures", "colours", "cloud", "spectra"],
)
def test_what_is_drawn_fits_what_rows_are(width, options, panels):
    figure = draw_rows(ROWS[:, :width], ROWS[:, :width] / 2, **options)
    assert len(figure.axes) == panels and all(ax.has_data() for ax in figure.axes)


def test_outliers_are_those_above_the_threshold():
    ax = draw_outliers(ROWS[:, 0], 0.5).axes[0]
    assert len(ax.collections[1].get_offsets()) == np.sum(ROWS[:, 0] > 0.5)
