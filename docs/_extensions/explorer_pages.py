"""Pages to explore in the gallery: files next to the pages that show them, loaded when they come into view."""

import shutil
from html import escape
from pathlib import Path

FOLDER = "pages"
# The map, the picture under the pointer and the controls below them, without a scroll bar at the width of the gallery.
HEIGHT = 820
FRAME = """
.. raw:: html

    <iframe src="{address}" title="{title}" loading="lazy" sandbox="allow-scripts allow-downloads allow-popups"
            style="width: 100%; height: {height}px; border: 1px solid var(--pst-color-border); border-radius: 4px">
    </iframe>
    <p><a href="{address}">Open this page in a window of its own</a></p>

"""


def setup(app):
    app.connect("build-finished", _copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def scrape(block, block_vars, gallery_conf):
    """Show the file that an example of the gallery wrote to its `PAGE`."""
    page = block_vars["example_globals"].get("PAGE")
    if page is None or not Path(page).exists():
        return ""
    target = Path(block_vars["target_file"])
    folder = target.parent / FOLDER
    folder.mkdir(exist_ok=True)
    shutil.move(page, folder / f"{target.stem}.html")
    title = escape(block_vars["example_globals"]["page"].title)
    return FRAME.format(address=f"{FOLDER}/{target.stem}.html", title=title, height=HEIGHT)


def _copy(app, exception):
    if exception is None and app.builder.format == "html":
        for folder in Path(app.srcdir, "gallery").glob(f"*/{FOLDER}"):
            shutil.copytree(folder, Path(app.outdir) / folder.relative_to(app.srcdir), dirs_exist_ok=True)
