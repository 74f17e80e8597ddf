"""The pictures are the vectors, by weight, under the class for which they speak."""

import numpy as np
import pytest

from preimage._models.machines import (
    Binary,
    Calibrated,
    Coordinates,
    KernelMachine,
    Logistic,
    OneVsOne,
    OneVsRest,
    Regression,
)
from preimage.feature_space import Expansion
from preimage.kernels import Gaussian
from preimage.plotting import ReducedSetDisplay

plt = pytest.importorskip("matplotlib.pyplot", reason="figures need matplotlib")
plt.switch_backend("Agg")

POINTS = np.random.default_rng(0).uniform(size=(3, 6))


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def machine(output, coefficients):
    coefficients = np.array(coefficients, dtype=float)
    return KernelMachine(Expansion(Gaussian(), POINTS, coefficients), np.zeros(coefficients.shape[1]), output, 6)


def titles(*arguments):
    display = ReducedSetDisplay.from_estimator(machine(*arguments), (2, 3))
    assert [panel.get_title() for panel in display.axes_] == display.titles
    return display.titles


def test_pictures_are_ordered_by_their_coefficients():
    display = ReducedSetDisplay.from_estimator(machine(Regression(), [[0.5], [-2.0], [1.0]]), (2, 3))
    np.testing.assert_array_equal(display.weights, [2, 1, 0.5])
    np.testing.assert_array_equal(display.images_[0].get_array(), POINTS[1].reshape(2, 3))
    assert display.titles == ["-2", "+1", "+0.5"]


def test_titles_name_the_class_of_each_vector():
    assert titles(Binary(np.array(["no", "yes"])), [[3], [-2], [1]]) == ["yes", "no", "yes"]
    assert titles(OneVsRest(np.array([5, 6, 7])), [[3, 0, 0], [0, 0, 2], [-1, 0.5, -1]]) == ["5", "7", "6"]
    # Pairs (0, 1), (0, 2), (1, 2): positive coefficients speak for the first.
    assert titles(Logistic(np.array([5, 6, 7])), [[3, 0, 0], [0, 0, 2], [-1, 0.5, -1]]) == ["5", "7", "6"]
    calibrated = Calibrated(Logistic(np.array(["no", "yes"])), "sigmoid", -np.ones(1), np.zeros(1), np.ones(1))
    assert titles(calibrated, [[3], [-2], [1]]) == ["yes", "no", "yes"]
    assert titles(OneVsOne(np.array([5, 6, 7])), [[3, 3, 0], [-2, 0, 2], [0, -1, -1]]) == ["5", "6", "7"]


def test_the_mean_of_a_transformer_has_no_weight():
    assert titles(Coordinates(1), [[1, 100], [3, 0], [-2, 0]]) == ["+3", "-2", "+1"]


def test_fewer_pictures_and_given_axes():
    figure, axes = plt.subplots(1, 2)
    model = machine(Regression(), [[1], [2], [3]])
    display = ReducedSetDisplay.from_estimator(model, (2, 3), n_images=2, ax=axes, cmap="viridis")
    assert display.figure_ is figure and len(display.images_) == 2
    assert display.images_[0].get_cmap().name == "viridis"


def test_pictures_of_another_size_are_refused():
    with pytest.raises(ValueError, match=r"8 × 8 = 64 pixels; the rows of points_ have 6 values"):
        ReducedSetDisplay.from_estimator(machine(Regression(), [[1], [2], [3]]), (8, 8))
