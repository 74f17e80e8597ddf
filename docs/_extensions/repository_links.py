"""Links from pages to files outside the documentation lead to the repository.

Sources keep relative links, which work where the repository is read; the site has no copy of scripts and tests.
"""

import re
from pathlib import Path

from running_code import DOCS, ROOT

LINK = re.compile(r"\]\((?P<path>[^)#\s:]+)(?P<anchor>#[^)\s]*)?\)")
FENCE = re.compile(r"(^ *(`{3,}).*?^ *\2 *$)", flags=re.MULTILINE | re.DOTALL)


def setup(app):
    app.add_config_value("repository_url", "", "env", str)
    app.connect("source-read", _replace_in_page)
    app.connect("include-read", _replace_in_included)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _replace_in_page(app, name, source):
    path = Path(app.env.doc2path(name))
    if path.suffix == ".md":
        source[0] = with_repository_links(source[0], path.parent, app.config.repository_url)


def _replace_in_included(app, path, parent, source):
    if path.suffix == ".md":
        source[0] = with_repository_links(source[0], (DOCS / path).resolve().parent, app.config.repository_url)


def with_repository_links(text, folder, address):
    """The text with links to files of the repository outside the documentation replaced; code stays as it is."""

    def replaced(match):
        path = (folder / match["path"]).resolve()
        outside = path.exists() and path.is_relative_to(ROOT) and not path.is_relative_to(DOCS)
        if not outside:
            return match[0]
        kind = "tree" if path.is_dir() else "blob"
        return f"]({address}/{kind}/main/{path.relative_to(ROOT).as_posix()}{match['anchor'] or ''})"

    # Splitting by a pattern with two groups gives text, code and fence in turn.
    parts = FENCE.split(text)
    return "".join(
        LINK.sub(replaced, part) if place % 3 == 0 else part * (place % 3 == 1) for place, part in enumerate(parts)
    )
