"""The drawn contours are those of the components."""

import sys

import numpy as np
import pytest

from preimage import KernelPCA, OrientedKernelPCA
from preimage.plotting import ComponentContourDisplay

plt = pytest.importorskip("matplotlib.pyplot", reason="figures need matplotlib")
plt.switch_backend("Agg")

X = np.random.default_rng(0).normal(size=(50, 2))


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    return KernelPCA(5, gamma=0.5).fit(X)


def test_values_on_the_grid_are_those_of_transform(model):
    display = ComponentContourDisplay.from_estimator(model, X, n_components=3, grid_resolution=20)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    np.testing.assert_array_equal(display.components.reshape(-1, 3), model.transform(grid)[:, :3])


def test_the_lines_lie_where_the_component_has_their_value(model):
    display = ComponentContourDisplay.from_estimator(model, X, n_components=1)
    scale = np.abs(display.scores).max()
    for level, path in zip(display.contours_[0].levels, display.contours_[0].get_paths()):
        if len(path.vertices):
            np.testing.assert_allclose(model.transform(path.vertices)[:, 0], level, atol=0.01 * scale)


def test_zero_is_one_of_the_lines(model):
    display = ComponentContourDisplay.from_estimator(model, X)
    assert all(0 in contours.levels for contours in display.contours_)


def test_every_component_has_a_panel_with_all_points(model):
    display = ComponentContourDisplay.from_estimator(model, X)
    assert len(display.axes_) == len(display.contours_) == len(display.figure_.axes) == 5
    for panel in display.axes_:
        points = [part for part in panel.collections if len(part.get_offsets()) == len(X)]
        np.testing.assert_allclose(points[0].get_offsets(), X)
    assert display.axes_[1].get_title() == f"Component 2 ({model.explained_variance_ratio_[1]:.1%})"


def test_the_grid_covers_the_points_with_a_margin(model):
    display = ComponentContourDisplay.from_estimator(model, X, margin=0.5)
    width = np.ptp(X[:, 0])
    assert display.xx0.min() == pytest.approx(X[:, 0].min() - width / 2)
    assert display.xx0.max() == pytest.approx(X[:, 0].max() + width / 2)


def test_given_axes_are_used(model):
    figure, axes = plt.subplots(1, 2)
    display = ComponentContourDisplay.from_estimator(model, X, n_components=2, ax=axes)
    assert display.figure_ is figure and list(display.axes_) == list(axes)


def test_points_take_the_colors_they_are_given(model):
    display = ComponentContourDisplay.from_estimator(model, X, n_components=1, scatter_kw={"c": X[:, 0]})
    np.testing.assert_array_equal(display.axes_[0].collections[-1].get_array(), X[:, 0])


def test_columns_of_a_frame_label_the_axes():
    pandas = pytest.importorskip("pandas", reason="data frames need pandas")
    frame = pandas.DataFrame(X, columns=["length", "width"])
    display = ComponentContourDisplay.from_estimator(KernelPCA(1, gamma=0.5).fit(frame), frame)
    assert display.figure_.get_supxlabel() == "length" and display.figure_.get_supylabel() == "width"
    display.plot(ax=plt.figure().subplots())
    assert display.axes_[0].get_xlabel() == "length" and display.axes_[0].get_ylabel() == "width"


def test_a_pipeline_is_drawn_in_its_own_inputs():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipeline = make_pipeline(StandardScaler(), KernelPCA(2, gamma=0.5)).fit(100 * X)
    display = ComponentContourDisplay.from_estimator(pipeline, 100 * X)
    assert display.xx0.max() > 100 and display.axes_[0].get_title() == "Component 1"


def test_tensors_are_drawn_as_arrays_are(model):
    torch = pytest.importorskip("torch", reason="tensors need torch")
    tensor = torch.asarray(X)
    display = ComponentContourDisplay.from_estimator(KernelPCA(1, gamma=0.5).fit(tensor), tensor)
    expected = ComponentContourDisplay.from_estimator(model, X, n_components=1)
    np.testing.assert_allclose(display.components, expected.components, atol=1e-8)


def test_other_dimensions_are_refused(model):
    with pytest.raises(ValueError, match=r"two dimensions; X has shape \(50, 3\)"):
        ComponentContourDisplay.from_estimator(model, np.ones((50, 3)))


def test_a_missing_matplotlib_says_what_to_install(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "preimage\[plot\]"'):
        ComponentContourDisplay.from_estimator(model, X)


def test_oriented_features_are_drawn():
    model = OrientedKernelPCA(2, gamma=0.5, invariances=lambda rows, t: rows + t).fit(X)
    display = ComponentContourDisplay.from_estimator(model, X, grid_resolution=10)
    assert [panel.get_title() for panel in display.axes_] == ["Component 1", "Component 2"]
