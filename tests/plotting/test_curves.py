"""The drawn spectrum is that of the model."""

import numpy as np
import pytest

from preimage import KernelPCA
from preimage.plotting import SpectrumDisplay

plt = pytest.importorskip("matplotlib.pyplot", reason="figures need matplotlib")
plt.switch_backend("Agg")

X = np.random.default_rng(0).normal(size=(40, 3))


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_both_lines_have_the_data_of_the_model():
    model = KernelPCA(7, gamma=0.5).fit(X)
    display = SpectrumDisplay.from_estimator(model)
    spectrum, cumulative = display.lines_
    np.testing.assert_array_equal(spectrum.get_xdata(), np.arange(1, 8))
    np.testing.assert_array_equal(spectrum.get_ydata(), model.eigenvalues_)
    np.testing.assert_allclose(cumulative.get_ydata(), np.cumsum(model.explained_variance_ratio_))
    assert display.axes_[0].get_yscale() == "log"
    assert len(display.axes_) == 2 and display.figure_ is display.axes_[0].figure


def test_several_models_share_the_axes():
    first = SpectrumDisplay.from_estimator(KernelPCA(5, gamma=0.5).fit(X), label="wide")
    second = SpectrumDisplay.from_estimator(KernelPCA(5, gamma=5.0).fit(X), label="narrow", ax=first.axes_)
    assert second.figure_ is first.figure_ and len(first.figure_.axes) == 2
    assert [text.get_text() for text in first.axes_[1].get_legend().get_texts()] == ["wide", "narrow"]


def test_all_components_explain_everything():
    display = SpectrumDisplay.from_estimator(KernelPCA(kernel="linear").fit(X))
    assert display.lines_[1].get_ydata()[-1] == pytest.approx(1)


def test_eigenvalues_from_elsewhere_are_shares_of_their_total():
    display = SpectrumDisplay.from_eigenvalues([3.0, 1.0], total=8.0)
    np.testing.assert_allclose(display.explained_variance_ratio, [0.375, 0.125])
    np.testing.assert_allclose(SpectrumDisplay.from_eigenvalues([3.0, 1.0]).explained_variance_ratio, [0.75, 0.25])


@pytest.mark.filterwarnings("ignore::preimage.exceptions.IndefiniteKernelWarning")
def test_negative_eigenvalues_are_drawn_with_their_modulus_and_marked():
    model = KernelPCA(kernel="sigmoid", gamma=1.0, coef0=-1.0).fit(X)
    display = SpectrumDisplay.from_estimator(model)
    line, marks = display.axes_[0].lines
    np.testing.assert_allclose(line.get_ydata(), np.abs(model.eigenvalues_))
    np.testing.assert_allclose(marks.get_ydata(), -model.eigenvalues_[model.eigenvalues_ < 0])


def test_the_wrong_number_of_axes_is_refused():
    with pytest.raises(ValueError, match="2 panels and needs as many axes; got 1"):
        SpectrumDisplay.from_eigenvalues([1.0], ax=plt.figure().subplots())


def test_models_without_a_spectrum_are_told_what_to_do():
    from sklearn.decomposition import PCA

    with pytest.raises(TypeError, match=r"no eigenvalues_\. SpectrumDisplay\.from_eigenvalues"):
        SpectrumDisplay.from_estimator(PCA().fit(X))
