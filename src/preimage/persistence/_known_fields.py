"""Fields of stored objects that the installed classes do not know: of a later version, or of nobody."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from inspect import isclass, isfunction
from types import CodeType
from typing import Any

from preimage._engine.removed import REMOVED, RENAMED

# Libraries whose classes files hold; their methods are written in Python, so that their names can be read.
_LIBRARIES = ("preimage.", "sklearn.")
# What scikit-learn's functions set on every estimator.
_SET_BY_VALIDATION = ("n_features_in_", "feature_names_in_")


def unknown_fields(cls: type, names: Any) -> list[str]:
    """Those of `names` that nothing mentions in the modules which define `cls`, its bases, and what they import.

    No version of the code that wrote such a field is installed, so nothing here will read it. Parameters that have left
    the library are known.
    """
    return sorted(name for name in set(names) - _names_in(cls) if f"{cls.__name__}.{name}" not in REMOVED | RENAMED)


@cache
def _names_in(cls: type) -> frozenset[str]:
    found = set(_SET_BY_VALIDATION)
    for base in cls.__mro__:
        if base.__module__.startswith(_LIBRARIES):
            found |= _names_in_module(base.__module__)
        found.update(getattr(base, "__annotations__", ()))
    return frozenset(found)


@cache
def _names_in_module(module: str) -> frozenset[str]:
    """Attributes, arguments and words in functions of a module, and in those of others that it imports."""
    members = vars(import_module(module)).values()
    functions = [each for each in members if isfunction(each) and each.__module__.startswith(_LIBRARIES)]
    classes = [each for each in members if isclass(each) and each.__module__ == module]
    functions += [function for each in classes for function in _functions_of(each)]
    return frozenset(name for function in functions for name in _names_in_code(function.__code__))


def _functions_of(cls: type) -> Iterator[Any]:
    for member in vars(cls).values():
        for each in (
            member,
            getattr(member, "__func__", None),
            getattr(member, "fget", None),
            getattr(member, "func", 0),
        ):
            while each is not None and hasattr(each, "__wrapped__"):
                each = each.__wrapped__
            if isfunction(each):
                yield each


def _names_in_code(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_varnames
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, tuple):
            yield from (word for word in constant if isinstance(word, str))
        elif isinstance(constant, CodeType):
            yield from _names_in_code(constant)
