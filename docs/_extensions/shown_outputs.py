"""Show below each block of code on a page what it printed and drew when it ran.

On pages that say ``fold_code: true`` in front, outputs come first and their code can be opened below them.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import running_code
from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

logger = logging.getLogger(__name__)
# In the front matter of a page.
FOLDED = re.compile(r"---\n(?:.*\n)*?fold_code: true\n(?:.*\n)*?---\n")


def setup(app):
    app.connect("env-get-outdated", _pages_with_old_outputs)
    app.connect("env-before-read-docs", _run_pages)
    app.add_transform(ShowOutputs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _page(env, name):
    """The path and the text of a page with code that runs here; None where there is none."""
    path = Path(env.doc2path(name))
    if path.suffix != ".md" or name.startswith(running_code.GENERATED):
        return None
    text = path.read_text(encoding="utf-8")
    runs = running_code.blocks(text) and not running_code.missing_packages(text)
    return (path, text) if runs else None


def _pages_with_old_outputs(app, env, added, changed, removed):
    if app.config.docs_quick:
        return []
    names = env.found_docs - added - changed
    return [name for name in names if (page := _page(env, name)) and running_code.kept_outputs(page[0]) is None]


def _run_pages(app, env, names):
    """Run the pages that will be read, as many at a time as Sphinx may use processes."""
    if app.config.docs_quick:
        return
    paths = [page[0] for name in names if (page := _page(env, name))]
    with ThreadPoolExecutor(max(1, app.parallel)) as pool:
        for path, error in zip(paths, pool.map(_error_of, paths)):
            if error:
                logger.warning("%s", error, location=str(path))


def _error_of(path):
    try:
        running_code.outputs(path)
    except running_code.PageError as error:
        return error
    return None


class ShowOutputs(SphinxTransform):
    """Insert outputs after the blocks of code they belong to."""

    default_priority = 200

    def apply(self):
        page = _page(self.env, self.env.docname)
        outputs = page and running_code.kept_outputs(page[0])
        if not outputs:
            return
        waiting = list(zip(running_code.blocks(page[1]), outputs))
        is_folded = FOLDED.match(page[1]) is not None
        for node in list(self.document.findall(nodes.literal_block)):
            if waiting and node.astext().rstrip() == waiting[0][0].code.rstrip():
                output = waiting.pop(0)[1]
                folder = "/" + running_code.OUTPUTS.relative_to(running_code.DOCS).as_posix()
                shown = _nodes(output, f"{folder}/{self.env.docname}")
                (_insert_folded if is_folded else _insert_after)(node, shown)
        for block, _ in waiting:
            logger.warning("this block of code is not found on the page", location=(self.env.docname, block.line))


def _insert_folded(node, new):
    """What a block made in its place, and the block itself behind a line that opens it."""
    drawn = any("output-figure" in each["classes"] for each in new)
    summary = "The code of this figure" if drawn else "The code"
    folded = [
        nodes.raw("", f'<details class="folded-code"><summary>{summary}</summary>', format="html"),
        node.deepcopy(),
        nodes.raw("", "</details>", format="html"),
    ]
    place = node.parent.index(node)
    node.parent[place : place + 1] = [*new, *folded]


def _insert_after(node, new):
    place = node.parent.index(node) + 1
    node.parent[place:place] = new


def _nodes(output, folder):
    shown = []
    if output.printed.strip():
        text = nodes.literal_block(output.printed.rstrip(), output.printed.rstrip(), language="text")
        shown.append(nodes.container("", text, classes=["output"]))
    for figure in output.figures:
        image = nodes.image(uri=f"{folder}/{figure.path}", alt=figure.text, width=f"{figure.width}px")
        shown.append(nodes.container("", image, classes=["output-figure"]))
    return shown
