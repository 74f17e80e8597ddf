"""Files give back what was written, or a ValueError: nothing else, whatever the bytes are."""

import json
import pickle
import re
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from for_each import for_each
from hypothesis import example, given, settings
from hypothesis import strategies as st
from model_files import arrays_of, document_of, with_arrays, with_document, without_checksum
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import preimage
from preimage import (
    EmpiricalKernelMap,
    KernelFisherDiscriminant,
    KernelFisherDiscriminantCV,
    KernelImputer,
    KernelPCA,
    Renormalized,
)
from preimage._engine.objects import as_objects
from preimage._models.machines import (
    Binary,
    Coordinates,
    Detection,
    DistanceDetection,
    KernelMachine,
    OneVsOne,
    OneVsRest,
    Regression,
)
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.invariances import FunctionTransformation
from preimage.kernels import (
    CallableKernel,
    Constant,
    Cosine,
    Gaussian,
    Iterated,
    Laplacian,
    Linear,
    MappedInputs,
    Matern,
    Patches,
    Polynomial,
    Precomputed,
    ScaledInputs,
    Sigmoid,
    Strings,
    Sum,
    Warped,
)
from preimage.persistence._file import from_bytes, to_bytes
from preimage.persistence._safetensors import MOST_VALUES, parts_of_file

safetensors = pytest.importorskip("safetensors.numpy", reason="files are compared with those of the library")

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(6, 4))
KERNELS = [
    Gaussian(0.1),
    Laplacian(0.3) + Polynomial(2, 0.5, 0.1),
    Gaussian(0.1) * Matern(0.2, 2.5) + Constant(0.5),
    0.5 * Cosine() ** 2,
    ScaledInputs(Gaussian(0.1), [1.0, 2.0, 0.0, 1.0]),
    MappedInputs(Sigmoid(0.1), RNG.normal(size=(2, 4))),
    Patches((2, 2), patch=2, window_width=1.0),
    Iterated(Linear(), RNG.normal(size=(3, 4))),
    Iterated(Linear(), sparse.csr_array(np.eye(4))),
    Warped(Gaussian(0.1), RNG.normal(size=(5, 4)), laplacian=np.eye(5)),
    Warped(Gaussian(0.1), sparse.csr_array(np.eye(4)), laplacian="knn", n_neighbors=2),
]
OUTPUTS = [
    Binary(np.array([3, 8]), np.array([-1.5]), np.array([0.2])),
    Binary(np.array([True, False])),
    OneVsOne(np.array(["cat", "dog", "a long name"], dtype=object)),
    OneVsOne(np.array(["cat", "dog", "ox"]), "ovo"),
    OneVsRest(np.array([0.5, 1.5, 2.5]), constants=np.array([-1, 1, 0])),
    Regression(2),
    Detection(-0.3),
    DistanceDetection(3, 1.0, -0.3),
    Coordinates(2),
]


def machine(kernel=None, output=None, points=POINTS, **fields):
    kernel, output = kernel or Gaussian(0.1), output or Regression(2)
    k = output.n_functions + (output.kind == "transformer")
    coefficients = RNG.normal(size=(points.shape[0], k))
    d = 9 if isinstance(kernel, Precomputed) else points.shape[1]
    return KernelMachine(Expansion(kernel, points, coefficients), RNG.normal(size=k), output, d, **fields)


def again(value):
    return from_bytes(to_bytes(value))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_every_kernel_comes_back(kernel):
    original = machine(kernel)
    loaded = again(original)
    queries = RNG.normal(size=(5, 4))
    np.testing.assert_array_equal(loaded(queries), original(queries))
    assert type(loaded.expansion.kernel) is type(kernel)


def test_long_sums_come_back():
    original = machine(sum(Gaussian(0.1 * i) for i in range(1, 61)))
    np.testing.assert_array_equal(again(original)(POINTS), original(POINTS))


@pytest.mark.parametrize("output", OUTPUTS, ids=str)
def test_every_output_comes_back(output):
    original = machine(output=output)
    loaded = again(original)
    F = original(RNG.normal(size=(5, 4)))
    predicted = loaded.output.predict(F)
    np.testing.assert_array_equal(predicted, output.predict(F))
    assert predicted.dtype.kind == output.predict(F).dtype.kind


@pytest.mark.parametrize("points", [sparse.csr_array(POINTS), sparse.csr_matrix(POINTS), POINTS.astype(np.float32)])
def test_points_keep_their_form(points):
    original = machine(points=points)
    loaded = again(original)
    assert type(loaded.expansion.points) is type(points) and loaded.expansion.points.dtype == points.dtype
    np.testing.assert_array_equal(loaded(points), original(points))


def test_names_weights_and_precomputed_kernels_are_kept():
    fields = {"feature_names_in": np.array(["a", "b", "c", "d"], dtype=object), "weights": np.array([1.0, 2.0])}
    loaded = again(machine(**fields))
    assert loaded.feature_names_in.tolist() == ["a", "b", "c", "d"] and loaded.weights.tolist() == [1, 2]
    rows = RNG.normal(size=(3, 9))
    numbered = machine(Precomputed(), points=np.array([[0], [3], [8]]))
    np.testing.assert_array_equal(again(numbered)(rows), numbered(rows))


VALUES = [
    None,
    True,
    "text",
    -3,
    0.1,
    float("inf"),
    [1, [2.5, "x"], (3, None)],
    {"a": 1, 2: (), None: {"b": []}},
    np.float32(0.1),
    np.bool_(True),
    np.int64(-(2**62)),
    np.dtype("float32"),
    np.float64,
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_plain_values_keep_their_types(value):
    loaded = again(value)
    assert loaded == value and type(loaded) is type(value) and repr(loaded) == repr(value)


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(RNG.normal(size=(3, 2))),
        np.array([1.0, np.nan, -np.inf]),
        np.zeros((0, 3), np.float32),
        np.array(5, np.uint8),
        np.array(["a", "long name"]),
        np.array(["a", "b"], dtype=object),
        np.array([None, 1, "x"], dtype=object),
        np.array([[True], [False]]),
    ],
    ids=lambda array: f"{array.dtype} {array.shape}",
)
def test_arrays_keep_their_type_and_layout(array):
    loaded = again(array)
    np.testing.assert_array_equal(loaded, array)
    assert loaded.dtype == array.dtype and loaded.flags.f_contiguous == array.flags.f_contiguous


def test_what_is_shared_stays_shared():
    array, kernel = np.arange(3.0), Gaussian(0.5)
    first, second, (third, fourth) = again([array, kernel, (array, kernel)])
    assert first is third and second is fourth


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_random_generators_continue(make):
    original = make(3)
    original.normal(size=5)
    loaded = again(original)
    np.testing.assert_array_equal(loaded.normal(size=4), original.normal(size=4))
    assert type(loaded) is type(original)


def test_kernels_that_hold_code_are_refused_with_advice():
    for kernel in (CallableKernel(np.dot), Gaussian(0.1) + CallableKernel(np.dot)):
        with pytest.raises(UnsupportedKernelError, match=r"CallableKernel cannot be written.*preimage\.kernels.*skops"):
            to_bytes(machine(kernel))


class Stranger(LogisticRegression):
    pass


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (FunctionTransformation(np.roll), "FunctionTransformation cannot be written"),
        (make_pipeline(FunctionTransformer(np.log1p)), r"A function cannot be written.*steps\.0\.1\.func.*ufunc.*Keep"),
        (GridSearchCV(KernelPCA(), {}, scoring=make_scorer(max)), r"A function cannot be written.*scoring"),
        (Renormalized(Stranger()), r"Stranger cannot be written.*Renormalized\.estimator.*skops"),
        (RandomForestClassifier(), "RandomForestClassifier cannot be written"),
        ({"a": [object()]}, r"dict\.a\.0` is of the type builtins.object"),
        (np.array([1j]), "complex128 cannot be stored"),
        (np.longdouble(1), "cannot be stored|longdouble"),
        (np.random.Generator(np.random.Philox()), "default_rng"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_what_files_do_not_hold_is_refused_with_its_place(value, message):
    with pytest.raises(TypeError, match=message) as caught:
        to_bytes(value)
    assert caught.type is TypeError  # none of these is a kernel


def test_values_that_contain_themselves_are_refused():
    loop = []
    loop.append(loop)
    with pytest.raises(TypeError, match="contains itself"):
        to_bytes(loop)


def test_save_and_load_are_for_estimators(tmp_path):
    with pytest.raises(TypeError, match="save takes an estimator; got dict"):
        preimage.save({}, tmp_path / "model")
    (tmp_path / "model").write_bytes(to_bytes({}))
    with pytest.raises(ValueError, match="no estimator, but dict"):
        preimage.load(tmp_path / "model")


def test_scikit_learn_models_come_back_beside_ours():
    X, y = RNG.normal(size=(60, 4)), np.arange(60) % 3
    for last in (SVC(), LogisticRegression()):
        model = make_pipeline(StandardScaler(), KernelPCA(3, gamma=0.1), last).fit(X, y)
        np.testing.assert_array_equal(again(model).decision_function(X), model.decision_function(X))


def test_searches_come_back_with_what_they_tried():
    X, y = RNG.normal(size=(30, 4)), np.arange(30) % 2
    search = GridSearchCV(KernelFisherDiscriminant(), {"gamma": [0.1, 1.0]}, cv=2).fit(X, y)
    loaded = again(search)
    np.testing.assert_array_equal(loaded.decision_function(X), search.decision_function(X))
    assert loaded.cv_results_["param_gamma"].tolist() == [0.1, 1.0] and loaded.best_params_ == search.best_params_


@pytest.mark.parametrize("forged", [{}, {"_estimator": None}, {"_estimator": 3, "other": 1}])
def test_a_score_without_its_estimator_is_refused(forged):
    X, y = RNG.normal(size=(30, 4)), np.arange(30) % 2
    data = to_bytes(GridSearchCV(KernelFisherDiscriminant(), {"gamma": [0.1, 1.0]}, cv=2).fit(X, y))
    document = document_of(data)
    text = json.dumps(document)
    name = next(each for each in re.findall(r'"class": "([^"]*)"', text) if each.endswith("PassthroughScorer"))
    scorer = _parts(document, name)[0]
    scorer["state"] = forged
    with pytest.raises(ValueError, match="_estimator"):
        from_bytes(with_document(data, document))


def _parts(item, name):
    """The descriptions of objects of the class `name` inside of another."""
    if isinstance(item, dict):
        inside = [part for value in item.values() for part in _parts(value, name)]
        return [item, *inside] if item.get("class") == name else inside
    return [part for value in item for part in _parts(value, name)] if isinstance(item, list) else []


@pytest.mark.parametrize("scoring", ["neg_log_loss", ["accuracy", "roc_auc"]])
def test_searches_keep_scorers_by_name(scoring):
    X, y = RNG.normal(size=(30, 4)), np.arange(30) % 2
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2, scoring=scoring)
    search = search.set_params(refit="accuracy" if isinstance(scoring, list) else True).fit(X, y)
    assert again(search).score(X, y) == search.score(X, y)
    document = document_of(to_bytes(search))
    text = json.dumps(document).replace('{"scorer": "', '{"scorer": "un')
    with pytest.raises(ValueError, match="scorer that scikit-learn does not have"):
        from_bytes(with_document(to_bytes(search), text))


def test_column_transformers_and_stochastic_gradient_descent_come_back():
    X, y = RNG.normal(size=(30, 4)), np.arange(30) % 2
    columns = ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", "passthrough", slice(2, None))])
    for last in (LogisticRegression(), SGDClassifier()):
        model = make_pipeline(columns, KernelPCA(2, gamma=0.1), last).fit(X, y)
        np.testing.assert_array_equal(again(model).decision_function(X), model.decision_function(X))


def test_threads_may_write_one_file(tmp_path):
    models = [KernelPCA(2, gamma=0.1 * (i + 1)).fit(POINTS) for i in range(4)]

    def write_and_read(model):
        for _ in range(10):
            model.save(tmp_path / "model")
            assert preimage.load(tmp_path / "model").gamma in {each.gamma for each in models}

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write_and_read, models))
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_links_stay_links(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "model")
    KernelPCA(2, gamma=0.1).save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and preimage.load(tmp_path / "model").gamma == 0.1


def test_another_version_of_scikit_learn_is_told():
    data = to_bytes(LogisticRegression())
    with pytest.warns(UserWarning, match="0.1.2"):
        from_bytes(with_document(data, document_of(data) | {"scikit-learn": "0.1.2"}))


def test_files_are_those_of_the_safetensors_library(tmp_path):
    preimage.save(KernelPCA(2, gamma=0.1).fit(POINTS), tmp_path / "model.safetensors")
    data = (tmp_path / "model.safetensors").read_bytes()
    theirs, ours = safetensors.load(data), arrays_of(data)
    assert theirs.keys() == ours.keys()
    for name, array in ours.items():
        np.testing.assert_array_equal(theirs[name], array)
        assert theirs[name].dtype == array.dtype and theirs[name].shape == array.shape


def test_files_of_before_have_no_checksum_and_are_read():
    original = machine()
    np.testing.assert_array_equal(from_bytes(without_checksum(to_bytes(original)))(POINTS), original(POINTS))


@pytest.mark.parametrize("model", [EmpiricalKernelMap(gamma=0.3), KernelFisherDiscriminantCV(gammas=[0.3])])
def test_files_from_before_a_parameter_existed_are_read_with_its_default(model):
    model.fit(POINTS, np.arange(len(POINTS)) % 2)
    data = to_bytes(model)
    document = document_of(data)
    for name in ("random_state", "scoring", "landmarks_"):
        document["value"]["state"].pop(name, None)
    loaded = from_bytes(with_document(data, document))
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.transform(POINTS), model.transform(POINTS))


def test_streams_of_before_rows_were_whitened_go_on():
    X = np.random.default_rng(0).normal(size=(90, 2))
    model = KernelPCA(4, gamma=0.1, landmarks=30).fit(X[:60])
    document = document_of(to_bytes(model))
    (moments,) = _parts(document, "feature_space.KernelMoments")
    assert moments["state"].pop("factor") is None  # kernel values were summed, as they still are for few components
    loaded = from_bytes(with_document(to_bytes(model), document))
    assert np.array_equal(loaded.partial_fit(X[60:]).eigenvalues_, model.partial_fit(X[60:]).eigenvalues_)


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("code of a file was executed",))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "damaged, cut off"),
        (b"not a model at all", "damaged, cut off"),
        (pickle.dumps(Bomb(), protocol=4), "a pickle, which may hold code"),
        (pickle.dumps(Bomb(), protocol=0), "damaged, cut off"),
        (b"PK\x03\x04" + bytes(30), "ZIP archive"),
        (b"\xff" * 64, "damaged, cut off"),
    ],
)
def test_other_files_are_refused(data, message):
    with pytest.raises(ValueError, match=message):
        from_bytes(data)


def test_tensors_without_a_model_are_refused():
    from safetensors.numpy import save

    with pytest.raises(ValueError, match="no model of preimage"):
        from_bytes(save({"a": np.zeros(2)}))


GAUSSIAN = {"class": "kernels.Gaussian", "state": {"gamma": 0.1}}
DEEP = GAUSSIAN
for _ in range(120):
    DEEP = {"class": "kernels.Scaled", "state": {"kernel": DEEP, "factor": 1.0}}


def graph(**parameters):
    """A warped kernel, described."""
    usual = {"kernel": GAUSSIAN, "points": {"array": POINTS_NAME}, "strength": 1.0, "laplacian": "knn"}
    return {"class": "kernels.Warped", "state": usual | {"n_neighbors": 3, "power": 1.0} | parameters}


POINTS_NAME, INTERCEPT_NAME = "KernelMachine.expansion.points", "KernelMachine.intercept"
KERNEL = ("value", "state", "expansion", "state", "kernel")
EXPANSION = KERNEL[:-1]
CHANGES = {
    "format": (("format",), "other", "no model of preimage"),
    "format of before": (("format",), "preimage.kernel_machine", "format of an earlier preimage.*Compress"),
    "later version": (("version",), 99, "version 99 of the format.*newer preimage"),
    "unknown entry": (("extra",), 1, "unknown ones: 'extra'"),
    "version of scikit-learn": (("scikit-learn",), 1, "is text"),
    "no intercept": (("value", "state", "intercept"), None, "floating numbers as `intercept`; got NoneType"),
    "no kernel": (KERNEL, 3, "numbers as parameters; got 3"),
    "kernel with code": (KERNEL, {"class": "kernels.CallableKernel", "state": {}}, "does not store: 'kernels.Callable"),
    "class of Python": (KERNEL, {"class": "os.system", "state": {}}, "does not store: 'os.system'"),
    "class without a room": (KERNEL, {"class": "Gaussian", "state": {}}, "does not store"),
    "class of a number": (KERNEL, {"class": 3, "state": {}}, "does not store"),
    "private class": (KERNEL, {"class": "sklearn.svm._base", "state": {}}, "does not store"),
    "function of scikit-learn": (KERNEL, {"class": "sklearn.pipeline.make_pipeline", "state": {}}, "does not store"),
    "no state": (KERNEL, {"class": "kernels.Gaussian", "parameters": {}}, "class and a state"),
    "solver as kernel": (KERNEL, {"class": "solvers.Dense", "state": {}}, "does not store"),
    "missing parameter": (KERNEL, {"class": "kernels.Gaussian", "state": {}}, "has the fields gamma"),
    "odd parameter": (KERNEL, {"class": "kernels.Linear", "state": {"odd": 1}}, "has the fields none"),
    "dunder": (KERNEL, {"class": "kernels.Linear", "state": {"__class__": 1}}, "cannot be one"),
    "method": (EXPANSION, {"inner": 1}, "cannot be one"),
    "negative gamma": (KERNEL, {"class": "kernels.Gaussian", "state": {"gamma": -1}}, "gamma"),
    "infinite gamma": (KERNEL, {"class": "kernels.Gaussian", "state": {"gamma": 1e999}}, "not the JSON|gamma"),
    "huge gamma": (KERNEL, {"class": "kernels.Gaussian", "state": {"gamma": 10**400}}, "beyond all that we write"),
    "open gamma": (KERNEL, {"class": "kernels.Gaussian", "state": {"gamma": "median"}}, "numbers as parameters"),
    "deep kernel": (KERNEL, DEEP, "nested more than"),
    "array of nowhere": ((*EXPANSION, "points"), {"array": "../../etc/passwd"}, "no array"),
    "unknown kind": ((*EXPANSION, "points"), {"url": "x"}, "unknown kind"),
    "arrays swapped": ((*EXPANSION, "points"), {"array": INTERCEPT_NAME}, "points as rows"),
    "object of later": ((*EXPANSION, "points"), {"object": 7}, "does not have"),
    "other output": (
        ("value", "state", "output"),
        {"class": "machines.Detection", "state": {"offset": 0.0}},
        "for 1 f",
    ),
    "unknown output": (("value", "state", "output"), {"class": "machines.eval", "state": {}}, "does not store"),
    "wrong columns": (("value", "state", "n_features_in"), 5, "points of 5 columns"),
    "columns of text": (("value", "state", "n_features_in"), "4", "positive number of features"),
    "few names": (("value", "state", "feature_names_in"), ["a"], "4 strings"),
    "graph of a word": (KERNEL, graph(points="points"), "rows of an array; the file has str"),
    "graph of a list": (KERNEL, graph(points=[1.0, 2.0]), "rows of an array; the file has list"),
    "graph of nothing": (KERNEL, graph(points=None), "numbers as parameters"),
    "unknown Laplacian": (KERNEL, graph(laplacian="other"), "combinatorial, normalized, knn"),
    "misfit Laplacian": (KERNEL, graph(laplacian={"array": INTERCEPT_NAME}), "Laplacian has shape"),
    "misfit weights": (
        KERNEL,
        {"class": "kernels.ScaledInputs", "state": {"kernel": GAUSSIAN, "weights": 1}},
        "weights|fit",
    ),
}


def changed(data, path, value):
    """The same file with another value at one place of its description."""
    document = document_of(data)
    node = document
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = node.get(path[-1], {}) | value if path == EXPANSION else value
    return with_document(data, document)


@for_each(("path", "value", "message"), CHANGES.values(), ids=CHANGES)
def test_wrong_descriptions_are_refused(path, value, message):
    with pytest.raises(ValueError, match=message):
        from_bytes(changed(to_bytes(machine()), path, value))


SVM = (("dual_coef_", "coefficients"), ("_dual_coef_", "coefficients"), ("_intercept_", "intercepts"))


@pytest.mark.parametrize(
    ("name", "message"), [*SVM, ("support_", "support vectors"), ("_n_support", "support vectors")]
)
def test_sizes_that_libsvm_would_trust_are_checked(name, message):
    model = SVC().fit(POINTS, np.arange(6) % 3)
    setattr(model, name, getattr(model, name)[..., :-1])
    with pytest.raises(ValueError, match=message):
        again(model)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "{" * 50, "1e999", "null", "[]", '{"format":"a","format":"b"}', "\ud800" * 2], ids=len
)
def test_wrong_json_is_refused(text):
    data = to_bytes(machine())
    with pytest.raises(ValueError):
        from_bytes(with_document(data, text))


def test_values_that_are_not_finite_are_refused():
    broken = machine()
    broken.expansion.coefficients[0, 0] = np.nan
    with pytest.raises(ValueError, match="finite numbers as `coefficients`"):
        again(broken)


def test_a_file_can_be_cut_anywhere():
    data = to_bytes(machine())
    for size in range(0, len(data), 7):
        with pytest.raises(ValueError):
            from_bytes(data[:size])


SAMPLES = [
    to_bytes(machine(kernel, output, points))
    for kernel, output, points in [
        (Gaussian(0.1), OUTPUTS[0], POINTS),
        (ScaledInputs(Gaussian(0.1), np.ones(4)) + Linear(), OUTPUTS[2], sparse.csr_array(POINTS)),
        (Patches((2, 2), patch=2), OUTPUTS[7], POINTS.astype(np.float32)),
        (Warped(Gaussian(0.1), POINTS[:5], laplacian=np.eye(5)), OUTPUTS[0], POINTS),
    ]
]


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(SAMPLES),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=6),
    st.integers(0, 10**6),
    st.booleans(),
    st.booleans(),
)
def test_damaged_files_load_or_raise_value_error(data, changes, end, cut, at_the_front):
    damaged = bytearray(data)
    header = 8 + int.from_bytes(data[:8], "little")
    for place, value in changes:
        damaged[place % (header if at_the_front else len(damaged))] = value
    damaged = bytes(damaged[: end % len(data)] if cut else damaged)
    try:
        loaded = from_bytes(damaged)
    except ValueError:
        return
    original = from_bytes(data)
    assert loaded.expansion.points.shape == original.expansion.points.shape
    assert len(loaded.expansion) == len(original.expansion)
    with np.errstate(all="ignore"):
        assert loaded(POINTS).shape == original(POINTS).shape


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["kernels.Gaussian", "float64"]),
    lambda parts: (
        st.lists(parts, max_size=3)
        | st.dictionaries(st.sampled_from(["class", "state", "array", "tuple", "dict", "scalar"]), parts)
    ),
    max_leaves=6,
)


def places(node, path=()):
    """Where in a document something stands."""
    yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, part in items:
        yield from places(part, (*path, key))


@pytest.mark.net
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@settings(max_examples=400, deadline=None)
@given(st.sampled_from(SAMPLES), st.integers(0, 10**6), JSON, st.booleans())
def test_descriptions_with_anything_in_them_load_or_raise_value_error(data, number, value, drop):
    document = document_of(data)
    spots = list(places(document))[1:]
    *path, key = spots[number % len(spots)]
    node = document
    for step in path:
        node = node[step]
    if drop and isinstance(node, dict):
        del node[key]
    else:
        node[key] = value
    try:
        loaded = from_bytes(with_document(data, document))
    except ValueError:
        return
    if not isinstance(loaded, KernelMachine):  # another value in its place
        return
    with np.errstate(all="ignore"):
        assert loaded(POINTS).shape == (6, len(loaded.expansion))


FITTED = to_bytes(KernelPCA(2, gamma=0.1, landmarks=4, random_state=0).partial_fit(POINTS))


@pytest.mark.net
@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), JSON, st.booleans())
@example(1, {"learned": None}, False)  # in place of the whole state
def test_estimators_with_anything_in_them_load_or_raise_value_error(number, value, drop):
    document = document_of(FITTED)
    spots = [path for path in places(document["value"]) if path]
    *path, key = spots[number % len(spots)]
    node = document["value"]
    for step in path:
        node = node[step]
    if drop and isinstance(node, dict):
        del node[key]
    else:
        node[key] = value
    try:
        loaded = from_bytes(with_document(FITTED, document))
    except ValueError:
        return
    new_names = {key, *value} if isinstance(value, dict) else {key}
    assert not isinstance(loaded, KernelPCA) or set(vars(loaded)) <= {*vars(from_bytes(FITTED)), *new_names}


@pytest.mark.parametrize(
    ("name", "value"), [("_skl_callbacks", [1]), ("subspace_", None), ("n_features_in_", 3), ("n_features_in_", 5)]
)
def test_fitted_models_that_cannot_work_are_refused(name, value):
    document = document_of(FITTED)
    document["value"]["state"][name] = value
    with pytest.raises(ValueError, match=r"needs|cannot be one"):
        from_bytes(with_document(FITTED, document))


@pytest.mark.parametrize(
    ("part", "change"),
    [("indptr", {-1: 0}), ("indptr", {0: 2}), ("indptr", {1: 10**6}), ("indices", {0: 4}), ("indices", {1: -1})],
)
def test_sparse_points_that_would_be_read_beyond_their_end_are_refused(part, change):
    points = sparse.csr_array(POINTS)
    data = to_bytes(machine(points=points))
    arrays = arrays_of(data)
    array = next(array for name, array in arrays.items() if name.endswith(part))
    for place, value in change.items():
        array[place] = value
    with pytest.raises(ValueError, match="does not fit its shape"):
        from_bytes(with_arrays(data, arrays))


def test_a_small_file_cannot_ask_for_endless_time():
    kernel = Gaussian(0.5)
    for _ in range(80):
        kernel = Sum(kernel, kernel)
    with pytest.raises(ValueError, match="at most 10000 parts"):
        from_bytes(to_bytes(kernel))


def test_a_small_file_cannot_ask_for_all_the_memory():
    data = to_bytes(machine(points=np.zeros((1, 2**16))))
    state = {"image_shape": {"tuple": [256, 256]}, "patch": 4, "step": None, "degree": 2, "outer_degree": 1}
    kernel = {"class": "kernels.Patches", "state": state | {"window_width": None, "smoothing": 1.0}}
    with pytest.raises(ValueError, match="at most 16384 pixels"):
        from_bytes(changed(data, KERNEL, kernel))


def _wide_sampler(state, arrays):
    """Rows of 10,000 columns for each of 20,000: 1.6 GB."""
    state |= {"sample_steps": 5000, "n_features_in_": 20_000}


def _wide_encoder(state, arrays):
    """An array of 200,000 categories for each of 300 columns: 480 MB."""
    for name in [name for name in arrays if "categories_" in name]:
        del arrays[name]
    arrays["many"] = np.arange(200_000.0)
    state |= {"categories_": [{"array": "many"}] * 300, "n_features_in_": 300, "_n_features_outs": [200_000] * 300}


def _wide_union(state, arrays):
    """A million columns, 300 times: 2.4 GB."""
    scaler = state["transformer_list"][0]["tuple"][1]["state"]
    scaler |= {"n_features_in_": 10**6, "with_mean": False, "with_std": False}
    scaler |= dict.fromkeys(("mean_", "scale_", "var_"))
    state["transformer_list"] += [{"tuple": ["more", "passthrough"]}] * 300


@pytest.mark.parametrize(
    ("first", "forge"),
    [
        (AdditiveChi2Sampler(sample_steps=2, sample_interval=0.5), _wide_sampler),
        (OneHotEncoder(sparse_output=False), _wide_encoder),
        (FeatureUnion([("scaled", StandardScaler())]), _wide_union),
    ],
    ids=["sampler", "encoder", "union"],
)
def test_steps_of_a_pipeline_that_make_rows_wide_are_not_tried(first, forge):
    data = to_bytes(make_pipeline(first, KernelPCA(2, gamma=0.5)).fit(np.abs(np.round(POINTS))))
    document, arrays = document_of(data), arrays_of(data)
    forge(document["value"]["state"]["steps"][0]["tuple"][1]["state"], arrays)
    forged = b"".join(parts_of_file(json.dumps(document), arrays))
    tracemalloc.start()
    from_bytes(forged)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000_000 + len(forged)


@pytest.mark.parametrize("first", [StandardScaler(), PCA(2)], ids=str)
def test_the_last_step_of_a_pipeline_is_tried(first):
    pipeline = make_pipeline(first, KernelFisherDiscriminant(gamma=0.5)).fit(POINTS, [0, 1, 2, 0, 1, 2])
    pipeline.steps[-1][1].expansion_ = 3
    with pytest.raises(ValueError, match="Pipeline of the file has parts that do not fit"):
        from_bytes(to_bytes(pipeline))


def test_texts_of_a_file_do_not_reach_the_terminal_as_they_are():
    document = document_of(FITTED)
    with pytest.raises(ValueError, match="unknown ones") as caught:
        from_bytes(with_document(FITTED, document | {"\x1b[31mX": 1}))
    assert str(caught.value).isprintable() and "x1b[31mX" in str(caught.value)
    (name, *_) = arrays_of(FITTED)
    with pytest.raises(ValueError, match="has no array") as caught:
        from_bytes(with_arrays(FITTED, {f"{name}\x1b[31m": np.zeros(1)}))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("start", [b"\x80\x04", b"\x80\x05", b"PK"])
def test_headers_of_every_length_are_read(start):
    """A header of 1,152 bytes begins as a pickle does, one of 19,280 bytes as a ZIP archive."""
    shortest = int.from_bytes(to_bytes([""])[:8], "little")
    wanted = int.from_bytes(start, "little")
    # Headers are padded to multiples of eight bytes.
    padding = "x" * (wanted - shortest)
    data = to_bytes([padding])
    assert data[:2] == start
    assert from_bytes(data) == [padding]


def test_a_file_does_not_choose_where_pipelines_cache(tmp_path):
    model = make_pipeline(StandardScaler(), LogisticRegression(), memory=str(tmp_path))
    assert again(model).memory is None
    data = to_bytes(model)
    with pytest.raises(ValueError, match=r"pipeline\.Pipeline"):
        from_bytes(changed(data, ("value", "state", "memory"), str(tmp_path))).fit(POINTS, np.arange(6) % 2)


@pytest.mark.parametrize("name", ["sklearn.pipeline.defaultdict", "sklearn.pipeline.Bunch", "sklearn.svm.Bounds"])
def test_what_scikit_learn_imports_is_no_model(name):
    data = to_bytes(machine())
    with pytest.raises(ValueError, match="does not store"):
        from_bytes(changed(data, KERNEL, {"class": name, "state": {}}))


@pytest.mark.parametrize("room", [*(pytest.param(room, marks=pytest.mark.net) for room in (30, 9, 8, 5)), 7, 6])
def test_what_is_written_can_be_read_however_many_names_it_has(room):
    names = ["a"] * (MOST_VALUES - room)
    data = None
    with suppress(ValueError):  # too many for a file
        data = to_bytes(names)
    assert from_bytes(data) == names if data is not None else room < 10


def test_arrays_of_text_that_could_not_be_read_are_not_written():
    texts = np.array(["a" * 2**12] + ["b"] * 2**12)
    with pytest.raises(ValueError, match=r"4097 texts.*dtype=object"):
        to_bytes({"texts": texts})
    assert from_bytes(to_bytes({"texts": texts.astype(object)}))["texts"][1] == "b"


def test_imputers_are_tried_on_a_gap():
    """A row of zeros has none, and asks nothing of the parts that fill."""
    model = KernelImputer(random_state=0).fit(np.where(np.eye(*POINTS.shape, dtype=bool), np.nan, POINTS))
    del model.scale_
    with pytest.raises(ValueError, match="KernelImputer of the file has parts that do not fit"):
        from_bytes(to_bytes(model))


TEXTS = as_objects("", ["kernel", "", "été", "\ud800", "a\x00", "𝔘" * 5, "comma, [brackets] {braces}"])


def of_texts():
    return machine(Strings.spectrum(2) + 0.5 * Strings.blended(3) + 1, points=TEXTS)


def test_texts_come_back_letter_by_letter():
    original = of_texts()
    loaded = again(original)
    assert loaded.expansion.points.tolist() == TEXTS.tolist() and loaded.expansion.points.dtype == object
    queries = Strings().rows(["kern", "éte", ""])
    np.testing.assert_array_equal(loaded(queries), original(queries))
    pair = again((original.expansion, Expansion(Strings(), original.expansion.points, np.eye(len(TEXTS)))))
    assert pair[0].points is pair[1].points  # which are written once
    empty = again(Expansion(Strings(), TEXTS[:0], np.zeros((0, 1))))
    assert empty.points.shape == (0, 1)


def test_long_and_many_texts_have_files():
    """A header would be too long: it counts commas, of which texts have many."""
    points = as_objects("", ["a, b, c, " * 100_000, *map(str, range(20_000))])
    loaded = again(Expansion(Strings(1), points, np.ones((len(points), 1))))
    assert loaded.points.tolist() == points.tolist()


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("ends", lambda ends: ends[::-1]),
        ("ends", lambda ends: ends + 1),
        ("ends", lambda ends: ends - 1),
        ("ends", lambda ends: ends[:-1]),
        ("ends", lambda ends: ends.astype(np.int32)),
        ("ends", lambda ends: ends[:, None]),
        ("ends", lambda ends: np.r_[-3, ends[1:]]),
        ("ends", lambda ends: np.r_[ends[:-1], 2**62]),
        ("ends", lambda ends: np.zeros(0, dtype=np.int64)),
        ("letters", lambda letters: letters[:-1]),
        ("letters", lambda letters: letters.astype(np.int64)),
        ("letters", lambda letters: np.full_like(letters, 255)),
    ],
)
def test_texts_that_do_not_end_where_they_should_are_refused(part, change):
    data = to_bytes(of_texts())
    arrays = arrays_of(data)
    name = next(name for name in arrays if name.endswith(f".{part}"))
    with pytest.raises(ValueError, match=r"letters|utf-8|do not fit"):
        from_bytes(with_arrays(data, {**arrays, name: np.ascontiguousarray(change(arrays[name]))}))


@pytest.mark.parametrize(
    ("kernel", "points"),
    [
        (Gaussian(0.1), TEXTS),
        (Strings(), POINTS),
        (Strings(2, 3), TEXTS),
        (Constant(1.0) + Linear(), TEXTS),
    ],
)
def test_kernels_that_do_not_fit_their_rows_are_refused(kernel, points):
    expansion = Expansion(Strings() if points is TEXTS else Linear(), points, np.ones((len(points), 1)))
    expansion.kernel = kernel
    data = to_bytes(expansion)
    with pytest.raises(ValueError, match=r"kernel|fit"):
        from_bytes(data)


def test_objects_other_than_texts_have_no_file():
    points = as_objects("", [{1}, {2}])
    with pytest.raises(TypeError, match="set"):
        to_bytes(Expansion(Constant(1.0), points, np.ones((2, 1))))
    data = to_bytes(Expansion(Strings(), TEXTS, np.ones((len(TEXTS), 1))))
    document = document_of(data)
    reference = {"objects": [[1]] * len(TEXTS), "shape": [len(TEXTS), 1], "type": "O"}
    document["value"]["state"]["points"] = reference
    with pytest.raises(ValueError, match="texts as points"):
        from_bytes(with_document(data, document))
