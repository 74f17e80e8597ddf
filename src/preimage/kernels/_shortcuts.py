"""Faster forms of a method, which a class must not inherit where it has another form of the method itself."""

from typing import Any


def is_outdated(cls: type, shortcut: str, *methods: str) -> bool:
    """Whether a class takes `shortcut` from farther up than one of the `methods` whose results it must give."""
    return any(_distance(cls, shortcut) > _distance(cls, method) for method in methods)


def drop_outdated(cls: type, plain: Any, shortcuts: tuple[str, ...], *methods: str) -> None:
    """Give a class the forms of the class `plain`, which call the `methods`, for shortcuts that are outdated.

    They would give values of a parent class, without any error. Methods may come from the class itself or from one
    that it is mixed with.
    """
    for name in shortcuts:
        if is_outdated(cls, name, *methods):
            setattr(cls, name, getattr(plain, name))


def _distance(cls: type, name: str) -> int:
    return next(number for number, each in enumerate(cls.__mro__) if name in vars(each))
