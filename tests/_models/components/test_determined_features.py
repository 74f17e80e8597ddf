"""What features say of themselves holds on rows: over eight decades of widths, in both precisions, on every route."""

import warnings

import numpy as np
import pytest
from for_each import for_each
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine, make_moons

from preimage import OrientedKernelPCA, SemiSupervisedKernelPCA, SparseKernelFeatureAnalysis
from preimage._engine.arrays import to_numpy
from preimage.exceptions import RankWarning
from preimage.landmarks import PivotedCholesky, SparseGreedy

MOONS, LABELS = make_moons(90, noise=0.05, random_state=0)
DATA = {
    "moons": MOONS,
    "one column": MOONS[:, :1],
    "copies": np.repeat(MOONS[:30], 3, axis=0),
    "far from zero": 1e4 + MOONS,
    "wine": load_wine().data[::2],
}
WIDTHS = [1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 1e3]
TOLERANCE = {np.float64: 1e-6, np.float32: 1e-2}
every_set = pytest.mark.parametrize("name", list(DATA))
both_precisions = pytest.mark.parametrize("dtype", [np.float64, np.float32])
WEIGHTS = np.random.default_rng(0).uniform(0.2, 3, 90)


def problems(name, dtype):
    X = DATA[name]
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    median = float(np.median(squared[np.triu_indices(len(X), 1)]))
    for width in WIDTHS:
        yield width / median, X.astype(dtype)


def fitted(model, *arguments, **options):
    """The model and whether it said that it has fewer components than were asked for."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*arguments, **options)
    return model, any(issubclass(each.category, RankWarning) for each in caught)


def moments(Y, weights=None):
    Y = Y.astype(np.longdouble)
    weights = np.ones(len(Y)) if weights is None else weights
    weights = weights / weights.sum()
    mean = weights @ Y
    return mean, (Y - mean).T @ (weights[:, None] * (Y - mean))


def require_true(Y, said, dtype, *, weights=None, uncorrelated):
    """Means are zero and variances are what the model says; columns are uncorrelated where it says that."""
    mean, covariance = moments(Y, weights)
    variances, tolerance = np.diag(covariance), TOLERANCE[dtype]
    assert_allclose(np.asarray(said, float), variances.astype(float), rtol=tolerance)
    roots = np.sqrt(variances)
    assert (np.abs(mean) <= tolerance * roots).all()
    if uncorrelated:
        assert np.abs(covariance / np.outer(roots, roots) - np.eye(len(roots))).max() <= tolerance


@every_set
@both_precisions
@for_each("landmarks", [None, 20, SparseGreedy(20)], ids=repr)
@for_each("noise", ["none", "pairs", "weights"])
def test_ratios_of_oriented_features_are_their_variances(name, dtype, landmarks, noise):
    for gamma, X in problems(name, dtype):
        options, weights = {}, None
        if noise == "pairs":
            steps = 0.01 * X.std(axis=0) * np.random.default_rng(1).normal(size=X.shape)
            options["pairs"] = (X + steps).astype(dtype)
        elif noise == "weights":
            weights = options["sample_weight"] = WEIGHTS[: len(X)]
        model, warned = fitted(OrientedKernelPCA(30, gamma=gamma, landmarks=landmarks), X, **options)
        require_true(model.transform(X), model.ratios_, dtype, weights=weights, uncorrelated=True)
        assert warned == (model.n_components_ < 30)


@every_set
@both_precisions
@for_each("landmarks", [None, 20, SparseGreedy(20)], ids=repr)
@for_each("weighted", [False, True])
def test_variances_of_semi_supervised_components_hold(name, dtype, landmarks, weighted):
    y = np.where(np.arange(90) % 4 == 0, LABELS, -1)
    for gamma, X in problems(name, dtype):
        weights = WEIGHTS[: len(X)] if weighted else None
        estimator = SemiSupervisedKernelPCA(12, gamma=gamma, landmarks=landmarks)
        model, warned = fitted(estimator, X, y[: len(X)], weights)
        require_true(model.transform(X), model.explained_variance_, dtype, weights=weights, uncorrelated=False)
        assert warned == (model.n_components_ < 12)
        assert model.explained_variance_ratio_.sum() <= 1 + (1e-12 if dtype is np.float64 else 1e-5)


def test_semi_supervised_ratios_on_landmarks_are_fractions_of_all_the_variance():
    """Of narrow kernels, landmarks hold a part only."""
    X, weights = DATA["moons"], WEIGHTS
    for options in ({}, {"sample_weight": weights}):
        w = options.get("sample_weight", np.ones(90))
        model = SemiSupervisedKernelPCA(3, gamma=50.0, landmarks=10).fit(X, **options)
        frame = np.linalg.qr(np.eye(10))[0] @ np.linalg.inv(np.linalg.cholesky(model.kernel_(model.landmarks_.points)))
        mean = w @ (model.kernel_(X, model.landmarks_.points) @ frame.T) / w.sum()
        total = 1 - mean @ mean
        assert_allclose(model.explained_variance_ratio_, model.explained_variance_ / total, rtol=1e-9)
        held = (w @ (model.kernel_(X, model.landmarks_.points) @ frame.T) ** 2).sum() / w.sum()
        assert_allclose(model.landmarks_.residual_fraction, 1 - held, rtol=1e-9)


def test_ratios_in_single_precision_are_those_of_the_same_rows_in_double():
    """Squared lengths far from zero are large beside the variance: single precision loses half of the digits."""
    X = (MOONS + 100).astype(np.float32)
    options = {"kernel": "poly", "degree": 2, "gamma": 1.0, "landmarks": PivotedCholesky(2)}
    single, double = (fitted(SemiSupervisedKernelPCA(1, **options), rows)[0] for rows in (X, X.astype(float)))
    assert_allclose(single.explained_variance_ratio_, double.explained_variance_ratio_, rtol=1e-5)


def test_a_component_that_rounding_decides_is_left_out_and_those_after_it_are_kept():
    """Labels that differ in a column that is small beside the others: single precision has no digit of it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:, 0] = 1e4 + 100 * X[:, 0]
    X[:, 2] *= 1e-2
    y = np.where(np.arange(60) % 2 == 0, X[:, 2] > 0, -1)
    options = {"kernel": "linear", "label_weight": 1e4, "scale": 1e-3, "encoding": "first"}
    with pytest.warns(RankWarning, match="decide the coordinates along others"):
        model = SemiSupervisedKernelPCA(2, **options).fit(X.astype(np.float32), y)
    require_true(model.transform(X.astype(np.float32)), model.explained_variance_, np.float32, uncorrelated=False)
    assert model.n_components_ == 1 and model.explained_variance_[0] > 1e3
    assert model.multipliers_.shape == (1,)


@every_set
@both_precisions
@for_each("norm", ["l1", "l2"])
@for_each("center", [False, True])
def test_sparse_features_are_what_they_say(name, dtype, norm, center):
    for gamma, X in problems(name, dtype):
        estimator = SparseKernelFeatureAnalysis(25, gamma=gamma, norm=norm, center=center)
        model, warned = fitted(estimator, X)
        Y = model.transform(X)
        if center:
            require_true(Y, model.explained_variance_, dtype, uncorrelated=False)
        assert_allclose((Y.astype(float) ** 2).mean(axis=0), model.explained_variance_, rtol=TOLERANCE[dtype])
        c = model.expansion_.coefficients.astype(np.longdouble)
        squared = ((X[model.landmarks_.indices, None].astype(np.longdouble) - X[model.landmarks_.indices]) ** 2).sum(2)
        products = c.T @ np.exp(-np.longdouble(gamma) * squared) @ c / np.outer(model.scales_, model.scales_)
        assert np.abs(products - np.eye(len(c))).max() <= 10 * TOLERANCE[dtype]
        assert warned == (model.n_components_ < 25)
        assert len(model.landmarks_) == len(model.landmarks_.residuals_path) == model.n_components_
        assert_allclose(model.landmarks_.residual_trace, model.landmarks_.residuals_path[-1])


def test_single_precision_of_every_array_library_gives_the_same_features(xp):
    here, there = MOONS.astype(np.float32), xp.asarray(MOONS, dtype=np.float32)
    for estimator in (OrientedKernelPCA, SemiSupervisedKernelPCA, SparseKernelFeatureAnalysis):
        model, _ = fitted(estimator(8, gamma=1e-3), here)
        same, _ = fitted(estimator(8, gamma=1e-3), there)
        assert model.n_components_ == same.n_components_ < 8
        assert_allclose(to_numpy(same.transform(there)), model.transform(here), atol=1e-2)
