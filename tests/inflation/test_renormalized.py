"""Corrected scores follow the law of training scores, and nothing changes where nothing is wrong."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.decomposition import KernelPCA as SklearnKernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import SVC

from preimage import KernelFisherDiscriminant, KernelPCA, Renormalized, inflation_report
from preimage.exceptions import UnsupportedKernelError
from preimage.inflation import linear_leave_one_out, renormalize, transfer_function
from preimage.inflation._corrections import TrainingSpan, restore_lost_projection
from preimage.inflation._left_out import left_out_scores

RNG = np.random.default_rng(0)


def half_circles(n, d, snr, seed):
    """Two half circles in d noisy dimensions; three fifths of the points on the first."""
    rng = np.random.default_rng(seed)
    y = (rng.uniform(size=n) > 0.6).astype(int)
    angle = rng.uniform(0, np.pi, size=n)
    first, second = np.c_[np.cos(angle), np.sin(angle)], np.c_[1 - np.cos(angle), 0.5 - np.sin(angle)]
    points = np.where(y[:, None] == 1, second, first)
    noise = np.sqrt(points.var(axis=0).sum() / (d * snr))
    axes = np.linalg.qr(np.random.default_rng(1).normal(size=(d, 2)))[0]
    return points @ axes.T + noise * rng.normal(size=(n, d)), y


WIDE, WIDE_NEW = RNG.normal(size=(30, 400)), RNG.normal(size=(50, 400))
TALL = RNG.normal(size=(300, 4)) * [4, 2, 1, 0.5]


def test_transfer_functions_are_those_of_exact_leave_one_out():
    model = Renormalized(PCA(3), method="transfer").fit(WIDE)
    scores = linear_leave_one_out(WIDE, 3)
    plain = PCA(3).fit(WIDE)
    signs = np.sign((scores.train * plain.transform(WIDE)).sum(axis=0))
    expected = np.stack(
        [
            transfer_function(signs[k] * scores.train[:, k], signs[k] * scores.left_out[:, k])(column)
            for k, column in enumerate(plain.transform(WIDE_NEW).T)
        ],
        axis=1,
    )
    np.testing.assert_allclose(model.transform(WIDE_NEW), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.inflation_, scores.inflation)
    assert model.method_ == "transfer" and not model.requires_batch_


def test_the_spread_of_new_scores_becomes_that_of_training_scores():
    X, new = np.random.default_rng(1).normal(size=(2, 80, 600))
    for inner in (PCA(2), KernelPCA(2, gamma=1 / 400), SklearnKernelPCA(2, kernel="rbf", gamma=1 / 400)):
        plain, cured = clone(inner).fit(X), Renormalized(inner).fit(X)
        ratio = lambda model: model.transform(X).std(axis=0) / model.transform(new).std(axis=0)
        assert (ratio(plain) > 2.5).all() and (np.abs(np.log(ratio(cured))) < 0.6).all()


@pytest.mark.parametrize("inner", [PCA(3), KernelPCA(2, kernel="linear"), TruncatedSVD(2)])
def test_auto_is_the_identity_without_inflation(inner):
    model = Renormalized(inner).fit(TALL)
    assert model.method_ == "none" and not model.calibration_.choice.inflated
    new = RNG.normal(size=(20, 4))
    np.testing.assert_array_equal(model.transform(new), model.estimator_.transform(new))
    assert (np.abs(model.inflation_ - 1) < 0.1).all()


def test_auto_corrects_only_components_with_inflation():
    X = RNG.normal(size=(60, 300))
    X[:, 0] += 200 * RNG.normal(size=60)
    model = Renormalized(PCA(3)).fit(X)
    assert model.calibration_.choice.inflated == [1, 2]
    new = RNG.normal(size=(9, 300))
    np.testing.assert_array_equal(model.transform(new)[:, 0], model.estimator_.transform(new)[:, 0])


def test_rows_of_the_training_set_keep_their_scores_in_any_company():
    model = Renormalized(PCA(2)).fit(WIDE)
    together = model.transform(np.concatenate([WIDE_NEW[:3], WIDE[:2]]))
    np.testing.assert_allclose(together[3:], PCA(2).fit(WIDE).transform(WIDE[:2]), atol=1e-9)
    np.testing.assert_allclose(together[:3], model.transform(WIDE_NEW[:3]))
    np.testing.assert_allclose(model.fit_transform(WIDE), model.transform(WIDE))


def test_sparse_rows_are_recognised_too():
    X = WIDE * (np.abs(WIDE) > 1)
    model = Renormalized(KernelPCA(2), method="transfer").fit(sparse.csr_array(X))
    kept = KernelPCA(2).fit(X).transform(X)
    np.testing.assert_allclose(model.transform(sparse.csc_matrix(X)), kept, atol=1e-9)
    dense = Renormalized(KernelPCA(2), method="transfer").fit(X)
    new = WIDE_NEW * (np.abs(WIDE_NEW) > 1)
    np.testing.assert_allclose(model.transform(sparse.csr_matrix(new)), dense.transform(new), rtol=1e-6)


def test_histograms_of_new_scores_are_those_of_training_scores():
    model = Renormalized(PCA(2), method="histogram").fit(WIDE)
    assert model.requires_batch_ and model.method_ == "histogram"
    plain = model.estimator_
    np.testing.assert_allclose(model.transform(WIDE_NEW), renormalize(plain.transform(WIDE), plain.transform(WIDE_NEW)))
    same_size = model.transform(WIDE_NEW[:30])
    np.testing.assert_allclose(np.sort(same_size, axis=0), np.sort(plain.transform(WIDE), axis=0))
    with pytest.warns(UserWarning, match=r"whole test set at once; got 2 new row\(s\)"):
        model.transform(WIDE_NEW[:2])


@pytest.mark.parametrize("inner", [KernelPCA(2, gamma=1e-3), SklearnKernelPCA(2, kernel="rbf", gamma=1e-3)])
def test_the_orthogonal_factor_projects_on_the_hull_of_the_training_set(inner):
    scaler = StandardScaler().fit(WIDE)
    model = Renormalized(make_pipeline(StandardScaler(), inner), method="orthogonal").fit(WIDE)
    X, new = scaler.transform(WIDE), scaler.transform(WIDE_NEW)
    basis = np.linalg.svd(X, full_matrices=False)[2][:-1]  # scaled data are centred: one direction fewer than rows
    expected = clone(inner).fit(X).transform(new @ basis.T @ basis)
    np.testing.assert_allclose(model.transform(WIDE_NEW), expected, atol=1e-7)


def test_left_out_scores_get_the_orthogonal_factor_of_the_others():
    model = Renormalized(KernelPCA(2, gamma=1e-3), method="orthogonal").fit(WIDE)
    n, calibration = 4, model.calibration_
    distance = TrainingSpan(np.delete(WIDE, n, axis=0), affine=True).squared_distances(WIDE[n : n + 1])
    constant = -model.estimator_.subspace_.offset
    expected = restore_lost_projection(calibration.left_out[n : n + 1], constant, distance, 1e-3)
    np.testing.assert_allclose(calibration.corrected[n], expected[0])


def test_a_classifier_after_it_no_longer_names_the_majority_alone():
    X, y = half_circles(150, 300, 3, seed=0)
    X_new, y_new = half_circles(400, 300, 3, seed=2)
    error = lambda first: 1 - make_pipeline(first, LinearDiscriminantAnalysis()).fit(X, y).score(X_new, y_new)
    kernel_pca = KernelPCA(20, gamma=15)
    assert error(kernel_pca) == pytest.approx(min(y_new.mean(), 1 - y_new.mean()), abs=0.03)
    for method in ("auto", "transfer", "affine", "isotonic", "histogram"):
        assert error(Renormalized(kernel_pca, method=method)) < 0.03


def test_the_guard_is_one_of_two_and_switches_off_without_signal():
    plain, cured = PCA(3).fit(WIDE).transform(WIDE_NEW), Renormalized(PCA(3)).fit(WIDE).transform(WIDE_NEW)
    accepted = []
    for seed in range(5):
        y = np.random.default_rng(seed).permutation(np.arange(30) % 3 == 0)
        model = Renormalized(PCA(3), guard=GaussianNB()).fit(WIDE, y)
        accepted.append(model.calibration_.choice.accepted)
        assert model.method_ == ("affine" if accepted[-1] else "none")
        np.testing.assert_allclose(model.transform(WIDE_NEW), cured if accepted[-1] else plain, atol=1e-9)
    assert sum(accepted) <= 1
    X, labels = half_circles(100, 300, 3, seed=0)
    guarded = Renormalized(KernelPCA(10, gamma=20), guard=LinearDiscriminantAnalysis()).fit(X, labels)
    free = Renormalized(KernelPCA(10, gamma=20)).fit(X)
    assert guarded.calibration_.choice.accepted
    np.testing.assert_allclose(guarded.transform(X[:5] + 0.01), free.transform(X[:5] + 0.01))


def test_guards_work_with_refits_and_histograms():
    X, labels = half_circles(60, 200, 3, seed=0)
    model = Renormalized(KernelPCA(8, gamma=20, landmarks=40), method="histogram", guard=GaussianNB(), cv=5)
    guard = model.fit(X, labels).calibration_.choice
    assert guard.chance == 0.5 and guard.scoring == "balanced_accuracy"
    guard = model.set_params(scoring="accuracy").fit(X, labels).calibration_.choice
    assert guard.chance == pytest.approx(max(labels.mean(), 1 - labels.mean()))


def test_pipelines_searches_copies_and_pickles():
    X, y = half_circles(60, 100, 3, seed=0)
    pipeline = make_pipeline(StandardScaler(), Renormalized(KernelPCA(3)), LinearDiscriminantAnalysis())
    assert cross_val_score(pipeline, X, y, cv=3).shape == (3,)
    search = GridSearchCV(pipeline, {"renormalized__estimator__gamma": [0.01, 0.1], "renormalized__method": ["none"]})
    assert search.fit(X, y).best_params_["renormalized__method"] == "none"
    model = Renormalized(KernelPCA(3, gamma=5)).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X + 0.1), model.transform(X + 0.1))
    np.testing.assert_array_equal(clone(model).fit(X).transform(X + 0.1), model.transform(X + 0.1))


def test_frames_in_and_out():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame, new = pd.DataFrame(WIDE[:, :50]).add_prefix("gene"), pd.DataFrame(WIDE_NEW[:, :50]).add_prefix("gene")
    model = Renormalized(PCA(2)).set_output(transform="pandas").fit(frame)
    assert list(model.transform(new).columns) == list(model.get_feature_names_out()) == ["pca0", "pca1"]
    assert list(model.feature_names_in_[:2]) == ["gene0", "gene1"] and model.n_features_in_ == 50
    plain = Renormalized(PCA(2)).fit(WIDE[:, :50]).transform(WIDE_NEW[:, :50])
    np.testing.assert_allclose(model.transform(new).to_numpy(), plain, atol=1e-9)


def test_single_precision_stays():
    assert Renormalized(KernelPCA(2)).fit(WIDE.astype(np.float32)).transform(WIDE_NEW.astype(np.float32)).dtype == "f4"


def test_corrected_scores_go_back_to_inputs():
    model = Renormalized(PCA(2)).fit(WIDE)
    Y = model.transform(WIDE_NEW)
    np.testing.assert_array_equal(model.inverse_transform(Y), model.estimator_.inverse_transform(Y))
    assert not hasattr(Renormalized(SklearnKernelPCA(2)), "decision_function")


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_results_do_not_depend_on_units(scale):
    base = Renormalized(PCA(2)).fit(WIDE).transform(WIDE_NEW)
    np.testing.assert_allclose(
        Renormalized(PCA(2)).fit(scale * WIDE).transform(scale * WIDE_NEW), scale * base, rtol=1e-6
    )


def test_strong_inflation_is_undone():
    X, new = np.random.default_rng(1).normal(size=(2, 150, 600))
    model = Renormalized(KernelPCA(2, gamma=0.01)).fit(X)
    assert (model.inflation_ > 1e3).all()
    spread = lambda scores: np.percentile(np.abs(scores), 75, axis=0)
    assert (np.abs(np.log(spread(model.transform(X)) / spread(model.transform(new)))) < 0.7).all()


def test_errors_say_what_to_do():
    with pytest.raises(ValueError, match="requires y to be passed"):
        Renormalized(PCA(2), guard=GaussianNB()).fit(WIDE)
    with pytest.raises(ValueError, match="'method' parameter of Renormalized must be a str among"):
        Renormalized(PCA(2), method="histograms").fit(WIDE)
    with pytest.raises(TypeError, match=r"has no decision_function"):
        Renormalized(GaussianNB()).fit(WIDE, np.arange(30) % 2)
    with pytest.raises(TypeError, match=r"guard must be a classifier, such as .*; got PCA"):
        Renormalized(PCA(2), guard=PCA(1)).fit(WIDE, np.arange(30) % 2)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        Renormalized(PCA(2), guard=GaussianNB()).fit(WIDE, WIDE[:, 0])
    with pytest.raises(UnsupportedKernelError, match="kernel PCA with a Gaussian kernel"):
        Renormalized(PCA(2), method="orthogonal").fit(WIDE)
    with pytest.raises(UnsupportedKernelError, match="Gaussian kernel"):
        Renormalized(KernelPCA(2, kernel="laplacian"), method="orthogonal").fit(WIDE)
    with pytest.raises(ValueError, match="at least 3 rows; got n_samples=2"):
        Renormalized(PCA(1)).fit(WIDE[:2])
    with pytest.raises(ValueError, match="Every point must be left out once"):
        Renormalized(PCA(1), cv=[(np.arange(20), np.arange(20, 30))]).fit(WIDE)
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with pytest.raises(TypeError, match="Pass a NumPy array"):
        Renormalized(KernelPCA(2)).fit(torch.from_numpy(WIDE))
    with pytest.raises(TypeError, match=r"inflation_report works on the host.*Pass a NumPy array"):
        inflation_report(KernelPCA(2), torch.from_numpy(WIDE))
    dask = pytest.importorskip("dask.array", reason="dask is not installed")
    with pytest.raises(TypeError, match=r"Pass X\.compute"):
        left_out_scores(PCA(1).fit(WIDE), dask.from_array(WIDE))


def test_sparse_scores_become_dense():
    X = sparse.csr_array(np.abs(WIDE) * (np.abs(WIDE) > 1))
    scores = Renormalized(Normalizer(), method="affine", cv=3).fit(X).transform(X[:4] * 2)
    assert scores.shape == (4, 400) and isinstance(scores, np.ndarray)


def test_clusterers_with_distances_as_scores_work_too():
    model = Renormalized(KMeans(3, n_init=3, random_state=0), cv=3).fit(WIDE)
    assert model.transform(WIDE_NEW).shape == (50, 3)


def test_decisions_of_classifiers_are_corrected_and_decide():
    X, y = half_circles(80, 300, 3, seed=0)
    X_new, y_new = half_circles(300, 300, 3, seed=2)
    names = np.array(["bent up", "bent down"])
    svm, cured = SVC(gamma=8).fit(X, names[y]), Renormalized(SVC(gamma=8), method="transfer").fit(X, names[y])
    values = cured.decision_function(X_new)
    np.testing.assert_allclose(values, cured.calibration_.apply(svm.decision_function(X_new), X_new))
    np.testing.assert_array_equal(cured.predict(X_new), cured.classes_[(values > 0).astype(int)])
    np.testing.assert_allclose(cured.decision_function(X), svm.decision_function(X))
    assert cured.score(X_new, names[y_new]) > svm.score(X_new, names[y_new]) + 0.2
    assert cured.inflation_.shape == (1,) and not hasattr(cured, "transform")
    with pytest.raises(ValueError, match="judges scores of transformers"):
        Renormalized(SVC(), guard=GaussianNB()).fit(X, y)


def test_the_largest_corrected_decision_of_several_classes_wins():
    X, y = WIDE, np.arange(30) % 3
    X = X + 3 * np.eye(400)[y]
    cured = Renormalized(LinearDiscriminantAnalysis(), method="affine", cv=5).fit(X, y)
    values = cured.decision_function(WIDE_NEW)
    assert values.shape == (50, 3)
    np.testing.assert_array_equal(cured.predict(WIDE_NEW), values.argmax(axis=1))


@pytest.mark.parametrize("method", ["auto", "transfer", "isotonic", "affine"])
def test_rounding_errors_are_not_made_into_scores(method):
    """Nothing can be learned from kernels that vanish; a row near a training row must not get a score of 1e15."""
    with pytest.warns(UserWarning, match="All kernel values between different points vanish"):
        model = Renormalized(KernelPCA(2, gamma=1.0), method=method).fit(WIDE)
    assert model.method_ == "none" and (model.inflation_ > 1e12).all()
    near = WIDE + 1e-3
    np.testing.assert_array_equal(model.transform(near), model.estimator_.transform(near))


@pytest.mark.parametrize("method", ["auto", "transfer", "affine"])
@pytest.mark.parametrize("classes", [False, True], ids=["no classes", "guarded"])
def test_weights_of_kernel_pca_are_repetitions(method, classes):
    X, y = half_circles(50, 200, 3, seed=0)
    y = y if classes else None
    weights = np.random.default_rng(0).integers(0, 4, size=50)
    rows = np.repeat(np.arange(50), weights)
    model = Renormalized(KernelPCA(3, gamma=2.0), method=method)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(X[rows], None if y is None else y[rows])
    new = half_circles(30, 200, 3, seed=1)[0]
    assert weighted.method_ == repeated.method_
    np.testing.assert_allclose(weighted.inflation_, repeated.inflation_, rtol=1e-6)
    one, two = weighted.transform(new), repeated.transform(new)
    signs = np.sign((one * two).sum(axis=0))
    np.testing.assert_allclose(one, signs * two, atol=1e-6 * np.abs(two).max())


def test_correction_is_left_alone_where_it_does_not_help_and_classes_are_given():
    """Noise, which correction would only enlarge: the guard is on without being asked for."""
    kept = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(51, 600)), np.arange(51) % 2
        assert Renormalized(PCA(5)).fit(X).method_ == "affine"
        kept += Renormalized(PCA(5)).fit(X, y).method_ == "none"
    assert kept >= 8
    assert Renormalized(PCA(5), guard=None).fit(X, y).method_ == "affine"
    assert Renormalized(PCA(5)).fit(X, rng.normal(size=51)).method_ == "affine"  # targets of regression judge nothing


def test_corrections_do_not_hurt_balanced_classes():
    scores = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        labels = np.arange(350) % 2
        axis = np.random.default_rng(9).normal(size=1000) / np.sqrt(1000)
        X = rng.normal(size=(350, 1000)) + 14 * np.outer(labels - 0.5, axis)
        scores.append([])
        for first in (KernelPCA(10, gamma="median"), Renormalized(KernelPCA(10, gamma="median"))):
            model = make_pipeline(first, LinearDiscriminantAnalysis()).fit(X[:50], labels[:50])
            scores[-1].append(model.score(X[50:], labels[50:]))
    plain, cured = np.mean(scores, axis=0)
    assert cured > plain - 0.005


def test_equal_rows_need_no_correction():
    model = Renormalized(PCA(1)).fit(np.ones((10, 3)))
    assert model.method_ == "none" and (model.transform(np.ones((2, 3))) == 0).all()


def test_thresholds_are_for_classifiers():
    with pytest.raises(ValueError, match="is a transformer"):
        Renormalized(PCA(2), method="threshold").fit(WIDE)


@pytest.mark.parametrize("estimator", [PCA(1), KernelPCA(1, gamma=1.0), SVC(), KernelFisherDiscriminant(gamma=1.0)])
@pytest.mark.parametrize("labels", [lambda rows: np.arange(len(rows)) % 2, lambda rows: (rows[:, 0] > 0).astype(int)])
def test_inflation_of_repeated_rows_is_a_number(estimator, labels):
    rows = np.repeat([[-1.0, 0.5], [1.0, 0.5], [2.0, 1.0]], 5, axis=0)[:14]
    model = Renormalized(estimator).fit(rows, labels(rows))
    assert np.isfinite(model.inflation_).all()
    decide = model.decision_function if hasattr(model, "predict") else model.transform
    assert np.isfinite(decide(rows[:1] + 0.25)).all()


def test_of_two_different_rows_leaving_out_one_leaves_copies_of_the_other():
    rows = np.repeat([[-1.0, 0.5], [1.0, 0.5]], 6, axis=0)
    for labels in (np.arange(12) % 2, np.arange(12) // 6):
        assert np.isfinite(Renormalized(PCA(1)).fit(rows, labels).inflation_).all()
    with pytest.raises(ValueError, match="no variance"):
        Renormalized(KernelPCA(1, gamma=1.0)).fit(rows)
