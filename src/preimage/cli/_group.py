"""How words of a command line reach their command, and what happens when it fails."""

from typing import Any

from typer.core import TyperGroup

from preimage.cli._console import plain_errors
from preimage.cli._options import OLD_SPELLINGS


class Commands(TyperGroup):
    """Commands that understand --debug at any place and older spellings, and never show a traceback by themselves."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        with plain_errors():
            return super().make_context(info_name, arranged(args), parent, **extra)

    def invoke(self, ctx: Any) -> Any:
        with plain_errors():
            return super().invoke(ctx)


def arranged(arguments: list[str]) -> list[str]:
    """Arguments with --debug in front of the command, where typer expects it, and options by their present names."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options, rest = arguments[:end], arguments[end:]
    front = ["--debug"] if "--debug" in options else []
    return [*front, *(_renamed(word) for word in options if word != "--debug"), *rest]


def _renamed(word: str) -> str:
    name, equals, value = word.partition("=")
    return OLD_SPELLINGS.get(name, name) + equals + value
