"""Parts that have a name: one registry per kind, from which constructors, texts, tests and the command line derive."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from inspect import signature
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Part(Generic[T]):
    """A part that users may name.

    Attributes
    ----------
    name : str
    make : callable
        The class of the part, or a function that makes one; its signature says which parameters the part has.
    help : str
        What it is, in a few words without a full stop, for tables and help pages.
    aliases : tuple of str
        Further names with the same meaning.
    on_command_line : bool
        Whether the command line offers it.
    example : callable or None
        Makes one for tests; None is the part with its default parameters.
    """

    name: str
    make: Callable[..., T]
    help: str
    aliases: tuple[str, ...] = ()
    on_command_line: bool = False
    example: Callable[[], T] | None = None

    @cached_property  # signatures take as long to read as a small fit
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters of the part."""
        return tuple(signature(self.make).parameters)

    def made(self, **parameters: Any) -> T:
        """The part with these parameters; ValueError for one that it does not have."""
        unknown = [name for name in parameters if name not in self.parameters]
        if unknown:
            known = f"its parameters are {', '.join(self.parameters)}" if self.parameters else "it has none"
            raise ValueError(f"{self.name!r} has no parameter {unknown[0]!r}; {known}.")
        return self.make(**parameters)

    def exemplar(self) -> T:
        """One of these, for tests."""
        return self.make() if self.example is None else self.example()


class Registry(Generic[T]):
    """All parts of one kind, by name.

    Parameters
    ----------
    kind : str
        What a part is called in messages, such as "kernel".
    parts : sequence of Part
    also : str
        What works in place of a name, for messages: "a Kernel of preimage.kernels".
    """

    def __init__(self, kind: str, *parts: Part[T], also: str = "") -> None:
        self.kind, self.parts, self.also = kind, parts, also
        self._by_name = {name: part for part in parts for name in (part.name, *part.aliases)}

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that is understood, in the order of the parts."""
        return tuple(self._by_name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._by_name

    def __iter__(self) -> Iterator[Part[T]]:
        return iter(self.parts)

    def __getitem__(self, name: Any) -> Part[T]:
        """The part that a name means; ValueError with all names for any other."""
        if name in self:
            return self._by_name[name]
        also = f", or {self.also}" if self.also else ""
        nearest = nearest_name(name, self.names)
        raise ValueError(f"Unknown {self.kind} {name!r}{nearest}; known are {', '.join(map(repr, self.names))}{also}.")

    def made(self, name: Any, **parameters: Any) -> T:
        """The part that a name means, with parameters that it must have."""
        return self[name].made(**parameters)

    def on_command_line(self) -> tuple[str, ...]:
        """Names that the command line offers."""
        return tuple(part.name for part in self.parts if part.on_command_line)


def nearest_name(name: Any, names: Collection[str]) -> str:
    """For messages, " (did you mean 'rbf'?)", or nothing where no name is near to what was written."""
    found = get_close_matches(name.lower(), names, 1) if isinstance(name, str) else []
    return f" (did you mean {found[0]!r}?)" if found else ""
