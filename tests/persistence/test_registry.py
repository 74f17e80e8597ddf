"""Every kernel, solver, selector, reducer, eigensolver, transformation and output has a name in files."""

import importlib
import inspect

import numpy as np
import pytest
from for_each import for_each
from model_files import document_of, with_document

from preimage import KernelPCA
from preimage._models import machines
from preimage.kernels import Gaussian, Linear, Product, Sum
from preimage.persistence._file import from_bytes, to_bytes
from preimage.persistence._registry import RENAMED, ROOMS, class_named, name_of, registered_classes
from preimage.solvers import FixedPoint, Mixtures

pytest.importorskip("safetensors", reason="files are safetensors")

FAMILIES = {
    "kernels": "Kernel",
    "solvers": "Preimage",
    "landmarks": "LandmarkSelector",
    "reduced_sets": "Reducer",
    "eigensolvers": "Eigensolver",
    "invariances": "Transformation",
    "_models.machines": "Output",
}
# They hold functions, which are code.
LEFT_OUT = {"CallableKernel", "FunctionTransformation"}
# What classes need that have no default for it.
NEEDED = {
    "kernel": Gaussian(0.5),
    "left": Gaussian(0.5),
    "right": Linear(),
    "factor": 2.0,
    "exponent": 2,
    "weights": np.ones(4),
    "matrix": np.eye(4),
    "origin": np.zeros(4),
    "image_shape": (2, 2),
    "gram": None,
    "n_landmarks": 3,
    "solver": FixedPoint(),
    "shape": (2, 2),
    "family": Mixtures(np.eye(4)),
}


def members(room, base):
    module = importlib.import_module(f"preimage.{room}")
    family = getattr(module, base)
    found = [each for each in vars(module).values() if inspect.isclass(each) and issubclass(each, family)]
    return [each for each in found if not inspect.isabstract(each) and each.__name__ not in LEFT_OUT]


MEMBERS = [each for room, base in FAMILIES.items() for each in members(room, base)]


@for_each("cls", MEMBERS, ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_every_member_of_a_family_is_registered(cls):
    name = name_of(cls)
    assert name is not None and class_named(name) is cls


@for_each("cls", [cls for cls in MEMBERS if not issubclass(cls, machines.Output)], ids=lambda cls: cls.__name__)
def test_every_value_comes_back_with_its_parameters(cls):
    needed = {
        name: NEEDED[name]
        for name, parameter in inspect.signature(cls).parameters.items()
        if parameter.default is parameter.empty
    }
    value = cls(**needed)
    again = from_bytes(to_bytes(value))
    assert type(again) is cls and repr(again) == repr(value)


def test_names_are_distinct_and_functions_are_left_out():
    names = [name_of(cls) for cls in registered_classes()]
    assert len(set(names)) == len(names) and None not in names
    assert not LEFT_OUT & {cls.__name__ for cls in registered_classes()}
    assert {name.split(".")[0] for name in names} <= set(ROOMS)


@pytest.mark.parametrize("name", ["kernels.nothing", "os.path", "sklearn.tree.DecisionTreeClassifier", "", None, 3])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match="does not store"):
        class_named(name)


def test_sums_of_any_kernels_are_kernels_of_files():
    kernel = Sum(Product(Gaussian(0.1), Linear()), 2.0 * Gaussian(0.3) ** 2)
    assert from_bytes(to_bytes(kernel)).is_same(kernel)


def test_every_new_name_is_the_name_of_a_class_and_no_old_one_is():
    for old, new in RENAMED.items():
        assert name_of(class_named(old)) == new and new not in RENAMED


def test_files_with_an_old_name_of_a_class_are_read(monkeypatch):
    monkeypatch.setitem(RENAMED, "models.OldPCA", "estimators.KernelPCA")
    X = np.random.default_rng(0).normal(size=(20, 3))
    data = to_bytes(KernelPCA(2, gamma=0.5).fit(X))
    document = document_of(data)
    document["value"]["class"] = "models.OldPCA"
    again = from_bytes(with_document(data, document))
    np.testing.assert_array_equal(again.transform(X), from_bytes(data).transform(X))
