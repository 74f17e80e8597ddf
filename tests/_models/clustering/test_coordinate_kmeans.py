"""k-means on coordinates: blocks, memory maps and Dask arrays give what ordinary k-means gives."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import KMeans

from preimage._models.clustering import CoordinatePass, Search, coordinate_kmeans
from preimage._models.clustering import _coordinate_kmeans as module
from preimage._models.clustering._coordinate_kmeans import coordinate_lloyd

SEARCH = Search(3, "k-means++", n_init=3, algorithm="lloyd", max_iter=300, tol=0.0, rng=np.random.default_rng(0))


@pytest.fixture
def X(rng):
    return rng.normal(size=(90, 3)) + 2 * rng.integers(0, 3, size=(90, 1))


def squares(rows):
    return np.sum(np.asarray(rows) ** 2, axis=1)


def data(X, weights=None, held=True):
    return CoordinatePass(X, np.asarray, squares, np.ones(X.shape[0]) if weights is None else weights, held=held)


@pytest.fixture(params=[1000, 7])
def block(request, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", request.param)


@pytest.mark.parametrize("held", [True, False])
def test_it_is_scikit_learns_kmeans(X, rng, block, held):
    weights, start = rng.uniform(0, 2, 90), X[:4]
    peer = KMeans(4, init=start, n_init=1, tol=0).fit(X, sample_weight=weights)
    ours = coordinate_lloyd(data(X, weights, held), start[None])
    assert np.allclose(ours.centers, peer.cluster_centers_)
    assert ours.inertia == pytest.approx(peer.inertia_)
    assert np.all(np.diff(ours.path) <= 1e-12 * ours.path[0])


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_dask_chunks_carry_their_weights(X, rng, weighted, held):
    da = pytest.importorskip("dask.array")
    weights = rng.uniform(0, 2, 90) if weighted else None
    here = coordinate_lloyd(data(X, weights), X[None, :4])
    there = coordinate_lloyd(data(da.from_array(X, chunks=(25, 2)), weights, held), X[None, :4])
    assert np.allclose(here.centers, there.centers)
    assert here.inertia == pytest.approx(there.inertia)


def test_empty_clusters_get_the_farthest_point(X):
    start = np.concatenate([X[:2], np.full((2, 3), 1e3)])
    found = coordinate_lloyd(data(X), start[None])
    assert np.all(found.sizes > 0)
    assert np.all(np.diff(found.path) <= 1e-12 * found.path[0])


def test_restarts_compete_on_a_sample(X, monkeypatch):
    monkeypatch.setattr(module, "SAMPLE", 50)
    found = coordinate_kmeans(data(X, held=False), replace(SEARCH, rng=np.random.default_rng(0)))
    full = coordinate_kmeans(data(X), replace(SEARCH, n_init=20, rng=np.random.default_rng(0)))
    assert found.inertia <= 1.1 * full.inertia
    again = coordinate_lloyd(data(X), found.centers[None])
    assert again.inertia == pytest.approx(found.inertia)


@pytest.mark.parametrize("algorithm", ["lloyd", "online"])
def test_labels_to_start_from(X, algorithm):
    init = np.full(90, -1)
    init[:3] = [0, 1, 2]
    search = replace(SEARCH, init=init, algorithm=algorithm)
    found = coordinate_kmeans(data(X), search)
    assert found.sizes.sum() == 90
    if algorithm == "lloyd":
        assert np.allclose(found.centers, KMeans(3, init=X[:3], n_init=1, tol=0).fit(X).cluster_centers_)
    init[2] = -1
    with pytest.raises(ValueError, match="cluster 2"):
        coordinate_kmeans(data(X), search)


def test_missing_values_are_found_in_the_pass(X):
    X[50, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        coordinate_lloyd(data(X, held=False), X[None, :4])
