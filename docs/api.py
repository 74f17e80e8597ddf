"""Write docs/api.md, the list of public names: ``python docs/api.py``.

A name is public when a module of `PUBLIC` has it in ``__all__``; its line here is the first line of its docstring.
Everything else may change without notice.
"""

import inspect
from importlib import import_module
from pathlib import Path

PAGE = Path(__file__).with_name("api.md")
PUBLIC = (
    "preimage",
    "preimage.kernels",
    "preimage.solvers",
    "preimage.landmarks",
    "preimage.reduced_sets",
    "preimage.eigensolvers",
    "preimage.model_selection",
    "preimage.calibration",
    "preimage.widths",
    "preimage.invariances",
    "preimage.geometry",
    "preimage.feature_space",
    "preimage.explorer",
    "preimage.plotting",
    "preimage.datasets",
    "preimage.neuro",
    "preimage.interop",
    "preimage.testing",
    "preimage.exceptions",
)


def public_names():
    """Public names of each public module, in alphabetical order."""
    return {
        module: sorted((name for name in import_module(module).__all__ if name != "__version__"), key=str.lower)
        for module in PUBLIC
    }


def page():
    """The text of docs/api.md."""
    parts = [
        "# Public names\n\nWhat is listed here is public; every other name may change without notice. "
        "`python docs/api.py` writes this page from the docstrings.\n"
    ]
    for module, names in public_names().items():
        parts.append(f"## {module}\n\n{_summary(import_module(module))}\n\n| Name | |\n|---|---|")
        parts += [f"| `{name}` | {_line(module, name)} |" for name in names]
        parts.append("")
    return "\n".join(parts)


def _line(module, name):
    value = getattr(import_module(module), name)
    if inspect.isclass(value) or inspect.isroutine(value):
        return _summary(value)
    if any("._" in each for each in value):  # names of private modules, which may change without notice
        return "A tuple of names of classes."
    return f"{_plural(value)} {', '.join(f'`{each}`' for each in value)}"


def _plural(value):
    return "A tuple of names:" if isinstance(value, tuple) else "Names:"


def _summary(value):
    text = inspect.getdoc(value) or ""
    return text.split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
