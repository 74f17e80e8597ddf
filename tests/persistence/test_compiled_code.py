"""Files whose indices, sizes or bytes would lead compiled code out of arrays are refused before it runs."""

from importlib import import_module

import numpy as np
import pytest
from for_each import for_each
from model_files import arrays_of, document_of, header_of, with_arrays, with_document
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.linear_model import Lasso, MultiTaskLasso, SGDClassifier, SGDOneClassSVM, SGDRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

from preimage import KernelPCA, OrientedKernelPCA
from preimage._engine.lapack import (
    cholesky_factor,
    cholesky_solve,
    largest_eigenpairs,
    positive_solve,
    symmetric_multiplier,
    triangular_solve,
)
from preimage.kernels import Gaussian
from preimage.model_selection import DenoisingSearch
from preimage.persistence._file import from_bytes, to_bytes
from preimage.persistence._registry import class_named

RNG = np.random.default_rng(0)
X, Y = np.abs(RNG.normal(size=(40, 3))), np.arange(40) % 3
GRAM, ROUNDED, LABELS = X @ X.T, np.round(X), [[1, 2], [3], [1]]
MACHINES = {
    "SVC": lambda: SVC().fit(X, Y),
    "SVC of two classes": lambda: SVC().fit(X, Y > 0),
    "SVC of sparse rows": lambda: SVC().fit(sparse.csr_array(X), Y),
    "SVC of a precomputed kernel": lambda: SVC(kernel="precomputed").fit(GRAM, Y),
    "SVC of a kernel of ours": lambda: SVC(kernel=Gaussian(0.5)).fit(X, Y),
    "NuSVC": lambda: NuSVC().fit(X, Y),
    "SVR": lambda: SVR().fit(X, X[:, 0]),
    "SVR of sparse rows": lambda: SVR().fit(sparse.csr_matrix(X), X[:, 0]),
    "OneClassSVM": lambda: OneClassSVM().fit(X),
}
OTHERS = {
    "SGDClassifier": lambda: SGDClassifier(average=True).fit(X, Y > 0),
    "SGDClassifier of three": lambda: SGDClassifier(average=True).fit(X, Y),
    "SGDRegressor": lambda: SGDRegressor(average=True).fit(X, Y),
    "SGDOneClassSVM": lambda: SGDOneClassSVM(average=True).fit(X),
    "Lasso": lambda: Lasso(0.01, warm_start=True).fit(X, Y),
    "MultiTaskLasso": lambda: MultiTaskLasso(0.01, warm_start=True).fit(X, X),
    "OneHotEncoder": lambda: OneHotEncoder(sparse_output=False).fit(ROUNDED),
    "encoder with NaN": lambda: OneHotEncoder(sparse_output=False, handle_unknown="ignore").fit([[1], [2], [np.nan]]),
    "encoder of rare ones": lambda: OneHotEncoder(min_frequency=14, drop="first", sparse_output=False).fit(ROUNDED),
    "encoder of words": lambda: OneHotEncoder(categories=[["b", "a"]]).fit(np.array([["a"], ["b"]], dtype=object)),
    "MultiLabelBinarizer": lambda: _binarizer(),
    "topics": lambda: LatentDirichletAllocation(2, max_iter=2, random_state=0).fit(X),
    "PolynomialFeatures": lambda: PolynomialFeatures((2, 3), include_bias=False).fit(X),
}


def _binarizer():
    binarizer = MultiLabelBinarizer().fit(LABELS)
    binarizer.transform(LABELS)  # it keeps the places of labels from now on
    return binarizer


@pytest.mark.parametrize("name", [*MACHINES, *OTHERS])
@pytest.mark.filterwarnings("error")
def test_right_files_are_loaded_without_a_warning(name):
    model = (MACHINES | OTHERS)[name]()
    again = from_bytes(to_bytes(model))
    rows = {"SVC of a precomputed kernel": GRAM, "MultiLabelBinarizer": LABELS}.get(name, ROUNDED)
    rows = np.array([[np.nan], [2.0], [7.0]]) if name == "encoder with NaN" else rows
    if name != "encoder of words":
        method = "predict" if hasattr(model, "predict") else "transform"
        np.testing.assert_array_equal(getattr(again, method)(rows), getattr(model, method)(rows))
    if hasattr(again, "partial_fit"):
        again.partial_fit(X, *([] if "OneClass" in name else [Y > 0 if name == "SGDClassifier" else Y]))


# What a forger writes in place of a learned attribute; none may reach libsvm.
FORGERIES = {
    "support_": [
        lambda a: a + 10**9,
        lambda a: a - 100,
        lambda a: a[:-1],
        lambda a: a.astype(np.int64),
        lambda a: a[None],
        lambda a: np.append(a, 1).astype(np.int32),
    ],
    "_n_support": [
        lambda a: a + np.int32(1),
        lambda a: a[:1],
        lambda a: np.append(a, 0).astype(np.int32),
        lambda a: np.array([2**31 - 1, -(2**31 - 1), *a[2:]], dtype=np.int32),
        lambda a: a * 0,
    ],
    "_dual_coef_": [lambda a: a[:, :-1], lambda a: a[:0], lambda a: a * 0 if sparse.issparse(a) else a[0]],
    "_intercept_": [lambda a: a[:0], lambda a: a.astype(np.float32), lambda a: np.append(a, a)],
    "_probA": [lambda a: np.ones(1), lambda a: np.ones(3), lambda a: np.ones(7)],
    "_probB": [lambda a: np.ones(1), lambda a: np.ones(3)],
    "shape_fit_": [lambda a: (10**9, 3) if len(a) > 2 else (1, 3), lambda a: None, lambda a: [40, 3], lambda a: (0, 0)],
    "_sparse": [lambda a: not a, lambda a: 2, lambda a: None],
    "_impl": [lambda a: "nu_svr"],
    "_effective_probability": [lambda a: True, lambda a: 1],
}


@pytest.mark.parametrize("name", MACHINES)
@for_each("attribute", FORGERIES)
def test_machines_that_libsvm_could_not_follow_are_refused(name, attribute):
    for forge in FORGERIES[attribute]:
        model = MACHINES[name]()
        if attribute == "_dual_coef_" and sparse.issparse(model._dual_coef_):
            forged = forge(model._dual_coef_)
            forged.eliminate_zeros()
        else:
            forged = forge(getattr(model, attribute, None))
        vars(model)[attribute] = forged
        with pytest.raises(ValueError, match=r"needs|parts that do not fit|cannot be one"):
            from_bytes(to_bytes(model))


@pytest.mark.parametrize("name", ["SVC", "SVC of sparse rows", "SVC of a kernel of ours"])
def test_a_machine_cannot_be_told_that_its_kernel_was_precomputed(name):
    model = MACHINES[name]()
    model.kernel = "precomputed"
    with pytest.raises(ValueError, match=r"sparse rows|columns of a precomputed|do not fit"):
        from_bytes(to_bytes(model))


def test_a_machine_of_one_class_is_refused():
    model = MACHINES["SVC of two classes"]()
    n = len(model.support_)
    model.classes_, model._n_support = np.zeros(1), np.array([n, 0], dtype=np.int32)
    model.dual_coef_ = model._dual_coef_ = np.zeros((0, n))
    model.intercept_ = model._intercept_ = np.zeros(0)
    with pytest.raises(ValueError, match="two or more classes"):
        from_bytes(to_bytes(model))


@for_each(
    ("name", "attribute", "forge"),
    [
        ("SGDClassifier", "_average_coef", lambda a: np.zeros((1, 1))),
        ("SGDClassifier", "_standard_coef", lambda a: np.zeros(2)),
        ("SGDClassifier of three", "_average_coef", lambda a: a[:, :1]),
        ("SGDClassifier of three", "coef_", lambda a: a[:, :1]),
        ("SGDClassifier of three", "intercept_", lambda a: a[:1]),
        ("SGDRegressor", "_average_coef", lambda a: a[:1]),
        ("SGDOneClassSVM", "_average_coef", lambda a: a[..., :1]),
        ("Lasso", "coef_", lambda a: a[:1]),
        ("MultiTaskLasso", "coef_", lambda a: a[:, :1]),
        ("OneHotEncoder", "categories_", lambda a: [each[::-1].copy() for each in a]),
        ("OneHotEncoder", "categories_", lambda a: a[:-1]),
        ("encoder with NaN", "categories_", lambda a: [np.array([np.nan, 1.0, 2.0])]),
        ("encoder with NaN", "categories_", lambda a: [np.array([1.0, np.nan, 2.0])]),
        ("encoder with NaN", "categories_", lambda a: [np.array([1.0, np.nan, np.nan])]),
        ("OneHotEncoder", "_n_features_outs", lambda a: [1, 1, 1]),
        ("OneHotEncoder", "_n_features_outs", lambda a: [10**12, 1, 1]),
        ("encoder of rare ones", "_default_to_infrequent_mappings", lambda a: [each + 10**8 for each in a]),
        ("encoder of rare ones", "_default_to_infrequent_mappings", lambda a: [-each - 10**8 for each in a]),
        ("encoder of rare ones", "_drop_idx_after_grouping", lambda a: np.array([10**9] * 3, dtype=object)),
        ("encoder of rare ones", "_drop_idx_after_grouping", lambda a: None),
        ("encoder of rare ones", "_infrequent_indices", lambda a: [each + 99 for each in a]),
        ("encoder of rare ones", "_infrequent_enabled", lambda a: False),
        ("MultiLabelBinarizer", "_cached_dict", lambda a: dict.fromkeys(a, 10**8)),
        ("MultiLabelBinarizer", "_cached_dict", lambda a: {**a, 9: 3}),
        ("topics", "components_", lambda a: a * -1e300),
        ("topics", "components_", lambda a: a * np.nan),
        ("topics", "topic_word_prior_", lambda a: -1e300),
        ("PolynomialFeatures", "_n_out_full", lambda a: 10**11),
        ("PolynomialFeatures", "n_output_features_", lambda a: 1),
        ("PolynomialFeatures", "_max_degree", lambda a: 10**9),
        ("PolynomialFeatures", "degree", lambda a: 10**9),
    ],
)
def test_other_learned_attributes_that_compiled_code_follows_are_checked(name, attribute, forge):
    model = OTHERS[name]()
    vars(model)[attribute] = forge(vars(model)[attribute])
    with pytest.raises(ValueError, match=r"needs|parts that do not fit"):
        from_bytes(to_bytes(model))


@pytest.mark.parametrize("position", ["10000000", "-7", "625"])
@pytest.mark.parametrize(
    "generator", [np.random.RandomState(0), np.random.Generator(np.random.MT19937(0))], ids=["legacy", "new"]
)
def test_random_generators_stay_inside_their_numbers(generator, position):
    data = to_bytes(KernelPCA(2, landmarks=5, random_state=generator))
    text = header_of(data)[0]["__metadata__"]["preimage"]
    assert '["pos","' in text
    start = text.index('["pos","') + len('["pos","')
    forged = text[:start] + position + text[text.index('"', start) :]
    with pytest.raises(ValueError, match="random generator"):
        from_bytes(with_document(data, forged))


def test_random_generators_that_would_draw_zeros_for_ever_are_refused():
    data = to_bytes(KernelPCA(2, landmarks=5, random_state=np.random.RandomState(0)))
    (name,) = arrays_of(data)
    with pytest.raises(ValueError, match="not all zero"):
        from_bytes(with_arrays(data, {name: np.zeros(624, dtype=np.uint32)}))
    data = to_bytes(KernelPCA(2, landmarks=5, random_state=np.random.default_rng(0)))
    text = header_of(data)[0]["__metadata__"]["preimage"]
    start = text.index('["inc","') + len('["inc","')
    with pytest.raises(ValueError, match="odd increment"):
        from_bytes(with_document(data, text[:start] + "2" + text[text.index('"', start) :]))


def test_booleans_are_zero_or_one():
    data = to_bytes(np.array([True, False, True]))
    (name,) = arrays_of(data)
    forged = with_arrays(data, {name: np.array([2, 0, 255], dtype=np.uint8).view(bool)})
    with pytest.raises(ValueError, match="neither true nor false"):
        from_bytes(forged)


def test_loading_starts_no_processes_and_refuses_a_million_of_them(monkeypatch):
    model = make_pipeline(FeatureUnion([("one", StandardScaler()), ("two", StandardScaler())]), KernelPCA(2)).fit(X)
    model.steps[0][1].n_jobs = 2  # after the fit, which would start them
    data = to_bytes(model)
    started = lambda *arguments, **options: pytest.fail("processes were started")
    monkeypatch.setattr("joblib._parallel_backends.get_memmapping_executor", started)
    assert from_bytes(data).steps[0][1].n_jobs == 2
    document = document_of(data)
    steps = document["value"]["state"]["steps"]
    steps[0]["tuple"][1]["state"]["n_jobs"] = 10**6
    with pytest.raises(ValueError, match="at most 1024 jobs"):
        from_bytes(with_document(data, document))


def test_parts_that_are_referred_to_twice_at_each_level_are_refused():
    data = to_bytes(StandardScaler().fit(X))
    document = document_of(data)
    value = document["value"]
    pair = lambda first, second: {
        "class": "sklearn.pipeline.FeatureUnion",
        "state": {
            "transformer_list": [{"tuple": ["a", first]}, {"tuple": ["b", second]}],
            "n_jobs": None,
            "transformer_weights": None,
            "verbose": False,
            "verbose_feature_names_out": True,
        },
    }
    for level in range(30):
        value = pair(value, {"object": level})
    document["value"] = value
    with pytest.raises(ValueError, match="refers to its parts so often"):
        from_bytes(with_document(data, document))


@pytest.mark.parametrize("name", ["sklearn.impute.IterativeImputer", "sklearn.model_selection.HalvingGridSearchCV"])
def test_experimental_classes_have_no_name_in_files(name, monkeypatch):
    module, _, attribute = name.rpartition(".")
    monkeypatch.delitem(vars(import_module(module)), attribute, raising=False)  # others may have asked for it
    with pytest.raises(ValueError, match="does not store"):
        class_named(name)


@pytest.mark.parametrize(
    ("attribute", "found"), [("preimage_", Gaussian(0.5)), ("kernel_", StandardScaler()), ("kernel_", "rbf")]
)
def test_learned_parts_that_are_used_late_are_of_their_kind(attribute, found):
    model = KernelPCA(2).fit(X)
    vars(model)[attribute] = found
    with pytest.raises(ValueError, match=f"as `{attribute}`"):
        from_bytes(to_bytes(model))


def test_a_search_has_kernel_pca_as_its_best_model():
    search = DenoisingSearch(n_components=[1, 2]).fit(X)
    search.best_estimator_ = OrientedKernelPCA(2).fit(X)
    with pytest.raises(ValueError, match="has a KernelPCA as `best_estimator_`"):
        from_bytes(to_bytes(search))


def test_matrices_that_do_not_fit_do_not_reach_lapack():
    tall, square, B = np.ones((5, 3)), np.eye(5), np.ones((3, 2))
    for call in [
        lambda: cholesky_factor(tall),
        lambda: largest_eigenpairs(tall, 2),
        lambda: symmetric_multiplier(tall),
        lambda: cholesky_solve(square, B),
        lambda: cholesky_solve(tall, np.ones((5, 2))),
        lambda: positive_solve(square.copy(), B),
        lambda: triangular_solve(square, B),
        lambda: triangular_solve(square, np.ones(5)),
    ]:
        with pytest.raises(ValueError, match="square matrix"):
            call()
