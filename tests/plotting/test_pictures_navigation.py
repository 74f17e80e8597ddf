"""The drawn walk is that of the model."""

import numpy as np
import pytest

from preimage import KernelPCA
from preimage.plotting import NavigationDisplay

plt = pytest.importorskip("matplotlib.pyplot", reason="figures need matplotlib")
plt.switch_backend("Agg")

X = np.random.default_rng(0).normal(size=(40, 6))


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    return KernelPCA(8, gamma=0.05).fit(X)


def test_pictures_are_those_of_navigate(model):
    display = NavigationDisplay.from_estimator(model, X[:1], X[1:2], (2, 3), steps=5)
    np.testing.assert_array_equal(display.images, model.navigate(X[:1], X[1:2], 5).reshape(5, 2, 3))
    np.testing.assert_array_equal(display.image_.get_array()[:, -3:], display.images[-1])


def test_pictures_are_labelled_with_their_place_or_with_the_names_of_the_ends(model):
    display = NavigationDisplay.from_estimator(model, X[:1], X[1:2], (2, 3), steps=3)
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == ["0", "0.5", "1"]
    named = NavigationDisplay.from_images(X[:3], (2, 3), names=("here", "there"))
    assert [label.get_text() for label in named.ax_.get_xticklabels()] == ["here", "0.5", "there"]


def test_a_label_is_below_the_middle_of_its_picture():
    display = NavigationDisplay.from_images(X[:3], (2, 3))
    np.testing.assert_allclose(display.ax_.get_xticks(), [1, 5, 9])


def test_given_axes_are_used():
    figure, ax = plt.subplots()
    display = NavigationDisplay.from_images(X[:3], (2, 3), ax=ax)
    assert display.figure_ is figure and display.ax_ is ax


def test_an_unfitted_model_is_refused():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        NavigationDisplay.from_estimator(KernelPCA(2), X[:1], X[1:2], (2, 3))


def test_walks_beyond_their_ends_have_names_at_the_ends(model):
    display = NavigationDisplay.from_estimator(model, X[:1], X[1:2], (2, 3), steps=5, beyond=0.5, names=("a", "b"))
    np.testing.assert_array_equal(display.images, model.navigate(X[:1], X[1:2], 5, beyond=0.5).reshape(5, 2, 3))
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == ["-0.5", "a", "0.5", "b", "1.5"]
    with pytest.raises(ValueError, match="one fraction per picture"):
        NavigationDisplay.from_images(display.images.reshape(5, 6), (2, 3), fractions=[0.0, 1.0])
