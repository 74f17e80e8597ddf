"""Landmarks that join during a stream: discriminants and k-means, which kernel PCA shares its rules with."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import make_blobs

from preimage import KernelFisherDiscriminant, KernelKMeans, load
from preimage._models.discriminants import FisherOptions, LabelledData, ScatterFisher
from preimage._models.discriminants._class_scatters import ClassScatters
from preimage.feature_space import ClassMoments, Subspace
from preimage.invariances import FunctionTransformation, TangentCovariance
from preimage.kernels import Gaussian
from preimage.landmarks import RandomlyPivotedCholesky, Uniform

REGULARIZERS = ["norm", "identity"]
GROWING = RandomlyPivotedCholesky(60, tol=1e-2)
ALL_ROWS = RandomlyPivotedCholesky(None, tol=0.0)


@pytest.fixture(scope="module")
def moving():
    """Blobs in an order in which later rows lie where no earlier ones do, and both classes everywhere."""
    X, place = make_blobs(240, centers=[[0, 0], [6, 0], [12, 0]], cluster_std=1.0, random_state=0)
    order = np.argsort(place, kind="stable")
    X, y = X[order], (X[order, 1] > 0).astype(int)
    return X, y


def growing_models():
    return KernelFisherDiscriminant(gamma=0.5, landmarks=GROWING), KernelKMeans(3, gamma=0.5, landmarks=GROWING)


def in_batches(model, X, *others, size=80):
    for start in range(0, len(X), size):
        part = slice(start, start + size)
        model.partial_fit(X[part], *[other[part] for other in others])
    return model


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("size", [24, 40])
def test_streams_whose_rows_all_become_landmarks_equal_one_fit(rng, regularizer, size):
    """Nothing of earlier rows is outside of the span of their landmarks, so that nothing is lost."""
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 0] > 1)
    options = {"gamma": 3.0, "alpha": 0.01, "regularizer": regularizer, "alpha_scale": "absolute"}
    whole = KernelFisherDiscriminant(landmarks=X, **options).fit(X, y)
    parts = KernelFisherDiscriminant(landmarks=ALL_ROWS, **options)
    in_batches(parts.partial_fit(X[:20], y[:20], classes=[0, 1, 2]), X[20:], y[20:], size=size)
    queries = rng.normal(size=(50, 2))
    assert_allclose(parts.decision_function(queries), whole.decision_function(queries), atol=2e-4)
    assert parts.landmarks_.residual_fraction < 1e-8


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_rows_before_count_as_their_projections(rng, regularizer):
    """Against the moments of vectors k̃(Z, x), computed row by row."""
    kernel, options = Gaussian(0.7), FisherOptions(regularizer=regularizer)
    old, new = rng.normal(size=(40, 2)), rng.normal(size=(30, 2)) + 2
    Z, more = old[:5], new[:4]
    codes = rng.integers(0, 2, 70)
    first = LabelledData(kernel, old, codes[:40], np.arange(2), rng.uniform(0.5, 2, 40))
    second = LabelledData(kernel, new, codes[40:], np.arange(2), rng.uniform(0.5, 2, 30))
    scatters = ClassScatters.of(first, Z, options).extended(kernel, more, options)
    scatters = scatters + scatters.batch(second, options)
    both = np.concatenate([Z, more])
    projected = kernel(old, Z) @ np.linalg.solve(kernel(Z), kernel(Z, both))
    values = np.concatenate([projected, kernel(new, both)])
    weights = np.concatenate([first.weights, second.weights])
    expected = ClassMoments.of(scatters.coordinates.of(values), codes, 2, weights)
    assert_allclose(scatters.moments.means, expected.means, atol=1e-9)
    assert_allclose(scatters.moments.scatters, expected.scatters, atol=1e-8)
    inside = np.einsum("ij,ij->i", values, np.linalg.solve(kernel(both), values.T).T)
    assert_allclose(scatters.inside, weights @ inside)


def test_effects_of_transformations_before_count_as_their_projections(rng):
    kernel, X = Gaussian(0.7), rng.normal(size=(30, 2))
    shift = TangentCovariance(FunctionTransformation(lambda X, t: X + t * np.array([0.0, 1.0])))
    options = FisherOptions(regularizer="identity", invariances=shift)
    data = LabelledData(kernel, X, np.arange(30) % 2, np.arange(2), None)
    Z, more = X[:6], rng.normal(size=(3, 2)) + 1
    extended = ClassScatters.of(data, Z, options).extended(kernel, more, options)
    A = np.linalg.solve(kernel(Z), kernel(Z, np.concatenate([Z, more])))
    expected = A.T @ (30 * shift.tangent_moment(kernel, Z, X)) @ A
    assert_allclose(extended.tangent, expected, atol=1e-8 * np.abs(expected).max())
    problem = extended.problem(data, options)
    assert isinstance(problem, ScatterFisher) and np.isfinite(problem.directions([0.1])[0][1]).all()


def test_discriminants_follow_a_stream_that_moves(moving):
    X, y = moving
    options = {"gamma": 0.5, "alpha": 0.01}
    model = in_batches(KernelFisherDiscriminant(landmarks=GROWING, **options), X, y)
    assert 20 < len(model.landmarks_) <= 60 and model.landmarks_.reason == "grown with the data"
    assert model.landmarks_.points[:, 0].max() > 11
    fixed = KernelFisherDiscriminant(landmarks=model.landmarks_.points[:20], **options)
    assert model.score(X, y) > 0.95 > in_batches(fixed, X, y).score(X, y)


def test_landmarks_grow_only_where_needed(rng):
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    for model in (KernelFisherDiscriminant(gamma=0.5), KernelKMeans(3, gamma=0.5)):
        model.set_params(landmarks=RandomlyPivotedCholesky(100, tol=1e-2)).partial_fit(X, y)
        before = model.landmarks_
        model.partial_fit(X + 0.001, y)
        assert len(model.landmarks_) <= len(before) + 3
        model.partial_fit(X + 10, y)
        assert len(model.landmarks_) > len(before) + 5
        assert model.landmarks_.residual_fraction < 2e-2
        assert_allclose(model.landmarks_.points[: len(before)], before.points)
        assert_allclose(model.landmarks_.trace, 600)


def test_full_landmarks_warn_of_a_stream_that_moved(moving):
    X, y = moving
    for model in (KernelFisherDiscriminant(gamma=0.5, regularizer="identity"), KernelKMeans(3, gamma=0.5)):
        model.set_params(landmarks=Uniform(15)).partial_fit(X[:80], y[:80])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.partial_fit(X[:80][::-1], y[:80][::-1])
        with pytest.warns(UserWarning, match="the stream has moved where no landmark is"):
            model.partial_fit(X[160:], y[160:])
        assert len(model.landmarks_) == 15


def test_the_same_stream_gives_the_same_model(moving):
    X, y = moving
    for model in growing_models():
        first, again = (in_batches(clone(model), X, y) for _ in range(2))
        assert_allclose(first.transform(X), again.transform(X), rtol=0, atol=0)


def test_rows_without_weight_are_no_landmarks(moving):
    X, y = moving
    weights = np.concatenate([np.ones(80), np.arange(80) % 2, np.zeros(79), [1.0]])
    of_weight = {tuple(row) for row in X[weights > 0]}
    discriminant = KernelFisherDiscriminant(gamma=0.5, landmarks=GROWING)
    clusters = KernelKMeans(3, gamma=0.5, landmarks=GROWING)
    for start in (0, 80, 160):
        part = slice(start, start + 80)
        discriminant.partial_fit(X[part], y[part], sample_weight=weights[part])
        clusters.partial_fit(X[part], sample_weight=weights[part])
    for model in (discriminant, clusters):
        assert len(model.landmarks_) > 20 and {tuple(row) for row in model.landmarks_.points} <= of_weight


def test_points_that_were_given_stay(moving):
    X, y = moving
    model = in_batches(KernelFisherDiscriminant(gamma=0.5, landmarks=X[:20]), X, y)
    assert model.landmarks_ is None and model.expansion_.points.shape[0] == 20


def test_classes_of_weight_zero_add_nothing(moving):
    X, y = moving
    model = KernelFisherDiscriminant(gamma=0.5, landmarks=30, class_weight={0: 1, 1: 1, 2: 0})
    model.partial_fit(X[:80], y[:80], classes=[0, 1, 2])
    before = model.decision_function(X)
    model.partial_fit(X[80:], np.full(160, 2))
    assert_allclose(model.decision_function(X), before)


def test_growth_moves_no_centre(moving):
    X, _ = moving
    model = KernelKMeans(3, gamma=0.5, landmarks=60).partial_fit(X[:80])
    before = model._clusters
    larger = before.within(Subspace.span(model.kernel_, np.concatenate([model.landmarks_.points, X[80::10]])))
    assert larger.centers.shape[1] > before.centers.shape[1]
    difference = larger.vectors.inner(larger.vectors) - before.vectors.inner(before.vectors)
    assert np.abs(difference).max() < 1e-8
    assert_allclose(larger.vectors(X), before.vectors(X), atol=1e-7)


def test_clusters_of_a_stream_are_those_of_the_online_pass_in_feature_space(rng):
    """Where all rows become landmarks, against sums of kernel values."""
    X, kernel = rng.normal(size=(60, 2)), Gaussian(2.0)
    model = KernelKMeans(3, kernel=kernel, landmarks=ALL_ROWS).partial_fit(X[:20])
    K, labels = kernel(X), model.labels_
    A = np.zeros((60, 3))  # centres as combinations of the images of all rows
    A[np.arange(20), labels] = 1
    sizes = A.sum(axis=0)
    A /= sizes
    in_batches(model, X[20:], size=13)
    for i in range(20, 60):
        near = np.argmin(np.einsum("ij,ij->j", A, K @ A) - 2 * (K[i] @ A))
        sizes[near] += 1
        A[:, near] += (np.eye(60)[i] - A[:, near]) / sizes[near]
    distances = np.sqrt(1 + np.einsum("ij,ij->j", A, K @ A) - 2 * (K @ A))
    assert_allclose(model.transform(X), distances, atol=1e-4)
    assert_allclose(model._clusters.sizes, sizes)


def test_streams_of_files_go_on(moving, tmp_path):
    X, y = moving
    for model in growing_models():
        model.partial_fit(X[:80], y[:80]).partial_fit(X[80:160], y[80:160])
        model.save(tmp_path / "model.preimage")
        loaded = load(tmp_path / "model.preimage")
        expected = model.partial_fit(X[160:], y[160:]).transform(X)
        assert_allclose(loaded.partial_fit(X[160:], y[160:]).transform(X), expected)


def test_batches_may_be_lazy(moving):
    da = pytest.importorskip("dask.array")
    X, y = moving
    lazy = da.from_array(X, chunks=(50, 2))
    for model in growing_models():
        expected = in_batches(clone(model), X, y)
        found = clone(model).partial_fit(X[:80], y[:80]).partial_fit(lazy[80:160], y[80:160])
        found.partial_fit(lazy[160:], y[160:])
        assert len(found.landmarks_) == len(expected.landmarks_) > 20
        assert_allclose(found.transform(X), expected.transform(X), atol=1e-8)
