"""Laws of semi-supervised kernel PCA, its labels and its way back."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from preimage import (
    KernelFisherDiscriminant,
    KernelKMeans,
    KernelPCA,
    OrientedKernelPCA,
    SemiSupervisedKernelPCA,
    compress,
    load,
)
from preimage._engine.arrays import to_numpy
from preimage.estimators._semisupervised_kernel_pca import code_matrix, component_targets, partial_labels
from preimage.exceptions import RankWarning, UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.kernels import Gaussian, Linear, Sigmoid, Warped
from preimage.landmarks import KMeans
from preimage.solvers import FixedPoint, Gradient
from preimage.widths import with_class_widths

X, MOON = make_moons(120, noise=0.08, random_state=1)
NEW = make_moons(20, noise=0.08, random_state=2)[0]
KERNEL = Gaussian(4.0)


def few_labels(labels=MOON, each=6, unlabelled=-1, dtype=int):
    y = np.full(len(labels), unlabelled, dtype=dtype)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)[:each]
        y[rows] = label
    return y


Y = few_labels()


@pytest.mark.parametrize("y", [None, np.full(120, -1), [None] * 120, np.full(120, np.nan)], ids=str)
@pytest.mark.parametrize("kernel", [KERNEL, Warped(KERNEL), Linear()], ids=lambda k: type(k).__name__)
def test_without_labels_it_is_kernel_pca(kernel, y):
    model = SemiSupervisedKernelPCA(2, kernel=kernel).fit(X, y)
    pca = KernelPCA(2, kernel=kernel).fit(X)
    np.testing.assert_allclose(model.explained_variance_, pca.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(model.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-7)
    np.testing.assert_allclose(model.transform(NEW), pca.transform(NEW), atol=1e-8)
    assert model.classes_.size == model.n_labelled_ == 0


def test_labels_tell_the_moons_apart():
    fit = lambda kernel: SemiSupervisedKernelPCA(2, kernel=kernel).fit(X, Y)
    for kernel in (KERNEL, Warped(Gaussian(10.0))):
        model = fit(kernel)
        assert np.mean((model.transform(X)[:, 0] > 0) == MOON) > 0.95
        assert model.classes_.tolist() == [0, 1] and model.n_labelled_ == 12
    frame = fit(KERNEL).subspace_.frame
    np.testing.assert_allclose(frame.inner(frame), np.eye(2), atol=1e-9)
    assert fit(KERNEL).multipliers_.shape == (2,)


@pytest.mark.parametrize(
    "y",
    [
        few_labels(dtype=float, unlabelled=np.nan),
        few_labels().tolist(),
        [None if label == -1 else label for label in Y],
        np.where(Y == -1, "", np.array(["a", "b"])[Y]),
        np.array([None if label == -1 else "ab"[label] for label in Y], dtype=object),
        [-1 if label == -1 else "ab"[label] for label in Y],
        np.array([np.nan if label == -1 else "ab"[label] for label in Y], dtype=object),
    ],
    ids=["NaN", "list", "None", "empty strings", "None and strings", "list of -1 and strings", "NaN and strings"],
)
def test_marks_of_unlabelled_rows_mean_the_same(y):
    expected = SemiSupervisedKernelPCA(kernel=KERNEL).fit(X, Y)
    model = SemiSupervisedKernelPCA(kernel=KERNEL).fit(X, y)
    assert model.n_labelled_ == 12
    np.testing.assert_allclose(model.transform(NEW), expected.transform(NEW), atol=1e-10)


def test_frames_with_missing_values_are_read():
    pandas = pytest.importorskip("pandas")
    y = pandas.array([pandas.NA if label == -1 else label for label in Y], dtype="Int64")
    model = SemiSupervisedKernelPCA(kernel=KERNEL).fit(pandas.DataFrame(X, columns=["a", "b"]), pandas.Series(y))
    assert model.n_labelled_ == 12 and list(model.feature_names_in_) == ["a", "b"]


def test_bad_labels_say_what_to_do():
    fit = lambda y, **parameters: SemiSupervisedKernelPCA(kernel=KERNEL, **parameters).fit(X, y)
    with pytest.raises(ValueError, match=r"np\.where\(y == -1, 0, y\)"):
        fit(2 * MOON - 1)
    with pytest.raises(ValueError, match=r"np\.where\(y == -1, 0, y\)"):
        fit((2 * MOON - 1).astype(float))
    with pytest.raises(ValueError, match="120 rows of X but 7 of y"):
        fit(MOON[:7])
    with pytest.raises(ValueError, match="continuous"):
        fit(X[:, 0])
    with pytest.raises(ValueError, match="infinity"):
        fit(np.where(MOON == 0, np.inf, 1.0))
    with pytest.raises(ValueError, match="first_class is 7; the labelled classes are \\[0, 1\\]"):
        fit(Y, first_class=7)
    with pytest.raises(ValueError, match="y has 3"):
        fit(np.arange(120) % 3, encoding="two_class")
    with pytest.raises(ValueError, match="2 classes, the encoding has shape \\(3, 1\\)"):
        fit(Y, encoding=np.ones((3, 1)))
    with pytest.raises(ValueError, match="encoding"):
        fit(Y, encoding="unheard of")
    with pytest.raises(ValueError, match="finite targets"):
        fit(Y, encoding=[[np.inf], [1.0]])


def test_encodings_are_code_matrices():
    three = np.array(["a", "b", "c"])
    nan = np.nan
    np.testing.assert_array_equal(code_matrix(np.array([0, 1]), "auto", 3), [[-1, -1, -1], [1, 1, 1]])
    np.testing.assert_array_equal(code_matrix(np.array([0, 1]), "two_class", 2, 0), [[1, 1], [-1, -1]])
    np.testing.assert_array_equal(code_matrix(three, "auto", 5), [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    np.testing.assert_array_equal(code_matrix(three, "one_vs_rest", 5, "c"), [[-1, 1, -1], [-1, -1, 1], [1, -1, -1]])
    np.testing.assert_array_equal(code_matrix(three, "first", 5, "b"), [[-1], [1], [-1]])
    np.testing.assert_array_equal(code_matrix(np.array([4]), "auto", 2), [[1, 1]])
    codes = code_matrix(three, lambda classes, n: [[nan, index] for index, _ in enumerate(classes)], 2)
    np.testing.assert_array_equal(codes, [[nan, 0], [nan, 1], [nan, 2]])
    labels = partial_labels(SemiSupervisedKernelPCA(), ["b", None, "a", "a"], 4)
    targets = component_targets(labels, [[nan, 1.0], [nan, -2.0]], 2)
    assert targets[0] is None
    np.testing.assert_array_equal(targets[1], [-2, 1, 1])
    assert len(component_targets(labels, "one_vs_rest", 1)) == 1


def test_three_classes_have_a_component_each():
    rng = np.random.default_rng(0)
    label = np.arange(90) % 3
    data = rng.normal(size=(90, 2)) + 2.5 * np.array([[0, 0], [1, 1], [1, -1]])[label]
    y = few_labels(label, each=5)
    model = SemiSupervisedKernelPCA(4, gamma=0.5).fit(data, y)
    values = model.subspace_.frame(data)[:, :3]
    assert np.mean(np.argmax(values, axis=1) == label) > 0.85
    # The class that comes first is the first component's, whatever the order of the labels.
    first = SemiSupervisedKernelPCA(4, gamma=0.5, first_class=2).fit(data, y)
    renamed = SemiSupervisedKernelPCA(4, gamma=0.5).fit(data, np.where(y < 0, -1, (y + 1) % 3))
    np.testing.assert_allclose(first.transform(data)[:, 0], renamed.transform(data)[:, 0], atol=1e-8)
    assert np.mean((first.subspace_.frame(data)[:, 0] > 0) == (label == 2)) > 0.8


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(120)
    model, other = (SemiSupervisedKernelPCA(3, kernel=KERNEL).fit(X[rows], Y[rows]) for rows in (np.arange(120), order))
    np.testing.assert_allclose(model.transform(NEW), other.transform(NEW), atol=1e-7)


def test_the_way_back_with_a_linear_kernel_is_a_projection():
    data = np.random.default_rng(0).normal(size=(60, 4)) * [3.0, 2.0, 1.0, 0.5] + 1
    y = np.where(np.arange(60) < 20, data[:, 2] > 1, -1)
    model = SemiSupervisedKernelPCA(2, kernel="linear", preimage="exact").fit(data, y)
    V = model.subspace_.frame.points.T @ model.subspace_.frame.coefficients
    expected = data.mean(axis=0) + (data - data.mean(axis=0)) @ V @ V.T
    np.testing.assert_allclose(model.inverse_transform(model.transform(data)), expected, atol=1e-7)
    np.testing.assert_allclose(model.denoise(data), expected, atol=1e-7)


@pytest.mark.parametrize("preimage", ["gradient", "fixed_point", Gradient(0.1), FixedPoint(0.1, max_iter=5000)])
@pytest.mark.parametrize("kernel", [KERNEL, Warped(KERNEL)], ids=["plain", "warped"])
@pytest.mark.filterwarnings("ignore:.*did not converge")
def test_denoising_brings_points_nearer_to_their_targets(kernel, preimage):
    model = SemiSupervisedKernelPCA(6, kernel=kernel, preimage=preimage).fit(X, Y)
    result = model.find_preimages(model.transform(NEW), start=NEW)
    target = model.subspace_.embed(model.transform(NEW))
    before = np.diagonal(target.squared_distances(NEW))
    assert np.all(result.objective <= before + 1e-9) and np.mean(result.objective) < 0.9 * np.mean(before)
    np.testing.assert_allclose(model.denoise(NEW), result.points)
    assert np.linalg.norm(result.points - NEW, axis=1).max() < 1.5
    assert model.inverse_transform(model.transform(NEW)).shape == NEW.shape
    assert model.navigate(NEW[:1], X[:5], steps=4).shape == (4, 2)


def test_the_graph_denoises_better_than_its_kernel():
    clean, _ = make_moons(100, noise=0.0, random_state=3)
    noisy = clean + 0.15 * np.random.default_rng(0).normal(size=clean.shape)
    error = lambda kernel: np.mean((SemiSupervisedKernelPCA(3, kernel=kernel).fit(X, Y).denoise(noisy) - clean) ** 2)
    assert error(Warped(Gaussian(4.0))) < 0.5 * error(Gaussian(4.0))


def test_landmarks_come_close():
    exact = SemiSupervisedKernelPCA(3, kernel=KERNEL).fit(X, Y)
    for landmarks in (60, "kmeans", KMeans(60), "uniform"):
        model = SemiSupervisedKernelPCA(3, kernel=KERNEL, landmarks=landmarks).fit(X, Y)
        assert len(model.subspace_.frame.points) <= 120 and model.landmarks_ is not None
        np.testing.assert_allclose(model.transform(NEW), exact.transform(NEW), atol=0.05)
        assert np.isfinite(model.denoise(NEW)).all()
    unlabelled = SemiSupervisedKernelPCA(3, kernel=KERNEL, landmarks=60).fit(X)
    np.testing.assert_allclose(
        unlabelled.explained_variance_, KernelPCA(3, kernel=KERNEL, landmarks=60).fit(X).explained_variance_, rtol=1e-6
    )


def test_precomputed_values_do():
    model = SemiSupervisedKernelPCA(3, kernel=KERNEL).fit(X, Y)
    known = SemiSupervisedKernelPCA(3, kernel="precomputed").fit(KERNEL(X), Y)
    np.testing.assert_allclose(known.transform(KERNEL(NEW, X)), model.transform(NEW), atol=1e-9)
    with pytest.raises(UnsupportedKernelError, match="no inputs to go back to"):
        known.denoise(KERNEL(NEW, X))
    with pytest.raises(UnsupportedKernelError, match="Landmarks"):
        SemiSupervisedKernelPCA(3, kernel="precomputed", landmarks=10).fit(KERNEL(X), Y)


def test_sparse_rows_are_rows():
    data = np.where(np.abs(X) > 0.3, X, 0)
    dense = SemiSupervisedKernelPCA(3, kernel=Warped(KERNEL)).fit(data, Y)
    rows = SemiSupervisedKernelPCA(3, kernel=Warped(KERNEL)).fit(sparse.csr_matrix(data), Y)
    np.testing.assert_allclose(rows.transform(sparse.csr_matrix(NEW)), dense.transform(NEW), atol=1e-7)
    np.testing.assert_allclose(rows.denoise(NEW), dense.denoise(NEW), atol=1e-3)


@pytest.mark.parametrize("kernel", [KERNEL, Warped(KERNEL)], ids=["plain", "warped"])
def test_single_precision_comes_close(kernel):
    single = SemiSupervisedKernelPCA(3, kernel=kernel).fit(X.astype("f"), Y)
    double = SemiSupervisedKernelPCA(3, kernel=kernel).fit(X, Y)
    there = single.transform(NEW.astype("f"))
    assert there.dtype == single.explained_variance_.dtype == np.float32
    np.testing.assert_allclose(there, double.transform(NEW), atol=2e-3)
    assert single.denoise(NEW.astype("f")).dtype == np.float32


def test_array_libraries_agree(xp):
    fit = lambda data: SemiSupervisedKernelPCA(3, kernel=Warped(KERNEL)).fit(data, Y)
    model, expected = fit(xp.asarray(X)), fit(X)
    assert type(model.explained_variance_) is type(xp.asarray(X))
    np.testing.assert_allclose(to_numpy(model.transform(xp.asarray(NEW))), expected.transform(NEW), atol=1e-7)
    np.testing.assert_allclose(to_numpy(model.denoise(xp.asarray(NEW))), expected.denoise(NEW), atol=1e-4)


def test_extreme_parameters_stay_finite():
    for gamma in (1e-9, 1e-3, 1e6):
        for label_weight in (0.0, 1e-8, 1e8):
            for scale in (1e-6, 1e6):
                model = SemiSupervisedKernelPCA(2, gamma=gamma, label_weight=label_weight, scale=scale).fit(X, Y)
                frame = model.subspace_.frame
                np.testing.assert_allclose(frame.inner(frame), np.eye(2), atol=1e-5)


def test_parameters_beyond_double_precision_are_refused():
    with pytest.raises(ValueError, match="Lower label_weight=1e\\+100"):
        SemiSupervisedKernelPCA(2, gamma=1.0, label_weight=1e100).fit(X, Y)
    for scale in (1e-160, 1e160):
        with pytest.raises(ValueError, match="scale"):
            SemiSupervisedKernelPCA(2, gamma=1.0, scale=scale).fit(X, Y)
    # Labels that hardly weigh anything are no labels.
    faint = SemiSupervisedKernelPCA(2, gamma=1.0, label_weight=1e-160).fit(X, Y)
    none = SemiSupervisedKernelPCA(2, gamma=1.0).fit(X)
    np.testing.assert_allclose(np.abs(faint.transform(NEW)), np.abs(none.transform(NEW)), atol=1e-9)


def test_small_and_degenerate_data():
    model = SemiSupervisedKernelPCA(1, gamma=1.0).fit([[0.0], [1.0]], [0, 1])
    np.testing.assert_allclose(model.transform([[0.0], [1.0]])[:, 0] > 0, [False, True])
    with pytest.warns(RankWarning, match="only 1"):
        assert SemiSupervisedKernelPCA(2, kernel="linear").fit([[0.0], [1.0], [2.0]], [0, 1, -1]).n_components_ == 1
    with pytest.raises(ValueError, match="no variance"):
        SemiSupervisedKernelPCA(1, gamma=1.0).fit(np.ones((5, 2)), [0, 1, -1, -1, -1])
    one_class = SemiSupervisedKernelPCA(2, kernel=KERNEL).fit(X, np.where(Y == 0, 0, -1))
    assert one_class.transform(X)[MOON == 0, 0].mean() > one_class.transform(X)[MOON == 1, 0].mean()
    with pytest.raises(UnsupportedKernelError, match="positive semidefinite"):
        SemiSupervisedKernelPCA(2, kernel=Sigmoid(1.0, -1.0)).fit(X, Y)
    with pytest.raises(NotFittedError):
        SemiSupervisedKernelPCA().transform(X)
    with pytest.raises(ValueError, match="3 starts for 20 rows"):
        SemiSupervisedKernelPCA().fit(X, Y).find_preimages(np.zeros((20, 2)), start=NEW[:3])


def test_widths_from_class_means_look_at_labelled_rows():
    model = SemiSupervisedKernelPCA(2, gamma="enclosing_ball").fit(X, MOON)
    assert model.kernel_.gamma == with_class_widths(Gaussian("enclosing_ball"), X, MOON).gamma
    known = np.flatnonzero(Y != -1)
    part = SemiSupervisedKernelPCA(2, gamma="enclosing_ball").fit(X, Y)
    assert 0 < known.size < len(X)
    assert part.kernel_.gamma == with_class_widths(Gaussian("enclosing_ball"), X[known], MOON[known]).gamma
    with pytest.raises(ValueError, match="needs class labels y"):
        SemiSupervisedKernelPCA(2, gamma="enclosing_ball").fit(X, np.full(len(X), -1))
    with pytest.raises(ValueError, match="labels"):
        SemiSupervisedKernelPCA(2, kernel=Warped(Gaussian("enclosing_ball"))).fit(X)
    warped = SemiSupervisedKernelPCA(2, kernel=Warped(Gaussian("enclosing_ball"))).fit(X, MOON)
    assert warped.kernel_.kernel.gamma == model.kernel_.gamma


def test_it_works_in_pipelines_and_searches():
    y = MOON
    pipeline = make_pipeline(SemiSupervisedKernelPCA(2, kernel=Warped(Gaussian(4.0))), KNeighborsClassifier(3))
    grid = {
        "semisupervisedkernelpca__kernel__strength": [0.0, 1.0],
        "semisupervisedkernelpca__label_weight": [0.1, 2.0],
    }
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.95


def test_compressed_axes_come_close():
    model = SemiSupervisedKernelPCA(2, kernel=KERNEL).fit(X, Y)
    small = compress(model, 30, X=X)
    there, here = small.transform(NEW), model.transform(NEW)
    assert np.linalg.norm(there - here) < 0.2 * np.linalg.norm(here)


@pytest.mark.parametrize("strength", [0.0, 1.0])
def test_warped_kernels_work_in_every_estimator(strength):
    kernel = Warped(Gaussian("median"), strength=strength, laplacian="knn")
    plain = Gaussian("median")
    resolved = kernel.resolve(X)
    same = strength == 0.0

    def compare(fit, outcome):
        here, there = outcome(fit(kernel)), outcome(fit(plain))
        assert np.isfinite(here).all()
        assert np.allclose(here, there, atol=1e-6) == same

    compare(lambda k: KernelPCA(3, kernel=k).fit(X), lambda m: np.abs(m.transform(NEW)))
    compare(lambda k: KernelPCA(3, kernel=k, landmarks=40).fit(X), lambda m: m.explained_variance_)
    compare(lambda k: KernelFisherDiscriminant(kernel=k).fit(X, MOON), lambda m: m.decision_function(NEW))
    compare(lambda k: OrientedKernelPCA(2, kernel=k).fit(X), lambda m: m.ratios_)
    compare(lambda k: KernelKMeans(2, kernel=k, random_state=0).fit(X), lambda m: m.inertia_)
    pca = KernelPCA(4, kernel=kernel, preimage="gradient").fit(X)
    assert pca.denoise(NEW).shape == NEW.shape
    assert pca.kernel_.points is pca.subspace_.frame.points
    svc = SVC(kernel=resolved).fit(X, MOON)
    assert svc.score(X, MOON) > 0.9
    assert (svc.predict(NEW) == SVC(kernel="precomputed").fit(resolved(X), MOON).predict(resolved(NEW, X))).all()


@pytest.mark.parametrize(
    "kernel",
    [
        Warped(KERNEL),
        Warped(KERNEL, X[:30].tolist(), laplacian="knn", power=2),
        Warped(KERNEL, sparse.csr_matrix(X[:30]), laplacian=np.eye(30)),
    ],
    ids=["combinatorial", "knn", "sparse points, given Laplacian"],
)
def test_compressed_warped_models_can_be_saved(kernel, tmp_path, monkeypatch):
    model = KernelPCA(2, kernel=kernel).fit(X)
    small, path = compress(model, 20, X=X), tmp_path / "small.safetensors"
    small.save(path)
    np.testing.assert_allclose(load(path).transform(NEW), small.transform(NEW), atol=1e-10)
    monkeypatch.setattr("preimage.persistence._checks.MOST_GRAPH_POINTS", 10)
    with pytest.raises(ValueError, match="at most 10 points"):
        load(path)


@pytest.mark.parametrize(
    "model",
    [
        KernelPCA(2, kernel=Warped(KERNEL), landmarks=20),
        KernelFisherDiscriminant(kernel=Warped(KERNEL), landmarks=20),
        KernelKMeans(2, kernel=2.0 * Warped(KERNEL), landmarks=20, random_state=0),
        SemiSupervisedKernelPCA(2, kernel=Warped(KERNEL), landmarks=20),
    ],
    ids=lambda model: type(model).__name__,
)
def test_graphs_keep_their_points_when_the_data_change(model):
    data = X.copy()
    model.fit(data, MOON)
    before = model.transform(NEW)
    data[:] = 0.0
    np.testing.assert_array_equal(model.transform(NEW), before)


def test_models_with_graphs_are_pickled_without_them():
    model = SemiSupervisedKernelPCA(2, kernel=Warped(KERNEL)).fit(X, Y)
    data = pickle.dumps(model)
    again = pickle.loads(data)
    assert b"_graph" not in data and again.kernel_.points is again.subspace_.frame.points
    np.testing.assert_allclose(again.transform(NEW), model.transform(NEW), atol=1e-12)


def test_targets_of_the_subspace_are_the_papers_expansion():
    model = SemiSupervisedKernelPCA(3, kernel=KERNEL).fit(X, Y)
    A, beta = model.subspace_.frame.coefficients, model.transform(NEW)
    paper = Expansion(KERNEL, X, A @ beta.T + 1 / 120)
    np.testing.assert_allclose(paper(NEW), model.subspace_.embed(beta)(NEW), atol=1e-8)


@pytest.mark.parametrize("options", [{}, {"kernel": "precomputed"}], ids=str)
def test_weights_are_repetitions(options, rng):
    X = rng.normal(size=(40, 3))
    y = np.where(rng.random(40) < 0.4, (X[:, 0] > 0).astype(int), -1)
    weights = rng.integers(0, 4, 40)
    weights[y == 1] += 1  # both classes stay
    rows = np.repeat(np.arange(40), weights)
    K = np.exp(-0.3 * np.sum((X[:, None] - X[None]) ** 2, axis=2))
    given = K if options.get("kernel") else X
    copies = K[np.ix_(rows, rows)] if options.get("kernel") else X[rows]
    queries = K[:, rows] if options.get("kernel") else X
    settings = {"gamma": None if options.get("kernel") else 0.3, **options}
    weighted = SemiSupervisedKernelPCA(3, **settings).fit(given, y, sample_weight=weights)
    repeated = SemiSupervisedKernelPCA(3, **settings).fit(copies, y[rows])
    assert_allclose(weighted.explained_variance_, repeated.explained_variance_, rtol=1e-6)
    assert_allclose(weighted.transform(given), repeated.transform(queries), atol=1e-5)
