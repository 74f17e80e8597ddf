"""The public names, and the pages of the API reference that are written from them: ``python docs/api.py``.

A name is public when a module of `PUBLIC` has it in ``__all__``; everything else may change without notice. One page
per object says what the docstring says; ``docs/api/tasks.toml`` orders the objects by what they are for. The site's
build writes the pages, git ignores them.
"""

import enum
import functools
import inspect
import re
import tomllib
import typing
from importlib import import_module
from pathlib import Path
from textwrap import indent

import preimage

FOLDER = Path(__file__).with_name("api")
PUBLIC = tuple(f"preimage.{module}".removesuffix(".") for module in ("", *preimage.PUBLIC_MODULES))


def public_names():
    """Public names of each public module, in alphabetical order."""
    return {
        module: sorted((name for name in import_module(module).__all__ if name != "__version__"), key=str.lower)
        for module in PUBLIC
    }


@functools.cache
def public_objects():
    """Objects by the full name of their page; one that two modules offer has a page in the first of them."""
    found = {}
    for module, names in public_names().items():
        for name in names:
            value = getattr(import_module(module), name)
            if not any(value is other for other in found.values()):
                found[f"{module}.{name}"] = value
    return found


def page_of(module, name):
    """The full name of the page of a name; one that two modules offer has one page."""
    value = getattr(import_module(module), name)
    return next(full for full, other in public_objects().items() if other is value)


@functools.cache
def written():
    """What docs/api/tasks.toml says: groups of names, and texts of objects without a docstring of this library."""
    return tomllib.loads((FOLDER / "tasks.toml").read_text(encoding="utf-8"))


def tasks():
    """The groups of the index: title, text, names."""
    return written()["task"]


def texts():
    """What the pages of constants and of classes of other libraries say, in reStructuredText."""
    objects = public_objects()
    return {full: text.replace("{values}", listed(objects[full])) for full, text in written()["texts"].items()}


def listed(value):
    return "" if inspect.isclass(value) else ", ".join(f"``{each}``" for each in value)


def pages():
    """The text of every page of the reference by its file name."""
    found = {f"{full}.rst": object_page(full, value) for full, value in public_objects().items()}
    return found | {"index.rst": index_page(), "modules.rst": modules_page()}


def write(folder=FOLDER):
    """Write the pages that changed, so that a second build reads those alone; remove those of names that are gone."""
    wanted = pages()
    for path in folder.glob("*.rst"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def summary(full):
    """The first sentence of what a page says, as reStructuredText on one line, without references."""
    text = texts().get(full) or inspect.getdoc(public_objects()[full]) or ""
    return re.sub(r"\s*\[\d+\]_", "", " ".join(text.strip().split("\n\n")[0].split()))


def is_documented(full):
    """Whether an object has a docstring of this library."""
    return full not in texts()


INDEX = """\
API reference
=============

Every public name has a page with its equation, parameters, an example that runs, and links to what is related. The
names are grouped by what they are for; :doc:`modules` lists the same names by the module they are imported from, and
:ref:`genindex` lists methods as well. Names that are not listed here may change without notice.

"""
MODULES = """\
Names by module
===============

The same names as in :doc:`index`, by the module from which they are imported.

"""


def index_page():
    """The names by task; the hidden tables of contents order them alike in the navigation."""
    parts = [INDEX]
    for task in tasks():
        rows = {name: name for name in task["names"]}
        parts += [heading(task["title"], "-"), task["text"].strip() + "\n", table(rows), contents(task)]
    parts.append(".. toctree::\n   :hidden:\n   :caption: Lists\n\n   modules\n")
    return "\n".join(parts)


def modules_page():
    """The names by module."""
    parts = [MODULES]
    for module, names in public_names().items():
        rows = {name: page_of(module, name) for name in names}
        parts += [heading(f"``{module}``", "-"), f".. py:module:: {module}\n", summary_of_module(module) + "\n"]
        parts.append(table(rows))
    return "\n".join(parts)


def summary_of_module(module):
    return (inspect.getdoc(import_module(module)) or "").split("\n\n")[0].replace("\n", " ")


def heading(title, line):
    return f"{title}\n{line * len(title)}\n"


def table(pages_of):
    """Names that link to their pages, each with its sentence."""
    rows = [".. list-table::", "   :class: reference-names", "   :widths: 38 62", "   :width: 100%", ""]
    for name, page in pages_of.items():
        rows += [f"   * - :doc:`{name.rpartition('.')[2]} <{page}>`", f"     - {summary(page)}"]
    return "\n".join(rows) + "\n"


def contents(task):
    entries = [f"   {name.rpartition('.')[2]} <{name}>" for name in task["names"]]
    return "\n".join([".. toctree::", "   :hidden:", f"   :caption: {task['title']}", "", *entries]) + "\n"


def object_page(full, value):
    """A page: the name, how to import it, the docstring, methods or what comes back, and examples of the gallery."""
    module, _, name = full.rpartition(".")
    parts = [heading(name, "="), f".. code-block:: python\n\n   from {module} import {name}\n"]
    parts.append(f".. currentmodule:: {module}\n")
    if full in texts():
        kind = "exception" if inspect.isclass(value) else "data"
        parts.append(f".. py:{kind}:: {name}\n\n{indent(texts()[full].strip(), '   ')}\n")
    elif inspect.isclass(value):
        parts.append(class_body(name, value))
    else:
        parts += [f".. autofunction:: {name}\n", returned_class(value)]
    parts.append(f".. minigallery:: {full}\n   :add-heading: In the gallery\n   :heading-level: -\n")
    return "\n".join(parts)


def returned_class(function):
    """The attributes and methods of what a function returns, where that has no page of its own."""
    from numpydoc.docscrape_sphinx import SphinxDocString  # other users of this module need names alone

    cls = typing.get_type_hints(function).get("return")
    is_ours = inspect.isclass(cls) and cls.__module__.startswith("preimage.")
    if not is_ours or any(cls is value for value in public_objects().values()):
        return ""
    text = re.sub(r"\n{3,}", "\n\n", str(SphinxDocString(inspect.getdoc(cls), config={})))
    lines = [heading("What comes back", "-"), f".. py:class:: {cls.__name__}\n   :no-index:\n", indent(text, "   ")]
    for member, kind in members_of(cls)[0].items():
        text = own_docstring(next(base for base in cls.__mro__ if own_docstring(base, member)), member)
        call = member if kind == "property" else f"{member}{signature_of(cls, member)}"
        summary_of_member = inspect.cleandoc(text).split("\n\n")[0].replace("\n", " ")
        lines.append(f"   .. py:{kind}:: {call}\n      :no-index:\n\n      {summary_of_member}\n")
    return "\n".join(lines)


def signature_of(cls, member):
    """Names and defaults of the parameters of a method, in parentheses."""
    parameters = list(inspect.signature(getattr(cls, member)).parameters.values())[1:]
    return f"({', '.join(str(each.replace(annotation=each.empty)) for each in parameters)})"


def class_body(name, cls):
    """The docstring of a class, its methods in full, and a list of those that base classes describe."""
    own, inherited, foreign = members_of(cls)
    lines = [f".. autoclass:: {name}\n"]
    if issubclass(cls, enum.Enum):
        lines += [f"   .. py:attribute:: {each.name}\n      :no-index-entry:\n\n      {each.value}\n" for each in cls]
    lines += [f"   .. auto{kind}:: {member}\n" for member, kind in own.items()]
    if inherited or foreign:
        lines.append("   .. dropdown:: Inherited methods\n")
    for base, members in inherited.items():
        links = ", ".join(f":obj:`~{base}.{member}`" for member in members)
        lines.append(f"      From :obj:`~{base}`: {links}.\n")
    if foreign:
        words = ", ".join(f"``{member}``" for member in foreign)
        lines.append(f"      From scikit-learn's base classes: {words}.\n")
    return "\n".join(lines)


def members_of(cls):
    """Members with a docstring: own ones, those that a public base class describes, those of scikit-learn.

    A method that overrides one of a public base without a docstring of its own does what the base says.
    """
    bases = {base: full for full, base in public_objects().items() if inspect.isclass(base) and base is not cls}
    own, inherited, foreign = {}, {}, []
    for member in sorted({each for base in cls.__mro__ for each in vars(base)}):
        writers = [base for base in cls.__mro__ if own_docstring(base, member)]
        if not writers or (member.startswith("_") and member != "__call__"):
            continue
        public = next((base for base in writers if base in bases), None)
        if is_of_scikit_learn(writers[0], member):
            foreign.append(member)
        elif public and writers[0] is not cls:
            inherited.setdefault(bases[public], []).append(member)
        elif writers[0].__module__.startswith("preimage"):
            own[member] = kind_of(vars(writers[0])[member])
    return own, inherited, foreign


def is_of_scikit_learn(cls, member):
    """Whether scikit-learn writes a method, or generates it in a class of this library (routing of metadata)."""
    return cls.__module__.startswith("sklearn") or member.endswith("_request") or member == "get_metadata_routing"


def own_docstring(cls, member):
    """The docstring that a class itself writes for a method or property."""
    value = vars(cls).get(member)
    value = getattr(value, "__func__", value)
    value = value.fget if isinstance(value, property) else value
    return (getattr(value, "__doc__", None) or "") if inspect.isroutine(value) or callable(value) else ""


def kind_of(value):
    return "property" if isinstance(value, property | functools.cached_property) else "method"


if __name__ == "__main__":
    write()
