"""Outliers and novelties: scores by rows left out, thresholds, routes, and what is refused."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from preimage import CompressedDetector, KernelNoveltyDetector, compress, load, to_onnx
from preimage.exceptions import UnsupportedKernelError
from preimage.interop import machine_of
from preimage.kernels import Gaussian
from preimage.landmarks import Uniform


@pytest.fixture
def X(rng):
    """A ring, and ten per cent of the rows inside or outside of it, one here and one there."""
    inside_and_outside = np.r_[[0.0, 0.5], np.linspace(1.6, 3, 8)]
    angles, radii = rng.uniform(0, 2 * np.pi, 100), np.r_[1 + 0.05 * rng.normal(size=90), inside_and_outside]
    return np.column_stack([radii * np.cos(angles), radii * np.sin(angles)])


def is_outlier():
    return np.arange(100) >= 90


def naive_scores(kernel, X, Z, ridge):
    K, values = kernel(X, X) + ridge * np.eye(len(X)), kernel(Z, X)
    return np.sum(values * np.linalg.solve(K, values.T).T, axis=1) - kernel.diagonal(Z)


def test_training_rows_are_scored_by_a_model_of_the_others(X):
    model = KernelNoveltyDetector().fit(X)
    expected = [naive_scores(model.kernel_, np.delete(X, i, axis=0), X[i : i + 1], 0.01)[0] for i in range(100)]
    assert_allclose(model.left_out_scores_, expected, rtol=1e-7, atol=1e-10)
    assert_array_equal(model.score_samples(X), model.left_out_scores_)
    assert_array_equal(model.score_samples(X[::-7]), model.left_out_scores_[::-7])
    new = X + 0.1
    assert_allclose(model.score_samples(new), naive_scores(model.kernel_, X, new, 0.01), rtol=1e-7, atol=1e-10)


def test_outliers_do_not_hide(X):
    scores = KernelNoveltyDetector().fit(X).score_samples(X)
    assert roc_auc_score(is_outlier(), -scores) > 0.97
    labels = KernelNoveltyDetector(0.1).fit_predict(X)
    assert np.mean(labels[is_outlier()] == -1) >= 0.9


def test_a_number_as_contamination_is_the_fraction_of_training_rows_below_the_threshold(X):
    for contamination in (0.1, 0.25, 0.5):
        model = KernelNoveltyDetector(contamination)
        assert np.sum(model.fit_predict(X) == -1) == round(100 * contamination)
        assert_array_equal(model.predict(X), clone(model).fit_predict(X))
    assert np.sum(KernelNoveltyDetector().fit_predict(X) == -1) == 5


def test_decisions_are_scores_less_the_offset(X, rng):
    model, Z = KernelNoveltyDetector(0.1).fit(X), rng.normal(size=(50, 2))
    assert_allclose(model.decision_function(Z), model.score_samples(Z) - model.offset_)
    assert_array_equal(model.predict(Z), np.where(model.decision_function(Z) < 0, -1, 1))


def test_the_most_suspicious_rows_are_not_in_the_model(X):
    model = KernelNoveltyDetector(0.1).fit(X)
    normal = ~is_outlier()
    assert_array_equal(model.kernel_pca_.X_fit_, X[normal])
    kept = KernelNoveltyDetector(kernel=model.kernel_, ridge=3 * 0.1 * 100).fit(X[normal])
    Z = X + 0.1
    assert_allclose(model.score_samples(Z), kept.score_samples(Z), rtol=1e-7)
    assert_allclose(model.left_out_scores_[normal], kept.left_out_scores_, rtol=1e-7)
    assert_allclose(model.left_out_scores_[~normal], kept.score_samples(X[~normal]), rtol=1e-7)
    assert len(KernelNoveltyDetector().fit(X).kernel_pca_.X_fit_) == 100


def test_groups_of_outliers_do_not_hide():
    """Images of one that are alike among images of zero: without a number, they support each other."""
    digits, classes = load_digits(return_X_y=True)
    X, truth = np.vstack([digits[classes == 0], digits[classes == 1][:20]]), np.arange(198) >= 178
    plain, told = (
        roc_auc_score(truth, -KernelNoveltyDetector(fraction).fit(X).left_out_scores_) for fraction in ("auto", 0.1)
    )
    assert told > 0.99 and told > plain + 0.03


def test_the_ridge_grows_with_the_group_that_outliers_may_be(X):
    assert_allclose(KernelNoveltyDetector().fit(X).ridge_, 0.01)
    assert_allclose(KernelNoveltyDetector(0.1).fit(X).ridge_, 3 * 0.1 * 100)
    assert_allclose(KernelNoveltyDetector(1e-300).fit(X).ridge_, 0.01)
    assert_allclose(KernelNoveltyDetector(0.1, ridge=0.5).fit(X).ridge_, 0.5)
    stream = KernelNoveltyDetector(0.1, landmarks=20, gamma=1.0).partial_fit(X[:60]).partial_fit(X[60:90])
    assert_allclose(stream.ridge_, 0.3 * np.sum(stream.kernel_pca_.n_samples_seen_), rtol=0.1)


def test_weights_are_copies(X):
    weights = np.arange(100) % 4
    weighted = KernelNoveltyDetector(0.1, gamma=2.0).fit(X, sample_weight=weights)
    repeated = KernelNoveltyDetector(0.1, gamma=2.0).fit(np.repeat(X, weights, axis=0))
    assert_allclose(weighted.offset_, repeated.offset_, rtol=1e-9)
    assert_allclose(weighted.score_samples(X + 0.1), repeated.score_samples(X + 0.1), rtol=1e-6, atol=1e-12)
    assert_allclose(weighted.score_samples(X[weights > 0]), repeated.score_samples(X[weights > 0]), rtol=1e-6)


def test_copies_have_one_score(X):
    X = np.vstack([X, X[:40], X[:40]])
    for contamination in ("auto", 0.2):
        model = KernelNoveltyDetector(contamination, gamma=2.0).fit(X)
        assert_array_equal(model.left_out_scores_[100:140], model.left_out_scores_[:40])
        assert_array_equal(model.predict(X), model.fit_predict(X))


def test_all_rows_as_landmarks_are_the_exact_model(X):
    exact, few = (KernelNoveltyDetector(0.1, gamma=2.0, landmarks=each).fit(X) for each in (None, Uniform(100)))
    assert (exact.route_, few.route_) == ("exact", "landmarks")
    assert_allclose(few.left_out_scores_, exact.left_out_scores_, rtol=1e-4, atol=1e-7)
    assert_allclose(few.score_samples(X + 0.1), exact.score_samples(X + 0.1), rtol=1e-4, atol=1e-7)


def test_a_few_landmarks_find_outliers(rng):
    angles = rng.uniform(0, 2 * np.pi, 2000)
    X = np.column_stack([np.cos(angles), np.sin(angles)]) + 0.05 * rng.normal(size=(2000, 2))
    X[:100] = rng.uniform(-0.6, 0.6, size=(100, 2))
    for contamination in ("auto", 0.05):
        model = KernelNoveltyDetector(contamination, gamma=3.0, landmarks=60).fit(X)
        assert roc_auc_score(np.arange(2000) < 100, -model.left_out_scores_) > 0.95


def test_dask_and_memory_maps_are_arrays(X, tmp_path):
    array = pytest.importorskip("dask.array")
    lazy = array.from_array(X, chunks=(30, 2))
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for landmarks in (None, Uniform(20)):
        model = KernelNoveltyDetector(0.1, gamma=2.0, landmarks=landmarks)
        expected, new = clone(model).fit(X), X + 0.1
        for rows in (lazy, mapped):
            found = clone(model).fit(rows)
            assert_allclose(found.left_out_scores_, expected.left_out_scores_, rtol=1e-6, atol=1e-9)
            assert_array_equal(clone(model).fit_predict(rows), expected.fit_predict(X))
            scores = found.score_samples(array.from_array(new, chunks=(30, 2)))
            assert isinstance(scores, array.Array)
            assert_allclose(scores.compute(), expected.score_samples(new), rtol=1e-6, atol=1e-9)
            assert_array_equal(found.predict(array.from_array(new, chunks=(30, 2))).compute(), expected.predict(new))


def test_a_stream_learns_what_a_fit_does(X):
    whole = KernelNoveltyDetector(gamma=2.0, landmarks=Uniform(20)).fit(X)
    begun = KernelNoveltyDetector(gamma=2.0, landmarks=Uniform(20)).partial_fit(X)
    assert_allclose(begun.left_out_scores_, whole.left_out_scores_, rtol=1e-8)
    assert_allclose(begun.offset_, whole.offset_)
    stream = KernelNoveltyDetector(gamma=2.0, landmarks=Uniform(100)).fit(iter([X[:40], X[40:70], X[70:]]))
    exact = KernelNoveltyDetector(gamma=2.0).fit(X)
    assert stream.n_samples_seen_ == 100 and stream.left_out_scores_.shape == (100,)
    assert_allclose(stream.score_samples(X + 0.1), exact.score_samples(X + 0.1), atol=0.03)


def test_rows_far_from_everything_are_outliers_even_where_they_are_more_than_was_said(rng):
    X = np.vstack([0.1 * rng.normal(size=(80, 2)), 100 * np.arange(1, 21)[:, None] * [1, 1]])
    labels = KernelNoveltyDetector(0.05, gamma=1.0).fit_predict(X)
    assert_array_equal(labels == -1, np.arange(100) >= 80)


def test_a_stream_does_not_learn_outliers(rng):
    normal, wrong = 0.3 * rng.normal(size=(300, 2)), [6.0, 6.0] + 0.1 * rng.normal(size=(20, 2))
    model = KernelNoveltyDetector(0.05, gamma=1.0, landmarks=200).partial_fit(normal[:200])
    model.partial_fit(np.vstack([normal[200:], wrong]))
    assert_array_equal(model.predict(wrong), -np.ones(20))
    again = clone(model).set_params(contamination="auto").partial_fit(normal[:200])
    again.partial_fit(np.vstack([normal[200:], wrong]))
    assert again.score_samples(wrong).mean() > model.score_samples(wrong).mean()


def test_a_batch_that_fails_leaves_the_detector_as_it_was(X):
    model = KernelNoveltyDetector(gamma=2.0, landmarks=20).partial_fit(X[:50])
    before = model.score_samples(X + 0.1)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((3, 2), np.nan))
    with pytest.raises(ValueError, match="2 features"):
        model.partial_fit(np.ones((3, 5)))
    assert_array_equal(model.score_samples(X + 0.1), before)


def test_tensors_sparse_rows_and_single_precision(X):
    torch = pytest.importorskip("torch")
    expected = KernelNoveltyDetector(0.1, gamma=2.0).fit(X)
    found = KernelNoveltyDetector(0.1, gamma=2.0).fit(torch.asarray(X))
    scores = found.score_samples(torch.asarray(X + 0.1))
    assert isinstance(scores, torch.Tensor)
    assert_allclose(scores.numpy(), expected.score_samples(X + 0.1), atol=1e-5)
    assert_allclose(found.score_samples(torch.asarray(X)).numpy(), expected.left_out_scores_, atol=1e-5)
    assert_array_equal(found.predict(torch.asarray(X)).numpy(), expected.predict(X))
    some = KernelNoveltyDetector(0.1, gamma=2.0).fit(sparse.csr_matrix(X))
    assert_allclose(some.left_out_scores_, expected.left_out_scores_, atol=1e-5)
    assert_allclose(some.score_samples(sparse.csr_matrix(X)), expected.left_out_scores_, atol=1e-5)
    single = KernelNoveltyDetector(0.1, gamma=2.0).fit(X.astype(np.float32))
    assert_allclose(single.left_out_scores_, expected.left_out_scores_, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("landmarks", [None, 20])
def test_files_and_pickles_keep_scores_of_training_rows(X, landmarks, tmp_path):
    model = KernelNoveltyDetector(0.1, landmarks=landmarks).fit(X)
    model.save(tmp_path / "detector.safetensors")
    for again in (load(tmp_path / "detector.safetensors"), pickle.loads(pickle.dumps(model))):
        assert_array_equal(again.score_samples(X), model.score_samples(X))
        assert_array_equal(again.predict(X + 0.1), model.predict(X + 0.1))
        assert again.offset_ == model.offset_


def test_a_stream_goes_on_after_a_file(X, tmp_path):
    model = KernelNoveltyDetector(gamma=2.0, landmarks=20).partial_fit(X[:50])
    model.save(tmp_path / "detector.safetensors")
    again = load(tmp_path / "detector.safetensors").partial_fit(X[50:])
    assert_allclose(again.score_samples(X), model.partial_fit(X[50:]).score_samples(X))


def test_the_kernel_machine_scores_new_rows(X):
    model, new = KernelNoveltyDetector(0.1).fit(X), X + 0.1
    machine = machine_of(model)
    assert_allclose(machine.output.scores(machine(new)), model.score_samples(new), atol=1e-10)
    assert_array_equal(machine.output.predict(machine(new)), model.predict(new))
    with pytest.raises(UnsupportedKernelError, match="kernels of distances"):
        machine_of(KernelNoveltyDetector(kernel="poly").fit(X))


def test_few_points_decide_nearly_as_all(X, rng):
    model = KernelNoveltyDetector(0.1, gamma=1.0).fit(X)
    small = compress(model, 40, X=X)
    assert isinstance(small, CompressedDetector) and small.n_points_ <= 40
    new = rng.uniform(-2, 2, size=(300, 2))
    assert np.mean(small.predict(new) == model.predict(new)) > 0.95
    whole = compress(model, 1.0)
    assert_allclose(whole.score_samples(new), model.score_samples(new), atol=1e-6)
    assert_allclose(whole.offset_, model.offset_)


def test_a_size_is_found_for_a_detector_that_is_trained_again_without_some_rows(rng):
    """Its machines have one function per row that they were trained on, so that their numbers of functions differ."""
    X = np.abs(rng.normal(size=(37, 3)))
    small = CompressedDetector(KernelNoveltyDetector()).fit(X)
    assert small.n_points_ <= 37 and np.isfinite(small.score_samples(X)).all()


def test_graphs_take_all_rows_for_new_ones(X):
    onnx = pytest.importorskip("onnx.reference")
    model = make_pipeline(StandardScaler(), KernelNoveltyDetector(0.1)).fit(X)
    graph = onnx.ReferenceEvaluator(to_onnx(model, X=X, dtype="float64"))
    new = X + 0.1
    labels, decisions = graph.run(["label", "decision"], {"X": new})
    assert_allclose(decisions, model.decision_function(new), atol=1e-6)
    assert_array_equal(labels, model.predict(new))
    assert (graph.run(["decision"], {"X": X})[0] >= model.decision_function(X) - 1e-9).all()


def test_scores_do_not_depend_on_the_order_or_the_scale_of_rows(X):
    model, order = KernelNoveltyDetector(0.1).fit(X), np.random.default_rng(1).permutation(100)
    assert_allclose(KernelNoveltyDetector(0.1).fit(X[order]).left_out_scores_, model.left_out_scores_[order], rtol=1e-6)
    assert_allclose(KernelNoveltyDetector(0.1).fit(1000 * X - 7).left_out_scores_, model.left_out_scores_, rtol=1e-6)


def test_few_rows_and_many_copies(rng):
    two = KernelNoveltyDetector(0.5).fit([[0.0], [1.0]])
    assert np.isfinite(two.score_samples([[0.0], [5.0]])).all()
    copies = np.repeat([[0.0, 1.0], [1.0, 0.0], [3.0, 3.0]], [50, 49, 1], axis=0)
    labels = KernelNoveltyDetector(0.01).fit_predict(copies)
    assert_array_equal(np.flatnonzero(labels == -1), [99])


def test_what_cannot_be_measured_is_refused(X):
    with pytest.raises(UnsupportedKernelError, match="precomputed kernel"):
        KernelNoveltyDetector(kernel="precomputed").fit(X @ X.T)
    with pytest.raises(UnsupportedKernelError, match="positive semidefinite"):
        KernelNoveltyDetector(kernel="sigmoid", gamma=1.0, coef0=-2.0).fit(X)
    with pytest.raises(TypeError, match="iterator of blocks"):
        KernelNoveltyDetector(landmarks=5).fit_predict(iter([X]))
    with pytest.raises(ValueError, match="sample_weight"):
        KernelNoveltyDetector(landmarks=5).fit(iter([X]), sample_weight=np.ones(100))
    for wrong in ({"contamination": 0.0}, {"contamination": 0.7}, {"ridge": 0.0}, {"contamination": "some"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            KernelNoveltyDetector(**wrong).fit(X)


def test_another_kernel_and_its_ridge(X):
    kernel = 4.0 * Gaussian(2.0)
    scaled, plain = KernelNoveltyDetector(kernel=kernel).fit(X), KernelNoveltyDetector(gamma=2.0).fit(X)
    assert_allclose(scaled.ridge_, 0.04)
    assert_allclose(scaled.left_out_scores_, 4 * plain.left_out_scores_, rtol=1e-7)


def test_a_stream_after_an_exact_fit_begins_anew_with_a_warning(X):
    model = KernelNoveltyDetector(gamma=2.0, landmarks=None).fit(X)
    with pytest.warns(UserWarning, match="KernelNoveltyDetector was fitted exactly"):
        model.set_params(landmarks=20).partial_fit(X[:50])
    assert model.n_samples_seen_ == 50
