"""Gaps that a page fills: the same numbers as `impute`, from the same energy."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from preimage import KernelPCA, explore
from preimage._models.completion import median_distance, neighbor_start
from preimage.descent import spread
from preimage.estimators._missing_entries import principal_energy
from preimage.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, RationalQuadratic

KERNELS = {
    "Gaussian": Gaussian(0.08),
    "Polynomial": Polynomial(degree=2, gamma=0.05, coef0=1.0),
    "RationalQuadratic": RationalQuadratic(0.05),
    "Matern": Matern(gamma=0.3, nu=2.5),
    "a sum": Gaussian(0.08) + 0.1 * Linear(),
}
FILL = """({Model, filled}, record, rows, q) => {
  const model = new Model(record), [n, d] = rows.shape;
  return Array.from({ length: n }, (_, i) => filled(model, rows.values.slice(i * d, (i + 1) * d), q));
}"""
ENERGY = """({Model, subspaceEnergy, componentWeights}, record, rows, q) => {
  const model = new Model(record), [n, d] = rows.shape;
  const energy = subspaceEnergy(model.subspace, q, componentWeights(record, q));
  return Array.from({ length: n }, (_, i) => {
    const { value, gradient } = energy(model.toFeatures(rows.values.slice(i * d, (i + 1) * d)));
    return { value, gradient: gradient.slice() };
  });
}"""
MODULES = ["model.js", "completion.js"]


@pytest.fixture(scope="module")
def digits():
    return load_digits().data[:160] / 16.0


@pytest.fixture(scope="module")
def gaps(digits):
    """New rows with holes: halves of images, single pixels, nothing known."""
    rows = load_digits().data[200:212] / 16.0
    observed = np.random.default_rng(0).random(rows.shape) < 0.6
    observed[:4] = np.arange(64) < 32
    observed[-1] = False
    return np.where(observed, rows, np.nan)


def record_of(model, X):
    return explore(model, X, image_shape=(8, 8)).header["models"][0]


@pytest.mark.parametrize("name", KERNELS)
def test_filled_rows_are_those_of_impute(javascript, digits, gaps, name):
    model = KernelPCA(10, kernel=KERNELS[name]).fit(digits)
    expected = model.impute(gaps, n_components=7)
    found = javascript(MODULES, FILL, record_of(model, digits), gaps, 7)
    rows = np.array([each["row"] for each in found])
    known = ~np.isnan(gaps)
    np.testing.assert_array_equal(rows[known], gaps[known])
    # Sixteenths are exact in single precision, so that the steps of both are the same but for rounding.
    assert np.max(np.abs(rows - expected)) < 1e-8 * spread(digits)


def test_fillings_do_not_depend_on_the_rows_that_are_drawn(javascript, digits, gaps):
    # The noise that weights of components come from is that of the rows of the fit.
    model = KernelPCA(10, kernel=Gaussian(0.08)).fit(digits)
    records = [record_of(model, digits), record_of(model, digits[:20])]
    everything, few = ([each["row"] for each in javascript(MODULES, FILL, record, gaps, 7)] for record in records)
    np.testing.assert_array_equal(few, everything)


@pytest.mark.parametrize("name", KERNELS)
def test_the_energy_is_that_of_the_library_and_has_its_gradient(javascript, digits, name):
    model = KernelPCA(10, kernel=KERNELS[name]).fit(digits)
    record = record_of(model, digits)
    rows = np.random.default_rng(1).random((3, 64))
    shift = 1e-5 * np.random.default_rng(2).standard_normal((3, 64))
    found = javascript(MODULES, ENERGY, record, np.concatenate([rows, rows + shift, rows - shift]), 7)
    values = np.array([each["value"] for each in found])
    gradients = np.array([each["gradient"] for each in found])
    expected = principal_energy(model, 7, "auto").at(rows)
    scale = np.abs(model.kernel_.diagonal(rows))
    np.testing.assert_allclose(values[:3] / scale, expected.value / scale, atol=1e-6)
    along = np.sum(gradients[:3] * shift, axis=1)
    np.testing.assert_allclose((values[3:6] - values[6:]) / 2, along, rtol=1e-4, atol=1e-9)


def test_starts_are_averages_of_like_points_as_in_the_library(javascript, digits, gaps):
    code = """({neighborStart, medianDistance}, points, rows) => {
      const d = points.shape[1], split = (array) => Array.from({ length: array.shape[0] }, (_, i) =>
        array.values.slice(i * d, (i + 1) * d));
      return split(rows).map((row) => neighborStart(split(points), row, medianDistance(split(points))));
    }"""
    rows = gaps[:-1]
    expected = neighbor_start(rows, ~np.isnan(rows), median_distance(digits), digits)
    found = np.array(javascript("completion.js", code, digits, rows))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_scalers_before_the_model_keep_units(javascript, digits, gaps):
    X = digits[:, 2:30] * np.linspace(1, 50, 28) + 3
    rows = gaps[:, 2:30] * np.linspace(1, 50, 28) + 3
    model = make_pipeline(StandardScaler(), KernelPCA(6, kernel=Gaussian(0.02))).fit(X)
    scaler, last = model[0], model[1]
    expected = scaler.inverse_transform(last.impute(scaler.transform(rows)))
    record = explore(model, X, kind="table").header["models"][0]
    found = np.array([each["row"] for each in javascript(MODULES, FILL, record, rows, 6)])
    assert np.max(np.abs((found - expected) / scaler.scale_)) < 1e-3 * spread(scaler.transform(X))


def test_a_rotation_before_the_model_changes_nothing(javascript, digits, gaps):
    X, rows = digits[:, 2:30], gaps[:-1, 2:30]
    plain = KernelPCA(6, kernel=Gaussian(0.1)).fit(X)
    rotated = make_pipeline(PCA(), KernelPCA(6, kernel=Gaussian(0.1))).fit(X)
    record = explore(rotated, X, kind="table").header["models"][0]
    found = javascript(MODULES, FILL, record, rows, 6)
    energy = principal_energy(plain, 6, "auto")
    expected = energy.at(plain.impute(rows)).value
    np.testing.assert_allclose([each["objective"] for each in found], expected, atol=2e-3 * np.max(expected))


def test_kernels_with_a_kink_are_filled_without_rising_above_the_start(javascript, digits, gaps):
    model = KernelPCA(6, kernel=Laplacian(0.05)).fit(digits)
    rows = gaps[:-1]
    start = neighbor_start(rows, ~np.isnan(rows), median_distance(digits), digits)
    found = javascript(MODULES, FILL, record_of(model, digits), rows, 6)
    energies = principal_energy(model, 6, "auto").at(np.array([each["row"] for each in found])).value
    assert np.all(energies <= principal_energy(model, 6, "auto").at(start).value + 1e-9)
