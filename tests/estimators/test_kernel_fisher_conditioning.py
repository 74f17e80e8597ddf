"""Kernel Fisher discriminants where kernels are nearly constant, nearly diagonal, rank deficient or zero."""

import warnings

import numpy as np
import pytest
from for_each import for_each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from preimage import KernelFisherDiscriminant, KernelFisherDiscriminantCV
from preimage.exceptions import RankWarning, UnsupportedKernelError
from preimage.kernels import Constant, Gaussian, Laplacian, Linear, Polynomial

ALPHAS = (0.0, 1e-12, 1e-3, 10.0)


def labelled(n, d, dtype=float, n_classes=2):
    rng = np.random.default_rng(n + d)
    y = np.arange(n) % n_classes
    return (rng.normal(size=(n, d)) + 2 * rng.normal(size=(n_classes, d))[y]).astype(dtype), y


@for_each("dtype", [np.float32, np.float64])
@for_each("d", [1, 2, 30])
@for_each("landmarks", [None, 5, 60])
@for_each("regularizer", ["norm", "identity"])
def test_every_width_and_ridge_gives_finite_decisions(dtype, d, landmarks, regularizer):
    X, y = labelled(120, d, dtype)
    for gamma in (1e-8, 1e-4, 1e-2, 1.0, 1e4):
        for alpha in ALPHAS:
            model = KernelFisherDiscriminant(gamma=gamma, alpha=alpha, landmarks=landmarks, regularizer=regularizer)
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                warnings.simplefilter("ignore", RankWarning)
                decisions = model.fit(X, y).decision_function(X)
            assert np.isfinite(decisions).all(), (gamma, alpha)


def test_a_search_on_landmarks_works_with_its_defaults():
    X, y = make_moons(400, noise=0.2, random_state=0)
    search = KernelFisherDiscriminantCV(landmarks=100).fit(X, y)
    assert search.best_score_ > 0.94
    assert_allclose(search.score(X, y), search.best_score_, atol=0.03)


def test_many_rows_on_landmarks():
    X = np.random.default_rng(0).normal(size=(5000, 2))
    y = (X[:, 0] > 0).astype(int)
    assert KernelFisherDiscriminant(gamma="median", landmarks=200).fit(X, y).score(X, y) > 0.98


@for_each("n_classes", [2, 4])
@for_each("landmarks", [None, 60])
@for_each("alpha", [0.0, 1e-12])
@for_each("seed", range(3))
def test_no_ridge_and_a_linear_kernel_are_linear_discriminant_analysis(n_classes, landmarks, alpha, seed):
    X, y = make_classification(
        400,
        n_features=7,
        n_informative=5,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        random_state=seed,
    )
    ours = KernelFisherDiscriminant(kernel="linear", alpha=alpha, landmarks=landmarks, threshold="midpoint").fit(X, y)
    theirs = LinearDiscriminantAnalysis().fit(X, y)
    ratios = np.linalg.eigvals(np.linalg.solve(*_scatters(X, y))).real
    assert_allclose(ours.ratios_, np.sort(ratios)[::-1][: n_classes - 1], rtol=1e-6)
    A, B = ours.transform(X), theirs.transform(X)
    B = B * np.linalg.norm(A) / np.linalg.norm(B)  # older versions divide variances by n − C instead of n
    assert_allclose(A, B * np.sign(np.sum(A * B, axis=0)), rtol=1e-5, atol=1e-6)
    theirs = LinearDiscriminantAnalysis(priors=np.full(n_classes, 1 / n_classes)).fit(X, y)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.99


def _scatters(X, y):
    means = np.stack([X[y == c].mean(axis=0) for c in np.unique(y)])[y]
    within, between = X - means, means - X.mean(axis=0)
    return within.T @ within, between.T @ between


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "linear", "alpha": 0.0},
        {"kernel": "linear", "alpha": 1e-8},
        {"gamma": 0.01, "alpha": 1e-6},
        {"gamma": 0.01, "alpha": 1e-6, "landmarks": load_iris().data[::4]},
        {"gamma": 0.01, "alpha": 1e-6, "landmarks": 40},
        {"gamma": 0.01, "alpha": 1e-6, "regularizer": "identity"},
        {"gamma": 0.01, "alpha": 1e-3, "multiclass": "one_vs_rest", "sparsity": 20},
    ],
)
def test_single_precision_decides_like_double_precision_on_the_same_rows(options):
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32)
    if isinstance(options.get("landmarks"), np.ndarray):
        options = {**options, "landmarks": options["landmarks"].astype(np.float32)}
    single = KernelFisherDiscriminant(**options).fit(X, y)
    double = clone(single).fit(X.astype(np.float64), y)
    assert single.transform(X).dtype == single.decision_function(X).dtype == np.float32
    for method in ("transform", "decision_function"):
        expected = getattr(double, method)(X.astype(float))
        assert_allclose(getattr(single, method)(X), expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())
    assert np.mean(single.predict(X) == double.predict(X)) == 1


@pytest.mark.parametrize("landmarks", [None, 50])
def test_searches_predict_as_well_as_they_scored_in_single_precision(landmarks):
    X, y = make_moons(600, noise=0.2, random_state=0)
    X = X.astype(np.float32)
    search = KernelFisherDiscriminantCV(gammas=[0.01], alphas=[1e-5], landmarks=landmarks).fit(X, y)
    assert_allclose(search.score(X, y), search.best_score_, atol=0.02)


@pytest.mark.parametrize("regularizer", ["norm", "identity"])
@pytest.mark.parametrize("options", [{}, {"sparsity": 12}, {"sparsity": 0.5}, {"threshold": "margin"}])
def test_weights_are_repetitions_for_every_penalty(regularizer, options):
    X, y = make_moons(50, noise=0.2, random_state=1)
    times = np.random.default_rng(0).integers(0, 4, size=50)
    model = KernelFisherDiscriminant(gamma=1, alpha=0.05, regularizer=regularizer, **options)
    weighted = clone(model).fit(X, y, times).decision_function(X)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times)).decision_function(X)
    assert_allclose(weighted, repeated, atol=1e-7 * np.abs(repeated).max())


@pytest.mark.parametrize("landmarks", [None, 4])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, coef0=0.0)])
def test_a_kernel_that_vanishes_predicts_the_more_frequent_class(kernel, landmarks):
    for X in (np.zeros((7, 3)), np.zeros((7, 3), dtype=np.float32)):
        landmarks_ = X[:4] if landmarks else None
        for regularizer in ("norm", "identity"):
            model = KernelFisherDiscriminant(kernel=kernel, landmarks=landmarks_, regularizer=regularizer)
            with pytest.warns(RankWarning, match="same mean"):
                model.fit(X, [0, 1, 1, 0, 1, 1, 0])
            assert_array_equal(model.predict(X), np.ones(7))


def test_indefinite_kernels_are_refused_with_a_way_out():
    X, y = labelled(40, 3)
    for landmarks in (None, X[:20]):
        model = KernelFisherDiscriminant(kernel="sigmoid", gamma=1.0, coef0=-1.0, alpha=1e-6, landmarks=landmarks)
        with pytest.raises(UnsupportedKernelError, match="regularizer='identity'"):
            model.fit(X, y)
        assert model.set_params(regularizer="identity").fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize("scale", [1e-110, 1e-5, 1e5, 1e110])
def test_the_scale_of_a_kernel_changes_nothing(scale):
    X, y = labelled(60, 2)
    for landmarks in (None, X[:20]):
        one = KernelFisherDiscriminant(kernel=Gaussian(0.3), alpha=1e-3, landmarks=landmarks).fit(X, y)
        other = KernelFisherDiscriminant(kernel=scale * Gaussian(0.3), alpha=1e-3, landmarks=landmarks).fit(X, y)
        assert_allclose(other.decision_function(X), one.decision_function(X), rtol=1e-6, atol=1e-8)


def random_kernel(rng):
    kernels = (
        Gaussian(10.0 ** rng.uniform(-7, 3)),
        Laplacian(10.0 ** rng.uniform(-5, 2)),
        Linear(),
        Polynomial(int(rng.integers(1, 5)), gamma=10.0 ** rng.uniform(-2, 1), coef0=float(rng.choice([0, 1, 10]))),
        Linear() + Constant(1.0),
        Gaussian(0.1) * Polynomial(2, gamma=1.0, coef0=1.0),
    )
    kernel = kernels[rng.integers(len(kernels))]
    return kernel if rng.random() < 0.7 else 10.0 ** rng.integers(-6, 7) * kernel


def random_rows(rng):
    n, d = int(rng.integers(4, 50)), int(rng.integers(1, 8))
    X = rng.normal(size=(n, d))
    kind = rng.integers(8)
    if kind == 0:
        X = X[rng.integers(0, max(1, n // 4), n)]
    if kind == 1:
        X[::3] = 0.0
    if kind == 2:
        X = np.outer(X[:, 0], np.ones(d))
    if kind == 3 and rng.random() < 0.3:
        X[:] = 1.5
    X = X * 10.0 ** rng.integers(-4, 5) + (10.0 ** rng.integers(0, 4) if rng.random() < 0.3 else 0.0)
    y = rng.integers(0, rng.integers(2, 5), n)
    y[:2] = (0, 1)
    return X.astype(rng.choice([np.float32, np.float64])), y


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_problems_have_finite_answers_or_a_clear_error(first):
    for seed in range(first, first + 20):
        rng = np.random.default_rng(seed)
        X, y = random_rows(rng)
        joint = len(np.unique(y)) > 2 and rng.random() < 0.5
        model = KernelFisherDiscriminant(
            kernel=random_kernel(rng),
            alpha=float(rng.choice([0, 1e-10, 1e-3, 1, 100])),
            alpha_scale=str(rng.choice(["relative", "absolute"])),
            regularizer=str(rng.choice(["norm", "identity"])),
            multiclass="directions" if joint else "one_vs_rest",
            threshold=str(rng.choice(["gaussian", "midpoint"] if joint else ["gaussian", "empirical", "margin"])),
            landmarks=None if rng.random() < 0.5 else int(rng.integers(1, len(X) + 1)),
            sparsity=None if joint or rng.random() < 0.5 else [3, 0.1][rng.integers(2)],
            class_weight=None if rng.random() < 0.5 else "balanced",
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", RankWarning)
            try:
                model.fit(X, y)
            except ValueError as error:
                if "same mean in feature space" not in str(error):
                    raise
                continue
            for method in ("transform", "decision_function", "predict_proba"):
                assert np.isfinite(getattr(model, method)(X)).all(), (seed, method)


def test_points_that_are_equally_good_share_a_sparse_path():
    # A kernel so narrow that all points of a class have the same contrast.
    X, y = labelled(40, 2, n_classes=3)
    model = KernelFisherDiscriminant(gamma=1e9, multiclass="one_vs_rest", sparsity=3).fit(X, y)
    assert_array_equal(np.count_nonzero(model.expansion_.coefficients, axis=0), [3, 3, 3])


@pytest.mark.parametrize("regularizer", ["norm", "identity"])
@pytest.mark.parametrize("landmarks", [None, 3])
def test_constant_data_of_many_classes_give_the_most_frequent_one(regularizer, landmarks):
    X, y = np.full((15, 2), 0.3), np.array([0, 1, 2] * 3 + [1] * 6)
    model = KernelFisherDiscriminant(gamma=1.0, alpha=0.0, regularizer=regularizer, landmarks=landmarks)
    with pytest.warns(RankWarning, match="same mean"):
        model.fit(X, y)
    assert_array_equal(model.predict(X), np.ones(15))


@pytest.mark.parametrize("offset", [10.0, 1e3, 1e5, 1e7])
def test_a_linear_kernel_far_from_the_origin_is_still_linear_discriminant_analysis(offset):
    X, y = labelled(100, 4, n_classes=3)
    ours = KernelFisherDiscriminant(kernel="linear", alpha=0.0).fit(X + offset, y)
    A, B = ours.transform(X + offset), LinearDiscriminantAnalysis().fit(X, y).transform(X)
    B = B * np.linalg.norm(A) / np.linalg.norm(B)  # older versions divide variances by n − C instead of n
    # Inputs have relative errors of ε.
    assert_allclose(A, B * np.sign(np.sum(A * B, axis=0)), atol=1e2 * np.finfo(float).eps * offset + 1e-9)


@pytest.mark.parametrize("gamma", ["scale", "median", "enclosing_ball"])
def test_rules_for_widths_see_weights_as_repetitions(gamma):
    X, y = labelled(40, 3)
    times = np.random.default_rng(0).integers(1, 5, size=40)
    weighted = KernelFisherDiscriminant(gamma=gamma).fit(X, y, times)
    repeated = KernelFisherDiscriminant(gamma=gamma).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(weighted.kernel_.gamma, repeated.kernel_.gamma, rtol=1e-6)
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-7)
