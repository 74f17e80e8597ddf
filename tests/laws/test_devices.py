"""What tensors on a GPU demand: nobody turns them into NumPy arrays without saying so, and models can leave the device.

Tensors on the host are converted without a word, so that tests with these pass where a GPU would raise an error. Here
they refuse, as those of a GPU do.
"""

from inspect import isabstract, isclass, signature

import numpy as np
import pytest
from sklearn.base import clone
from test_consistency import CASES, parametrized, same

from preimage import KernelFisherDiscriminant, KernelPCA, SparseGreedyRegressor, explore, landmarks, solvers, to_onnx
from preimage._engine.arrays import to_numpy
from preimage.kernels import Gaussian, InverseMultiquadric, Linear, Matern, RationalQuadratic
from preimage.neuro import sensitivity_map
from preimage.persistence import on_host

torch = pytest.importorskip("torch")

# What may be asked of a fitted model with rows; and, of some, without.
OF_ROWS = (
    "transform",
    "denoise",
    "score_samples",
    "predict",
    "decision_function",
    "predict_proba",
    "predict_log_proba",
)
OF_ROWS += ("reconstruction_error", "impute")
OF_MODEL = ("component_preimages", "component_images", "cluster_preimages")
# Few rows, and as many as other routes take: held and computed matrices, iterations instead of decompositions.
SIZES = [60, pytest.param(1500, marks=pytest.mark.net)]


def is_ready(cls, method):
    """Whether a class has the method and can be made without more than a size."""
    needed = [each for each in signature(cls).parameters.values() if each.default is each.empty] if isclass(cls) else []
    return isclass(cls) and hasattr(cls, method) and not isabstract(cls) and not needed


KERNELS = ["linear", "poly", "rbf", "sigmoid", "cosine", "laplacian", "chi2"]
KERNELS += [Matern(1.0), RationalQuadratic(0.5), InverseMultiquadric(1.0), Gaussian(0.3) + Linear()]
SOLVERS = [solver() for name in solvers.__all__ if is_ready(solver := getattr(solvers, name), "solve")]
SELECTORS = [selector(20) for name in landmarks.__all__ if is_ready(selector := getattr(landmarks, name), "select")]


@pytest.fixture(autouse=True)
def on_device(monkeypatch):
    def refuse(self, *arguments, **options):
        raise TypeError("can't convert a tensor of this device to numpy")

    monkeypatch.setattr(torch.Tensor, "__array__", refuse)


def problem(n):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    return torch.asarray(X), (X[:, 0] > 0).astype(int), torch.asarray(rng.normal(size=(17, 3)).astype(np.float32))


def test_tensors_refuse_here():
    with pytest.raises(TypeError, match="this device"):
        np.asarray(torch.ones(2))


@pytest.mark.parametrize("n", SIZES)
@parametrized
def test_no_tensor_is_converted_in_silence(case, n):
    if "torch" in case.without:
        pytest.skip("takes no tensors")
    if n > 1000 and "CV" in case.name:
        pytest.skip("takes long, and the same route")
    X, y, queries = problem(n)
    model = clone(case.estimator).fit(X, y)
    for name in OF_ROWS:
        if hasattr(model, name):
            assert isinstance(getattr(model, name)(queries), torch.Tensor), name
    for name in OF_MODEL:
        if hasattr(model, name):
            getattr(model, name)()
    if hasattr(model, "inverse_transform"):
        model.inverse_transform(model.transform(queries))
    if hasattr(model, "score"):
        assert np.isfinite(model.score(queries, y[:17]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@parametrized
def test_models_and_answers_have_memory_of_their_own(case, dtype):
    if "torch" in case.without:
        pytest.skip("takes no tensors")
    X, y, queries = (rows.to(dtype) if isinstance(rows, torch.Tensor) else rows for rows in problem(60))
    model = clone(case.estimator).fit(X, y)
    methods = [name for name in OF_ROWS if hasattr(model, name)]
    given, before = queries.clone(), {name: getattr(model, name)(queries) for name in methods}
    expected = {name: answer.clone() for name, answer in before.items()}
    X[:] = 9.0
    queries[:] = 7.0
    for name in methods:
        assert torch.equal(before[name], expected[name]), f"{name} answers with memory of its argument"
        before[name][...] = 5
        again = getattr(model, name)(given)
        assert torch.equal(again, expected[name]), f"{name} of the model has changed with what the caller owns"


@pytest.mark.parametrize(
    "options",
    [{"kernel": kernel} for kernel in KERNELS]
    + [{"gamma": 0.3, "preimage": solver} for solver in SOLVERS]
    + [{"gamma": 0.3, "landmarks": selector} for selector in SELECTORS],
    ids=str,
)
def test_nor_with_any_kernel_way_back_or_choice_of_landmarks(options):
    X, _, queries = problem(200)
    model = KernelPCA(3, **options).fit(abs(X))
    Y = model.transform(abs(queries))
    for found in (Y, model.inverse_transform(Y), model.denoise(abs(queries))):
        assert isinstance(found, torch.Tensor)
        assert bool(torch.isfinite(found).all())


def test_r2_of_tensors_is_that_of_arrays():
    X, y, queries = problem(60)
    here = SparseGreedyRegressor(15, gamma=0.3).fit(to_numpy(X), y)
    there = SparseGreedyRegressor(15, gamma=0.3).fit(X, y)
    for targets in (y[:17], torch.asarray(y[:17])):
        assert there.score(queries, targets) == pytest.approx(here.score(to_numpy(queries), y[:17]), abs=1e-5)


@pytest.mark.parametrize(
    "model", [KernelPCA(3, gamma=0.3), KernelFisherDiscriminant(gamma=0.3)], ids=lambda m: type(m).__name__
)
class TestModelsLeaveTheDevice:
    def test_as_arrays(self, model):
        X, y, queries = problem(200)
        there = clone(model).fit(X, y)
        here = on_host(there)
        same(here.transform(to_numpy(queries)), to_numpy(there.transform(queries)), 1e-5)
        assert isinstance(there.transform(queries), torch.Tensor)

    def test_as_graphs(self, model):
        ReferenceEvaluator = pytest.importorskip("onnx.reference").ReferenceEvaluator
        X, y, queries = problem(200)
        there, here = (clone(model).fit(rows, y) for rows in (X, to_numpy(X)))
        graphs = [to_onnx(fitted, X=queries) for fitted in (there, here)]
        names = [[output.name for output in proto.graph.output] for proto in graphs]
        assert names[0] == names[1]
        rows = {"X": to_numpy(queries)}
        for found, expected in zip(*(ReferenceEvaluator(proto).run(None, rows) for proto in graphs), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-4)


def test_pages_of_models_on_a_device():
    X, y, _ = problem(60)
    there, here = (explore(KernelPCA(3, gamma=0.3).fit(rows), rows, y) for rows in (X, to_numpy(X)))
    assert repr(there) == repr(here)
    assert there.messages == here.messages
    assert len(there.to_html()) == pytest.approx(len(here.to_html()), rel=0.05)


def test_maps_say_where_they_work():
    X, y, _ = problem(60)
    with pytest.raises(TypeError, match="sensitivity_map works on the host; got a torch array"):
        sensitivity_map(KernelFisherDiscriminant(gamma=0.3).fit(X, y), X)


def test_most_cases_take_tensors():
    assert sum("torch" not in case.without for case in CASES) > len(CASES) / 2
    assert min(len(SOLVERS), len(SELECTORS)) > 5
