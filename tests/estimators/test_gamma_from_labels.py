"""`gamma="enclosing_ball"` and its kind: wherever labels reach `fit`, and an error with a name where they do not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits

from preimage import (
    EmpiricalKernelMap,
    KernelFisherDiscriminant,
    KernelFisherDiscriminantCV,
    KernelKMeans,
    KernelPCA,
    OrientedKernelPCA,
    SparseGreedyClassifier,
    SparseGreedyRegressor,
)
from preimage.kernels import Gaussian, Laplacian, Linear, ScaledInputs
from preimage.widths import class_width

X, y = load_digits(return_X_y=True)
X, y = X[:200], y[:200]

ESTIMATORS = [
    KernelPCA(3),
    KernelPCA(3, landmarks=30),
    KernelFisherDiscriminant(),
    KernelFisherDiscriminant(landmarks=30),
    OrientedKernelPCA(3, landmarks=30),
    SparseGreedyClassifier(20),
    EmpiricalKernelMap(),
]
name = lambda value: type(value).__name__


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
@pytest.mark.parametrize("rule", ["enclosing_ball", "mean_distance", "alignment"])
def test_estimators_find_the_width_of_the_rule(estimator, rule):
    model = estimator.set_params(gamma=rule).fit(X, y)
    assert_allclose(model.kernel_.gamma, class_width(X, y, rule), rtol=1e-12)
    estimator.set_params(gamma=None)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_kernels_find_it_alone_and_in_combinations(estimator):
    ball = class_width(X, y)
    alone = estimator.set_params(kernel=Gaussian("enclosing_ball")).fit(X, y)
    assert_allclose(alone.kernel_.gamma, ball, rtol=1e-12)
    both = estimator.set_params(kernel=Gaussian("enclosing_ball") + Laplacian("mean_distance")).fit(X, y)
    assert_allclose(both.kernel_.left.gamma, ball, rtol=1e-12)
    assert_allclose(both.kernel_.right.gamma, class_width(X, y, "mean_distance", kernel=Laplacian()), rtol=1e-12)
    weights = np.linspace(0, 1, 64)
    scaled = estimator.set_params(kernel=ScaledInputs(Gaussian("enclosing_ball"), weights)).fit(X, y)
    assert_allclose(scaled.kernel_.kernel.gamma, class_width(X * np.sqrt(weights), y), rtol=1e-9)
    estimator.set_params(kernel="rbf")


@pytest.mark.parametrize(
    "estimator", [KernelPCA(3), OrientedKernelPCA(3, landmarks=30), EmpiricalKernelMap()], ids=name
)
def test_labels_are_ignored_by_other_rules(estimator):
    """Pipelines of regressions hand continuous targets to transformers."""
    model = estimator.set_params(gamma="median").fit(X, np.linspace(0, 1, 200))
    assert model.kernel_.gamma == Gaussian("median").resolve(X).gamma
    estimator.set_params(gamma=None)


def test_fit_transform_and_partial_fit_take_labels():
    exact = KernelPCA(3, gamma="enclosing_ball")
    assert_allclose(exact.fit_transform(X, y), KernelPCA(3, gamma=class_width(X, y)).fit_transform(X), rtol=1e-9)
    stream = KernelPCA(3, gamma="enclosing_ball", landmarks=30)
    stream.partial_fit(X[:100], y[:100]).partial_fit(X[100:])
    assert_allclose(stream.kernel_.gamma, class_width(X[:100], y[:100]))
    batches = KernelFisherDiscriminant(gamma="enclosing_ball", landmarks=30)
    batches.partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    assert_allclose(batches.kernel_.gamma, class_width(X[:100], y[:100]))


@pytest.mark.parametrize(
    "estimator",
    [
        KernelPCA(3),
        KernelPCA(3, landmarks=30),
        OrientedKernelPCA(3),
        EmpiricalKernelMap(),
        KernelKMeans(3),
        KernelKMeans(3, landmarks=30),
    ],
    ids=name,
)
def test_without_labels_the_error_says_who_and_what_to_do(estimator):
    pattern = (
        rf"{type(estimator).__name__} with Gaussian.*needs class labels y; it got none.*class_width\(X, y\).*'median'"
    )
    with pytest.raises(ValueError, match=pattern):
        estimator.set_params(gamma="enclosing_ball").fit(X)


def test_targets_that_are_no_classes_are_refused():
    with pytest.raises(ValueError, match=r"SparseGreedyRegressor with Gaussian.*got continuous targets"):
        SparseGreedyRegressor(20, gamma="enclosing_ball").fit(X, np.linspace(0, 1, 200))
    with pytest.raises(ValueError, match=r"KernelPCA with Gaussian.*all labels are 0"):
        KernelPCA(3, gamma="enclosing_ball").fit(X, np.zeros(200, dtype=int))
    with pytest.raises(ValueError, match="class 99 has one member"):
        KernelFisherDiscriminant(gamma="enclosing_ball").fit(X, np.append(y[:-1], 99))


def test_cross_validation_takes_rules_among_its_candidates():
    search = KernelFisherDiscriminantCV(gammas=["enclosing_ball", "median"], alphas=[0.01]).fit(X, y)
    assert set(search.cv_results_["param_gamma"]) == {"enclosing_ball", "median"}
    single = KernelFisherDiscriminantCV(gammas=["enclosing_ball"], alphas=[0.01]).fit(X, y)
    assert_allclose(single.best_estimator_.kernel_.gamma, class_width(X, y), rtol=1e-12)
    carried = KernelFisherDiscriminantCV(kernel=Gaussian("enclosing_ball"), alphas=[0.01]).fit(X, y)
    assert_allclose(carried.best_estimator_.kernel_.gamma, class_width(X, y), rtol=1e-12)


def test_rows_of_weight_zero_have_no_part():
    weights = np.where(np.arange(200) < 150, 1.0, 0.0)
    expected = class_width(X[:150], y[:150])
    for estimator in (KernelFisherDiscriminant(), SparseGreedyClassifier(20)):
        model = estimator.set_params(gamma="enclosing_ball").fit(X, y, sample_weight=weights)
        assert_allclose(model.kernel_.gamma, expected, rtol=1e-12)


def test_large_data_are_sampled_as_the_rule_does(rng):
    centers = rng.normal(size=(5, 3))
    labels = rng.integers(5, size=4500)
    points = centers[labels] + 0.3 * rng.normal(size=(4500, 3))
    model = KernelPCA(2, gamma="enclosing_ball", landmarks=20).fit(points, labels)
    assert_allclose(model.kernel_.gamma, class_width(points, labels), rtol=1e-12)
    assert not np.isclose(model.kernel_.gamma, class_width(points, labels, n_samples=None), rtol=1e-6)


def test_dask_arrays_and_memory_maps(tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = KernelPCA(3, gamma="enclosing_ball", landmarks=30).fit(mapped, y)
    assert_allclose(model.kernel_.gamma, class_width(X, y), rtol=1e-12)
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    for estimator in (KernelPCA(3, landmarks=30), KernelFisherDiscriminant(landmarks=30)):
        model = estimator.set_params(gamma="enclosing_ball").fit(
            da.from_array(X, chunks=(70, 64)), da.from_array(y, chunks=70)
        )
        assert_allclose(model.kernel_.gamma, class_width(X, y), rtol=1e-12)


def test_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    model = KernelPCA(3, kernel=Gaussian("enclosing_ball") + Linear()).fit(torch.asarray(X), torch.asarray(y))
    assert_allclose(model.kernel_.left.gamma, class_width(X, y), rtol=1e-9)


def test_models_with_rules_predict_and_travel():
    import pickle

    model = KernelFisherDiscriminant(gamma="enclosing_ball").fit(X, y)
    assert model.score(X, y) == 1.0
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.decision_function(X), model.decision_function(X))
