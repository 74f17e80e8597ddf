"""Laws of estimators on objects: texts, sets and graphs. A new estimator joins by one line of `CASES`."""

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from all_estimators import public_estimators
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

import preimage
from preimage import (
    CompressedClassifier,
    EmpiricalKernelMap,
    FeatureSpaceNeighbors,
    FeatureSpaceNeighborsClassifier,
    FeatureSpaceNeighborsRegressor,
    KernelFisherDiscriminant,
    KernelFisherDiscriminantCV,
    KernelImputer,
    KernelKMeans,
    KernelNoveltyDetector,
    KernelPCA,
    KernelProjectionPursuit,
    LinearProgrammingClassifier,
    LinearProgrammingRegressor,
    OrientedKernelPCA,
    SemiSupervisedKernelPCA,
    SparseGreedyClassifier,
    SparseGreedyDetector,
    SparseGreedyRegressor,
    SparseKernelFeatureAnalysis,
    explore,
    report_progress,
    to_onnx,
)
from preimage.exceptions import UnsupportedKernelError
from preimage.geometry import mercer_report
from preimage.invariances import TimeShift
from preimage.kernels import CallableKernel, Normalized, Strings
from preimage.landmarks import SELECTORS
from preimage.solvers import PreimageResult

RNG = np.random.default_rng(0)


def words(letters, n):
    return ["".join(RNG.choice(list(letters), RNG.integers(3, 9))) for _ in range(n)]


X = words("aaabc", 20) + words("abccc", 20)
Y = np.repeat([0, 1], 20)
KERNEL = Strings.spectrum(2) + 0.5 * Strings.blended(2)


def jaccard(a, b):
    return len(a & b) / len(a | b) if a | b else 0.0


class Graph:
    """Nodes with labels and edges, known by nothing but itself: no equality, and items that are no items."""

    def __init__(self, text):
        self.labels, self.edges = text, list(pairwise(text))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, key):
        raise KeyError(key)


def edges(a, b):
    """Pairs of edges with equal labels."""
    return float(sum(one == other for one in a.edges for other in b.edges))


DATA = {
    "texts": (KERNEL, X),
    "sets": (jaccard, [set(text) | {text[:2]} for text in X]),
    "graphs": (Normalized(CallableKernel(edges, positive_semidefinite=True)), [Graph(text) for text in X]),
}
CASES = {
    "EmpiricalKernelMap": lambda kernel: EmpiricalKernelMap(kernel),
    "whitened map": lambda kernel: EmpiricalKernelMap(kernel, whiten=True),
    "map to landmarks": lambda kernel: EmpiricalKernelMap(kernel, landmarks=8),
    "FeatureSpaceNeighbors": lambda kernel: FeatureSpaceNeighbors(3, kernel=kernel),
    "neighbors by landmarks": lambda kernel: FeatureSpaceNeighbors(3, kernel=kernel, exact=False, landmarks=20),
    "FeatureSpaceNeighborsClassifier": lambda kernel: FeatureSpaceNeighborsClassifier(3, kernel=kernel),
    "FeatureSpaceNeighborsRegressor": lambda kernel: FeatureSpaceNeighborsRegressor(3, kernel=kernel),
    "KernelFisherDiscriminant": lambda kernel: KernelFisherDiscriminant(kernel=kernel),
    "Fisher on landmarks": lambda kernel: KernelFisherDiscriminant(kernel=kernel, landmarks=15, random_state=0),
    "sparse Fisher": lambda kernel: KernelFisherDiscriminant(kernel=kernel, sparsity=5),
    "KernelFisherDiscriminantCV": lambda kernel: KernelFisherDiscriminantCV(kernel=kernel, gammas=[None], cv=3),
    "KernelKMeans": lambda kernel: KernelKMeans(2, kernel=kernel, random_state=0),
    "k-means on landmarks": lambda kernel: KernelKMeans(2, kernel=kernel, landmarks=15, random_state=0),
    "KernelNoveltyDetector": lambda kernel: KernelNoveltyDetector(0.1, kernel=kernel),
    "detector on landmarks": lambda kernel: KernelNoveltyDetector(0.1, kernel=kernel, landmarks=15, random_state=0),
    "KernelPCA": lambda kernel: KernelPCA(3, kernel=kernel),
    "KernelPCA on landmarks": lambda kernel: KernelPCA(3, kernel=kernel, landmarks=15, random_state=0),
    "KernelProjectionPursuit": lambda kernel: KernelProjectionPursuit(2, n_principal=5, kernel=kernel),
    "LinearProgrammingClassifier": lambda kernel: LinearProgrammingClassifier(15, kernel=kernel),
    "LinearProgrammingRegressor": lambda kernel: LinearProgrammingRegressor(15, kernel=kernel),
    "SparseKernelFeatureAnalysis": lambda kernel: SparseKernelFeatureAnalysis(5, kernel=kernel),
    "SparseGreedyClassifier": lambda kernel: SparseGreedyClassifier(15, kernel=kernel),
    "logistic machine": lambda kernel: SparseGreedyClassifier(15, kernel=kernel, loss="logistic"),
    "SparseGreedyDetector": lambda kernel: SparseGreedyDetector(15, kernel=kernel),
    "SparseGreedyRegressor": lambda kernel: SparseGreedyRegressor(15, kernel=kernel),
}
TAKING = {name for name in CASES if name[0].isupper() and " " not in name}
ANSWERS = ("predict", "decision_function", "predict_proba", "transform", "score_samples", "kneighbors", "denoise")


def answers(model, rows):
    return {name: getattr(model, name)(rows) for name in ANSWERS if hasattr(model, name)}


def assert_same(one, other, **tolerance):
    assert one.keys() == other.keys() and one
    for name, value in one.items():
        for a, b in zip(np.atleast_1d(value), np.atleast_1d(other[name]), strict=True):
            if np.asarray(a).dtype.kind in "fiu":
                assert_allclose(a, b, atol=1e-9, err_msg=name, **tolerance)
            else:
                assert np.all(a == b), name


def test_the_list_has_every_estimator_that_takes_objects():
    assert {each.__name__ for each in public_estimators() if getattr(each, "_takes_objects", False)} == TAKING


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("name", CASES)
def test_routes_agree(name, kind):
    """Transformers fit and transform in one step; a clone, a pickle and another container give the same model."""
    kernel, rows = DATA[kind]
    model = CASES[name](kernel).fit(rows, Y)
    found = answers(model, rows)
    if hasattr(model, "fit_transform"):
        assert_allclose(clone(model).fit_transform(rows, Y), found["transform"], atol=1e-8)
    array = np.empty(len(rows), dtype=object)
    array[:] = rows
    assert_same(found, answers(clone(model).fit(array, Y), array))
    few = answers(model, rows[:3])
    assert few.keys() == found.keys()
    for each, value in found.items():
        first = tuple(part[:3] for part in value) if isinstance(value, tuple) else value[:3]
        assert_same({each: few[each]}, {each: first})
    if kind != "graphs":  # which are other ones after a pickle
        assert_same(found, answers(pickle.loads(pickle.dumps(model)), rows))


@pytest.mark.parametrize("name", CASES)
def test_values_are_all_that_counts(name):
    """A function with the same values gives the same model as a kernel on texts."""
    by_kernel = CASES[name](KERNEL).fit(X, Y)
    values = {(a, b): value for a, row in zip(X, KERNEL(X), strict=True) for b, value in zip(X, row, strict=True)}
    own = CallableKernel(lambda a, b: values[a, b], positive_semidefinite=True)
    by_function = CASES[name](own).fit(X, Y)
    assert_same(answers(by_kernel, X[:20]), answers(by_function, X[:20]), rtol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_files_of_texts(name, tmp_path):
    model = CASES[name](KERNEL).fit([*X, "", "\ud800é", "a\x00"], [*Y, 0, 1, 0])
    model.save(tmp_path / "model")
    again = preimage.load(tmp_path / "model")
    assert_same(answers(model, X[:9]), answers(again, X[:9]), rtol=0)
    assert not hasattr(again, "n_features_in_")


@pytest.mark.parametrize(
    "make", [list, tuple, np.array, pd.Series, pl.Series, lambda rows: pd.DataFrame({"text": rows})]
)
def test_containers_of_texts(make):
    model = KernelPCA(2, kernel=KERNEL).fit(make(X))
    assert_array_equal(model.transform(make(X[:5])), KernelPCA(2, kernel=KERNEL).fit(X).transform(X[:5]))
    assert model.inverse_transform(model.transform(make(X[:5]))).shape == (5,)


@pytest.mark.parametrize("kind", DATA)
def test_kernel_pca_is_that_of_the_matrix_of_values(kind):
    kernel, rows = DATA[kind]
    model = KernelPCA(4, kernel=kernel).fit(rows)
    K = model.kernel_(rows)
    given = KernelPCA(4, kernel="precomputed").fit(K)
    assert_allclose(model.eigenvalues_, given.eigenvalues_, rtol=1e-9)
    assert_allclose(np.abs(model.transform(rows[:7])), np.abs(given.transform(K[:7])), atol=1e-8)


def test_kernel_pca_of_counts_is_pca_of_counts():
    counts = CountVectorizer(analyzer="char", ngram_range=(1, 3)).fit(X)
    model = KernelPCA(4, kernel=Strings.blended(3, normalize=False)).fit(X)
    linear = PCA(4).fit(counts.transform(X).toarray())
    new = words("abcd", 9)
    assert_allclose(np.abs(model.transform(new)), np.abs(linear.transform(counts.transform(new).toarray())), atol=1e-8)


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("name", SELECTORS.names)
def test_all_rows_as_landmarks_are_the_exact_model(name, kind):
    kernel, rows = DATA[kind]
    make = lambda **options: KernelPCA(3, kernel=kernel, **options)
    if SELECTORS[name].make.__name__ == "KMeans":
        with pytest.raises(UnsupportedKernelError, match="KMeans needs inputs to average"):
            make(landmarks=name).fit(rows)
        return
    if kind == "sets" and name == "feature_analysis":
        kernel = CallableKernel(jaccard, positive_semidefinite=True)
    found = make(landmarks=SELECTORS[name].make(len(rows))).fit(rows)
    exact = make().fit(rows)
    assert_allclose(found.eigenvalues_, exact.eigenvalues_, rtol=1e-6)
    assert_allclose(np.abs(found.transform(rows)), np.abs(exact.transform(rows)), atol=1e-5)


@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize(
    "make",
    [
        lambda kernel: KernelPCA(3, kernel=kernel, landmarks=20),
        lambda kernel: KernelKMeans(2, kernel=kernel, landmarks=20, random_state=0),
        lambda kernel: KernelNoveltyDetector(0.1, kernel=kernel, landmarks=20),
        lambda kernel: KernelFisherDiscriminant(kernel=kernel, landmarks=20),
    ],
    ids=["KernelPCA", "KernelKMeans", "KernelNoveltyDetector", "KernelFisherDiscriminant"],
)
def test_streams(make, kind):
    kernel, rows = DATA[kind]
    blocks = [(rows[i::3], Y[i::3]) for i in range(3)]
    model = make(kernel)
    for block, labels in blocks:
        model.partial_fit(block, labels)
    is_classifier = hasattr(model, "classes_")
    again = make(kernel).fit(iter(blocks if is_classifier else [block for block, _ in blocks]))
    assert_same(answers(model, rows[:9]), answers(again, rows[:9]))


def test_training_rows_are_recognised():
    for kernel, rows in DATA.values():
        detector = KernelNoveltyDetector(0.1, kernel=kernel).fit(rows)
        assert_allclose(detector.score_samples(rows), detector.left_out_scores_)
        model = KernelPCA(7, kernel=kernel).fit(rows)
        assert model.denoise(rows, cross_fit=3).shape == model.denoise(rows, cross_fit="auto").shape == (40,)


@pytest.mark.parametrize("kind", ["texts", "graphs"])
def test_rows_are_judged_by_models_of_the_other_folds(kind):
    kernel, rows = DATA[kind]
    rows = [rows[X.index(text)] for text in sorted(set(X))]  # copies would share a fold
    folds = np.arange(len(rows)) % 2
    found = KernelPCA(4, kernel=kernel).fit(rows).reconstruction_error(rows, cross_fit=folds)
    for fold in (0, 1):
        others, own = [[rows[i] for i in np.flatnonzero(which)] for which in (folds != fold, folds == fold)]
        expected = KernelPCA(4, kernel=kernel).fit(others).reconstruction_error(own)
        assert_allclose(found[folds == fold], expected, atol=1e-9)


@pytest.mark.parametrize("options", [{"max_memory": 20_000}, {"n_jobs": 2}, {"eigen_solver": "block_krylov"}])
def test_memory_threads_and_eigensolvers(options):
    for kernel, rows in DATA.values():
        found, exact = KernelPCA(3, kernel=kernel, **options).fit(rows), KernelPCA(3, kernel=kernel).fit(rows)
        assert_allclose(found.eigenvalues_, exact.eigenvalues_, rtol=1e-6)


def test_weights_count_copies():
    weights = RNG.integers(0, 3, len(X))
    copies = [text for text, count in zip(X, weights, strict=True) for _ in range(count)]
    weighted = KernelPCA(3, kernel=KERNEL).fit(X, sample_weight=weights)
    assert_allclose(weighted.eigenvalues_, KernelPCA(3, kernel=KERNEL).fit(copies).eigenvalues_, rtol=1e-9)


def test_searches_and_pipelines():
    machine = SparseGreedyClassifier(15)
    search = GridSearchCV(machine, {"kernel": [Strings.spectrum(p) for p in (1, 2)], "alpha": [0.01, 0.1]}, cv=3)
    assert search.fit(X, Y).best_score_ > 0.7
    assert cross_val_score(KernelFisherDiscriminant(kernel=KERNEL), X, Y, cv=3).mean() > 0.7
    pipeline = make_pipeline(KernelPCA(10, kernel=KERNEL), LogisticRegression()).fit(X, Y)
    assert pipeline.score(X, Y) > 0.7
    search = GridSearchCV(pipeline, {"kernelpca__kernel__longest": [2, 3]}, cv=3)
    pipeline.set_params(kernelpca__kernel=Strings.blended(2))
    assert search.fit(X, Y).best_params_["kernelpca__kernel__longest"] in (2, 3)
    tags = get_tags(KernelPCA(kernel=KERNEL)).input_tags
    assert tags.string and not tags.two_d_array and get_tags(KernelPCA()).input_tags.two_d_array


def test_texts_with_nothing_in_common_are_named():
    with pytest.warns(UserWarning, match=r"texts need shorter substrings"):
        KernelPCA(2, kernel=Strings.spectrum(2)).fit(["ab", "cd", "ef", "gh"])


def test_rows_of_objects_have_no_columns():
    model = KernelPCA(2).fit(pd.DataFrame(np.eye(4), columns=list("abcd")))
    model.set_params(kernel=KERNEL).fit(X)
    assert not hasattr(model, "n_features_in_") and not hasattr(model, "feature_names_in_")
    assert model.get_feature_names_out().tolist() == ["kernelpca0", "kernelpca1"]
    assert model.set_output(transform="pandas").transform(X).columns.tolist() == ["kernelpca0", "kernelpca1"]
    assert model.set_output(transform="pandas").denoise(X[:3]).shape == (3,)
    assert model.X_fit_.shape == (len(X), 1)


def test_pre_images_are_rows():
    for kernel, rows in DATA.values():
        model = KernelPCA(3, kernel=kernel).fit(rows)
        for found in (
            model.inverse_transform(model.transform(rows[:4])),
            model.denoise(rows[:4]),
            model.navigate(rows[:2], rows[-2:], 4),
            model.find_preimages(model.transform(rows[:4])).points,
        ):
            assert found.shape == (4,) and all(any(each is row for row in rows) for each in found)
        assert isinstance(model.find_preimages(model.transform(rows[:4])), PreimageResult)


def test_functions_are_called_once_for_each_pair():
    calls = []

    def counted(a, b):
        calls.append((id(a), id(b)))
        return jaccard(a, b)

    rows = DATA["sets"][1]
    KernelPCA(2, kernel=CallableKernel(counted, positive_semidefinite=True)).fit(rows)
    pairs = {frozenset(pair) for pair in calls}
    n = len(rows)
    few = 16**2 + n  # symmetry is tried on 16 rows, and k(x, x) is asked for once
    assert len(pairs) == n * (n + 1) // 2 and len(calls) <= n * (n + 1) // 2 + 3 * few


def test_progress_of_slow_functions():
    seen = []
    with report_progress(lambda done, total, message: seen.append((done, total, message))):
        KernelPCA(2, kernel=jaccard).fit([set(text) for text in 4 * X])
    pairs = [(done, total) for done, total, message in seen if message == "Kernel values of pairs"]
    assert pairs[0][0] == 0 and pairs[-1][0] == pairs[-1][1] == 6  # tiles of 64 rows on one side of the diagonal


@pytest.mark.parametrize("error", [KeyError("x"), ZeroDivisionError("x"), TypeError("x"), np.linalg.LinAlgError("x")])
def test_errors_of_functions_come_out_as_they_are(error):
    def broken(a, b):
        raise error

    with pytest.raises(type(error)) as raised:
        KernelPCA(2, kernel=broken).fit(DATA["sets"][1])
    assert raised.value is error
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        KernelPCA(2, kernel=lambda a, b: np.linalg.inv(np.zeros((2, 2)))).fit(DATA["sets"][1])


letters = st.text(alphabet=st.sampled_from("ab \x00é\u0301𝔘\ud800"), max_size=12)
KERNELS = st.sampled_from(
    [Strings(1), Strings(3, 2), Strings.spectrum(4, normalize=False), KERNEL + 1, KERNEL * KERNEL]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(CASES)), KERNELS, st.lists(letters, max_size=12), st.lists(letters, max_size=4))
def test_any_texts_have_finite_answers_or_an_error_of_ours(name, kernel, rows, queries):
    labels = np.arange(len(rows)) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            found = answers(CASES[name](kernel).fit(rows, labels), queries)
        except (ValueError, UnsupportedKernelError):
            return
    for value in found.values():
        for part in value if isinstance(value, tuple) else (value,):
            assert len(part) == len(queries) and (part.dtype.kind != "f" or np.isfinite(part).all())


MODEL = KernelPCA(3, kernel=KERNEL).fit(X)
SETS = DATA["sets"][1]


@pytest.mark.filterwarnings("ignore:All kernel values")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MODEL.score(X), r"score.*needs rows of numbers.*score_samples"),
        (lambda: MODEL.impute(X), "impute needs rows of numbers"),
        (lambda: MODEL.transform(X, impute=True), "impute needs rows of numbers"),
        (lambda: MODEL.denoise(X, loss="huber"), "denoise with a `loss`"),
        (lambda: MODEL.component_images(), "component_images"),
        (lambda: KernelPCA(2, kernel=KERNEL, device="cuda").fit(X), "Leave `device` out"),
        (lambda: KernelPCA(2, kernel=KERNEL, fit_inverse_transform=True).fit(X), "preimage='nearest'"),
        (lambda: KernelKMeans(2, kernel=KERNEL, preimage="gradient").fit(X).cluster_preimages(), "preimage='nearest'"),
        (lambda: KernelImputer(kernel=KERNEL).fit(X), "KernelImputer needs"),
        (lambda: OrientedKernelPCA(2, kernel=KERNEL).fit(X), "OrientedKernelPCA needs rows of numbers"),
        (lambda: SemiSupervisedKernelPCA(2, kernel=KERNEL).fit(X, Y), "SemiSupervisedKernelPCA needs rows of numbers"),
        (lambda: OrientedKernelPCA(2, kernel=jaccard).fit(SETS), "OrientedKernelPCA needs rows of numbers"),
        (lambda: CompressedClassifier(SparseGreedyClassifier(9, kernel=KERNEL), 3).fit(X, Y), "CompressedClassifier"),
        (lambda: to_onnx(SparseGreedyClassifier(9, kernel=KERNEL).fit(X, Y)), "to_onnx needs rows of numbers"),
        (lambda: mercer_report(KERNEL, X), "mercer_report needs a kernel on rows of numbers"),
        (lambda: KernelKMeans(2, kernel=KERNEL, device="cuda").fit(X), "Leave `device` out"),
        (lambda: KernelFisherDiscriminant(kernel=KERNEL, invariances=[TimeShift()]).fit(X, Y), "invariances"),
        (lambda: explore(MODEL, X), "explore needs rows of numbers"),
        (lambda: explore(MODEL, np.eye(3)), "explore needs rows of numbers"),
        (lambda: MODEL.transform(np.eye(3)), "one object per row; got 3 columns"),
        (lambda: KernelPCA(2, kernel=jaccard).fit(SETS).transform(np.eye(3)), "fitted to objects of type set"),
        (lambda: KernelPCA(2, kernel=np.dot).fit(np.eye(3)).transform(X), "needs rows of numbers"),
        (lambda: KernelPCA(2).fit(X), "Strings.spectrum"),
        (lambda: KernelPCA(2).fit(np.array(X)[:, None]), "column 0 holds text.*Strings"),
        (lambda: KernelPCA(2).fit(pd.DataFrame({"name": X})), "column 'name' holds text.*Strings"),
        (lambda: KernelPCA(2, kernel=KERNEL).fit(["ab", None]), "row 1 is None"),
        (lambda: KernelPCA(2, kernel=KERNEL).fit([]), "0 sample"),
        (lambda: KernelPCA(2, kernel=KERNEL).fit(["ab"]), "1 sample"),
        (lambda: KernelPCA(2, kernel=Strings.spectrum(3)).fit(["", "ab"] * 3), "no variance"),
        (lambda: KernelPCA(2, kernel=KERNEL, gamma=1.0).fit(X), "carries its own parameters"),
        (lambda: KernelPCA(2, kernel=lambda a, b: len(a - b)).fit(SETS), "symmetric"),
        (lambda: KernelPCA(2, kernel=lambda a, b: np.nan).fit(SETS), "NaN or infinity for some pairs"),
        (lambda: KernelPCA(2, kernel=lambda a, b: "x").fit(SETS), "with a number"),
        (lambda: KernelPCA(2, kernel=lambda a, b: 1e200 * jaccard(a, b)).fit(SETS), "range of numbers"),
        (lambda: KernelPCA(2, kernel=jaccard).fit(SETS).save("model"), "holds no code"),
        (lambda: KernelPCA(2, kernel=jaccard, landmarks=9).fit(SETS).denoise(SETS, cross_fit=3), "landmarks=None"),
    ],
)
def test_refusals(call, message):
    with pytest.raises((TypeError, ValueError), match=rf"(?s){message}"):
        call()
