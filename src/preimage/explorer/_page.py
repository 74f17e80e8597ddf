"""A page that shows a fitted model, and how it is made: one HTML file of data, styles and modules."""

import base64
import gzip
import hashlib
import html
import json
import os
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import Any, TypeAlias

import numpy as np

from preimage._engine.output_files import replacing
from preimage.explorer._bundle import bundle, styles
from preimage.explorer._precision import counted

# Height of the page inside a notebook, in pixels: the map and the pre-image next to it, without scrolling.
NOTEBOOK_HEIGHT = 860


class Explorer:
    """A web page with a fitted model inside; made by `explore`, shown by itself in notebooks.

    Parameters
    ----------
    header : dict
        The data of the page; `preimage.explore` makes it.

    Attributes
    ----------
    title : str
    messages : list of str
        What the page says below its title: how rows are shown, which of them are drawn, what was compressed.
    header : dict
        The data of the page.

    See Also
    --------
    preimage.explore : Makes it, and describes the page.
    preimage.plotting.NavigationDisplay : A walk as a figure.
    preimage.plotting.SpectrumDisplay : The spectrum as a figure.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from preimage import KernelPCA, explore
    >>> wine = load_wine(as_frame=True)
    >>> model = make_pipeline(StandardScaler(), KernelPCA(4, gamma=0.02)).fit(wine.data)
    >>> page = explore(model, wine.data, wine.target, title="Wines")
    >>> page
    Explorer 'Wines': 178 rows, 1 model with 4 components on 178 points
    >>> "</html>" in page.to_html()
    True
    """

    def __init__(self, header: dict[str, Any]) -> None:
        self.header = header

    @property
    def title(self) -> str:
        return self.header["title"]

    @property
    def messages(self) -> list[str]:
        return list(self.header["messages"])

    def to_html(self) -> str:
        """The page as text: one HTML document that refers to nothing outside itself."""
        return page_of(self.header)

    def save(self, path: str | os.PathLike) -> Path:
        """Write the page to a file, which appears whole or not at all.

        Parameters
        ----------
        path : str or Path
            Such as "digits.html"; an existing file is replaced.

        Returns
        -------
        Path
        """
        page = self.to_html().encode("utf-8")
        with replacing(path) as file:
            file.write_bytes(page)
        return Path(path)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, which cannot reach the notebook around it."""
        return (
            f'<iframe sandbox="allow-scripts allow-downloads allow-popups" width="100%" height="{NOTEBOOK_HEIGHT}" '
            f'title="{html.escape(self.title)}" srcdoc="{html.escape(self.to_html())}"></iframe>'
        )

    def __repr__(self) -> str:
        samples, models = self.header["samples"], self.header["models"]
        total, count = samples["total"], samples["count"]
        rows = counted(total, "row") if count == total else f"{count:,} of {counted(total, 'row')}"
        sizes = sorted({len(model["component_names"]) for model in models})
        points = sorted({model["points"].shape[0] for model in models})
        return (
            f"Explorer {self.title!r}: {rows}, {counted(len(models), 'model')} with "
            f"{counted(_range(sizes), 'component')} on {counted(_range(points), 'point')}"
        )


def _range(numbers: list[int]) -> str:
    return f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,}"


# Bytes at which arrays begin a multiple: what JavaScript's arrays of double precision ask for.
ALIGNMENT = 8
# More takes twice the time for one part in a hundred of the size.
COMPRESSION_LEVEL = 6
DTYPES = ("float32", "float64", "int32", "uint8")
# An array as it is stored: its type, its shape and its bytes.
_Stored: TypeAlias = tuple[str, tuple[int, ...], bytes]
# Inside a script element of HTML these could end it, or begin a comment; inside JSON the escape means the same.
_ESCAPES = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def encode(header: dict[str, Any]) -> tuple[str, str]:
    """A header as JSON, safe inside HTML, and its arrays as text: base64 of a block compressed by gzip.

    Parameters
    ----------
    header : dict
        Dictionaries, lists, strings, finite numbers, None, and NumPy arrays of the types in `DTYPES`, which may have
        NaN. Each array becomes ``{"array": number}`` and is described under "arrays" by its type, shape and first byte.
        Equal arrays are stored once: models of several widths have the same points.

    Returns
    -------
    text, block : str
    """
    arrays: dict[_Stored, int] = {}
    tree = _without_arrays(header, arrays)
    parts, described, first = [], [], 0
    for dtype, shape, data in arrays:
        described.append({"dtype": dtype, "shape": list(shape), "first": first})
        padding = -len(data) % ALIGNMENT
        parts.append(data + bytes(padding))
        first += len(data) + padding
    text = json.dumps({**tree, "arrays": described}, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    block = gzip.compress(b"".join(parts), COMPRESSION_LEVEL, mtime=0)  # without a time, equal pages are equal files
    return _escaped(text), base64.b64encode(block).decode("ascii")


def _without_arrays(value: Any, arrays: dict[_Stored, int]) -> Any:
    """The same tree with references in place of arrays, which are added to `arrays` with their numbers."""
    if isinstance(value, np.ndarray):
        if value.dtype.name not in DTYPES:
            raise TypeError(f"A page holds arrays of the types {', '.join(DTYPES)}; got {value.dtype.name}.")
        data = np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<"), copy=False).tobytes()
        return {"array": arrays.setdefault((value.dtype.name, value.shape, data), len(arrays))}
    if isinstance(value, dict):
        return {key: _without_arrays(each, arrays) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_arrays(each, arrays) for each in value]
    return value


def _escaped(text: str) -> str:
    # A lone surrogate has no bytes in any encoding of a file.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(_ESCAPES.get(character, character) for character in text) if _ESCAPES.keys() & set(text) else text


# Nothing is loaded and nothing is sent: scripts and styles are those with the given hashes, pictures are made here.
_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data: blob:; base-uri 'none'; "
    "form-action 'none'"
)


def page_of(header: dict[str, Any]) -> str:
    """The page that shows a header: a complete HTML document that refers to nothing outside itself."""
    data, arrays = encode(header)
    script, style = page_script(), style_sheet()
    template = (_assets() / "page.html").read_text(encoding="utf-8")
    return Template(template).substitute(
        title=html.escape(str(header["title"])),
        policy=_POLICY.format(script=_hash(script), style=_hash(style)),
        style=style,
        script=script,
        data=data,
        arrays=arrays,
    )


@cache
def page_script() -> str:
    """The script of every page: wheels have it ready, and elsewhere it is made of the modules."""
    ready = _assets() / "page.js"
    return ready.read_text(encoding="utf-8") if ready.is_file() else bundle(_assets() / "js", "main.js")


@cache
def style_sheet() -> str:
    """The style sheet of every page, likewise."""
    ready = _assets() / "page.css"
    return ready.read_text(encoding="utf-8") if ready.is_file() else styles(_assets())


def _assets() -> Traversable:
    return files("preimage.explorer") / "assets"


def _hash(text: str) -> str:
    """The name by which a policy knows an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
