"""Bounds of distances by coordinates along landmarks, and answers that they prove."""

import naive
import numpy as np
from for_each import for_each
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from preimage import FeatureSpaceNeighbors
from preimage._models.neighbors import Settings
from preimage.kernels import Cosine, Exponential, Gaussian, Laplacian, Polynomial
from preimage.kernels._names import KERNELS

RNG = np.random.default_rng(0)
X, Z = np.abs(RNG.normal(size=(60, 3))), np.abs(RNG.normal(size=(8, 3)))
# Kernels with negative values of k(x, x) or of squared distances have no landmarks.
WITHOUT_LANDMARKS = {"sigmoid", "multiquadric", "additive_chi2", "precomputed"}
NAMED = {part.name: part for part in KERNELS.parts if part.name not in WITHOUT_LANDMARKS}


@for_each("name", NAMED)
def test_all_rows_as_candidates_are_all_pairs(name):
    kernel = NAMED[name].example() if NAMED[name].example else NAMED[name].made()
    model = FeatureSpaceNeighbors(7, kernel=kernel, exact=False, landmarks=20, n_candidates=len(X), min_recall=0.9999)
    distances, _ = model.fit(X).kneighbors(Z)
    assert model.route_ == "landmarks"
    everything = model._search.looking_at(Settings(len(X), len(X)))
    found = everything.nearest(Z, kernel.diagonal(Z), 7)
    assert_allclose(np.sqrt(found.keys), np.sort(naive.feature_distances(kernel, Z, X), axis=1)[:, :7], atol=1e-7)
    assert found.certain.all()
    assert (distances >= np.sqrt(found.keys) - 1e-12).all()


kernels = st.one_of(
    st.builds(Polynomial, st.integers(1, 4), gamma=st.floats(1e-2, 10), coef0=st.floats(0, 10)),
    st.builds(Exponential, st.floats(1e-3, 1)),
    st.builds(Gaussian, st.floats(1e-6, 1e4)),
    st.builds(Laplacian, st.floats(1e-6, 1e4)),
    st.just(Cosine()),
)


@settings(deadline=None, max_examples=40)
@given(kernels, st.integers(1, 30), st.integers(0, 2**31), st.sampled_from([np.float64, np.float32]))
def test_bounds_hold_on_both_sides(kernel, n_landmarks, seed, dtype):
    rng = np.random.default_rng(seed)
    rows, queries = rng.normal(size=(40, 3)).astype(dtype), rng.normal(size=(9, 3)).astype(dtype)
    search = FeatureSpaceNeighbors(kernel=kernel, exact=False, landmarks=n_landmarks).fit(rows)._search
    at_queries, at_rows = (search.chart(each).astype(float) * search.chart.scale for each in (queries, rows))
    y, r = at_queries[:, :-1], at_queries[:, -1]
    other, left = at_rows[:, :-1], at_rows[:, -1]
    inside = np.sum((y[:, None] - other) ** 2, axis=2)
    squared = naive.feature_distances(kernel, queries.astype(float), rows.astype(float)) ** 2
    slack = search._slack * (squared + kernel.diagonal(queries)[:, None] + kernel.diagonal(rows))
    assert (inside + (r[:, None] - left) ** 2 <= squared + slack).all()
    assert (inside + (r[:, None] + left) ** 2 >= squared - slack).all()


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**31), st.integers(1, 12), st.integers(5, 60), st.integers(1, 8))
def test_answers_that_are_certain_are_right(seed, k, n_candidates, columns):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(150, 1)) * np.ones((1, columns)) + 0.1 * rng.normal(size=(150, columns))
    model = FeatureSpaceNeighbors(
        k, kernel=Polynomial(2), exact=False, landmarks=15, n_candidates=n_candidates, min_recall=0.5
    ).fit(rows)
    queries = rows[:20] + 0.01
    distances, _, certain = model.kneighbors(queries, return_certain=True)
    true, _ = FeatureSpaceNeighbors(k, kernel=Polynomial(2), exact=True).fit(rows).kneighbors(queries)
    assert_allclose(distances[certain], true[certain], atol=1e-7)
    assert (distances >= true - 1e-7).all()


@for_each("spread", [0.5, 1.0, 2.0])
def test_rows_of_very_different_lengths_are_not_lost(spread):
    """Coordinates in single precision hardly tell the short rows apart, of which the bounds must know."""
    rng = np.random.default_rng(0)
    rows, queries = (rng.normal(size=(n, 4)) * 10 ** rng.uniform(-spread, spread, size=(n, 1)) for n in (1500, 100))
    for kernel in (Polynomial(3), Polynomial(2, coef0=0.0)):
        model = FeatureSpaceNeighbors(5, kernel=kernel, exact=False, landmarks=60, n_candidates=20).fit(rows)
        exact = FeatureSpaceNeighbors(5, kernel=kernel, exact=True).fit(rows)
        distances, _, certain = model.kneighbors(queries, return_certain=True)
        true, _ = exact.kneighbors(queries)
        assert_allclose(distances[certain], true[certain])
        for query, radius in zip(queries[::5], true[::5, -1] * (1 + 1e-9)):
            found, expected = (
                each.radius_neighbors(query[None, :], radius, return_distance=False) for each in (model, exact)
            )
            assert_array_equal(np.sort(found[0]), np.sort(expected[0]))
