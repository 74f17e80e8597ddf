"""Models in the browser are those of Python: coordinates, distances, ways back, in the units of the data."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from preimage import CompressedTransformer, KernelPCA, OrientedKernelPCA, SemiSupervisedKernelPCA, explore
from preimage.kernels import Gaussian, Laplacian, Matern, Polynomial, Sigmoid
from preimage.solvers import FixedPoint, Gradient
from preimage.solvers._walks import navigate

WINE = load_wine()
SCALED = StandardScaler().fit_transform(WINE.data)
ROWS = SCALED[100:130] + 0.1 * np.random.default_rng(0).normal(size=(30, 13))

EACH = """({ Model }, record, rows, q, method) => {
  const model = new Model(record), [count, d] = rows.shape;
  return Array.from({ length: count }, (_, i) => model[method](rows.values.slice(i * d, (i + 1) * d), q));
}"""
REFUSED = """({ Model }, record, method, ...given) => {
  const model = new Model(record);
  try { model[method](...given.map((each) => each?.values ?? each)); } catch (error) { return error.message; }
}"""
DIFFERENCES = """({ Model }, record, weights, z, step) => {
  const { distance } = new Model(record).nearestImage, value = (at) => distance(weights.values, at).value;
  const numeric = z.values.map((_, j) => {
    const moved = (by) => value(z.values.map((each, i) => (i === j ? each + by : each)));
    return (moved(step) - moved(-step)) / (2 * step);
  });
  return { gradient: distance(weights.values, z.values).gradient, numeric };
}"""


def record_of(model, X):
    return explore(model, X, n_points=1000).header["models"][0]


def rows_of(results):
    return np.array([each["row"] for each in results])


KERNELS = {
    "Gaussian": Gaussian(0.05),
    "Laplacian": Laplacian(0.1),
    "Matern": Matern(0.02, nu=2.5),
    "polynomial": Polynomial(degree=2, gamma=0.1),
    "sum": Gaussian(0.05) + Polynomial(degree=2, gamma=0.05),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("center", [True, False])
def test_coordinates_and_distances_are_those_of_python(javascript, name, center):
    model = KernelPCA(6, kernel=KERNELS[name], center=center).fit(SCALED)
    record = record_of(model, SCALED)
    Y = np.array(javascript("model.js", EACH, record, ROWS, 0, "coordinates"))
    np.testing.assert_allclose(Y, model.transform(ROWS), atol=1e-5)
    for q in (1, 4, 6):
        errors = javascript("model.js", EACH, record, ROWS, q, "reconstructionError")
        np.testing.assert_allclose(errors, model.reconstruction_error(ROWS, n_components=q), rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:The kernel is indefinite")
def test_axes_of_negative_norm_count_negatively_in_distances(javascript):
    model = KernelPCA(4, kernel=Sigmoid(gamma=0.1, coef0=2.0)).fit(SCALED)
    assert np.any(np.asarray(model.subspace_.signature) < 0)
    errors = javascript("model.js", EACH, record_of(model, SCALED), ROWS, 4, "reconstructionError")
    np.testing.assert_allclose(errors, model.reconstruction_error(ROWS), atol=1e-5)


@pytest.mark.parametrize("name", KERNELS)
def test_gradients_of_distances_are_those_of_differences(javascript, name):
    model = KernelPCA(3, kernel=KERNELS[name]).fit(SCALED)
    weights = np.random.default_rng(1).normal(size=len(SCALED)) / len(SCALED)
    found = javascript("model.js", DIFFERENCES, record_of(model, SCALED), weights, ROWS[0] + 0.01, 1e-6)
    np.testing.assert_allclose(found["gradient"], found["numeric"], atol=1e-6)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("q", [2, 5])
def test_denoised_rows_are_those_of_python(javascript, name, q):
    model = KernelPCA(5, kernel=KERNELS[name]).fit(SCALED)
    found = javascript("model.js", EACH, record_of(model, SCALED), ROWS, q, "denoise")
    result = model.preimage_.projection.inverse(model.subspace_.leading(q), model.transform(ROWS)[:, :q], ROWS)
    assert [each["reason"] for each in found] == [str(reason) for reason in result.reason]
    close = np.linalg.norm(rows_of(found) - result.points, axis=1) < 1e-4 * np.sqrt(13)
    # The Laplacian has a corner at every point, where descents stop after steps that rounding decides.
    assert np.mean(close) == 1 or (name == "Laplacian" and np.mean(close) > 0.8)


@pytest.mark.parametrize("solver", [FixedPoint(), Gradient(lower=-2.0, upper=2.0)])
def test_walks_are_those_of_python(javascript, solver):
    model = KernelPCA(5, kernel=Gaussian(0.05), preimage=solver).fit(SCALED)
    A, B = SCALED[:1], SCALED[-1:]
    call = """({ Model, alongLine }, record, a, b, fractions) => {
      const model = new Model(record), y = (row) => model.coordinates(row.values);
      return [...alongLine(model, y(a), y(b), fractions.values, { q: model.k })];
    }"""
    modules = ["model.js", "panels/lines.js"]
    found = javascript(modules, call, record_of(model, SCALED), A[0], B[0], np.linspace(0, 1, 7))
    np.testing.assert_allclose(rows_of(found), navigate(model.subspace_, solver, A, B, 7).points, atol=1e-5)


@pytest.mark.parametrize("steps", [[StandardScaler()], [MinMaxScaler(), PCA(7)]], ids=["scaler", "scaler and PCA"])
def test_rows_are_in_the_units_of_the_data(javascript, steps):
    model = make_pipeline(*steps, KernelPCA(4, kernel=Gaussian(0.1), preimage="fixed_point")).fit(WINE.data)
    rows = WINE.data[:20] * 1.02
    record = record_of(model, WINE.data)
    Y = np.array(javascript("model.js", EACH, record, rows, 0, "coordinates"))
    np.testing.assert_allclose(Y, model.transform(rows), atol=1e-5)
    expected = model[:-1].inverse_transform(model[-1].denoise(model[:-1].transform(rows)))
    found = javascript("model.js", EACH, record, rows, 4, "denoise")
    np.testing.assert_allclose(rows_of(found) / WINE.data.std(axis=0), expected / WINE.data.std(axis=0), atol=1e-4)


def test_a_kernel_about_the_mean_of_the_data_has_the_same_preimages(javascript):
    far = SCALED + 1000
    model = KernelPCA(4, kernel="linear").fit(far)
    found = javascript("model.js", EACH, record_of(model, far), ROWS + 1000, 4, "denoise")
    np.testing.assert_allclose(rows_of(found), model.denoise(ROWS + 1000), atol=1e-4)


def test_bounds_of_pixels_move_with_a_kernel_about_the_mean(javascript):
    solver = Gradient(lower=999.5, upper=1000.5)
    model = KernelPCA(4, kernel="linear", preimage=solver).fit(SCALED + 1000)
    found = javascript("model.js", EACH, record_of(model, SCALED + 1000), ROWS + 1000, 4, "denoise")
    assert rows_of(found).min() == pytest.approx(999.5)
    np.testing.assert_allclose(rows_of(found), model.denoise(ROWS + 1000), atol=1e-3)


@pytest.mark.parametrize("q", [2, 4])
def test_features_that_are_not_orthogonal_go_back_as_in_python(javascript, q):
    noise = SCALED[:50] + 0.2 * np.random.default_rng(2).normal(size=(50, 13)) * np.linspace(0.5, 3, 13)
    model = OrientedKernelPCA(4, kernel=Gaussian(0.05), preimage="gradient").fit(SCALED, noise_samples=noise)
    record = record_of(model, SCALED)
    Y = model.transform(ROWS)
    np.testing.assert_allclose(javascript("model.js", EACH, record, ROWS, 0, "coordinates"), Y, atol=1e-4)
    call = """({ Model }, record, Y, q) => {
      const model = new Model(record), [count, k] = Y.shape;
      return Array.from({ length: count }, (_, i) => model.preimage(Y.values.slice(i * k, (i + 1) * k), { q }));
    }"""
    found = javascript("model.js", call, record, Y, q)
    result = model.find_preimages(Y, n_components=q)
    agree = np.linalg.norm(rows_of(found) - result.points, axis=1) < 1e-3
    assert np.mean(agree) > 0.9
    denoised = javascript("model.js", EACH, record, ROWS, q, "denoise")
    np.testing.assert_allclose(rows_of(denoised), model.denoise(ROWS, n_components=q), atol=1e-3)


def test_semi_supervised_and_compressed_models_go_back_as_in_python(javascript):
    labels = np.where(np.arange(len(SCALED)) % 3 == 0, WINE.target, -1)
    supervised = SemiSupervisedKernelPCA(3, kernel=Gaussian(0.05), preimage="gradient").fit(SCALED, labels)
    small = CompressedTransformer(KernelPCA(3, kernel=Gaussian(0.05)), n_points=40).fit(SCALED)
    for model in (supervised, small):
        record = record_of(model, SCALED)
        Y = np.array(javascript("model.js", EACH, record, ROWS, 0, "coordinates"))
        np.testing.assert_allclose(Y, model.transform(ROWS), atol=1e-4)
        found = javascript("model.js", EACH, record, ROWS, 3, "denoise")
        np.testing.assert_allclose(rows_of(found), model.denoise(ROWS), atol=1e-3)


def test_wrong_rows_and_coordinates_are_refused_in_words(javascript):
    record = record_of(KernelPCA(3, kernel=Gaussian(0.05)).fit(SCALED), SCALED)
    refused = lambda *given: javascript("model.js", REFUSED, record, *given)
    assert refused("coordinates", np.zeros(4)) == "The model needs rows of 13 values; got 4."
    assert "entry 2 is NaN" in refused("denoise", np.where(np.arange(13) == 1, np.nan, 0.0))
    assert "entry 3 is NaN" in refused("preimage", np.array([0.0, 1.0, np.nan]))
    assert "between 1 and 3; got 4" in refused("denoise", np.zeros(13), 4)
    assert "between 1 and 3; got 0" in refused("reconstructionError", np.zeros(13), 0)
    assert refused("denoise", np.zeros(13), 2) is None
