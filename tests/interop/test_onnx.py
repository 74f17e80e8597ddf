"""Graphs compute what the models do, in onnxruntime, for every kernel and every output."""

import numpy as np
import pytest
from cases import LABELS, inputs, labels, quietly, targets
from for_each import for_each
from sklearn.datasets import load_digits
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR, OneClassSVM

from preimage import KernelPCA, compress
from preimage._engine.arrays import array_namespace
from preimage._models.machines import (
    Binary,
    Calibrated,
    Coordinates,
    Detection,
    DistanceDetection,
    KernelMachine,
    Logistic,
    OneVsOne,
    OneVsRest,
    Regression,
)
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.interop import to_onnx
from preimage.kernels import KERNELS as NAMED
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
    Normalized,
    Patches,
    Polynomial,
    ProfileKernel,
    RationalQuadratic,
    ScaledInputs,
    Sigmoid,
    SquaredDistance,
    Warped,
)

onnx = pytest.importorskip("onnx", reason="export needs onnx")
runtime = pytest.importorskip("onnxruntime", reason="graphs run in onnxruntime")

RNG = np.random.default_rng(0)
DIGITS = load_digits().data[:260].astype(np.float32).astype(float) / 16
POINTS, QUERIES = DIGITS[:30], DIGITS[30:]


class Vanishing(ProfileKernel):
    """A user's kernel, of functions that ONNX lacks: nearly the square of the distance, with all digits."""

    pairwise = SquaredDistance()

    def profile(self, s):
        xp = array_namespace(s)
        return -1e18 * xp.expm1(-1e-9 * s) * xp.log1p(1e-9 * s)

    def profile_derivative(self, s):
        return 0 * s


KERNELS = {
    "user, of small numbers": Vanishing(),
    **{part.name: part.exemplar() for part in NAMED if "chi2" not in part.name and part.name != "precomputed"},
    "Gaussian": Gaussian(0.05),
    "narrow Gaussian": Gaussian(2.0),
    "Matern 0.5": Matern(0.05, 0.5),
    "Matern 1.5": Matern(0.05, 1.5),
    "Matern 2.5": Matern(0.05, 2.5),
    "Constant": Constant(0.7),
    "Normalized": Normalized(Polynomial(2, 0.1, 1.0)),
    "Normalized Gaussian": Normalized(Gaussian(0.05) + Laplacian(0.02)),
    "profile sum": Gaussian(0.05) + RationalQuadratic(0.1) * 0.5,
    "profile product": Gaussian(0.02) * Matern(0.02) + Constant(0.3),
    "sum": Gaussian(0.05) + Linear() * 0.1,
    "product": Gaussian(0.05) * Polynomial(2, 0.1),
    "scaled": 0.3 * Cosine(),
    "power": Cosine() ** 3,
    "profile power": Gaussian(0.02) ** 5,
    "ScaledInputs": ScaledInputs(Gaussian(0.05), RNG.uniform(size=64)),
    "MappedInputs": MappedInputs(Matern(0.05), RNG.normal(size=(10, 64)) / 8),
    "Patches": Patches((8, 8), patch=4, step=2, degree=2, outer_degree=2, window_width=2.0, smoothing=0.5),
    "Normalized Patches": Normalized(Patches((8, 8), degree=2)),
    "Iterated": Iterated(Sigmoid(0.02), DIGITS[60:80]),
    "Normalized Iterated": Normalized(Iterated(Gaussian(0.05), DIGITS[60:80])),
    "Warped": Warped(Gaussian(0.05), DIGITS[60:80], strength=2.0, laplacian="knn"),
}
STRINGS = np.array(["cat", "dog", "ox", "a long name"], dtype=object)
OUTPUTS = {
    "binary": Binary(np.array([3, 8]), np.array([-1.5]), np.array([0.2])),
    "one vs one": OneVsOne(STRINGS),
    "pairs": OneVsOne(np.arange(4), "ovo"),
    "broken ties": OneVsOne(np.arange(4), break_ties=True),
    "one vs rest": OneVsRest(np.arange(4), probA=-np.ones(4), probB=np.linspace(-0.5, 0.5, 4)),
    "two of one vs rest": OneVsRest(STRINGS[:2], probA=-np.ones(1), probB=np.zeros(1)),
    "labels": OneVsRest(np.arange(3), True, constants=np.array([-1, 1, -1]), probA=-np.ones(3), probB=np.zeros(3)),
    "one label": OneVsRest(np.array([5]), True, probA=-np.ones(1), probB=np.zeros(1)),
    "regression": Regression(),
    "regressions": Regression(3),
    "detection": Detection(0.5),
    "distances": DistanceDetection(3, 1.0, -0.75),
    "coordinates": Coordinates(3),
}
CURVES = (np.linspace(-0.4, 0.4, 8), np.array([0, 0.3, 0, 0.2, 0.6, 0.1, 0.5, 1]), np.array([2.0, 3.0, 1.0, 2.0]))
LINKED = {
    "softmax": Logistic(STRINGS),
    "sigmoid": Logistic(np.array([3, 8])),
    "sigmoids": Logistic(np.arange(4), "one_vs_rest"),
    "clipped": Logistic(np.arange(4), "clipped"),
    "two clipped": Logistic(STRINGS[:2], "clipped"),
    "calibrated": Calibrated(Binary(STRINGS[:2]), "sigmoid", np.array([-4.0]), np.array([0.5]), np.ones(1)),
    "calibrated classes": Calibrated(OneVsRest(np.arange(4)), "sigmoid", -np.arange(1.0, 5), np.zeros(4), np.ones(4)),
    "calibrated pairs": Calibrated(
        OneVsOne(np.arange(4), "ovo"), "sigmoid", -np.arange(1.0, 5), np.zeros(4), np.ones(4)
    ),
    "isotonic": Calibrated(OneVsRest(STRINGS), "isotonic", *CURVES),
    "isotonic votes": Calibrated(OneVsOne(STRINGS), "isotonic", *CURVES),
    "two isotonic": Calibrated(Binary(np.arange(2)), "isotonic", CURVES[0], np.sort(CURVES[1]), np.array([8.0])),
    "temperature": Calibrated(OneVsRest(STRINGS), "temperature", np.array([2.5]), np.zeros(1), np.ones(1)),
    "two temperatures": Calibrated(Binary(STRINGS[:2]), "temperature", np.array([2.5]), np.zeros(1), np.ones(1)),
}


def run(proto, X):
    onnx.checker.check_model(proto, full_check=True)
    session = runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    dtype = np.float32 if session.get_inputs()[0].type == "tensor(float)" else np.float64
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": np.asarray(X, dtype=dtype)})))


def machine(kernel, output, seed=0):
    k = output.n_functions + (output.kind == "transformer")
    coefficients = np.random.default_rng(seed).normal(size=(len(POINTS), k))
    scale = np.abs(kernel(QUERIES, POINTS) @ coefficients).max()
    intercept = np.linspace(-0.2, 0.2, k)
    return KernelMachine(Expansion(kernel, POINTS, coefficients / scale), intercept, output, POINTS.shape[1])


def assert_same(found, machine, X, tolerance):
    F = machine(X)
    output = machine.output
    answers = {"label", "decision"} if output.has_decision else {"label"}
    names = {"regressor": {"prediction"}, "transformer": {"coordinates"}}.get(output.kind, answers)
    assert set(found) == names | ({"probabilities"} if output.has_probabilities else set())
    values = found.get("decision", found.get("prediction", found.get("coordinates")))
    decision = output.decision(F)
    assert values.shape == decision.shape
    # Votes jump where a value is zero to within rounding.
    safe = np.min(np.abs(F), axis=1) > tolerance
    assert safe.mean() > 0.95
    np.testing.assert_allclose(values[safe], decision[safe], atol=tolerance, rtol=0)
    if "label" in found:
        assert found["label"].shape == output.predict(F).shape
        np.testing.assert_array_equal(found["label"][safe], output.predict(F)[safe])
    if "probabilities" in found:
        assert found["probabilities"].shape == output.probabilities(F).shape
        np.testing.assert_allclose(found["probabilities"], output.probabilities(F), atol=tolerance)


@for_each("dtype", ["float32", "float64"])
@for_each("output", LINKED.values(), ids=LINKED)
def test_links_and_curves(output, dtype):
    small = machine(KERNELS["Gaussian"], output)
    F, found = small(QUERIES), run(to_onnx(small, dtype=dtype), QUERIES)
    assert set(found) == ({"label", "decision"} if output.has_decision else {"label"}) | {"probabilities"}
    P = output.probabilities(F)
    # Votes jump where a value is zero to within rounding, and so do their curves; classes may be equally probable.
    steady = np.min(np.abs(F), axis=1) > 1e-4
    best = np.sort(P, axis=1)
    clear = steady & (best[:, -1] - best[:, -2] > 1e-3)
    assert clear.mean() > 0.5
    np.testing.assert_allclose(found["probabilities"][steady], P[steady], atol=1e-4 if dtype == "float32" else 1e-9)
    np.testing.assert_array_equal(found["label"][clear], output.predict(F)[clear])
    assert set(run(to_onnx(small, probabilities=False), QUERIES)) == set(found) - {"probabilities"}


# A quarter of all pairs has every kernel and every output; the others are a net.
PAIRS = [(kernel, output) for kernel in KERNELS for output in OUTPUTS]
QUARTER = [pair for pair in PAIRS if (list(KERNELS).index(pair[0]) + list(OUTPUTS).index(pair[1])) % 4 == 0]
OTHERS = [pair for pair in PAIRS if pair not in QUARTER]


@pytest.mark.parametrize(
    "pairs", [pytest.param(QUARTER, id="some"), pytest.param(OTHERS, id="others", marks=pytest.mark.net)]
)
def test_graphs_compute_what_machines_do(pairs):
    @for_each(("kernel", "output"), pairs)
    def compute(kernel, output):
        small = machine(KERNELS[kernel], OUTPUTS[output])
        assert_same(run(to_onnx(small), QUERIES), small, QUERIES, 1e-5)

    compute()


@for_each("kernel", KERNELS.values(), ids=KERNELS)
def test_double_precision_agrees_to_the_last_digits(kernel):
    for output in (OUTPUTS["one vs one"], OUTPUTS["one vs rest"]):
        small = machine(kernel, output)
        assert_same(run(to_onnx(small, dtype="float64"), QUERIES), small, QUERIES, 1e-11)


@pytest.mark.parametrize("names", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("make", [lambda svm: svm, OneVsRestClassifier], ids=["svc", "one vs rest"])
def test_compressed_classifiers_keep_labels_and_probabilities(make, names):
    X, queries = (part.astype(np.float32).astype(float) for part in inputs(0))
    original = quietly(make(SVC(gamma=0.5, probability=True, random_state=0)), X, labels(X, 0, names))
    small = compress(original, 12, X=X)
    found = run(small.to_onnx(), queries)
    assert (found["label"] == small.predict(queries)).all()
    np.testing.assert_allclose(found["decision"], small.decision_function(queries), atol=1e-5)
    np.testing.assert_allclose(found["probabilities"], small.predict_proba(queries), atol=1e-5)


def test_other_compressed_models_and_originals():
    X, queries = (part.astype(np.float32).astype(float) for part in inputs(1))
    svr = SVR(gamma=0.3).fit(X, targets(X, 1))
    for regressor in (svr, compress(svr, 10, X=X)):
        np.testing.assert_allclose(
            run(to_onnx(regressor), queries)["prediction"], regressor.predict(queries), rtol=1e-5
        )
    detector = compress(OneClassSVM(gamma=0.3).fit(X), 10, X=X)
    found = run(detector.to_onnx(), queries)
    np.testing.assert_allclose(found["decision"], detector.decision_function(queries), atol=1e-5)
    assert (found["label"] == detector.predict(queries)).all()
    pca = compress(KernelPCA(3, gamma=0.3).fit(X), 10, X=X)
    np.testing.assert_allclose(run(pca.to_onnx(), queries)["coordinates"], pca.transform(queries), atol=1e-5)


def test_an_expansion_gives_its_values():
    expansion = Expansion(Gaussian(0.1), POINTS, RNG.normal(size=(30, 2)))
    np.testing.assert_allclose(run(to_onnx(expansion), QUERIES)["values"], expansion(QUERIES), atol=1e-5)


def test_precomputed_kernels_take_rows_of_values():
    K = Gaussian(0.1)(DIGITS[:60])
    small = compress(SVC(kernel="precomputed").fit(K, np.arange(60) % 3), 10, X=K)
    found = run(small.to_onnx(), K)
    np.testing.assert_allclose(found["decision"], small.decision_function(K), atol=1e-5)


def test_the_batch_may_have_any_size():
    proto = to_onnx(machine(Gaussian(0.1), OUTPUTS["binary"]))
    assert run(proto, QUERIES[:1])["decision"].shape == (1,)
    assert run(proto, QUERIES[:7])["probabilities"].shape == (7, 2)


def test_distances_far_from_the_origin_survive_single_precision():
    far = np.float32(1000) + POINTS.astype(np.float32)
    # Two groups a long way apart: no shift helps both.
    points = np.concatenate([far, -far]).astype(float)
    expansion = Expansion(Gaussian(1.0), points, RNG.normal(size=(60, 2)))
    queries = points + RNG.choice([0, 0.125], size=points.shape)
    np.testing.assert_allclose(run(to_onnx(expansion), queries)["values"], expansion(queries), atol=1e-5)


def test_coefficients_beyond_single_precision_are_multiplied_in_double():
    points = np.concatenate([POINTS[:5], POINTS[:5] + np.float32(2**-10)])
    expansion = Expansion(Gaussian(0.1), points, 1e4 * np.repeat([[1.0], [-1.0]], 5, axis=0))
    found = run(to_onnx(expansion), QUERIES)["values"]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expansion(QUERIES), rtol=1e-5, atol=1e-5)


def numbers_in(proto):
    return {tensor.data_type for tensor in proto.graph.initializer} & {onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE}


def test_the_type_of_the_computation_and_probabilities_are_a_choice():
    small = machine(Gaussian(0.1), OUTPUTS["binary"])
    plain = to_onnx(small, compute_dtype="float32", probabilities=False)
    assert set(run(plain, QUERIES)) == {"label", "decision"} and numbers_in(plain) == {onnx.TensorProto.FLOAT}
    wide = to_onnx(small, compute_dtype="float64", probabilities=False)
    assert numbers_in(wide) == {onnx.TensorProto.DOUBLE} and run(wide, QUERIES)["decision"].dtype == np.float32
    narrow = to_onnx(small, dtype="float64", compute_dtype="float32", probabilities=False)
    assert run(narrow, QUERIES)["decision"].dtype == np.float64


class OfUser(ProfileKernel):
    """A kernel that the library does not know."""

    pairwise = SquaredDistance()

    def __init__(self, scale=1.0):
        self.scale = scale

    def profile_derivative(self, s):
        raise NotImplementedError


class Cauchy(OfUser):
    def profile(self, s):
        return np.float64(1.0) / (1 + (s / self.scale) ** 2)


class WrittenInNumPy(OfUser):
    """A profile of NumPy's functions, which know nothing of other arrays."""

    def profile(self, s):
        near = np.exp(-np.arcsinh(np.square(s / self.scale)))
        return np.where((s > 1.0) & np.less_equal(s, 20.0), near, np.clip(np.tanh(s), 0.1, 0.7) + np.ones_like(s))


class Branching(OfUser):
    """A profile that looks at the numbers themselves."""

    def profile(self, s):
        return 1 / (1 + s) if np.all(s > 0) else s


class Lookup(OfUser):
    """A profile that is no formula."""

    def profile(self, s):
        return np.interp(s, [0, 1], [1, 0])


def test_profiles_of_users_are_exported_by_their_formula():
    for kernel in (Cauchy(2.0) + Gaussian(0.1), WrittenInNumPy(5.0)):
        expansion = Expansion(kernel, POINTS, RNG.normal(size=(30, 2)))
        np.testing.assert_allclose(run(to_onnx(expansion), QUERIES)["values"], expansion(QUERIES), atol=1e-5)


def test_kernels_without_a_closed_form_are_refused_by_name():
    function = CallableKernel(lambda x, y: x @ y)
    for kernel in (function, Lookup(), Branching(), Linear() + function):
        with pytest.raises(UnsupportedKernelError, match=r"to_onnx .*(CallableKernel|Lookup|Branching)"):
            to_onnx(Expansion(kernel, POINTS, np.ones((30, 1))))


def test_wrong_arguments_are_named():
    for name in ("dtype", "compute_dtype"):
        with pytest.raises(ValueError, match=f"{name} to be 'float32' or 'float64'; got 'float16'"):
            to_onnx(machine(Linear(), Regression()), **{name: "float16"})
    with pytest.raises(ValueError, match="break_ties"):
        to_onnx(machine(Linear(), OneVsOne(np.arange(4), "ovo", True)))
