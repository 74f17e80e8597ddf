"""Bars are the relevances of the model, the largest on top."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from preimage import KernelImputer, SparseGreedyRegressor
from preimage.plotting import RelevanceDisplay

plt = pytest.importorskip("matplotlib.pyplot", reason="figures need matplotlib")
plt.switch_backend("Agg")

X = np.random.default_rng(0).normal(size=(120, 5))
y = np.sin(2 * X[:, 3]) + 0.5 * X[:, 1]
MODEL = make_pipeline(StandardScaler(), SparseGreedyRegressor(30, gamma="relevance", alpha="loo")).fit(X, y)
RELEVANCE = MODEL[-1].relevance_


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def labels(display):
    return [label.get_text() for label in display.ax_.get_yticklabels()]


def test_bars_are_sorted_with_the_largest_on_top():
    display = RelevanceDisplay.from_estimator(MODEL)
    widths = [bar.get_width() for bar in display.bars_]
    assert_allclose(widths, np.sort(RELEVANCE)[::-1])
    heights = [bar.get_y() for bar in display.bars_]
    assert heights == sorted(heights, reverse=True)
    assert labels(display) == [f"x{column}" for column in display.columns_]
    assert set(display.columns_[:2]) == {1, 3} and display.figure_ is display.ax_.figure


def test_names_a_number_of_columns_and_axes_may_be_given():
    ax = plt.figure().subplots()
    display = RelevanceDisplay.from_estimator(MODEL, feature_names=list("abcde"), n_columns=2, ax=ax, color="k")
    assert display.ax_ is ax and set(labels(display)) == {"b", "d"}
    assert display.bars_[0].get_facecolor() == (0, 0, 0, 1)


def test_names_are_those_of_a_data_frame():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(X, columns=["age", "height", "weight", "rain", "sun"])
    model = SparseGreedyRegressor(30, gamma="relevance", alpha="loo").fit(frame, y)
    assert labels(RelevanceDisplay.from_estimator(model))[0] in ("rain", "height")


def test_models_without_relevances_are_refused():
    with pytest.raises(TypeError, match=r"one relevance per column.*Fit it with gamma='relevance'"):
        RelevanceDisplay.from_estimator(SparseGreedyRegressor(5).fit(X, y))
    with pytest.raises(TypeError, match="one relevance per column"):
        RelevanceDisplay.from_estimator(KernelImputer().fit(np.where(X > 1, np.nan, X)))
    with pytest.raises(ValueError, match="needs 5 names, one per column; got 2"):
        RelevanceDisplay.from_estimator(MODEL, feature_names=["a", "b"])
