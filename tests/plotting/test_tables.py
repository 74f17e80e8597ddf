"""Figures of tables: legible whatever the columns are, true to their units, and clear about what they leave out."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="figures need matplotlib")

from legible_figures import check_figure

from preimage.plotting import _tables
from preimage.plotting._tables import draw_table

RNG = np.random.default_rng(0)
LONG = "concentration of the substance number {} in the blood of patients, mg/dl"


def table(n, d):
    signal = RNG.normal(size=(n, 2)) @ RNG.normal(size=(2, d))
    return signal + 0.3 * RNG.normal(size=(n, d)), signal


def texts(figure):
    return [text.get_text() for ax in figure.axes for text in [ax.title, *ax.get_yticklabels(), *ax.texts]]


COLUMNS, ROWS, NAMES = [1, 3, 13, 200], [2, 8, 2000], ["none", "short", "long"]
# Every pair of two of these; all triples are a net.
TABLES = [
    pytest.param(n, d, names, marks=[] if (i + j + k) % 3 == 0 else pytest.mark.net)
    for i, n in enumerate(ROWS)
    for j, d in enumerate(COLUMNS)
    for k, names in enumerate(NAMES)
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("n", "d", "names"), TABLES)
def test_figures_are_legible(n, d, names):
    labels = {"none": None, "short": [f"x{k}" for k in range(d)], "long": [LONG.format(k) for k in range(d)]}[names]
    check_figure(draw_table(*table(n, d), labels))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [0.0, 1e9, -1e300])
def test_constant_columns_and_outliers_hide_nothing(value):
    before, after = table(100, 4)
    before[:, 1] = after[:, 1] = 5.0
    before[17, 0] = after[17, 0] = value
    figure = draw_table(before, after, ["a", "constant", "c", "d"])
    check_figure(figure)
    left, right = figure.axes[0].get_xlim()
    assert right - left < 20 * np.std(after[:, 2]) and "constant" not in texts(figure)
    assert ("1 value beyond" in texts(figure)) == (value != 0)


def test_columns_that_changed_most_are_chosen_and_counted():
    before, after = table(50, 40)
    after = before.copy()
    after[:, 30] += 2 * before[:, 30].std()
    figure = draw_table(before, after, [f"x{k}" for k in range(40)])
    assert "12 of 40 columns" in figure.get_suptitle() and figure.axes[0].get_title() == "x30"


def test_rows_that_changed_most_have_bars_in_deviations():
    before = RNG.normal(size=(101, 3)) * [1, 1e3, 1e-3]
    after = before.copy()
    after[7, 1] += 4 * before[:, 1].std()
    figure = draw_table(before, after, ["a", "b", "c"], n_rows=5000)
    assert "the first 101 rows of 5,000" in figure.get_suptitle()
    (bars,) = [ax for ax in figure.axes if ax.get_title().startswith("row ")]
    assert bars.get_title() == "row 8" and [bar.get_width() for bar in bars.patches] == [pytest.approx(4)]
    assert [label.get_text() for label in bars.get_yticklabels()] == ["b"]


def test_unchanged_tables_say_so():
    before, _ = table(30, 3)
    figure = draw_table(before, before)
    check_figure(figure)
    assert any("No value has changed" in text.get_text() for part in figure.subfigs[1].subfigs for text in part.texts)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("n", "d"), [(8, 3), (300, 13), (2000, 200)])
def test_gaps_and_what_fills_them(n, d):
    before, after = table(n, d)
    before[RNG.random(before.shape) < 0.05] = np.nan
    before[:3, 0] = np.nan
    gaps = np.isnan(before)
    after = np.where(gaps, after, before)
    figure = draw_table(before, after, [LONG.format(k) for k in range(d)])
    check_figure(figure)
    assert f"{gaps.any(axis=0).sum()} column" in figure.get_suptitle()
    (gap_map,) = [ax for ax in figure.axes if ax.images]
    np.testing.assert_allclose(gap_map.images[0].get_array().mean(), gaps[:, gaps.any(axis=0)].mean(), rtol=0.05)


def test_names_that_would_look_alike_have_their_numbers():
    short = _tables._short([LONG.format(k) + " fasting" for k in range(30)], range(30), 18)
    assert len(set(short)) == 30 and max(map(len, short)) <= 18
    assert _tables._short(["cost in $", "b"], range(2), 18) == [r"cost in \$", "b"]
