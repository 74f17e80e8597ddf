"""The way back stays within `max_memory`, whatever the solver and however many rows come back."""

import tracemalloc

import numpy as np
import pytest

from preimage import KernelPCA
from preimage._engine.memory import limited_memory
from preimage.solvers import DistanceConstraint, FixedPoint, Gradient, LearnedMap, SparsePath, WeightedMean

BUDGET = 20 * 10**6
N_POINTS, N_QUERIES = 2500, 2000  # coefficients of all targets at once would have 40 MB, and so would copies of them


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_POINTS, 3)) @ rng.normal(size=(3, 8))
    return X, X[:N_QUERIES] + 0.1 * rng.normal(size=(N_QUERIES, 8))


def peak_of(job):
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    job()
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return peak


SOLVERS = [
    "auto",
    FixedPoint(),
    FixedPoint(penalty=0.1),
    Gradient(max_iter=5),
    SparsePath(n_penalties=2, max_iter=3),
    pytest.param(WeightedMean(), marks=pytest.mark.net),
    pytest.param(DistanceConstraint(), marks=pytest.mark.net),
]


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("method", ["denoise", "inverse_transform"])
def test_pre_images_stay_within_their_memory(data, solver, method):
    X, noisy = data
    model = KernelPCA(6, gamma="median", preimage=solver, max_memory=BUDGET).fit(X)
    queries = noisy if method == "denoise" else model.transform(noisy)
    way_back = getattr(model, method)
    way_back(queries[:50])  # a map is learned at the first call
    assert peak_of(lambda: way_back(queries)) < BUDGET


def test_a_map_is_learned_within_its_memory(data):
    X, _ = data
    model = KernelPCA(6, gamma="median").fit(X)

    def learn():
        with limited_memory(BUDGET, X):
            return LearnedMap().fit(model.subspace_, X)

    assert peak_of(learn) < BUDGET
    assert 1000 < learn().rows.shape[0] < N_POINTS


def test_models_learn_maps_within_their_memory(data):
    X, _ = data
    model = KernelPCA(6, gamma=0.02, preimage="learned", max_memory=BUDGET).fit(X)
    assert 2 * 8 * model.preimage_.rows.shape[0] ** 2 <= BUDGET


def test_memory_changes_neither_pre_images_nor_maps_that_fit(data):
    X, noisy = data
    found = {}
    for limit in (None, BUDGET):
        model = KernelPCA(6, gamma="median", preimage="fixed_point", eigen_solver="block_krylov", max_memory=limit).fit(
            X
        )
        found[limit] = model.denoise(noisy[:300])
    np.testing.assert_allclose(found[BUDGET], found[None], atol=1e-5 * np.abs(noisy).max())
