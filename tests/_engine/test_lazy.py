"""What is imported, and when: counted in modules, since seconds differ from machine to machine."""

import ast
import importlib
import inspect
import pickle
import subprocess
import sys

import pytest

import preimage
from preimage._engine.lazy import lazy_names

# Modules on top of `sklearn.base`, and a third more. Rich comes with scikit-learn's callbacks.
MOST_OF_ESTIMATOR = 300
# Parts of scikit-learn that no fit of kernel PCA needs.
HEAVY = (
    "sklearn.cluster",
    "sklearn.linear_model",
    "sklearn.metrics",
    "sklearn.svm",
    "sklearn.tree",
    "matplotlib",
    "torch",
)


def imported_by(statement):
    """Names of modules that a statement imports in a new process that has `sklearn.base`."""
    code = f"import sys, sklearn.base\nbefore = {{*sys.modules}}\n{statement}\nprint(*({{*sys.modules}} - before))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_the_package_imports_next_to_nothing():
    assert set(imported_by("import preimage")) == {"preimage", "preimage._engine", "preimage._engine.lazy"}


def test_an_estimator_imports_what_it_uses():
    found = imported_by("from preimage import KernelPCA; KernelPCA(1).fit([[0.0], [1.0], [3.0]]).transform([[2.0]])")
    assert "preimage.estimators._kernel_pca" in found
    assert len(found) <= MOST_OF_ESTIMATOR
    assert not [name for name in found if name.startswith(HEAVY)]
    assert not [name for name in found if name.startswith(("preimage.cli", "preimage.explorer", "preimage.neuro"))]


@pytest.mark.parametrize("name", sorted({*preimage.__all__, *preimage.PUBLIC_MODULES}))
def test_names_are_found_and_listed(name):
    assert name in dir(preimage)
    assert getattr(preimage, name) is getattr(preimage, name)


def test_names_of_estimators_are_found():
    package = importlib.import_module("preimage.estimators")
    for place, names in package._PLACES.items():
        for name in names:
            assert getattr(package, name) is getattr(importlib.import_module(place), name)
            assert name in dir(package)


@pytest.mark.parametrize("name", ["preimage", "preimage.estimators", "preimage.persistence"])
def test_names_for_type_checkers_are_those_that_are_found(name):
    package = importlib.import_module(name)
    tree = ast.parse(inspect.getsource(package))
    blocks = [node.body for node in tree.body if isinstance(node, ast.If) and node.test.id == "TYPE_CHECKING"]
    written = {alias.name: node.module for node in blocks[0] for alias in node.names}
    assert len(blocks) == 1
    for each, module in written.items():
        assert getattr(package, each) is getattr(importlib.import_module(module), each)
    if name == "preimage":
        assert {*written} == {*package.__all__} - {"__version__"}
    else:
        assert {*written} == {each for names in package._PLACES.values() for each in names}


def test_unknown_names_are_attribute_errors():
    for package in ("preimage", "preimage.estimators", "preimage.persistence"):
        with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'NoSuchName'"):
            getattr(importlib.import_module(package), "NoSuchName")  # noqa: B009
    with pytest.raises(ImportError):
        from preimage import NoSuchName  # noqa: F401


def test_classes_are_pickled_by_their_own_module():
    assert pickle.loads(pickle.dumps(preimage.KernelPCA)) is preimage.KernelPCA


def test_a_name_is_found_once(monkeypatch):
    monkeypatch.setitem(sys.modules, "made_up", type(sys)("made_up"))
    get, names = lazy_names("made_up", {"math": ["pi"]}, ["inner"])
    assert names() == sorted({*vars(sys.modules["made_up"]), "pi", "inner"})
    assert get("pi") == sys.modules["made_up"].pi
