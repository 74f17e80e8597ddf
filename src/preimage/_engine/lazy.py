"""Names of a package that are imported when someone asks for them."""

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, places: Mapping[str, Iterable[str]], modules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names live in other modules.

    Parameters
    ----------
    package : str
        The name of the package, its `__name__`.
    places : mapping from names of modules to the names that they have
    modules : iterable of str
        Names of modules of the package that are its attributes as well.
    """
    home = {name: module for module, names in places.items() for name in names}
    inside = frozenset(modules)

    def __getattr__(name: str) -> Any:
        if name in inside:
            return import_module(f"{package}.{name}")
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(home[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home, *inside})

    return __getattr__, __dir__
