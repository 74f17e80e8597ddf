"""Modules and style sheets of a page as one script and one sheet.

Builds of wheels (`hatch_build.py`) load this file alone, so it needs nothing but the standard library.
"""

import re
from graphlib import CycleError, TopologicalSorter
from importlib.resources.abc import Traversable
from posixpath import dirname, join, normpath

# What modules may say about each other: imports by name at the beginning of a line, exports of declarations.
_IMPORT = re.compile(r'^import\s*\{([^}]*)\}\s*from\s*"([^"]+)";[ \t]*$', re.MULTILINE)
_EXPORT = re.compile(r"^export\s+((?:async\s+)?function\*?|class|const)\s+(\w+)", re.MULTILINE)
_LEFT_OVER = re.compile(r"^\s*(?:import|export)\b(?!\s*\()", re.MULTILINE)
# Comments on lines of their own, a quarter of the modules, are for those who read these. No text has several lines, so
# that none can have such a line.
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*\*.*?\*/[ \t]*)\n", re.MULTILINE | re.DOTALL)


def bundle(modules: Traversable, entry: str) -> str:
    """The module `entry` of a folder and those that it imports as one script, each in a scope of its own."""
    sources: dict[str, str] = {}
    needs: dict[str, list[str]] = {}
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        if name in sources:
            continue
        sources[name] = (modules / name).read_text(encoding="utf-8")
        needs[name] = [_resolved(name, path) for _, path in _IMPORT.findall(sources[name])]
        waiting += needs[name]
    try:
        order = list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        raise ValueError(f"Modules of the explorer import each other: {' → '.join(error.args[1])}.") from error
    parts = [_scoped(name, sources[name]) for name in order]
    return "\n".join(['"use strict";', "(() => {", *parts, "})();"])


def _scoped(name: str, source: str) -> str:
    """A module as a function that is called at once and returns what it exports."""

    def constants(found: re.Match) -> str:
        names = re.sub(r"\s+as\s+", ": ", found[1]).strip()
        return f"const {{ {names} }} = {_variable(_resolved(name, found[2]))};"

    exported = [found[1] for found in _EXPORT.findall(source)]
    body = _EXPORT.sub(r"\1 \2", _IMPORT.sub(constants, _COMMENT.sub("", source)))
    if _LEFT_OVER.search(body) or "</script" in body or any(line.count("`") % 2 for line in body.splitlines()):
        raise ValueError(
            f"The module {name} has an import or export that cannot be inlined, a text of several lines, or the end of "
            "a script."
        )
    return f"const {_variable(name)} = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();"


def _variable(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name.removesuffix(".js"))


def _resolved(importer: str, path: str) -> str:
    return normpath(join(dirname(importer), path))


def styles(assets: Traversable) -> str:
    """All styles of a folder: the common one, then those of views and panels in the order of their names."""
    sheets = sorted(each.name for each in (assets / "css").iterdir() if each.name.endswith(".css"))
    return "\n".join(
        (assets / name).read_text(encoding="utf-8") for name in ["style.css", *(f"css/{name}" for name in sheets)]
    )
