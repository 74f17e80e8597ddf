"""Neighbours in feature space: equal to comparing all pairs, or as often so as the model says."""

import naive
import numpy as np
import pytest
from for_each import for_each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

import preimage
import preimage.estimators._feature_space_neighbors as room
from preimage import (
    FeatureSpaceNeighbors,
    FeatureSpaceNeighborsClassifier,
    FeatureSpaceNeighborsRegressor,
)
from preimage.exceptions import IndefiniteKernelWarning, UnsupportedKernelError
from preimage.kernels import CallableKernel, Cosine, Exponential, Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from preimage.kernels._names import KERNELS
from preimage.landmarks import PivotedCholesky

RNG = np.random.default_rng(0)
X, Z = np.abs(RNG.normal(size=(60, 3))), np.abs(RNG.normal(size=(8, 3)))
# Rows on a curve in ten columns: coordinates along few landmarks tell them apart.
CURVE = np.linspace(0, 3, 500)[:, None] * np.ones((1, 10)) + 0.02 * RNG.normal(size=(500, 10))
NAMED = {part.name: part for part in KERNELS.parts if part.name != "precomputed"}
SEARCHES = {
    "inputs": {},
    "blocks": {"kernel": Polynomial(2)},
    "landmarks": {"kernel": Polynomial(2), "exact": False, "landmarks": 20},
}


def kernel_named(name):
    part = NAMED[name]
    return part.example() if part.example else part.made()


@pytest.mark.filterwarnings("ignore::preimage.exceptions.IndefiniteKernelWarning")
@for_each("name", NAMED)
def test_neighbors_are_those_of_all_pairs(name):
    kernel = kernel_named(name)
    model = FeatureSpaceNeighbors(7, kernel=kernel).fit(X)
    expected = naive.feature_distances(kernel, Z, X)
    distances, rows = model.kneighbors(Z)
    assert_allclose(distances, np.sort(expected, axis=1)[:, :7], atol=1e-7)
    assert_allclose(np.take_along_axis(expected, rows, axis=1), distances, atol=1e-7)
    assert model.recall_ == model.certified_ == 1.0


@for_each("route", SEARCHES)
def test_routes_are_what_they_are_called(route):
    assert FeatureSpaceNeighbors(**SEARCHES[route]).fit(X).route_ == route


def test_some_answers_are_certain_and_some_are_not():
    model = FeatureSpaceNeighbors(3, kernel=Polynomial(2), exact=False, landmarks=30, min_recall=0.9).fit(CURVE)
    assert 0 < model.certified_ <= 1
    narrow = FeatureSpaceNeighbors(3, kernel=Gaussian(30.0), exact=False, landmarks=5, min_recall=0.9).fit(CURVE)
    assert narrow.certified_ < 0.5


@for_each("n_candidates", [None, 5])
def test_the_stated_recall_is_that_of_rows_set_aside(n_candidates):
    kernel = Exponential(0.5)
    rows = np.random.default_rng(1).normal(size=(600, 6))
    model = FeatureSpaceNeighbors(5, kernel=kernel, exact=False, landmarks=40, n_candidates=n_candidates).fit(rows)
    found = model.kneighbors(return_distance=False)
    true = FeatureSpaceNeighbors(5, kernel=kernel, exact=True).fit(rows).kneighbors(return_distance=False)
    recall = np.mean([np.isin(some, others).mean() for some, others in zip(found, true, strict=True)])
    assert abs(recall - model.recall_) < 0.05
    assert n_candidates is not None or model.recall_ > 0.97
    assert n_candidates is None or model.recall_ < 0.95


def test_linear_kernels_have_euclidean_neighbors():
    distances, rows = NearestNeighbors(n_neighbors=4).fit(X).kneighbors(Z)
    for exact in ("auto", False):
        found = FeatureSpaceNeighbors(4, kernel="linear", exact=exact, landmarks=10).fit(X).kneighbors(Z)
        assert_allclose(found[0], distances)
        assert_array_equal(found[1], rows)


@for_each("gamma", [1e-200, 1e-12, 1e12, 1e200])
def test_neighbors_by_radial_kernels_of_any_width_are_those_of_inputs(gamma):
    rows = NearestNeighbors(n_neighbors=4).fit(X).kneighbors(Z, return_distance=False)
    distances, found = FeatureSpaceNeighbors(4, gamma=gamma).fit(X).kneighbors(Z)
    assert_array_equal(found, rows)
    assert np.isfinite(distances).all()


@for_each("route", SEARCHES)
def test_training_rows_are_not_their_own_neighbors(route):
    model = FeatureSpaceNeighbors(4, **SEARCHES[route]).fit(X)
    distances, rows = model.kneighbors()
    assert not (rows == np.arange(len(X))[:, None]).any()
    with_themselves = model.kneighbors(X, 5)
    assert_array_equal(with_themselves[1][:, 0], np.arange(len(X)))
    assert_array_equal(with_themselves[1][:, 1:], rows)
    assert_allclose(with_themselves[0][:, 1:], distances, atol=1e-7)


@for_each("route", SEARCHES)
def test_ties_are_in_the_order_of_rows(route):
    copies = np.concatenate([X[:20], X[:20], X[:20]])
    model = FeatureSpaceNeighbors(7, **SEARCHES[route]).fit(copies)
    distances, rows = model.kneighbors(X[:20] + 0.01)
    assert_array_equal(rows[:, :3], rows[:, :1] + [0, 20, 40])
    assert_array_equal(rows[:, 3:6], rows[:, 3:4] + [0, 20, 40])
    assert (distances[:, 0] == distances[:, 2]).all()
    assert_array_equal(model.kneighbors(n_neighbors=2)[1][:20] % 20, np.arange(20)[:, None] * [1, 1])


def test_ties_on_a_grid_are_in_the_order_of_rows():
    grid = np.stack(np.meshgrid(*3 * [np.arange(-2.0, 3.0)]), axis=-1).reshape(-1, 3)
    for kernel in (Gaussian(0.1), Laplacian(0.1)):
        _, rows = FeatureSpaceNeighbors(30, kernel=kernel).fit(grid).kneighbors(np.zeros((1, 3)))
        expected = naive.feature_distances(kernel, np.zeros((1, 3)), grid)[0].round(12)
        assert_array_equal(rows[0], np.argsort(expected, kind="stable")[:30])


@for_each("route", SEARCHES)
def test_rows_within_a_radius_are_all_of_them(route):
    model = FeatureSpaceNeighbors(**SEARCHES[route]).fit(X)
    expected = naive.feature_distances(model.kernel_, Z, X)
    radius = float(np.quantile(expected, 0.2))
    distances, rows = model.radius_neighbors(Z, radius)
    for query in range(len(Z)):
        assert_array_equal(np.sort(rows[query]), np.flatnonzero(expected[query] <= radius))
        assert_allclose(distances[query], np.sort(expected[query][expected[query] <= radius]), atol=1e-7)
    own = model.radius_neighbors(radius=radius, return_distance=False)
    assert not any(row in found for row, found in enumerate(own))


def test_graphs_are_neighbors():
    model = FeatureSpaceNeighbors(3, kernel=Polynomial(2)).fit(X)
    distances, rows = model.kneighbors(Z)
    graph = model.kneighbors_graph(Z, mode="distance").toarray()
    assert graph.shape == (len(Z), len(X))
    assert_array_equal(np.take_along_axis(graph, rows, axis=1), distances)
    assert_array_equal(model.kneighbors_graph(Z).toarray() > 0, graph > 0)
    within = model.radius_neighbors_graph(Z, 1e9, mode="distance").toarray()
    assert_allclose(within, naive.feature_distances(model.kernel_, Z, X), atol=1e-7)
    assert model.radius_neighbors_graph(radius=1e9).sum() == len(X) * (len(X) - 1)


@pytest.fixture(scope="module")
def distances_to_rows():
    """Of all rows, and of new ones."""
    return [naive.feature_distances(Polynomial(2), rows, X) for rows in (X, Z)]


@for_each("weights", ["uniform", "distance", lambda distances: np.exp(-distances)], ids=str)
def test_predictions_are_those_of_precomputed_distances(weights, distances_to_rows):
    kernel, (D, Q) = Polynomial(2), distances_to_rows
    labels, targets = np.array(["a", "b", "c"])[RNG.integers(0, 3, len(X))], RNG.normal(size=(len(X), 2))
    classifier = FeatureSpaceNeighborsClassifier(7, weights=weights, kernel=kernel).fit(X, labels)
    other = KNeighborsClassifier(7, weights=weights, metric="precomputed").fit(D, labels)
    assert_allclose(classifier.predict_proba(Z), other.predict_proba(Q), atol=1e-9)
    assert_array_equal(classifier.predict(Z), other.predict(Q))
    for y in (targets, targets[:, 0]):
        regressor = FeatureSpaceNeighborsRegressor(7, weights=weights, kernel=kernel).fit(X, y)
        other = KNeighborsRegressor(7, weights=weights, metric="precomputed").fit(D, y)
        assert_allclose(regressor.predict(Z), other.predict(Q), atol=1e-9)


def test_rows_at_no_distance_count_alone():
    y = np.arange(len(X), dtype=float)
    model = FeatureSpaceNeighborsRegressor(5, weights="distance", kernel=Polynomial(2)).fit(X, y)
    assert_array_equal(model.predict(X), y)


def test_precomputed_values_are_those_of_the_kernel():
    kernel = Polynomial(2)
    model = FeatureSpaceNeighbors(5, kernel=kernel).fit(X)
    known = FeatureSpaceNeighbors(5, kernel="precomputed").fit(kernel(X))
    assert_array_equal(known.kneighbors()[1], model.kneighbors()[1])
    values = kernel(Z, X)
    distances, rows = known.kneighbors(values, diagonal=kernel.diagonal(Z))
    assert_allclose(distances, model.kneighbors(Z)[0], atol=1e-9)
    assert_array_equal(rows, model.kneighbors(Z)[1])
    assert_array_equal(known.kneighbors(values, return_distance=False), rows)
    assert_array_equal(known.kneighbors(sparse.csr_matrix(values), return_distance=False), rows)
    with pytest.raises(UnsupportedKernelError, match="`diagonal=`"):
        known.kneighbors(values)


@for_each("route", SEARCHES)
def test_sparse_rows_and_single_precision_are_the_same_rows(route):
    model = FeatureSpaceNeighbors(4, **SEARCHES[route]).fit(X)
    distances, rows = model.kneighbors(Z)
    other = FeatureSpaceNeighbors(4, **SEARCHES[route]).fit(sparse.csr_matrix(X))
    if route == "landmarks":  # of sparse rows other landmarks are chosen
        assert other.recall_ > 0.97
    else:
        assert_array_equal(other.kneighbors(sparse.csr_matrix(Z))[1], rows)
    single = FeatureSpaceNeighbors(4, **SEARCHES[route]).fit(X.astype(np.float32))
    assert_allclose(single.kneighbors(Z.astype(np.float32))[0], distances, rtol=1e-2)


@for_each("route", SEARCHES)
def test_blocks_of_any_size_are_one(route):
    model = FeatureSpaceNeighbors(4, **SEARCHES[route]).fit(CURVE)
    small = FeatureSpaceNeighbors(4, max_memory=1000, **SEARCHES[route]).fit(CURVE)
    assert_array_equal(small.kneighbors()[1], model.kneighbors()[1])
    one_by_one = [model.kneighbors(row[None])[1][0] for row in CURVE[:30] + 0.001]
    assert_array_equal(model.kneighbors(CURVE[:30] + 0.001)[1], one_by_one)


@for_each("route", SEARCHES)
def test_files_answer_as_the_model_does(route, tmp_path):
    pytest.importorskip("safetensors", reason="files are safetensors")
    model = FeatureSpaceNeighbors(4, **SEARCHES[route]).fit(X)
    expected = model.kneighbors(Z)
    model.save(tmp_path / "model.safetensors")
    found = preimage.load(tmp_path / "model.safetensors").kneighbors(Z)
    assert_array_equal(found[0], expected[0])
    assert_array_equal(found[1], expected[1])


def test_fields_that_do_not_belong_together_are_refused():
    y = np.arange(len(X)) % 3
    search = FeatureSpaceNeighbors(kernel=Polynomial(2)).fit(X)
    search._copies = FeatureSpaceNeighbors().fit(X[:50])._copies
    classifier = FeatureSpaceNeighborsClassifier().fit(X, y)
    classifier._codes = classifier._codes + 1
    regressor = FeatureSpaceNeighborsRegressor().fit(X, y)
    regressor._targets = regressor._targets[1:]
    route = FeatureSpaceNeighbors().fit(X)
    route.route_ = "blocks"
    for model in (search, classifier, regressor, route):
        with pytest.raises(ValueError, match=r"needs .* rows"):
            model.check_fields()


def test_indefinite_kernels_are_clipped_with_a_warning_or_refused():
    kernel = Sigmoid(2.0, -0.5)
    with pytest.warns(IndefiniteKernelWarning, match="count as zero"):
        distances, _ = FeatureSpaceNeighbors(4, kernel=kernel).fit(X).kneighbors(Z)
    assert (distances == 0).any()
    with pytest.raises(UnsupportedKernelError, match=r"positive semidefinite|exact=True"):
        FeatureSpaceNeighbors(4, kernel=kernel, exact=False, landmarks=10).fit(X)


def test_many_rows_use_landmarks_where_the_kernel_is_an_inner_product(monkeypatch):
    monkeypatch.setattr("preimage.estimators._feature_space_neighbors.MOST_COMPARED", 100)
    few = {"landmarks": 30, "n_neighbors": 3}
    assert FeatureSpaceNeighbors(kernel=Polynomial(2), **few).fit(CURVE).route_ == "landmarks"
    assert FeatureSpaceNeighbors(kernel=Polynomial(2), exact=True, **few).fit(CURVE).route_ == "blocks"
    assert FeatureSpaceNeighbors(kernel=CallableKernel(np.dot), **few).fit(CURVE[:150]).route_ == "blocks"
    assert FeatureSpaceNeighbors(kernel=Linear(), **few).fit(CURVE).route_ == "inputs"


def test_wrong_uses_are_refused():
    model = FeatureSpaceNeighbors(4).fit(X)
    with pytest.raises(ValueError, match=r"n_neighbors <= 60.*got n_neighbors = 61"):
        model.kneighbors(Z, 61)
    with pytest.raises(ValueError, match="number of other rows"):
        model.kneighbors(n_neighbors=60)
    with pytest.raises(ValueError, match="NaN"):
        model.kneighbors(np.full((1, 3), np.nan))
    with pytest.raises(ValueError, match="radius that is finite"):
        model.radius_neighbors(Z, -1.0)
    with pytest.raises(ValueError, match='"connectivity" or "distance"'):
        model.kneighbors_graph(Z, mode="weights")
    with pytest.raises(ValueError, match="as many weights"):
        FeatureSpaceNeighborsClassifier(3, weights=lambda d: d[:, :1]).fit(X, X[:, 0] > 1).predict(Z)
    with pytest.raises(ValueError, match="zero for all"):
        FeatureSpaceNeighborsRegressor(3, weights=lambda d: 0 * d).fit(X, X[:, 0]).predict(Z)


def test_dask_arrays_are_refused_with_advice():
    dask = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match=r"X\.compute"):
        FeatureSpaceNeighbors().fit(dask.from_array(X))
    with pytest.raises(TypeError, match="one by one"):
        FeatureSpaceNeighbors().fit(X).kneighbors(dask.from_array(Z))


def test_one_row_is_the_neighbor_of_every_query():
    for exact in ("auto", False):
        distances, rows = FeatureSpaceNeighbors(1, kernel=Polynomial(2), exact=exact).fit(X[:1]).kneighbors(Z)
        assert_array_equal(rows, np.zeros((len(Z), 1)))
        assert_allclose(distances, naive.feature_distances(Polynomial(2, gamma=1.0), Z, X[:1]), rtol=1e-9)


@for_each("offset", [0, 300, 3000])
def test_single_precision_finds_the_neighbors_of_double(offset):
    """Angles of rows far from the origin differ by less than the rounding errors of single precision."""
    rng = np.random.default_rng(0)
    rows, queries = ((rng.normal(size=(n, 6)) + offset).astype(np.float32) for n in (2000, 20))
    for kernel in (Cosine(), Polynomial(2)):
        low = FeatureSpaceNeighbors(5, kernel=kernel, exact=True).fit(rows)
        high = FeatureSpaceNeighbors(5, kernel=kernel, exact=True).fit(rows.astype(float))
        found, expected = low.kneighbors(queries), high.kneighbors(queries.astype(float))
        assert_array_equal(found[1], expected[1])
        assert_allclose(found[0], expected[0], rtol=1e-6)
        radius = float(np.median(expected[0]))
        within = [each.radius_neighbors(queries.astype(each._measure.points.dtype), radius) for each in (low, high)]
        for one, other in zip(within[0][1], within[1][1], strict=True):
            assert_array_equal(np.sort(one), np.sort(other))


def test_the_default_compares_all_pairs_where_coordinates_find_too_few(monkeypatch):
    monkeypatch.setattr(room, "MOST_COMPARED", 500)
    rng = np.random.default_rng(0)
    curve = rng.normal(size=(3000, 1)) * np.ones((1, 4)) + 0.02 * rng.normal(size=(3000, 4))
    assert FeatureSpaceNeighbors(5, kernel=Polynomial(3)).fit(curve).route_ == "landmarks"
    lengths = 10 ** rng.uniform(-3, 3, size=(3000, 1))
    model = FeatureSpaceNeighbors(5, kernel=Polynomial(3)).fit(rng.normal(size=(3000, 4)) * lengths)
    assert model.recall_ > 0.98
    forced = FeatureSpaceNeighbors(5, kernel=Polynomial(3), exact=False).fit(rng.normal(size=(3000, 4)) * lengths)
    assert forced.route_ == "landmarks"


def test_landmarks_among_copies_are_the_first_of_them(rng):
    """Row numbers of landmarks are those of all rows, the first of equal ones."""
    rows = rng.normal(size=(30, 3)).repeat(3, axis=0)
    model = FeatureSpaceNeighbors(2, kernel=Polynomial(2), exact=False, landmarks=PivotedCholesky(8)).fit(rows)
    assert_array_equal(rows[model.component_indices_], model.landmarks_.points)
    assert (model.component_indices_ % 3 == 0).all()
