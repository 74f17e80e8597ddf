"""One HTML file from the data of a page, the style and the modules of the explorer."""

import base64
import hashlib
import html
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from posixpath import dirname, join, normpath
from string import Template
from typing import Any

from preimage.explorer._encoding import encode

# What modules may say about each other: imports by name at the beginning of a line, exports of declarations.
_IMPORT = re.compile(r'^import\s*\{([^}]*)\}\s*from\s*"([^"]+)";[ \t]*$', re.MULTILINE)
_EXPORT = re.compile(r"^export\s+((?:async\s+)?function\*?|class|const)\s+(\w+)", re.MULTILINE)
_LEFT_OVER = re.compile(r"^\s*(?:import|export)\b(?!\s*\()", re.MULTILINE)
# Nothing is loaded and nothing is sent: scripts and styles are those with the given hashes, pictures are made here.
_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data: blob:; base-uri 'none'; "
    "form-action 'none'"
)


def page_of(header: dict[str, Any]) -> str:
    """The page that shows a header: a complete HTML document that refers to nothing outside itself."""
    data, arrays = encode(header)
    script, style = bundle("main.js"), style_sheet()
    return Template(_asset("page.html")).substitute(
        title=html.escape(str(header["title"])),
        policy=_POLICY.format(script=_hash(script), style=_hash(style)),
        style=style,
        script=script,
        data=data,
        arrays=arrays,
    )


@cache
def bundle(entry: str) -> str:
    """The module `entry` and those that it imports as one script, each in a scope of its own.

    Exports are properties of ``window.preimageModules[entry]`` for the entry alone.
    """
    sources: dict[str, str] = {}
    needs: dict[str, list[str]] = {}
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        if name in sources:
            continue
        sources[name] = _asset(f"js/{name}")
        needs[name] = [_resolved(name, path) for _, path in _IMPORT.findall(sources[name])]
        waiting += needs[name]
    try:
        order = list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        raise ValueError(f"Modules of the explorer import each other: {' → '.join(error.args[1])}.") from error
    parts = [_scoped(name, sources[name]) for name in order]
    last = f"window.preimageModules = {{ {entry!r}: {_variable(entry)} }};"
    return "\n".join(['"use strict";', "(() => {", *parts, last, "})();"])


@cache
def style_sheet() -> str:
    """All styles: the common one, then those of views and panels in the order of their names."""
    folder = files("preimage.explorer") / "assets" / "css"
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".css"))
    return "\n".join([_asset("style.css"), *[_asset(f"css/{name}") for name in names]])


def _scoped(name: str, source: str) -> str:
    """A module as a function that is called at once and returns what it exports."""

    def constants(found: re.Match) -> str:
        names = re.sub(r"\s+as\s+", ": ", found[1]).strip()
        return f"const {{ {names} }} = {_variable(_resolved(name, found[2]))};"

    exported = [found[1] for found in _EXPORT.findall(source)]
    body = _EXPORT.sub(r"\1 \2", _IMPORT.sub(constants, source))
    if _LEFT_OVER.search(body) or "</script" in body:
        raise ValueError(f"The module {name} has an import or export that cannot be inlined, or the end of a script.")
    return f"const {_variable(name)} = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();"


def _variable(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name.removesuffix(".js"))


def _resolved(importer: str, path: str) -> str:
    return normpath(join(dirname(importer), path))


@cache
def _asset(name: str) -> str:
    return (files("preimage.explorer") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The name by which a policy knows an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
