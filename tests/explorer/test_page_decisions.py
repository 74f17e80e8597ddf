"""What machines, detectors and imputers say, on their pages: numbers of the library, regions and gaps on the map."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

from preimage import KernelFisherDiscriminant, KernelImputer, KernelNoveltyDetector, SparseGreedyDetector, explore

WINE = load_wine()
X, y = WINE.data, WINE.target
NAMES = WINE.target_names[y]

MARGINS = "({Decision}, record, rows) => rows.map((row) => new Decision(record).margins(row.values))"


def record_of(model, rows=X, labels=None):
    return explore(model, rows, labels).header["models"][0]["decision"]


def fitted(machine, target):
    return make_pipeline(StandardScaler(), machine).fit(X, target)


def margins(javascript, record, rows):
    return np.array(javascript("decision.js", MARGINS, record, list(rows)))


@pytest.mark.parametrize(
    "machine",
    [
        SVC(gamma=0.05),
        SVC(gamma=0.05, kernel="poly", degree=2),
        OneVsRestClassifier(SVC(gamma=0.05)),
        KernelFisherDiscriminant(gamma=0.05, alpha=1e-2),
    ],
    ids=["pairs", "polynomial", "one_against_rest", "discriminant"],
)
def test_classes_on_a_page_are_those_of_the_machine(javascript, machine):
    model = fitted(machine, NAMES)
    record = record_of(model, labels=NAMES)
    rows = X[::7] + 0.1 * np.std(X, axis=0)
    found = margins(javascript, record, rows)
    assert found.shape == (len(rows), 3)
    winners = np.array(record["names"])[np.argmax(found, axis=1)]
    # Where no class wins against all others, votes decide.
    clear = np.max(found, axis=1) > 0
    assert np.mean(clear) > 0.9
    np.testing.assert_array_equal(winners[clear], model.predict(rows)[clear])
    np.testing.assert_array_equal(np.array(record["names"])[record["predicted"]], model.predict(X))


def test_two_classes_have_the_value_of_the_one_function(javascript):
    model = fitted(SVC(gamma=0.05), y == 1)
    found = margins(javascript, record_of(model), X[:20])
    np.testing.assert_allclose(found[:, 1], model.decision_function(X[:20]), atol=1e-4)
    np.testing.assert_allclose(found[:, 0], -found[:, 1])


@pytest.mark.parametrize("machine", [SVR(gamma=0.05), KernelRidge(kernel="rbf", gamma=0.05)], ids=["svr", "ridge"])
def test_predictions_are_those_of_the_machine(javascript, machine):
    model = fitted(machine, X[:, 0])
    expected = model.predict(X[:20])
    found = margins(javascript, record_of(model), X[:20])[:, 0]
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.std(expected))


@pytest.mark.parametrize(
    "detector",
    [
        OneClassSVM(gamma=0.05, nu=0.1),
        SparseGreedyDetector(60, nu=0.1, gamma=0.05),
        KernelNoveltyDetector(contamination=0.1),
    ],
    ids=["one_class", "landmarks", "novelty"],
)
def test_decisions_of_detectors_have_their_values_and_signs(javascript, detector):
    model = make_pipeline(StandardScaler(), detector).fit(X)
    rows = X[::9] * (1 + 0.05 * np.sin(np.arange(13)))
    page = explore(model, X)
    record = page.header["models"][0]
    expected = model.decision_function(rows)
    found = margins(javascript, record["decision"], rows)[:, 0]
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.std(expected))
    outliers = record["detection"]["scores"] > record["detection"]["threshold"]
    np.testing.assert_array_equal(outliers, record["decision"]["predicted"] < 0)


def test_the_threshold_of_a_detector_separates_inside_from_outliers(javascript, open_page):
    """The field of the map has the sign of the detector at nearly all samples: a contour that contradicts them lies."""
    model = make_pipeline(StandardScaler(), OneClassSVM(gamma=0.05, nu=0.1)).fit(X)
    watched = open_page(explore(model, X, NAMES), shade=True)
    assert watched.state("haze") == "decision"
    watched.settle()
    outliers = model.decision_function(X) < 0
    watched.page.get_by_label("Colour by").select_option("decision")
    assert f"outlier\n({np.sum(outliers)})" in watched.panel("map").locator(".legend").inner_text()


def test_regions_of_classes_are_drawn_and_can_be_left_out(open_page):
    watched = open_page(explore(fitted(SVC(gamma=0.05), NAMES), X, NAMES), shade=True)
    watched.settle()
    haze = "() => document.querySelector('canvas.map-haze').toDataURL()"
    regions = watched.page.evaluate(haze)
    watched.page.get_by_label("Shade").select_option("extrapolation")
    watched.settle()
    assert watched.page.evaluate(haze) != regions
    assert "Decision class_" in watched.panel("inspector").inner_text()


def test_a_large_machine_is_compressed_and_the_page_says_what_that_changes():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 3))
    model = SVC(gamma=1.0, C=0.5).fit(rows, rows[:, 0] + 0.7 * rng.normal(size=500) > 0)
    page = explore(model, rows, n_points=60)
    assert page.header["models"][0]["decision"]["points"].shape[0] <= 60
    assert any("decides with 60 points" in message for message in page.messages)


ZEROS = """({zeroLines}, values, columns, rows) =>
  zeroLines({ values: values.values, columns, rows, area: { left: -1, right: 1, bottom: -1, top: 1 } })"""


def test_lines_between_decisions_are_where_a_function_is_zero(javascript):
    """A circle: every end lies on it up to the square of the distance of nodes, and lines close it."""
    x, up = np.meshgrid(np.linspace(-1, 1, 41), np.linspace(1, -1, 41))
    lines = np.array(javascript("panels/map_decision.js", ZEROS, (x**2 + up**2 - 0.5).ravel(), 41, 41))
    assert abs(np.linalg.norm(lines, axis=-1) - 0.5**0.5).max() < 0.05**2
    length = np.sum(np.linalg.norm(lines[:, 0] - lines[:, 1], axis=-1))
    assert length == pytest.approx(2 * np.pi * 0.5**0.5, rel=0.01)
    assert javascript("panels/map_decision.js", ZEROS, np.ones(12), 4, 3) == []


def test_filled_entries_are_seen_as_gaps_and_as_they_were_filled(open_page):
    rng = np.random.default_rng(0)
    given = X.copy()
    given[rng.random(X.shape) < 0.05] = np.nan
    imputer = KernelImputer().fit(given)
    page = explore(imputer, given, NAMES, names=WINE.feature_names)
    gaps = page.header["samples"]["gaps"]
    np.testing.assert_array_equal(gaps, np.isnan(given))
    filled = page.header["samples"]["inputs"][np.isnan(given)]
    np.testing.assert_allclose(filled, imputer.transform(given)[np.isnan(given)], rtol=1e-4)
    watched = open_page(page)
    row = int(np.flatnonzero(np.isnan(given).any(axis=1))[0])
    column = int(np.flatnonzero(np.isnan(given[row]))[0])
    watched.page.evaluate("(selected) => window.preimage.store.set({ selected })", row)
    watched.settle()
    line = watched.panel("inspector").locator(".comparison tbody tr").nth(column)
    assert line.locator("td[data-of='original']").inner_text() == "–"
    assert float(line.locator("td[data-of='filled-in']").inner_text()) == pytest.approx(
        imputer.transform(given)[row, column], rel=0.05
    )
    assert "missing and filled in" in watched.panel("inspector").inner_text()
    watched.page.get_by_label("Colour by").select_option("gaps")
    legend = watched.panel("map").locator(".legend").inner_text()
    assert f"({np.sum(np.isnan(given).any(axis=1))})" in legend


def test_models_that_are_no_kernel_machines_are_refused_by_name():
    with pytest.raises(TypeError, match="LogisticRegression"):
        explore(LogisticRegression(max_iter=5000).fit(X, y), X)
    labels = np.stack([y == 0, y == 1], axis=1).astype(int)
    with pytest.raises(TypeError, match="one machine for each"):
        explore(fitted(OneVsRestClassifier(SVC(gamma=0.05)), labels), X)
