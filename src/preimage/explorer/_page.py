"""One HTML file from the data of a page, the style and the modules of the explorer."""

import base64
import hashlib
import html
from functools import cache
from string import Template
from typing import Any

from preimage.explorer._assets import asset, names_of
from preimage.explorer._bundle import bundle
from preimage.explorer._encoding import encode

# Nothing is loaded and nothing is sent: scripts and styles are those with the given hashes, pictures are made here.
_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data: blob:; base-uri 'none'; "
    "form-action 'none'"
)


def page_of(header: dict[str, Any]) -> str:
    """The page that shows a header: a complete HTML document that refers to nothing outside itself."""
    data, arrays = encode(header)
    script, style = bundle("main.js"), style_sheet()
    return Template(asset("page.html")).substitute(
        title=html.escape(str(header["title"])),
        policy=_POLICY.format(script=_hash(script), style=_hash(style)),
        style=style,
        script=script,
        data=data,
        arrays=arrays,
    )


@cache
def style_sheet() -> str:
    """All styles: the common one, then those of views and panels in the order of their names."""
    names = [name for name in names_of("css") if name.endswith(".css")]
    return "\n".join([asset("style.css"), *[asset(f"css/{name}") for name in names]])


def _hash(text: str) -> str:
    """The name by which a policy knows an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
