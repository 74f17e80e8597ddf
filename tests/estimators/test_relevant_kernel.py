"""`gamma="relevance"` wherever targets reach `fit`, by every route, and an error that says what to do elsewhere."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import preimage
from preimage import (
    KernelFisherDiscriminant,
    KernelImputer,
    KernelKMeans,
    KernelNoveltyDetector,
    KernelPCA,
    LinearProgrammingRegressor,
    SparseGreedyClassifier,
    SparseGreedyDetector,
    SparseGreedyRegressor,
    compress,
    to_onnx,
)
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import Gaussian, Laplacian, Linear, Matern, ScaledInputs
from preimage.widths import _relevance

rng = np.random.default_rng(0)
ROWS = rng.normal(size=(240, 5))
TARGETS = np.sin(2 * ROWS[:, 0]) * ROWS[:, 1] + 0.1 * rng.normal(size=240)
# A fit takes time in proportion to the rows, and most laws hold of half of them.
N = 120
X, y = ROWS[:N], TARGETS[:N]
classes = np.where(y > 0, "yes", "no")
X_new = rng.normal(size=(300, 5))
y_new = np.sin(2 * X_new[:, 0]) * X_new[:, 1]
RELEVANT = {"gamma": "relevance"}


def regressor(**parameters):
    return SparseGreedyRegressor(40, **{**RELEVANT, "alpha": "loo", **parameters})


@pytest.fixture(scope="module")
def model():
    return regressor().fit(X, y)


def test_columns_that_do_not_help_are_dropped_and_predictions_gain(model):
    assert model.has_column_widths_ and model.relevance_[:2].min() > 0.05 and model.relevance_[2:].max() < 0.02
    assert_allclose(model.relevance_.sum(), 1)
    assert type(model.kernel_) is ScaledInputs and model.kernel_.is_resolved
    best = max(SparseGreedyRegressor(40, gamma=gamma, alpha="loo").fit(X, y).score(X_new, y_new) for gamma in (0.1, 1))
    assert model.score(X_new, y_new) > best + 0.1


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_classes(loss):
    found = SparseGreedyClassifier(40, loss=loss, alpha="loo", **RELEVANT).fit(ROWS, np.where(TARGETS > 0, "yes", "no"))
    assert found.has_column_widths_ and found.relevance_[2:].sum() < 0.1
    assert found.score(X_new, np.where(y_new > 0, "yes", "no")) > 0.85


def test_several_classes_and_targets_share_widths():
    many = np.digitize(TARGETS, [-0.5, 0.5])
    assert SparseGreedyClassifier(40, alpha="loo", **RELEVANT).fit(ROWS, many).relevance_[2:].sum() < 0.1
    both = regressor().fit(X, np.column_stack([y, X[:, 3], np.zeros(N)]))
    assert both.relevance_[[0, 1, 3]].min() > 0.01 and both.relevance_[[2, 4]].max() < 0.01


def test_kernel_objects_are_understood(model):
    assert_allclose(regressor(kernel=Gaussian("relevance"), gamma=None).fit(X, y).predict(X), model.predict(X))
    other = regressor(kernel=Matern("relevance", nu=2.5), gamma=None).fit(X, y)
    assert type(other.kernel_.kernel) is Matern and other.relevance_[2:].max() < 0.02
    named = regressor(kernel="matern", kernel_params={"nu": 2.5}).fit(X, y)
    assert_allclose(named.kernel_.weights, other.kernel_.weights)


def test_targets_that_columns_say_nothing_of_keep_one_width():
    """The guard errs in about one case of six: errors are compared by one standard error."""
    noise = np.random.default_rng(5).normal(size=(6, N))
    kept = [found for each in noise if not (found := regressor().fit(X, each)).has_column_widths_]
    assert len(kept) >= 3
    found = kept[0]
    # Of columns as they are, or of standardised ones.
    assert type(found.kernel_) is Gaussian or np.ptp(found.kernel_.weights * X.var(axis=0)) < 1e-9
    assert_allclose(found.relevance_.sum(), 1)


def test_other_estimators_with_targets(model):
    for estimator in (KernelPCA(2), KernelPCA(2, landmarks=30), KernelFisherDiscriminant()):
        found = estimator.set_params(**RELEVANT).fit(X, classes)
        assert found.relevance_[2:].sum() < 0.1
    assert KernelPCA(2, **RELEVANT).fit(X, y).relevance_[2:].max() < 0.02
    assert LinearProgrammingRegressor(30, **RELEVANT).fit(X, y).relevance_[2:].max() < 0.02
    stream = KernelPCA(2, landmarks=20, **RELEVANT).partial_fit(X[:60], classes[:60]).partial_fit(X[60:])
    assert stream.relevance_.shape == (5,)


def test_a_fit_with_another_rule_forgets_relevances():
    found = regressor().fit(X, y).set_params(gamma=0.5).fit(X, y)
    assert not hasattr(found, "relevance_") and not hasattr(found, "has_column_widths_")
    components = KernelPCA(2, **RELEVANT).fit(X, classes).set_params(gamma=0.5).fit(X)
    assert not hasattr(components, "relevance_")


def test_weights_of_zero_are_rows_that_are_not_there():
    weights = np.where(np.arange(N) < 80, 1.0, 0.0)
    weighted, alone = regressor().fit(X, y, sample_weight=weights), regressor().fit(X[:80], y[:80])
    assert_allclose(weighted.relevance_, alone.relevance_, rtol=1e-6)
    assert_allclose(weighted.predict(X), alone.predict(X), rtol=1e-6, atol=1e-8)


def test_a_penalty_is_one_of_all_rows():
    """Twice the weights with twice the penalty are the same problem."""
    one = regressor(alpha=0.5).fit(X, y, sample_weight=np.ones(N))
    other = regressor(alpha=1.0).fit(X, y, sample_weight=np.full(N, 2.0))
    assert_allclose(other.predict(X_new), one.predict(X_new), rtol=1e-6, atol=1e-8)


def test_all_weights_may_be_multiplied():
    weights = np.random.default_rng(1).uniform(0.5, 2, size=N)
    one, other = (regressor().fit(X, y, sample_weight=factor * weights) for factor in (1, 8))
    assert_allclose(other.relevance_, one.relevance_, rtol=1e-6)


def test_sparse_rows_memory_maps_dask_and_tensors(model, tmp_path):
    found = regressor().fit(sparse.csr_array(X), y)
    assert_allclose(found.relevance_, model.relevance_, rtol=1e-6)
    np.save(tmp_path / "X.npy", X)
    assert_allclose(regressor().fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y).relevance_, model.relevance_)
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    chunked = regressor().fit(da.from_array(X, chunks=(35, 5)), da.from_array(y, chunks=35))
    assert_allclose(chunked.relevance_, model.relevance_)
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensors = regressor().fit(torch.asarray(X), torch.asarray(y))
    assert_allclose(tensors.relevance_, model.relevance_)
    assert isinstance(tensors.predict(torch.asarray(X)), torch.Tensor)


def test_single_precision():
    found = regressor().fit(ROWS.astype(np.float32), TARGETS)
    assert found.expansion_.coefficients.dtype == np.float32
    assert_allclose(found.relevance_, regressor().fit(ROWS, TARGETS).relevance_, atol=0.01)
    # Rounding errors decide between landmarks of nearly equal gain, so that predictions may differ.
    assert found.score(X_new.astype(np.float32), y_new) > 0.95


@pytest.mark.parametrize("unit", [1e-100, 1e-20, 1e20, 1e100])
def test_units(model, unit):
    assert_allclose(regressor().fit(unit * X, y).predict(unit * X_new), model.predict(X_new), atol=1e-4)
    assert_allclose(regressor().fit(X, unit * y).predict(X_new) / unit, model.predict(X_new), atol=1e-4)


def test_files_pickles_and_copies(model, tmp_path):
    model.save(tmp_path / "model.safetensors")
    loaded = preimage.load(tmp_path / "model.safetensors")
    assert_array_equal(loaded.predict(X_new), model.predict(X_new))
    assert_array_equal(loaded.relevance_, model.relevance_)
    assert loaded.has_column_widths_ is True


def test_smaller_machines_and_onnx(model):
    small = compress(model, 25, X=X)
    assert small.score(X_new, y_new) > model.score(X_new, y_new) - 0.02
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    answer = session.run(None, {session.get_inputs()[0].name: X_new.astype(np.float32)})[0]
    assert_allclose(np.ravel(answer), model.predict(X_new), atol=1e-3)


def test_pages_of_the_explorer(tmp_path):
    page = preimage.explore(KernelPCA(3, **RELEVANT).fit(X, classes), X, classes)
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_many_rows_are_judged_by_others_than_decide(monkeypatch):
    """With few rows that decide, so that the test takes no time."""
    from preimage.estimators import _relevant_kernel

    monkeypatch.setattr(_relevance, "MOST_ROWS", 100)
    kept, parts, is_small = _relevant_kernel._parts(np.arange(0, 480, 2), None, 100, 90)
    assert not is_small and len(parts) == 1 and kept.size == 190 and np.unique(kept).size == 190
    assert_array_equal(parts[0], np.arange(100, 190))
    found = regressor().fit(X, y)
    assert found.has_column_widths_ and found.relevance_[2:].max() < 0.05


def test_very_many_columns_take_little_memory(monkeypatch):
    """Of sparse rows only those that decide become dense: the others would take gigabytes."""
    from preimage.estimators import _relevant_kernel

    assert _relevant_kernel._judging_rows(200, 10**6) == 500 and _relevant_kernel._judging_rows(200, 10) == 10_000
    monkeypatch.setattr(_relevance, "MOST_ROWS", 60)
    dense = _relevant_kernel.to_dense
    seen = []
    monkeypatch.setattr(_relevant_kernel, "to_dense", lambda rows: seen.append(rows.shape[0]) or dense(rows))
    regressor().fit(sparse.csr_array(X), y)
    assert seen == [60]


def test_every_row_judges_once_where_there_are_few():
    from preimage.estimators import _relevant_kernel

    kept, parts, is_small = _relevant_kernel._parts(np.arange(50), None, 1500, 90)
    assert is_small
    assert_array_equal(np.sort(np.concatenate(parts)), np.arange(50))
    assert_array_equal(np.sort(kept), np.arange(50))


def test_constant_targets_and_columns():
    found = regressor().fit(X, np.ones(N))
    assert_allclose(found.predict(X_new), 1)
    assert not found.has_column_widths_ and np.all(found.relevance_ == 0.2)
    odd = np.column_stack([X, np.ones(N), X[:, 0]])
    columns = regressor().fit(odd, y)
    assert columns.relevance_[5] == 0 and columns.relevance_[6] == pytest.approx(columns.relevance_[0], rel=1e-6)
    one = regressor().fit(X[:, :1], y)
    assert one.relevance_ == [1.0]


@pytest.mark.parametrize("n", [2, 9])
def test_few_rows_are_refused(n):
    with pytest.raises(ValueError, match=rf"needs 10 different ones at least; SparseGreedyRegressor got {n}\..*median"):
        SparseGreedyRegressor(2, **RELEVANT).fit(X[:n], y[:n])


def test_ten_rows_and_one_class():
    assert_allclose(SparseGreedyRegressor(2, **RELEVANT).fit(X[:10], y[:10]).relevance_.sum(), 1)
    with pytest.raises(ValueError, match="needs examples of two classes or more"):
        SparseGreedyClassifier(5, **RELEVANT).fit(X, np.zeros(N, dtype=int))


@pytest.mark.parametrize("estimator", [KernelPCA(2), KernelPCA(2, landmarks=20), KernelKMeans(2)], ids=str)
def test_without_targets_the_error_says_who_and_what_to_do(estimator):
    who = type(estimator).__name__
    with pytest.raises(ValueError, match=rf"{who} with gamma='relevance' learns.*it got none\..*kernel_"):
        estimator.set_params(**RELEVANT).fit(X)


@pytest.mark.parametrize("estimator", [KernelNoveltyDetector(), SparseGreedyDetector()], ids=str)
def test_detectors_refuse_it(estimator):
    who = type(estimator).__name__
    with pytest.raises(UnsupportedKernelError, match=rf"{who} does not learn.*StandardScaler.*ScaledInputs"):
        estimator.set_params(**RELEVANT).fit(X)


def test_the_imputer_refuses_it():
    with pytest.raises(UnsupportedKernelError, match=r"KernelImputer does not learn.*relevance_.*leave `gamma` out"):
        KernelImputer(**RELEVANT).fit(X)


@pytest.mark.parametrize("kernel", [Laplacian("relevance"), Gaussian("relevance") + Linear()], ids=str)
def test_kernels_without_widths_of_columns_are_refused(kernel):
    with pytest.raises(UnsupportedKernelError, match="gamma='relevance' learns"):
        SparseGreedyRegressor(5, kernel=kernel).fit(X, y)


def test_missing_entries_are_refused():
    with pytest.raises(ValueError, match=r"contains NaN.*KernelImputer"):
        regressor().fit(np.where(X > 2, np.nan, X), y)
