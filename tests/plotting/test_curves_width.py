"""The drawn curves are those of the search."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from preimage.model_selection._width_search import WidthSearch
from preimage.plotting import WidthCurveDisplay

plt = pytest.importorskip("matplotlib.pyplot", reason="figures need matplotlib")
plt.switch_backend("Agg")

SEARCH = WidthSearch().fit(*load_iris(return_X_y=True))


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_every_curve_is_drawn_as_a_fraction_of_its_peak():
    display = WidthCurveDisplay.from_search(SEARCH)
    assert set(display.lines_) == set(SEARCH.criteria_)
    for name, line in display.lines_.items():
        np.testing.assert_array_equal(line.get_xdata(), SEARCH.gammas_)
        np.testing.assert_allclose(line.get_ydata(), SEARCH.criteria_[name] / SEARCH.criteria_[name].max())
    assert display.ax_.get_xscale() == "log" and display.figure_ is display.ax_.figure
    assert len(display.ax_.get_legend().get_texts()) == len(SEARCH.criteria_)


def test_the_chosen_width_is_marked_and_its_curve_hides_no_other():
    display = WidthCurveDisplay.from_search(SEARCH, criteria=["alignment"])
    assert set(display.lines_) == {"enclosing_ball", "alignment"}
    chosen, other = display.lines_["enclosing_ball"], display.lines_["alignment"]
    assert chosen.get_linewidth() > other.get_linewidth()
    lines = list(display.ax_.lines)
    assert lines.index(chosen) < lines.index(other)
    assert any(np.all(np.asarray(line.get_xdata()) == SEARCH.best_gamma_) for line in lines)


def test_equal_curves_can_be_told_apart():
    display = WidthCurveDisplay.from_search(SEARCH)
    styles = {(line.get_linewidth(), str(line._dash_pattern)) for line in display.lines_.values()}
    assert len(styles) == len(display.lines_)


def test_scores_have_a_panel_of_their_own_that_covers_nothing():
    scores = ([0.1, 1.0], [0.9, 0.95])
    display = WidthCurveDisplay.from_search(SEARCH, criteria=[], scores=scores)
    np.testing.assert_array_equal(display.lines_["scores"].get_ydata(), [0.9, 0.95])
    display.figure_.canvas.draw()
    assert not display.ax_.bbox.overlaps(display.score_ax_.bbox)
    assert display.ax_.get_xlim() == display.score_ax_.get_xlim()
    assert WidthCurveDisplay.from_search(SEARCH).score_ax_ is None
    with pytest.raises(ValueError, match="draws 2 panels"):
        WidthCurveDisplay.from_search(SEARCH, scores=scores, ax=plt.figure().subplots())


def test_it_draws_in_given_axes_with_given_style():
    _, ax = plt.subplots()
    display = WidthCurveDisplay.from_search(SEARCH, ax=ax, alpha=0.5)
    assert display.ax_ is ax and all(line.get_alpha() == 0.5 for line in display.lines_.values())


def test_a_curve_of_zeros_is_drawn():
    zeros = np.zeros(3)
    display = WidthCurveDisplay(
        gammas=np.array([1.0, 2.0, 4.0]), criteria={"min_distance": zeros}, criterion="min_distance", best_gamma=1.0
    ).plot()
    np.testing.assert_array_equal(display.lines_["min_distance"].get_ydata(), zeros)


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(NotFittedError):
        WidthCurveDisplay.from_search(WidthSearch())
    with pytest.raises(ValueError, match="no curve of largest_ball; it has enclosing_ball"):
        WidthCurveDisplay.from_search(SEARCH, criteria=["largest_ball"])
