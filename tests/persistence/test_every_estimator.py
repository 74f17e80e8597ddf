"""Every public estimator, fitted, goes to a file and through skops, and answers as before to the last bit."""

import importlib
import inspect

import numpy as np
import pytest
from all_estimators import MODELS, X, answers, fitted, public_estimators
from scipy import sparse
from sklearn.base import clone
from sklearn.svm import SVC

import preimage
from preimage import CompressedClassifier, KernelFisherDiscriminant, KernelKMeans, KernelPCA
from preimage.interop import SKOPS_TYPES
from preimage.persistence._file import from_bytes, to_bytes
from preimage.persistence._registry import name_of

pytest.importorskip("safetensors", reason="files are safetensors")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def models():
    return {name: fitted(name) for name in MODELS}


def assert_same_answers(found, expected):
    found, expected = answers(found), answers(expected)
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        np.testing.assert_array_equal(found[key], value, err_msg=str(key))


def learned(model):
    return {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}


def test_fitted_estimators_come_back(models, tmp_path):
    for name, model in models.items():
        path = tmp_path / f"{name}.safetensors"
        preimage.save(model, path)
        again = preimage.load(path)
        assert type(again) is type(model) and learned(again) == learned(model), name
        unsaved = (*getattr(model, "_unsaved_parameters", ()), *getattr(model, "_unsaved_once_fitted", ()))
        for key, value in model.get_params(deep=False).items():
            if key not in unsaved:
                assert repr(getattr(again, key)) == repr(value), (name, key)
        assert_same_answers(again, model)


def test_unfitted_estimators_come_back_with_all_parameters(models):
    for name, model in models.items():
        assert repr(from_bytes(to_bytes(clone(model)))) == repr(clone(model)), name
    again = from_bytes(to_bytes(CompressedClassifier(SVC(C=3.0), 5)))
    assert again.estimator.C == 3.0


def test_skops_needs_only_the_declared_types(models):
    skops = pytest.importorskip("skops.io", reason="skops files need skops")
    for name, model in models.items():
        data = skops.dumps(model)
        unknown = set(skops.get_untrusted_types(data=data)) - set(SKOPS_TYPES)
        assert not unknown, name
        assert_same_answers(skops.loads(data, trusted=SKOPS_TYPES), model)


@pytest.mark.parametrize("estimator", public_estimators(), ids=lambda each: each.__name__)
def test_every_public_estimator_is_registered_and_tried(estimator, models, tmp_path):
    assert name_of(estimator) is not None
    assert estimator in {type(model) for model in models.values()}
    model = next(model for model in models.values() if type(model) is estimator)
    model.save(tmp_path / "model.safetensors")
    loaded = preimage.load(tmp_path / "model.safetensors")
    assert not learned(clone(loaded))  # parameters are parameters, and what was learned was not


def test_declared_types_exist_and_hold_no_functions():
    for name in SKOPS_TYPES:
        module, _, attribute = name.rpartition(".")
        assert inspect.isclass(getattr(importlib.import_module(module), attribute)), name
    assert not any(name.endswith(("CallableKernel", "FunctionTransformation")) for name in SKOPS_TYPES)


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_stream_continues_after_loading(interrupted):
    model = KernelPCA(3, gamma=0.5, landmarks=20, random_state=0).partial_fit(X[:40])
    model = from_bytes(to_bytes(model)) if interrupted else model
    model.partial_fit(X[40:])
    whole = KernelPCA(3, gamma=0.5, landmarks=20, random_state=0).partial_fit(X[:40]).partial_fit(X[40:])
    np.testing.assert_array_equal(model.transform(X), whole.transform(X))


def test_sparse_precomputed_and_float32_models_come_back():
    rows, gram = sparse.csr_matrix(X), X @ X.T
    for model, inputs in [
        (KernelPCA(2, gamma=0.5).fit(rows), rows),
        (KernelPCA(2, kernel="precomputed").fit(gram), gram[:5]),
        (KernelFisherDiscriminant(kernel="precomputed").fit(gram, np.arange(len(X)) % 3), gram[:5]),
        (KernelKMeans(2, kernel="precomputed", random_state=0).fit(gram), gram[:5]),
        (KernelPCA(2, gamma=0.5).fit(X.astype(np.float32)), X.astype(np.float32)),
    ]:
        again = from_bytes(to_bytes(model))
        method = "predict" if hasattr(model, "predict") else "transform"
        found, expected = getattr(again, method)(inputs), getattr(model, method)(inputs)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


def test_feature_names_are_kept():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    again = from_bytes(to_bytes(KernelPCA(2).set_output(transform="pandas").fit(frame)))
    assert list(again.feature_names_in_) == ["a", "b", "c", "d"]
    with pytest.warns(UserWarning, match="feature names"):
        again.transform(X)


def test_models_of_tensors_come_back_as_numpy():
    torch = pytest.importorskip("torch")
    for estimator in (KernelPCA(2, gamma=0.5), KernelFisherDiscriminant(gamma=0.5)):
        model = estimator.fit(torch.asarray(X), np.arange(len(X)) % 2)
        again = from_bytes(to_bytes(model))
        np.testing.assert_allclose(again.transform(X), model.transform(torch.asarray(X)).numpy(), rtol=1e-9, atol=1e-12)
