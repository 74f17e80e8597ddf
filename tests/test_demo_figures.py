"""The figures of the demo that need no tuned model are legible; the first one is the picture of the README."""

import importlib
from pathlib import Path

import pytest
from legible_figures import check_figure

plt = pytest.importorskip("matplotlib.pyplot", reason="the demo draws with matplotlib")
EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture
def demo(monkeypatch):
    """The modules of the demo, in the look of the project."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    plt.switch_backend("Agg")
    figures = importlib.import_module("_figures")
    with plt.style.context(figures.STYLE):
        yield importlib.import_module("_digits"), figures
    plt.close("all")


def test_the_opening_shows_ten_kinds_of_digits_and_every_error(demo):
    digits, figures = demo
    data = digits.Digits.load()
    outputs = [data.test + 0.1 * (number + 1) * (data.noisy_test - data.test) for number in range(3)]
    made = {
        name: digits.Outcome({}, output, digits.mean_square(output - data.test), 0.0, 0.0)
        for name, output in zip(figures.SHOWN, outputs)
    }
    figure = figures.draw_opening(data, made)
    check_figure(figure)
    written = {text.get_text() for ax in figure.axes for text in ax.texts}
    assert {f"{outcome.error:.4f}" for outcome in made.values()} <= written


def test_hidden_halves_are_marked(demo):
    digits, figures = demo
    data = digits.Digits.load()
    figure = figures.draw_halves(data, {"mean": data.test, "kernel PCA": data.test})
    check_figure(figure)
    assert len(figure.axes[0].patches) == 12
