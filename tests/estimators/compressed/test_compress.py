"""compress: any kernel machine on few points, with the interface of the original."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, make_circles, make_moons, make_multilabel_classification
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as TheirKernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning, NotFittedError, UnsetMetadataPassedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM
from sklearn.utils.metadata_routing import get_routing_for_object

from preimage import (
    CompressedClassifier,
    CompressedDetector,
    CompressedRegressor,
    CompressedTransformer,
    KernelPCA,
    compress,
    load,
)
from preimage.exceptions import UnsupportedKernelError
from preimage.interop import machine_of
from preimage.reduced_sets import Construct, Distill, Refine, Select
from preimage.solvers import FixedPoint

METHODS = ["distill", "refine", "construct", "select", "select_l1"]


@pytest.fixture(scope="module")
def moons():
    return make_moons(400, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def digits():
    data = load_digits()
    X, y = data.data / 16, data.target
    return X[:600], y[:600], X[600:1200], y[600:1200]


@pytest.fixture(scope="module")
def digit_svc(digits):
    return SVC(C=5).fit(*digits[:2])


@pytest.mark.parametrize("method", METHODS)
def test_binary_machine_keeps_its_predictions(moons, method):
    X, y = moons
    svc = SVC(gamma=2).fit(X, y)
    small = compress(svc, 15, X=X, y=y, method=method)
    assert isinstance(small, CompressedClassifier)
    assert small.n_points_ <= 15 < small.n_original_points_ == len(svc.support_)
    assert small.score(X, y) >= svc.score(X, y) - 0.01
    assert small.scores_ == (svc.score(X, y), small.score(X, y))
    assert small.decision_function(X).shape == svc.decision_function(X).shape
    assert np.array_equal(small.classes_, svc.classes_)


@pytest.mark.parametrize("original", [SVC(C=5), SVC(C=5, decision_function_shape="ovo"), NuSVC(nu=0.1)])
def test_multiclass_interface(digits, original):
    X, y, Z, _t = digits
    svc = original.fit(X, y)
    small = compress(svc, 60, X=X)
    assert small.decision_function(Z).shape == svc.decision_function(Z).shape
    assert np.mean(small.predict(Z) == svc.predict(Z)) > 0.97
    assert small.predict(Z).dtype == svc.predict(Z).dtype


def test_one_vs_rest_and_multilabel(digits):
    X, y, Z, _t = digits
    svc = OneVsRestClassifier(SVC(C=5)).fit(X, y)
    small = compress(svc, 60, X=X, y=y)
    assert np.mean(small.predict(Z) == svc.predict(Z)) > 0.96
    A, labels = make_multilabel_classification(200, 6, n_classes=4, random_state=0)
    svc = OneVsRestClassifier(SVC(gamma=0.01)).fit(A, labels)
    small = compress(svc, 40, X=A, y=labels)
    assert small.predict(A).shape == labels.shape
    assert np.mean(small.predict(A) == svc.predict(A)) > 0.95


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
def test_probabilities_where_the_original_has_them(digits, digit_svc):
    X, y, Z, _ = digits
    svc = SVC(C=5, probability=True, random_state=0).fit(X, y)
    small = compress(svc, 150, X=X)
    assert np.abs(small.predict_proba(Z) - svc.predict_proba(Z)).max() < 0.2
    assert np.allclose(small.predict_proba(Z).sum(axis=1), 1)
    assert not hasattr(compress(digit_svc, 20), "predict_proba")


@pytest.mark.parametrize(
    "original",
    [
        SVR(gamma=0.5, C=10),
        NuSVR(gamma=0.5, C=10),
        KernelRidge(kernel="rbf", gamma=0.5, alpha=0.01),
        KernelRidge(kernel="laplacian", gamma=0.3, alpha=0.01),
        GaussianProcessRegressor(ConstantKernel(2.0) * RBF(1.5), alpha=0.1, optimizer=None, normalize_y=True),
    ],
)
def test_regressors(original, rng):
    X = rng.uniform(-3, 3, size=(150, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=150)
    model = original.fit(X, y)
    small = compress(model, 30, X=X)
    assert isinstance(small, CompressedRegressor)
    assert small.predict(X).shape == model.predict(X).shape
    assert np.mean((small.predict(X) - model.predict(X)) ** 2) < 0.02 * np.var(model.predict(X))


def test_several_outputs(rng):
    X = rng.normal(size=(100, 3))
    model = KernelRidge(kernel="rbf", gamma=0.1, alpha=0.1).fit(X, X[:, :2] ** 2)
    small = compress(model, 40, X=X)
    assert small.predict(X).shape == (100, 2)
    assert np.allclose(small.predict(X), model.predict(X), atol=0.1)


def test_detector(rng):
    X = rng.normal(size=(300, 2))
    model = OneClassSVM(gamma=0.3, nu=0.2).fit(X)
    for method in METHODS:
        small = compress(model, 15, X=X, method=method)
        assert isinstance(small, CompressedDetector)
        assert np.mean(small.predict(X) == model.predict(X)) > 0.9
        assert np.allclose(small.score_samples(X) - small.offset_, small.decision_function(X))


def test_kernel_pca_keeps_coordinates_and_preimages(digits):
    X, _, Z, _ = digits
    # A compressed model keeps no training rows to learn a reconstruction from: it goes back to the nearest image.
    pca = KernelPCA(6, gamma=0.02, preimage="fixed_point").fit(X)
    small = compress(pca, 60)
    assert isinstance(small, CompressedTransformer)
    scale = pca.transform(Z).std()
    assert np.abs(small.transform(Z) - pca.transform(Z)).max() < 0.05 * scale
    assert np.abs(small.denoise(Z[:10]) - pca.denoise(Z[:10])).max() < 0.02
    assert (
        np.abs(small.inverse_transform(small.transform(Z[:5])) - pca.inverse_transform(pca.transform(Z[:5]))).max()
        < 0.05
    )
    assert list(small.get_feature_names_out()) == [f"compressedtransformer{j}" for j in range(6)]


def test_their_kernel_pca_gets_small_and_has_preimages(digits):
    X, _, Z, _ = digits
    theirs, ours = TheirKernelPCA(6, kernel="rbf", gamma=0.02).fit(X), KernelPCA(6, gamma=0.02).fit(X)
    small = compress(theirs, 60)
    assert isinstance(small, CompressedTransformer)
    assert np.abs(small.transform(Z) - theirs.transform(Z)).max() < 0.05 * theirs.transform(Z).std()
    assert np.abs(small.denoise(Z[:10]) - compress(ours, 60).denoise(Z[:10])).max() < 0.02
    indefinite = compress(TheirKernelPCA(3, kernel="sigmoid", gamma=0.01).fit(X), 40, X=X)
    with pytest.raises(AttributeError, match="has no attribute"):
        indefinite.inverse_transform(indefinite.transform(Z[:3]))


@pytest.mark.parametrize("method", ["select", "refine", "distill"])
def test_all_points_reproduce_the_machine(moons, method):
    X, y = moons
    svc = SVC(gamma=2).fit(X, y)
    small = compress(svc, 10_000, method=method)
    assert small.n_points_ == small.n_original_points_
    assert np.allclose(small.decision_function(X), svc.decision_function(X), atol=1e-4)
    assert small.error_ < 1e-6


@pytest.mark.parametrize(("dtype", "close"), [("float64", 1e-6), ("float32", 1e-2)])
@pytest.mark.parametrize("method", METHODS)
def test_all_points_keep_the_smallest_axes(method, dtype, close, tmp_path):
    """Coordinates along small eigenvalues are small: errors are compared with the standard deviation of each."""
    X = make_circles(200, factor=0.3, noise=0.05, random_state=0)[0].astype(dtype)
    pca = KernelPCA(gamma=1).fit(X)
    expected = pca.transform(X)
    small = compress(pca, len(X), X=X, method=method)
    assert np.max(np.abs(small.transform(X) - expected) / expected.std(axis=0)) < close
    pytest.importorskip("safetensors", reason="files are safetensors")
    small.save(tmp_path / "small.safetensors")
    assert np.array_equal(load(tmp_path / "small.safetensors").transform(X), small.transform(X))


@pytest.mark.parametrize("offset", [0, 1e3, 1e5])
def test_inputs_far_from_the_origin(offset, rng):
    X, Z = (offset + rng.normal(size=(n, 5)) for n in (100, 40))
    pca = KernelPCA(5, kernel="linear").fit(X)
    for method in ("select", "refine", "distill"):
        assert np.allclose(compress(pca, 100, method=method).transform(Z), pca.transform(Z), atol=1e-6), method
    pipeline = make_pipeline(KernelPCA(5, kernel="linear"), Ridge()).fit(X, X[:, 0])
    assert np.allclose(compress(pipeline, 100, X=X).predict(Z), pipeline.predict(Z), atol=1e-12 * offset + 1e-6)


def test_compressed_models_compress(digits, digit_svc):
    X, y, Z, t = digits
    middle = compress(digit_svc, 100, X=X, y=y)
    small = compress(middle, 50, X=X, y=y)
    assert (small.n_points_, small.n_original_points_) == (50, 100)
    assert small.score(Z, t) > digit_svc.score(Z, t) - 0.03


def test_permuted_support_vectors_change_nothing(moons):
    X, y = moons
    machine = machine_of(SVC(gamma=2).fit(X, y))
    order = np.random.default_rng(1).permutation(len(machine.expansion.points))
    from preimage.feature_space import Expansion

    shuffled = machine.with_expansion(
        Expansion(machine.expansion.kernel, machine.expansion.points[order], machine.expansion.coefficients[order])
    )
    for method in METHODS:
        one, other = (compress(each, 8, X=X, method=method) for each in (machine, shuffled))
        assert np.allclose(one.decision_function(X), other.decision_function(X), atol=1e-6), method


@pytest.mark.parametrize("method", METHODS)
def test_tolerance_is_kept_with_fewer_points(moons, method):
    X, y = moons
    svc = SVC(gamma=2).fit(X, y)
    small = compress(svc, X=X, y=y, tolerance=0.01, method=method)
    assert small.score(X, y) >= svc.score(X, y) - 0.01 - 1e-12
    assert small.n_points_ < small.n_original_points_ / 4


def test_tolerance_without_data_bounds_the_error(moons):
    X, y = moons
    svc = SVC(gamma=2).fit(X, y)
    loose, tight = (compress(svc, tolerance=t, method="select") for t in (0.1, 0.001))
    assert loose.error_ <= 0.1
    assert tight.error_ <= 0.001
    assert loose.n_points_ < tight.n_points_
    # The smallest: one point fewer is beyond the tolerance.
    assert compress(svc, loose.n_points_ - 1, method="select").error_ > 0.1


def test_impossible_tolerance_returns_the_machine(moons):
    X, y = moons
    svc = SVC(gamma=300).fit(X, y)
    small = compress(svc, tolerance=0.0, method="select")
    assert np.allclose(small.decision_function(X), svc.decision_function(X), atol=1e-7)


def test_own_points_for_each_function(digits, digit_svc):
    X, y, _Z, _t = digits
    svc = OneVsRestClassifier(SVC(C=5)).fit(X, y)
    small = compress(svc, 5, shared=False, method="construct", X=X, y=y)
    assert small.n_points_ <= 50
    assert all(np.count_nonzero(column) <= 5 for column in small.expansion_.coefficients.T)


def test_points_for_each_function_are_never_more_than_the_machine_has():
    """Thirty components with points of their own: nothing smaller is as good, and the search ends there."""
    X = np.random.default_rng(0).normal(size=(30, 4))
    small = CompressedTransformer(KernelPCA(None, gamma=0.3), shared=False, tolerance=1e-6).fit(X)
    assert small.n_points_ == small.n_original_points_ == 30
    np.testing.assert_allclose(small.transform(X), KernelPCA(None, gamma=0.3).fit_transform(X), atol=1e-7)


def test_pipelines_and_searches(digits):
    X, y, Z, _t = digits
    pipeline = make_pipeline(StandardScaler(), SVC(C=5)).fit(X, y)
    small = compress(pipeline, 80, X=X, y=y)
    assert np.mean(small.predict(Z) == pipeline.predict(Z)) > 0.95
    search = GridSearchCV(SVC(), {"C": [1, 5]}, cv=2).fit(X[:200], y[:200])
    assert compress(search, 30, X=X[:200]).n_points_ == 30
    grid = GridSearchCV(CompressedClassifier(SVC(C=5)), {"n_points": [5, 40]}, cv=2).fit(X[:200], y[:200])
    assert grid.best_params_ == {"n_points": 40}


def test_float32(digits, digit_svc):
    X, _y, Z, _ = digits
    exact, small = (compress(digit_svc, 50, X=X, dtype=dtype) for dtype in (None, "float32"))
    assert small.points_.dtype == np.float32 and small.intercept_.dtype == np.float32
    assert np.array_equal(small.predict(Z), exact.predict(Z))


def test_sparse_machines(digits):
    sparse = pytest.importorskip("scipy.sparse")
    X, y, Z, _ = digits
    svc = SVC(C=5).fit(sparse.csr_matrix(X), y)
    for method in METHODS:
        small = compress(svc, 60, X=sparse.csr_matrix(X), y=y, method=method)
        assert np.mean(small.predict(Z) == svc.predict(sparse.csr_matrix(Z))) > 0.85, method
        assert np.array_equal(small.predict(sparse.csr_matrix(Z)), small.predict(Z))


def test_precomputed_and_callable_kernels_select(digits):
    X, y, Z, _ = digits
    gram = lambda A, B: (A @ B.T + 1.0) ** 2
    svc = SVC(kernel="precomputed").fit(gram(X, X), y)
    small = compress(svc, 120, X=gram(X, X), y=y)
    assert np.mean(small.predict(gram(Z, X)) == svc.predict(gram(Z, X))) > 0.9
    with pytest.raises(ValueError, match="kernel matrix of its training points"):
        compress(svc, 100)
    svc = SVC(kernel=gram).fit(X, y)
    assert np.mean(compress(svc, 120, X=X, y=y).predict(Z) == svc.predict(Z)) > 0.9
    with pytest.raises(UnsupportedKernelError, match="gradient"):
        compress(svc, 20, X=X, method="distill")


def test_indefinite_kernels_distill(digits):
    X, y, Z, _ = digits
    svc = SVC(kernel="sigmoid", gamma=0.01).fit(X, y)
    small = compress(svc, 40, X=X)
    assert np.isnan(small.error_)
    assert np.mean(small.predict(Z) == svc.predict(Z)) > 0.9
    with pytest.raises(UnsupportedKernelError, match="Distill"):
        compress(SVC(kernel="sigmoid", gamma=1.0).fit(X, y), 10, method="select")


def test_data_frames(digits):
    pd = pytest.importorskip("pandas")
    X, y, _Z, _ = digits
    names = [f"p{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    small = compress(SVC().fit(frame, y), 20, X=frame)
    assert list(small.feature_names_in_) == names
    with pytest.raises(ValueError, match="feature names"):
        small.predict(frame[names[::-1]])


def test_repr_tells_what_was_gained(moons):
    X, y = moons
    small = compress(SVC(gamma=2).fit(X, y), 10, X=X, y=y)
    text = repr(small)
    assert "10 points for" in text and "× less work" in text and "error" in text
    assert f"accuracy {small.scores_[0]:.4f} → {small.scores_[1]:.4f}" in text and "agreement" not in text
    assert repr(clone(small)).startswith("CompressedClassifier(")


@pytest.mark.parametrize(
    ("original", "name"),
    [
        (SVC(gamma=2), "agreement with the original"),
        (SVR(gamma=2), "R² against the original"),
        (OneClassSVM(gamma=0.5), "agreement with the original"),
        (KernelPCA(3, gamma=1), "reproduced fraction of the variance"),
    ],
)
def test_without_labels_scores_are_not_called_accuracy(moons, original, name):
    X, y = moons
    small = compress(original.fit(X, y), 4, X=X)
    assert small.is_scored_by_original_ and small.scores_[0] == 1
    assert repr(small).endswith(f"{name} {small.scores_[1]:.4f}")
    assert not compress(SVC(gamma=2).fit(X, y), 4).is_scored_by_original_


def test_kernel_pca_and_a_linear_machine_become_one(digits):
    X, y, Z, t = digits
    pipeline = make_pipeline(StandardScaler(), KernelPCA(32, gamma=0.005), StandardScaler(), LinearSVC()).fit(X, y)
    small = compress(pipeline, 100, X=X, y=y)
    assert [name for name, _ in small.steps] == ["standardscaler-1", "linearsvc"]
    assert small[-1].n_points_ == 100 and small[-1].n_original_points_ == len(X)
    assert np.mean(small.predict(Z) == pipeline.predict(Z)) > 0.97
    assert small.score(Z, t) > pipeline.score(Z, t) - 0.01
    again = clone(small[-1]).fit(StandardScaler().fit_transform(X), y)
    assert again.n_points_ == 100


@pytest.mark.parametrize(
    "last", [LogisticRegression(), LinearDiscriminantAnalysis(), RidgeClassifier(), SVC(kernel="linear")]
)
def test_all_points_reproduce_the_pipeline(digits, last):
    X, y, Z, _ = digits
    pipeline = make_pipeline(KernelPCA(16, gamma=0.02), last).fit(X, y)
    small = compress(pipeline, len(X), method="select")
    assert isinstance(small, CompressedClassifier)
    assert np.allclose(small.decision_function(Z), pipeline.decision_function(Z), atol=1e-6)
    assert hasattr(small, "predict_proba") == hasattr(pipeline, "predict_proba")
    if hasattr(small, "predict_proba"):
        assert np.allclose(small.predict_proba(Z), pipeline.predict_proba(Z), atol=1e-6)
    assert np.array_equal(small.predict(Z), pipeline.predict(Z))


def test_regression_on_kernel_pca(rng):
    X = rng.uniform(-2, 2, size=(200, 2))
    Y = np.stack([np.sin(2 * X[:, 0]), 100 * X[:, 1] ** 2], axis=1)
    pipeline = make_pipeline(KernelPCA(30, gamma=1.0), Ridge(1e-3)).fit(X, Y)
    for method in METHODS:
        small = compress(pipeline, 60, X=X, y=Y, method=method)
        assert isinstance(small, CompressedRegressor) and small.predict(X).shape == Y.shape
        assert small.score(X, Y) > pipeline.score(X, Y) - 0.02, method


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_calibrated_classifiers_keep_their_probabilities(digits, method, n_classes):
    X, y, Z, _ = digits
    X, y = X[:300], y[:300] % n_classes
    model = CalibratedClassifierCV(SVC(gamma=0.05, C=5), method=method, ensemble=False, cv=3).fit(X, y)
    same = compress(model, len(X), method="select")
    assert np.allclose(same.predict_proba(Z), model.predict_proba(Z), atol=1e-6)
    assert not hasattr(same, "decision_function")
    for reduction in ("distill", "select"):
        small = compress(model, 100, X=X, method=reduction)
        assert np.abs(small.predict_proba(Z) - model.predict_proba(Z)).mean() < 0.03, reduction
        assert np.mean(small.predict(Z) == model.predict(Z)) > 0.95


def test_scalers_inside_a_compressed_model(digits):
    """Points are found on scaled inputs, and the scaler becomes part of the kernel."""
    X, y, Z, _ = digits
    X, Z = (part * np.linspace(0.01, 100, X.shape[1]) + 7 for part in (X, Z))
    pipeline = make_pipeline(StandardScaler(), SVC(C=5)).fit(X, y)
    outside = compress(pipeline, 60, X=X, y=y)
    inside = CompressedClassifier(make_pipeline(StandardScaler(), SVC(C=5)), 60).fit(X, y)
    assert np.allclose(inside.decision_function(Z), outside.decision_function(Z), atol=1e-6)
    assert inside.n_features_in_ == X.shape[1] and inside.points_.shape == (60, X.shape[1])
    with pytest.raises(TypeError, match="'pca'"):
        CompressedClassifier(make_pipeline(PCA(10), SVC()), 60).fit(X, y)


def test_predictions_do_not_copy_the_original(moons, monkeypatch):
    """Every prediction asks for tags, and those of the original count: a copy of it took longer than the values."""
    X, y = moons
    small = compress(make_pipeline(KernelPCA(5, gamma=2), LinearSVC()).fit(X, y), 10, X=X)
    expected = small.predict(X)
    monkeypatch.setattr("preimage.estimators.compressed._models.clone", lambda *_: pytest.fail("copied"))
    assert np.array_equal(small.predict(X), expected)


def test_work_of_a_pipeline_counts_what_stays(digits):
    """A machine that is not linear leaves kernel PCA, and its points, as they are."""
    X, y, _, _ = digits
    pipeline = make_pipeline(KernelPCA(8, gamma=0.02), SVC()).fit(X, y)
    small = compress(pipeline, 20, X=X)
    assert small[-1].n_original_points_ / small[-1].n_points_ > 15
    assert small[-1].work_ratio_ < 2
    assert f"{small[-1].work_ratio_:.3g} × less work" in repr(small[-1])


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def weights_of(X):
    return 0.1 + (X[:, 0] > 0)


def test_weights_are_routed_to_the_original(moons, routing):
    X, y = moons
    weights = weights_of(X)
    svc = SVC(gamma=2).set_fit_request(sample_weight=True)
    expected = compress(clone(svc).fit(X, y, sample_weight=weights), 10, X=X, y=y)
    model = CompressedClassifier(svc, 10)
    assert np.allclose(model.fit(X, y, sample_weight=weights).intercept_, expected.intercept_)
    # Through a pipeline of the original, and through a search around the compressed model.
    inner = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), svc)
    features = KernelPCA(5, gamma=2).set_fit_request(sample_weight=True)
    linear = make_pipeline(features, LinearSVC().set_fit_request(sample_weight=True))
    whole = clone(linear).fit(X, y, sample_weight=weights)
    part = CompressedClassifier(linear, len(X)).fit(X, y, sample_weight=weights)
    assert np.allclose(part.decision_function(X), whole.decision_function(X))
    CompressedClassifier(inner, 10).fit(X, y, sample_weight=weights)
    scored = model.set_score_request(sample_weight=True)
    search = GridSearchCV(scored, {"n_points": [2, 10]}, cv=2).fit(X, y, sample_weight=weights)
    assert search.best_estimator_.n_points_ in (2, 10)
    request = get_routing_for_object(scored)
    assert request.consumes("fit", ["sample_weight"]) == {"sample_weight"}
    assert request.consumes("score", ["sample_weight"]) == {"sample_weight"}


def test_metadata_that_nobody_asked_for_is_refused(moons, routing):
    X, y = moons
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        CompressedClassifier(SVC(), 5).fit(X, y, sample_weight=weights_of(X))
    ignoring = CompressedClassifier(SVC().set_fit_request(sample_weight=False), 5)
    with pytest.raises(TypeError, match="sample_weight"):
        ignoring.fit(X, y, sample_weight=weights_of(X))


def test_without_routing_weights_go_to_the_original(moons):
    X, y = moons
    weights = weights_of(X)
    expected = compress(SVR(gamma=2).fit(X, y, sample_weight=weights), 10, X=X, y=y)
    model = CompressedRegressor(SVR(gamma=2), 10).fit(X, y, sample_weight=weights)
    assert np.allclose(model.intercept_, expected.intercept_)


def test_pickle_and_clone(digits, digit_svc):
    X, _y, Z, _ = digits
    small = compress(digit_svc, 30, X=X)
    small.predict(Z[:3])
    again = pickle.loads(pickle.dumps(small))
    assert np.array_equal(again.decision_function(Z), small.decision_function(Z))
    assert len(pickle.dumps(small)) < len(pickle.dumps(digit_svc)) / 5
    with pytest.raises(NotFittedError):
        clone(small).predict(Z)


def test_one_row_equals_many(digits, digit_svc):
    X, _, Z, _ = digits
    small = compress(digit_svc, 30, X=X)
    many = small.decision_function(np.concatenate([Z, Z]))
    one = np.concatenate([small.decision_function(Z[i : i + 1]) for i in range(20)])
    assert np.allclose(one, many[:20], atol=1e-12)


def test_bad_input(moons):
    X, y = moons
    svc = SVC(gamma=2).fit(X, y)
    with pytest.raises(ValueError, match="needs a size"):
        compress(svc)
    with pytest.raises(ValueError, match="n_points"):
        compress(svc, 0)
    with pytest.raises(ValueError, match="method"):
        compress(svc, 5, method="shrink")
    with pytest.raises(ValueError, match="NaN"):
        compress(svc, 5, X=np.full((3, 2), np.nan))
    with pytest.raises(ValueError, match="features"):
        compress(svc, 5, X=np.zeros((3, 5)))
    with pytest.raises(ValueError, match="labels for"):
        compress(svc, 5, X=X, y=y[:5])
    with pytest.raises(ValueError, match="labels of X"):
        compress(svc, 5, y=y)
    with pytest.raises(NotFittedError):
        compress(SVC(), 5)
    with pytest.raises(TypeError, match="kernel machines"):
        compress(LinearSVC().fit(X, y), 5)
    with pytest.raises(TypeError, match="compress"):
        CompressedRegressor(SVC(), 5).fit(X, y)


def test_reducers_as_methods(moons):
    X, y = moons
    svc = SVC(gamma=2).fit(X, y)
    for reducer in (Select("forward"), Construct(n_starts=1), Refine(Select()), Distill(penalty=0.1)):
        assert compress(svc, 6, X=X, method=reducer).n_points_ == 6


def test_the_original_is_left_alone(moons):
    X, y = moons
    svc = SVC(gamma=2).fit(X, y)
    before = pickle.dumps(svc)
    compress(svc, 6, X=X, y=y)
    assert pickle.dumps(svc) == before


@pytest.fixture(scope="module")
def rare():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    return X, (X[:, 0] + rng.normal(size=600) * 0.7 > 1.6).astype(int)  # about 9 % positives


@pytest.mark.parametrize("method", METHODS)
def test_weights_of_classes_are_kept(rare, method):
    X, y = rare
    svc = SVC(gamma=0.5, class_weight="balanced").fit(X, y)
    recall = lambda model: np.mean(model.predict(X)[y == 1] == 1)
    for small in (compress(svc, 15, X=X, y=y, method=method), compress(svc, X=X, y=y, method=method)):
        assert recall(small) > recall(svc) - 0.15, small


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
@pytest.mark.parametrize("method", ["refine", "construct", "select"])
@pytest.mark.parametrize("wrap", [lambda svc: svc, OneVsRestClassifier], ids=["svc", "one_vs_rest"])
def test_moved_thresholds_leave_probabilities(rare, method, wrap):
    X, y = rare
    y = y + (X[:, 1] > 1)  # two or three classes
    svc = wrap(SVC(gamma=0.5, probability=True, random_state=0)).fit(X, y)
    moved, still = compress(svc, 25, X=X, y=y, method=method), compress(svc, 25, method=method)
    assert np.allclose(moved.predict_proba(X), still.predict_proba(X), atol=0.01)


@pytest.mark.net
def test_outputs_count_alike(rng):
    X = rng.uniform(-2, 2, size=(200, 3))
    Y = np.c_[1000 * (np.sin(X[:, 0]) + X[:, 1]), np.sin(3 * X[:, 2])]
    model = KernelRidge(kernel="rbf", gamma=1.0, alpha=0.01).fit(X, Y)
    small = compress(model, X=X, y=Y, tolerance=0.01)
    assert small.scores_ == pytest.approx((model.score(X, Y), small.score(X, Y)))
    assert small.score(X, Y) >= model.score(X, Y) - 0.01 - 1e-9


def test_unknown_labels(moons):
    X, y = moons
    svc = SVC(gamma=2).fit(X, y)
    with pytest.raises(ValueError, match="does not know"):
        compress(svc, 5, X=X, y=y + 5)


def test_pipelines_keep_their_settings(moons):
    X, y = moons
    small = compress(make_pipeline(StandardScaler(), SVC(), verbose=True).fit(X, y), 5, X=X)
    assert small.verbose


def test_pre_images_that_do_not_converge_say_so(digits):
    X, _, Z, _ = digits
    small = compress(KernelPCA(6, gamma=0.02, preimage=FixedPoint(max_iter=1)).fit(X), 40)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        small.denoise(Z[:5])
    assert not small.find_preimages(small.transform(Z[:5])).converged.all()


@pytest.mark.parametrize("original", [SVC(), make_pipeline(StandardScaler(), SVC())], ids=["alone", "pipeline"])
def test_models_of_scikit_learn_say_that_they_learn_on_the_host(original, rng):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(TypeError, match=r"CompressedClassifier works on the host; got a torch array.*NumPy"):
        CompressedClassifier(original, 5).fit(torch.asarray(rng.normal(size=(30, 2))), np.arange(30) % 2)


@pytest.mark.parametrize("kind", [np.asarray, list])
def test_rows_in_the_place_of_the_size_are_refused(kind, moons):
    X, y = moons
    with pytest.raises(TypeError, match=r"compress takes rows by name, compress\(model, 40, X=X_train.*place of `n_po"):
        compress(SVC().fit(X, y), kind(X))
