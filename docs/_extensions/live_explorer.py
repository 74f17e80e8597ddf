"""Pages of the explorer on pages of the site: ``{explorer} digits`` shows what explore_digits.py writes."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive, directives

FOLDER = "_live"
# The map, the picture at the pointer and the controls below them; narrow windows scroll inside.
HEIGHT = 800
EXAMPLES = Path(__file__).parents[2] / "examples" / "explore"
_USED = re.compile(r"^[`:]{3,}\{explorer\}\s+(\w+)\s*$", re.MULTILINE)
# Frames without an origin of their own: what they hold cannot reach the site.
FRAME = (
    '<iframe class="live-explorer" src="{address}" title="{title}" loading="lazy" '
    'sandbox="allow-scripts allow-downloads allow-popups" style="height: {height}px"></iframe>\n'
    '<p class="live-explorer-link"><a href="{address}">Open this page in a window of its own</a></p>'
)


def setup(app):
    app.add_directive("explorer", LiveExplorer)
    app.connect("build-finished", make_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class LiveExplorer(Directive):
    """A frame with the page that an example of the gallery writes."""

    required_arguments = 1
    option_spec = {"title": directives.unchanged_required, "height": directives.positive_int}

    def run(self):
        name = self.arguments[0]
        if not (EXAMPLES / f"explore_{name}.py").is_file():
            raise self.error(f"examples/explore has no explore_{name}.py.")
        page = self.state.document.settings.env.docname
        address = "../" * page.count("/") + f"{FOLDER}/{name}.html"
        title = escape(self.options["title"], quote=True)
        html = FRAME.format(address=address, title=title, height=self.options.get("height", HEIGHT))
        return [nodes.raw("", html, format="html")]


def pages_used(folder):
    """Names of the examples that pages below a folder show."""
    generated = ("_build", "gallery", "api")
    paths = [path for path in Path(folder).rglob("*.md") if path.relative_to(folder).parts[0] not in generated]
    return sorted({name for path in paths for name in _USED.findall(path.read_text(encoding="utf-8"))})


def make_pages(app, exception):
    """Run the examples; quick builds keep what earlier ones made."""
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(exist_ok=True)
    names = [
        name for name in pages_used(app.srcdir) if not (app.config.docs_quick and (folder / f"{name}.html").exists())
    ]
    run = lambda name: subprocess.run(
        [sys.executable, EXAMPLES / f"explore_{name}.py", folder / f"{name}.html"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    with ThreadPoolExecutor(max(1, getattr(app, "parallel", 1) or 1)) as pool:
        list(pool.map(run, names))
