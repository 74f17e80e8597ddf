"""Drawn are the values of the report, in rows."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.svm import SVC

from preimage import inflation_report
from preimage.plotting import InflationDisplay

plt = pytest.importorskip("matplotlib.pyplot", reason="figures need matplotlib")
plt.switch_backend("Agg")

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(30, 300)), RNG.normal(size=(12, 300))
Y, Y_NEW = np.arange(30) % 2, np.arange(12) % 2


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def points_of(panel):
    return np.sort(
        np.concatenate([np.asarray(c.get_offsets())[:, 0] for c in panel.collections if len(c.get_offsets())])
    )


def test_every_row_has_its_points():
    report = inflation_report(PCA(3), X)
    display = InflationDisplay.from_report(report, n_components=2)
    assert list(display.rows) == ["training", "left out", "corrected"] and len(display.axes_) == 2
    expected = np.sort(np.concatenate([values[:, 1] for values in (report.train, report.left_out, report.corrected)]))
    found = points_of(display.axes_[1])
    assert set(np.round(expected, 9)) <= set(np.round(found, 9))
    assert [label.get_text() for label in display.axes_[0].get_yticklabels()] == list(display.rows)
    assert f"{report.ratios[0]:.3g}" in display.axes_[0].get_title()


def test_new_samples_are_drawn_plain_and_corrected():
    display = InflationDisplay.from_estimator(PCA(1), X, X_test=NEW)
    assert list(display.rows)[-2:] == ["new", "new, corrected"]
    np.testing.assert_allclose(display.rows["new"], PCA(1).fit(X).transform(NEW))
    assert display.labels is None


def test_classes_have_colours_and_a_legend():
    display = InflationDisplay.from_estimator(SVC(), X, Y, X_test=NEW, y_test=Y_NEW)
    texts = [text.get_text() for text in display.legend_.get_texts()]
    assert texts == ["class", "0", "1"] and set(display.labels) == set(display.rows)


def test_many_classes_are_drawn_alike():
    display = InflationDisplay.from_estimator(PCA(1), X, np.arange(30) % 8)
    assert display.labels is None and display.legend_ is None


def test_given_axes_are_used():
    figure, axes = plt.subplots(1, 2)
    display = InflationDisplay.from_estimator(PCA(2), X, Y, ax=axes, scatter_kw={"s": 3})
    assert display.figure_ is figure and axes[0].get_legend() is display.legend_
    with pytest.raises(ValueError, match="draws 2 panels and needs as many axes; got 1"):
        display.plot(ax=axes[0])


def test_nothing_to_correct_is_drawn_without_a_corrected_row():
    display = InflationDisplay.from_estimator(PCA(1), RNG.normal(size=(200, 3)) * [3, 1, 1], X_test=np.zeros((4, 3)))
    assert list(display.rows) == ["training", "left out", "new"]
