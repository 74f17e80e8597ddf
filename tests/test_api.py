"""The public surface: ``__all__``, first sentences and annotations; test_reference.py has the rest."""

import importlib.util
import inspect
import pkgutil
from importlib import import_module
from pathlib import Path

from for_each import for_each

import preimage

DOCS = Path(__file__).parents[1] / "docs"
spec = importlib.util.spec_from_file_location("api", DOCS / "api.py")
api = importlib.util.module_from_spec(spec)
spec.loader.exec_module(api)

NAMES = [(module, name) for module, names in api.public_names().items() for name in names]
CALLABLES = [
    (module, name)
    for module, name in NAMES
    if inspect.isclass(getattr(import_module(module), name)) or inspect.isroutine(getattr(import_module(module), name))
]
by_name = for_each(("module", "name"), CALLABLES, ids=lambda part: part)


def test_only_listed_modules_say_that_their_names_are_public():
    found = {
        f"preimage.{module.name}"
        for module in pkgutil.iter_modules(preimage.__path__)
        if not module.name.startswith("_")
        and module.name != "cli"
        and hasattr(import_module(f"preimage.{module.name}"), "__all__")
    }
    assert found | {"preimage"} == set(api.PUBLIC)


@by_name
def test_a_public_name_has_one_sentence_that_says_what_it_is(module, name):
    summary = (inspect.getdoc(getattr(import_module(module), name)) or "").split("\n\n")[0]
    assert summary and "\n" not in summary


@by_name
def test_signatures_of_public_names_are_annotated(module, name):
    value = getattr(import_module(module), name)
    methods = _methods(value) if inspect.isclass(value) else {name: value}
    for method, function in methods.items():
        signature = inspect.signature(function)
        bare = [
            parameter.name
            for parameter in signature.parameters.values()
            if parameter.name not in ("self", "cls") and parameter.annotation is parameter.empty
        ]
        assert not bare, f"{name}.{method}: no type for {bare}"
        missing = signature.return_annotation is signature.empty and method != "__init__"
        assert not missing, f"{name}.{method}: no type for what it returns"


def _methods(cls):
    """Public methods that the library itself writes, also in bases."""
    found = {}
    for base in cls.__mro__:
        if not base.__module__.startswith("preimage"):
            continue
        for name, value in vars(base).items():
            value = getattr(value, "__func__", value)
            value = value.fget if isinstance(value, property) else value
            if inspect.isfunction(value) and (not name.startswith("_") or name == "__init__"):
                # Methods that dataclasses generate have the annotations of the fields.
                found.setdefault(name, value)
    return found
