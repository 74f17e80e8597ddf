"""Kernel Fisher discriminants as a classifier and transformer."""

import pickle
import warnings

import numpy as np
import pytest
from for_each import for_each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics.pairwise import rbf_kernel

from preimage import KernelFisherDiscriminant, KernelFisherDiscriminantCV, compress
from preimage._engine.arrays import to_numpy
from preimage.exceptions import RankWarning, UnsupportedKernelError
from preimage.invariances import FunctionTransformation
from preimage.kernels import Gaussian
from preimage.landmarks import KMeans, Uniform


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(200, centers=4, cluster_std=2.5, random_state=3)


def correlation(A, B):
    A, B = A - A.mean(axis=0), B - B.mean(axis=0)
    return np.abs(np.sum(A * B, axis=0)) / (np.linalg.norm(A, axis=0) * np.linalg.norm(B, axis=0))


@pytest.mark.parametrize("landmarks", [None, Uniform(60)])
def test_a_linear_kernel_is_linear_discriminant_analysis(landmarks):
    X, y = load_iris(return_X_y=True)
    ours = KernelFisherDiscriminant(kernel="linear", alpha=1e-9, landmarks=landmarks).fit(X, y)
    theirs = LinearDiscriminantAnalysis().fit(X, y)
    A, B = ours.transform(X), theirs.transform(X)
    assert_allclose(correlation(A, B), 1, atol=1e-6)
    B = B * np.linalg.norm(A) / np.linalg.norm(B)  # older versions divide variances by n − C instead of n
    assert_allclose(np.abs(A), np.abs(B), rtol=1e-3, atol=1e-3)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=0.03)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.99


def test_directions_have_variance_one_within_classes(blobs):
    X, y = blobs
    features = KernelFisherDiscriminant(kernel="linear", alpha=1e-9).fit(X, y).transform(X)
    within = sum(np.cov(features[y == c].T, ddof=0) * np.mean(y == c) for c in range(4))
    assert_allclose(within, np.eye(2), atol=1e-5)
    assert_allclose(features.mean(axis=0), 0, atol=1e-8)


@for_each("threshold", ["gaussian", "midpoint", "empirical", "margin"])
@for_each("landmarks", [None, 60, "kmeans", KMeans(40)])
@for_each("regularizer", ["norm", "identity"])
def test_tells_moons_apart(moons, threshold, landmarks, regularizer):
    X, y = moons
    model = KernelFisherDiscriminant(
        gamma=2, alpha=0.01, threshold=threshold, landmarks=landmarks, regularizer=regularizer
    ).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.92
    means = [model.decision_function(X[:200])[y[:200] == c].mean() for c in (0, 1)]
    assert_allclose(means[1] - means[0], 2, rtol=1e-6)


@pytest.mark.parametrize("threshold", ["gaussian", "midpoint", "empirical", "margin"])
def test_one_against_the_rest(blobs, threshold):
    X, y = blobs
    model = KernelFisherDiscriminant(gamma=0.05, alpha=0.01, multiclass="one_vs_rest", threshold=threshold).fit(X, y)
    joint = KernelFisherDiscriminant(gamma=0.05, alpha=0.01).fit(X, y)
    assert model.transform(X).shape == (200, 4)
    assert joint.transform(X).shape == (200, 3)
    assert model.score(X, y) > joint.score(X, y) - 0.05
    assert_allclose(model.transform(X), model.decision_function(X))


def test_labels_may_be_anything(moons):
    X, y = moons
    names = np.array(["right", "left"])[y]
    model, plain = KernelFisherDiscriminant(gamma=2).fit(X, names), KernelFisherDiscriminant(gamma=2).fit(X, y)
    assert_array_equal(model.classes_, ["left", "right"])
    assert_array_equal(model.predict(X), np.array(["right", "left"])[plain.predict(X)])


def test_probabilities_agree_with_predictions(blobs):
    X, y = blobs
    for multiclass in ("directions", "one_vs_rest"):
        model = KernelFisherDiscriminant(gamma=0.05, alpha=0.1, multiclass=multiclass).fit(X, y)
        P = model.predict_proba(X)
        assert_allclose(P.sum(axis=1), 1)
        assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))


def test_weights_are_repetitions(moons, rng):
    X, y = moons[0][:80], moons[1][:80]
    times = rng.integers(0, 4, size=80)
    for options in ({}, {"threshold": "margin"}, {"threshold": "empirical"}):
        model = KernelFisherDiscriminant(gamma=2, alpha=0.1, **options)
        weighted = clone(model).fit(X, y, times).decision_function(X)
        repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times)).decision_function(X)
        assert_allclose(weighted, repeated, atol=1e-6)


def test_class_weights_move_the_threshold(moons):
    X, y = moons
    shares = [
        np.mean(KernelFisherDiscriminant(gamma=2, alpha=1, class_weight={0: 1, 1: weight}).fit(X, y).predict(X))
        for weight in (0.1, 1, 10)
    ]
    assert shares[0] < shares[1] < shares[2]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_batches_equal_one_fit(n_classes):
    X, y = make_blobs(300, centers=n_classes, cluster_std=2.5, random_state=1)
    Z = X[:30]
    whole = KernelFisherDiscriminant(gamma=0.1, landmarks=Z).fit(X, y)
    parts = KernelFisherDiscriminant(gamma=0.1, landmarks=Z)
    for start in range(0, 300, 70):
        parts.partial_fit(X[start : start + 70], y[start : start + 70], classes=range(n_classes))
    assert_allclose(parts.decision_function(X), whole.decision_function(X), rtol=1e-6, atol=1e-7)


def test_batches_that_lack_classes():
    X, y = make_blobs(300, centers=3, random_state=1)
    model = KernelFisherDiscriminant(gamma=0.1, landmarks=30)
    model.partial_fit(X[y == 2], y[y == 2], classes=[0, 1, 2])
    assert np.all(model.predict(X) == 2)
    model.partial_fit(X[y == 0], y[y == 0])
    assert set(model.predict(X)) == {0, 2}
    assert model.partial_fit(X[y == 1], y[y == 1]).score(X, y) > 0.9
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit(X[:5], np.full(5, 7))


@pytest.mark.parametrize("threshold", ["gaussian", "margin"])
def test_dask_fits_the_same_model_and_predicts_lazily(blobs, threshold):
    da = pytest.importorskip("dask.array")
    X, y = blobs
    model = KernelFisherDiscriminant(
        gamma=0.1, landmarks=X[:30], threshold=threshold, multiclass="one_vs_rest", class_weight="balanced"
    )
    lazy_X, lazy_y = da.from_array(X, chunks=(70, 1)), da.from_array(y, chunks=50)
    lazy, plain = clone(model).fit(lazy_X, lazy_y), clone(model).fit(X, y)
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        result = getattr(lazy, method)(lazy_X)
        assert isinstance(result, da.Array)
        assert_allclose(result.compute(), getattr(plain, method)(X), rtol=1e-6, atol=1e-8)
    with pytest.raises(TypeError, match="landmarks=500"):
        KernelFisherDiscriminant().fit(lazy_X, y)


def test_landmarks_chosen_on_dask(blobs):
    da = pytest.importorskip("dask.array")
    X, y = blobs
    model = KernelFisherDiscriminant(gamma="median", landmarks=40).fit(da.from_array(X, chunks=(60, 2)), y)
    assert model.score(X, y) > 0.8
    assert len(model.landmarks_) == 40


def test_chunks_of_unknown_sizes_and_dask_frames(blobs):
    da, dd, pd = (pytest.importorskip(name) for name in ("dask.array", "dask.dataframe", "pandas"))
    X, y = blobs
    model = KernelFisherDiscriminant(gamma=0.1, landmarks=X[:30])
    expected = clone(model).fit(X, y, np.arange(200))
    frame = pd.DataFrame(X, columns=["a", "b"])
    unknown = da.from_array(X, chunks=(60, 2))
    unknown = unknown[da.from_array(np.ones(200, bool), chunks=60)]
    weights = da.from_array(np.arange(200), chunks=70)
    for lazy in (unknown, dd.from_pandas(frame, npartitions=3)):
        found = clone(model).fit(lazy, dd.from_pandas(pd.Series(y), npartitions=2), weights)
        assert_allclose(found.decision_function(X), expected.decision_function(X), rtol=1e-6, atol=1e-7)
        assert_array_equal(found.predict(lazy).compute(), expected.predict(X))
    assert_array_equal(found.feature_names_in_, ["a", "b"])
    streamed = clone(model).partial_fit(unknown, y).partial_fit(unknown, y)
    assert_allclose(streamed.class_count_, 2 * np.bincount(y))
    for kind in (KernelFisherDiscriminant(), KernelFisherDiscriminantCV(landmarks=20)):
        with pytest.raises(TypeError, match="landmarks="):
            kind.fit(unknown, y)


def test_iterators_of_labelled_blocks(blobs):
    X, y = blobs
    model, weights = KernelFisherDiscriminant(gamma=0.1, landmarks=X[:30]), np.arange(200)
    blocks = lambda *arrays: (tuple(array[start : start + 70] for array in arrays) for start in range(0, 200, 70))
    for arrays in ((X, y), (X, y, weights)):
        expected = clone(model).fit(*arrays).decision_function(X)
        found = clone(model).fit(blocks(X, y)).fit(blocks(*arrays))
        assert_allclose(found.decision_function(X), expected, rtol=1e-6, atol=1e-7)
    with pytest.raises(TypeError, match="pairs"):
        model.fit(block for block in (X, X))
    with pytest.raises(ValueError, match="which labels"):
        model.fit((block for block in (X, X)), y)
    with pytest.raises(ValueError, match="without a single block"):
        model.fit(iter(()))
    with pytest.raises(ValueError, match="needs all values"):
        clone(model).set_params(threshold="margin").fit(blocks(X, y))
    with pytest.raises(TypeError, match="one by one"):
        found.predict(block for block in (X, X))
    with pytest.raises(TypeError, match="first blocks"):
        KernelFisherDiscriminantCV().fit(blocks(X, y), None)


def test_sparse_input_and_precomputed_kernels(moons):
    X, y = moons
    plain = KernelFisherDiscriminant(gamma=2).fit(X, y)
    of_sparse = KernelFisherDiscriminant(gamma=2).fit(sparse.csr_matrix(X), y)
    K = rbf_kernel(X, gamma=2)
    precomputed = KernelFisherDiscriminant(kernel="precomputed").fit(K, y)
    expected = plain.decision_function(X)
    assert_allclose(of_sparse.decision_function(sparse.csr_matrix(X)), expected, atol=1e-8)
    assert_allclose(precomputed.decision_function(K), expected, atol=1e-8)


def test_other_array_libraries(moons, xp):
    X, y = moons
    expected = KernelFisherDiscriminant(gamma=2, alpha=0.1).fit(X, y)
    for options in ({}, {"landmarks": Uniform(50)}):
        model = KernelFisherDiscriminant(gamma=2, alpha=0.1, **options).fit(xp.asarray(X), y)
        assert np.mean(to_numpy(model.predict(xp.asarray(X))) == expected.predict(X)) > 0.97


@pytest.mark.parametrize("n_points", [5, 20])
def test_sparse_discriminants_have_few_points(moons, n_points):
    X, y = moons
    model = KernelFisherDiscriminant(gamma=2, alpha=0.01, sparsity=n_points).fit(X, y)
    assert n_points - 2 <= len(model.expansion_.points) <= n_points
    assert model.score(X, y) > (0.85 if n_points == 5 else 0.95)


@pytest.mark.parametrize("landmarks", [None, 40])
def test_sparse_discriminants_spend_no_coefficients_on_copies(moons, rng, landmarks):
    X, y = moons[0][:60], moons[1][:60]
    times = rng.integers(1, 12, size=60)
    model = KernelFisherDiscriminant(gamma=1, alpha=0.1, sparsity=30, landmarks=X[:landmarks])
    weighted = clone(model).fit(X, y, times)
    many = np.repeat(X, times, axis=0)
    repeated = clone(model).set_params(landmarks=landmarks and np.repeat(X[:40], 3, axis=0))
    repeated.fit(many, np.repeat(y, times))
    assert len(np.unique(repeated.expansion_.points, axis=0)) == len(repeated.expansion_.points) >= 28
    assert_allclose(repeated.decision_function(X), weighted.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("gamma", [1e-6, 1e-3, 1.0, 100.0])
def test_paths_of_sparse_discriminants_come_to_their_end(moons, gamma, scale):
    X, y = moons[0][:120], moons[1][:120]
    kernel = scale * Gaussian(gamma)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (path,) = KernelFisherDiscriminant(kernel=kernel, alpha=0.01, regularizer="identity").sparse_path(X, y)
    assert path.n_nonzero.max() >= 118
    assert path.penalties[-1] <= 1e-8 * path.penalties[0]


def test_sparse_path_and_its_limits(moons):
    X, y = moons
    model = KernelFisherDiscriminant(gamma=2, alpha=0.01)
    (path,) = model.sparse_path(X, y)
    assert path.n_nonzero[0] == 1
    assert np.all(np.diff(path.penalties) <= 0)
    at_penalty = clone(model).set_params(sparsity=float(path.penalties[10])).fit(X, y)
    assert len(at_penalty.expansion_.points) == path.n_nonzero[10]
    full, none = clone(model).fit(X, y), clone(model).set_params(sparsity=0.0).fit(X, y)
    assert np.mean(full.predict(X) == none.predict(X)) > 0.98


def test_sparse_one_against_the_rest(blobs):
    X, y = blobs
    model = KernelFisherDiscriminant(gamma=0.05, alpha=0.1, multiclass="one_vs_rest", sparsity=10).fit(X, y)
    assert np.max(np.count_nonzero(model.expansion_.coefficients, axis=0)) <= 10
    assert model.score(X, y) > 0.8


def test_invariances_flatten_discriminants_along_transformations(rng):
    X = rng.normal(size=(120, 2)) * [3, 1]
    y = (X[:, 1] + 0.3 * X[:, 0] > 0).astype(int)
    shift = FunctionTransformation(lambda X, t: X + t * np.array([1.0, 0.0]))
    variations, step = [], np.array([1e-3, 0.0])
    for weight in (0, 0.3, 3, 30):
        model = KernelFisherDiscriminant(gamma=0.3, alpha=0.01, invariances=shift, invariance_weight=weight).fit(X, y)
        change = (model.decision_function(X + step) - model.decision_function(X - step)) / 2e-3
        variations.append(np.mean(change**2))
    assert np.all(np.diff(variations) < 0)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_compressed_models_decide_alike(n_classes):
    X, y = make_blobs(300, centers=n_classes, cluster_std=2.5, random_state=1)
    model = KernelFisherDiscriminant(gamma=0.05, alpha=0.1).fit(X, y)
    small = compress(model, 30, X=X)
    assert small.n_points_ == 30
    assert np.mean(small.predict(X) == model.predict(X)) > 0.95
    if n_classes == 2:
        assert_allclose(small.predict_proba(X), model.predict_proba(X), atol=0.25)


def test_two_classes_of_one_point_each():
    model = KernelFisherDiscriminant().fit([[0.0], [1.0]], ["a", "b"])
    assert_array_equal(model.predict([[-0.2], [0.4], [0.6], [1.2]]), ["a", "a", "b", "b"])


def test_a_class_of_one_point(moons):
    X, y = np.array([[0.0], [0.1], [0.2], [0.3], [2.0]]), [0, 0, 0, 0, 1]
    assert_array_equal(KernelFisherDiscriminant(gamma=1).fit(X, y).predict(X), y)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="1 class"):
        KernelFisherDiscriminant().fit([[0.0], [1.0]], [0, 0])
    with pytest.raises(ValueError, match="1 class"):
        KernelFisherDiscriminant().fit([[0.0], [1.0]], [0, 1], sample_weight=[1, 0])


def test_identical_classes_predict_the_more_frequent_one():
    X = np.array([[0.0], [1.0], [2.0]])
    with pytest.warns(RankWarning, match="same mean"):
        model = KernelFisherDiscriminant().fit(np.concatenate([X, X, X]), [0] * 6 + [1] * 3)
    assert np.all(model.predict(X) == 0)
    assert_allclose(model.predict_proba(X), [[2 / 3, 1 / 3]] * 3)


def test_identical_classes_have_no_sparse_discriminant():
    X = np.array([[0.0], [1.0], [2.0]])
    with pytest.raises(ValueError, match="same mean"):
        KernelFisherDiscriminant(sparsity=2).fit(np.concatenate([X, X]), [0] * 3 + [1] * 3)


def test_equal_rows_within_classes():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    model = KernelFisherDiscriminant().fit(X, np.repeat([0, 1], 5))
    assert_array_equal(model.predict([[0.1], [0.9]]), [0, 1])


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": -1.0},
        {"regularizer": "l1"},
        {"threshold": "best"},
        {"sparsity": 0},
        {"landmarks": 0},
        {"landmarks": np.zeros((3, 7))},
        {"multiclass": "directions", "threshold": "margin"},
        {"multiclass": "directions", "sparsity": 5},
    ],
)
def test_bad_parameters_are_refused(blobs, options):
    with pytest.raises(ValueError):
        KernelFisherDiscriminant(**options).fit(*blobs)


def test_streams_refuse_what_needs_all_values(moons):
    with pytest.raises(AttributeError):
        KernelFisherDiscriminant(threshold="margin").partial_fit(*moons)
    with pytest.raises(ValueError, match="balance"):
        KernelFisherDiscriminant(class_weight="balanced").partial_fit(*moons)


def test_too_little_memory_names_a_way_out(moons):
    with pytest.raises(MemoryError, match="landmarks"):
        KernelFisherDiscriminant(max_memory="10KB").fit(*moons)


def test_a_model_survives_pickling(moons):
    X, y = moons
    model = KernelFisherDiscriminant(gamma=2, landmarks=20).partial_fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.partial_fit(X, y).decision_function(X), model.partial_fit(X, y).decision_function(X))


def test_single_precision(moons):
    X, y = moons
    model = KernelFisherDiscriminant(gamma=2, alpha=0.01).fit(X.astype(np.float32), y)
    assert model.decision_function(X.astype(np.float32)).dtype == np.float32
    assert_allclose(
        model.decision_function(X.astype(np.float32)),
        KernelFisherDiscriminant(gamma=2, alpha=0.01).fit(X, y).decision_function(X),
        atol=1e-2,
    )


def test_a_far_class_does_not_hide_the_difference_of_the_others():
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [3.0, 0.0]])
    y, new_y = rng.choice(2, 400, p=[0.7, 0.3]), rng.choice(2, 2000, p=[0.7, 0.3])
    near, new = (rng.normal(size=(len(codes), 2)) + centers[codes] for codes in (y, new_y))
    X = np.concatenate([near, rng.normal(size=(20, 2)) * 0.05 + [1.5, 30]])
    model = KernelFisherDiscriminant().fit(X, np.concatenate([y, [2] * 20]))
    assert model.score(new, new_y) > 0.9


def test_points_as_landmarks_are_copied_and_searched_with(moons):
    X, y = moons
    points = X[:20].copy()
    search = KernelFisherDiscriminantCV(gammas=[1, 2], alphas=[0.01], landmarks=points).fit(X, y)
    assert search.best_score_ > 0.9
    model = KernelFisherDiscriminant(landmarks=points).fit(X, y)
    before = model.decision_function(X)
    points[:] = 0
    assert_array_equal(model.decision_function(X), before)


def test_invariances_are_weighted_like_the_data(moons, rng):
    X, y = moons
    weights = rng.integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    stretch = FunctionTransformation(lambda X, t: X * (1 + t * np.array([0.0, 1.0])))
    model = KernelFisherDiscriminant(gamma=1, landmarks=X[:30], invariances=stretch)
    weighted = clone(model).fit(X, y, weights).decision_function(X)
    assert_allclose(weighted, clone(model).fit(X[rows], y[rows]).decision_function(X), atol=1e-8)
    search = KernelFisherDiscriminantCV(
        gammas=[1], alphas=[0.1], landmarks=X[:30], invariances=stretch, invariance_weight=30.0, alpha_scale="absolute"
    )
    scaled = [clone(search).set_params(alphas=[0.1 * scale]).fit(X, y, scale * weights) for scale in (1, 1000)]
    assert_allclose(scaled[0].best_score_, scaled[1].best_score_)


def test_invariances_need_inputs(moons):
    X, y = moons
    shift = FunctionTransformation(lambda X, t: X + t)
    with pytest.raises(UnsupportedKernelError, match="precomputed"):
        KernelFisherDiscriminant(kernel="precomputed", invariances=shift).fit(X @ X.T, y)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_kernels_that_overflow_are_refused(moons):
    X, y = moons
    for landmarks in (None, 10):
        with pytest.raises(ValueError, match="Scale the data"):
            KernelFisherDiscriminant(kernel="poly", degree=9, gamma=1.0, landmarks=landmarks).fit(X * 1e60, y)


@pytest.mark.parametrize("weight", [-1, np.nan, np.inf])
def test_class_weights_are_finite_and_not_negative(moons, weight):
    with pytest.raises(ValueError, match="class weights"):
        KernelFisherDiscriminant(class_weight={0: weight, 1: 1}).fit(*moons)


@pytest.mark.parametrize("kind", [KernelFisherDiscriminant, KernelFisherDiscriminantCV])
def test_no_coefficients_are_too_few(moons, kind):
    with pytest.raises(ValueError, match="sparsity=0"):
        kind(sparsity=0).fit(*moons)


@pytest.mark.parametrize("alpha", [0, 1e-3])
@pytest.mark.parametrize("options", [{"landmarks": 5}, {"regularizer": "identity"}, {}])
def test_constant_data_give_the_more_frequent_class(options, alpha):
    X, y = np.ones((30, 2)), np.repeat([0, 1], [20, 10])
    with pytest.warns(RankWarning, match="same mean"):
        model = KernelFisherDiscriminant(alpha=alpha, **options).fit(X, y)
    assert_array_equal(model.predict(X), 0)


def test_parameters_set_after_fitting_wait_for_the_next_fit(blobs):
    X, y = blobs
    model = KernelFisherDiscriminant(multiclass="one_vs_rest").fit(X, y)
    before = model.transform(X)
    assert_array_equal(model.set_params(multiclass="directions").transform(X), before)


def test_streams_keep_their_classes(moons):
    X, y = moons
    model = KernelFisherDiscriminant(landmarks=10).partial_fit(X, y, classes=[0, 1])
    model.partial_fit(X, y, classes=[1, 0])
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(X, y, classes=[0, 1, 2])


def test_probabilities_against_the_rest_are_scaled_logistic_functions(blobs):
    X, y = blobs
    model = KernelFisherDiscriminant(multiclass="one_vs_rest", landmarks=20).fit(X, y)
    odds = expit(model._rule.temperature * model.decision_function(X))
    probabilities = model.predict_proba(X)
    assert_allclose(probabilities, odds / odds.sum(axis=1, keepdims=True))
    assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X))
