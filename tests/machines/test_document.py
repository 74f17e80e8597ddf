"""Files give back what was saved, or a ValueError: nothing else, whatever the bytes are."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVR

from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.interop import machine_of
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
    Warped,
)
from preimage.machines import (
    Binary,
    Coordinates,
    Detection,
    KernelMachine,
    OneVsOne,
    OneVsRest,
    Regression,
    machine_from_bytes,
    machine_to_bytes,
)

safetensors = pytest.importorskip("safetensors", reason="files are safetensors")

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
    Coordinates(2),
]


def machine(kernel=None, output=None, points=POINTS, **fields):
    kernel, output = kernel or Gaussian(0.1), output or Regression(2)
    k = output.n_functions + (output.kind == "transformer")
    coefficients = RNG.normal(size=(points.shape[0], k))
    d = 9 if isinstance(kernel, Precomputed) else points.shape[1]
    return KernelMachine(Expansion(kernel, points, coefficients), RNG.normal(size=k), output, d, **fields)


def again(machine, facts=None):
    return machine_from_bytes(machine_to_bytes(machine, facts))


def document_of(data):
    size = int.from_bytes(data[:8], "little")
    return json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["preimage"])


def with_document(data, document):
    """The same arrays under another description."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header["__metadata__"]["preimage"] = document if isinstance(document, str) else json.dumps(document)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data[8 + size :]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_every_kernel_comes_back(kernel):
    original = machine(kernel)
    loaded, _ = again(original)
    queries = RNG.normal(size=(5, 4))
    np.testing.assert_array_equal(loaded(queries), original(queries))
    assert type(loaded.expansion.kernel) is type(kernel)


@pytest.mark.parametrize("output", OUTPUTS, ids=str)
def test_every_output_comes_back(output):
    original = machine(output=output)
    loaded, _ = again(original)
    F = original(RNG.normal(size=(5, 4)))
    predicted = loaded.output.predict(F)
    np.testing.assert_array_equal(predicted, output.predict(F))
    assert predicted.dtype.kind == output.predict(F).dtype.kind


@pytest.mark.parametrize("points", [sparse.csr_array(POINTS), sparse.csr_matrix(POINTS), POINTS.astype(np.float32)])
def test_points_keep_their_form(points):
    original = machine(points=points)
    loaded, _ = again(original)
    assert type(loaded.expansion.points) is type(points) and loaded.expansion.points.dtype == points.dtype
    np.testing.assert_array_equal(loaded(points), original(points))


def test_names_weights_facts_and_precomputed_kernels_are_kept():
    fields = {"feature_names_in": np.array(["a", "b", "c", "d"], dtype=object), "weights": np.array([1.0, 2.0])}
    loaded, facts = again(machine(**fields), {"a": [1, None, "x", {"b": 0.5}]})
    assert loaded.feature_names_in.tolist() == ["a", "b", "c", "d"] and loaded.weights.tolist() == [1, 2]
    assert facts == {"a": [1, None, "x", {"b": 0.5}]}
    rows = RNG.normal(size=(3, 9))
    numbered = machine(Precomputed(), points=np.array([[0], [3], [8]]))
    np.testing.assert_array_equal(again(numbered)[0](rows), numbered(rows))


def test_kernels_that_hold_code_are_refused_with_advice():
    for kernel in (CallableKernel(np.dot), Gaussian(0.1) + CallableKernel(np.dot)):
        with pytest.raises(UnsupportedKernelError, match=r"CallableKernel cannot be written.*preimage\.kernels.*skops"):
            machine_to_bytes(machine(kernel))


def test_without_safetensors_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    with pytest.raises(ImportError, match=r"preimage\[persist\]"):
        machine_to_bytes(machine())


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
        machine_from_bytes(data)


def test_tensors_without_a_model_are_refused():
    from safetensors.numpy import save

    with pytest.raises(ValueError, match="no model of preimage"):
        machine_from_bytes(save({"a": np.zeros(2)}))


DEEP = {"class": "Gaussian", "parameters": {"gamma": 0.1}}
for _ in range(40):
    DEEP = {"class": "Scaled", "parameters": {"kernel": DEEP, "factor": 1.0}}


def graph(**parameters):
    """A warped kernel, described."""
    plain = {"class": "Gaussian", "parameters": {"gamma": 0.1}}
    usual = {"kernel": plain, "points": {"array": "points"}, "strength": 1.0, "laplacian": "knn"}
    return {"kernel": {"class": "Warped", "parameters": usual | {"n_neighbors": 3, "power": 1.0} | parameters}}


CHANGES = {
    "format": ({"format": "other"}, "no kernel machine"),
    "later version": ({"version": 99}, "version 99 of the format.*newer preimage"),
    "entry missing": ({"intercept": None}, "unknown way"),
    "unknown entry": ({"extra": 1}, "unknown ones: extra"),
    "no kernel class": ({"kernel": 3}, "class and parameters"),
    "unknown kernel": (
        {"kernel": {"class": "CallableKernel", "parameters": {}}},
        "No kernel has the name 'CallableKernel'",
    ),
    "dotted kernel": ({"kernel": {"class": "os.system", "parameters": {}}}, "No kernel has the name"),
    "solver as kernel": ({"kernel": {"class": "FixedPoint", "parameters": {}}}, "No kernel has the name"),
    "missing parameter": ({"kernel": {"class": "Gaussian", "parameters": {}}}, "has the parameters gamma"),
    "odd parameter": ({"kernel": {"class": "Linear", "parameters": {"__class__": 1}}}, "has the parameters none"),
    "negative gamma": ({"kernel": {"class": "Gaussian", "parameters": {"gamma": -1}}}, "gamma"),
    "infinite gamma": ({"kernel": {"class": "Gaussian", "parameters": {"gamma": 1e999}}}, "not the JSON|finite"),
    "huge gamma": ({"kernel": {"class": "Gaussian", "parameters": {"gamma": 10**400}}}, "no finite number"),
    "open gamma": ({"kernel": {"class": "Gaussian", "parameters": {"gamma": "median"}}}, "numbers as parameters"),
    "deep kernel": ({"kernel": DEEP}, "nested more than"),
    "array of nowhere": ({"points": {"array": "../../etc/passwd"}}, "no array"),
    "arrays swapped": ({"points": {"array": "intercept"}}, "points are needed|Points"),
    "other output": ({"output": {"class": "Detection", "state": {"offset": 0.0}}}, "for 1 functions"),
    "unknown output": ({"output": {"class": "eval", "state": {}}}, "No output has the name"),
    "wrong columns": ({"n_features_in": 5}, "Points of 5 floating columns"),
    "columns of text": ({"n_features_in": "4"}, "positive integer"),
    "few names": ({"feature_names_in": ["a"]}, "4 strings or null"),
    "facts of text": ({"facts": "x"}, "facts of the file must be a dictionary"),
    "graph of a word": (graph(points="points"), "rows of an array; the file has str"),
    "graph of a list": (graph(points=[1.0, 2.0]), "rows of an array; the file has tuple"),
    "graph of nothing": (graph(points=None), "numbers as parameters"),
    "unknown Laplacian": (graph(laplacian="other"), "combinatorial, normalized, knn"),
    "misfit Laplacian": (graph(laplacian={"array": "intercept"}), "Laplacian has shape"),
    "misfit weights": (
        {"kernel": {"class": "ScaledInputs", "parameters": {"kernel": DEEP["parameters"]["kernel"], "weights": 1}}},
        "nested|weights",
    ),
}


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES)
def test_wrong_descriptions_are_refused(change, message):
    data = machine_to_bytes(machine())
    with pytest.raises(ValueError, match=message):
        machine_from_bytes(with_document(data, document_of(data) | change))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "{" * 50, "1e999", "null", "[]", '{"format":"a","format":"b"}', "\ud800" * 2], ids=repr
)
def test_wrong_json_is_refused(text):
    data = machine_to_bytes(machine())
    with pytest.raises(ValueError):
        machine_from_bytes(with_document(data, text))


def test_values_that_are_not_finite_are_refused():
    broken = machine()
    broken.expansion.coefficients[0, 0] = np.nan
    with pytest.raises(ValueError, match="'coefficients' of the file has values that are not finite"):
        again(broken)


def test_a_file_can_be_cut_anywhere():
    data = machine_to_bytes(machine())
    for size in range(0, len(data), 7):
        with pytest.raises(ValueError):
            machine_from_bytes(data[:size])


SAMPLES = [
    machine_to_bytes(machine(kernel, output, points))
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
        loaded, _ = machine_from_bytes(damaged)
    except ValueError:
        return
    original, _ = machine_from_bytes(data)
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
    | st.sampled_from(["Gaussian", "points"]),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.sampled_from(["class", "array", "a"]), parts),
    max_leaves=6,
)


def places(node, path=()):
    """Where in a document something stands."""
    yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, part in items:
        yield from places(part, (*path, key))


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
        loaded, _ = machine_from_bytes(with_document(data, document))
    except ValueError:
        return
    with np.errstate(all="ignore"):
        assert loaded(POINTS).shape == (6, len(loaded.expansion))


def test_a_small_file_cannot_ask_for_all_the_memory():
    points = np.zeros((1, 2**16))
    data = machine_to_bytes(machine(points=points))
    kernel = {"image_shape": [256, 256], "patch": 4, "step": None, "degree": 2, "outer_degree": 1}
    kernel = {"class": "Patches", "parameters": kernel | {"window_width": None, "smoothing": 1.0}}
    with pytest.raises(ValueError, match="at most 16384 pixels"):
        machine_from_bytes(with_document(data, document_of(data) | {"kernel": kernel}))


@pytest.mark.parametrize("start", [b"\x80\x04", b"\x80\x05", b"PK"])
def test_headers_of_every_length_are_read(start):
    """A header of 1,152 bytes begins as a pickle does, one of 19,280 bytes as a ZIP archive."""
    machine = machine_of(SVR(kernel="linear").fit([[0.0], [1.0]], [0.0, 1.0]))
    shortest = int.from_bytes(machine_to_bytes(machine, {"padding": ""})[:8], "little")
    wanted = int.from_bytes(start, "little")
    # Headers are padded to multiples of eight bytes.
    data = machine_to_bytes(machine, {"padding": "x" * (wanted - shortest)})
    assert data[:2] == start
    assert machine_from_bytes(data)[0].expansion.kernel.is_same(machine.expansion.kernel)
