"""Curves are those of `compress`, and the original's score is drawn."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from preimage import KernelPCA, compress
from preimage.plotting import CompressionDisplay
from preimage.reduced_sets import Construct

plt = pytest.importorskip("matplotlib.pyplot", reason="figures need matplotlib")
plt.switch_backend("Agg")

X, Y = make_moons(200, noise=0.2, random_state=0)
X_TEST, Y_TEST = make_moons(100, noise=0.2, random_state=1)
SVM = SVC(gamma=2).fit(X, Y)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_lines_are_errors_and_scores_of_compressed_models():
    display = CompressionDisplay.from_estimator(SVM, X, Y, sizes=[6, 3], methods=["select", Construct(n_starts=2)])
    assert display.sizes == [3, 6] and list(display.lines_) == ["select", "Construct"]
    small = compress(SVM, 6, X=X, y=Y, method="select")
    error, score = (line.get_ydata()[1] for line in display.lines_["select"])
    assert error == small.error_ and score == small.scores_[1]
    assert display.original_score == SVM.score(X, Y) and display.n_original_points == len(SVM.support_)
    dashed = [line for line in display.axes_[1].lines if line.get_linestyle() == "--"]
    assert dashed[0].get_ydata()[0] == SVM.score(X, Y)


def test_scores_may_be_taken_on_other_data():
    display = CompressionDisplay.from_estimator(SVM, X, sizes=[8], methods=["distill"], X_test=X_TEST, y_test=Y_TEST)
    assert display.original_score == SVM.score(X_TEST, Y_TEST)
    assert display.scores["distill"] == [compress(SVM, 8, X=X, method="distill").score(X_TEST, Y_TEST)]
    assert display.axes_[1].get_ylabel() == "Accuracy"


def test_without_labels_scores_are_agreement():
    for options in ({}, {"X_test": X_TEST}):
        display = CompressionDisplay.from_estimator(SVM, X, sizes=[8], methods=["select"], **options)
        assert display.original_score == 1 and display.axes_[1].get_ylabel() == "Agreement with the original"


def test_default_sizes_are_powers_of_two():
    display = CompressionDisplay.from_estimator(SVM, X, Y, methods=["select"])
    assert display.sizes == [size for size in (4, 8, 16, 32, 64, 128) if size <= len(SVM.support_) // 2]


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (make_pipeline(StandardScaler(), SVC(gamma=2)), Y),
        (SVR(gamma=2), X[:, 0]),
        (KernelPCA(2, gamma=0.5), None),
    ],
)
def test_models_of_other_kinds_are_drawn(model, y):
    display = CompressionDisplay.from_estimator(model.fit(X, y), X, y, sizes=[4], methods=["select"])
    assert np.isfinite(display.scores["select"]).all() and display.errors["select"][0] >= 0


def test_given_axes_are_used():
    figure, axes = plt.subplots(1, 2)
    display = CompressionDisplay.from_estimator(SVM, X, Y, sizes=[4], methods=["select"], ax=axes, linewidth=3)
    assert display.figure_ is figure and display.lines_["select"][0].get_linewidth() == 3


def test_nothing_to_draw_is_refused():
    with pytest.raises(ValueError, match="at least one method and one size"):
        CompressionDisplay.from_estimator(SVM, X, Y, sizes=[4], methods=[])
