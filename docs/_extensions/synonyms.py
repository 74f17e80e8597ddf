"""What people type into the search: `docs/synonyms.toml` has questions for pages, which the index then knows.

A question is an entry of the index, which the whole query finds, and its words are keywords of the page, so that the
same words in another order, or with others from the page, find it too. `search_scores.js` ranks by both.
"""

import re
import tomllib

from docutils import nodes
from running_code import DOCS
from sphinx import addnodes
from sphinx.errors import ExtensionError

FILE = DOCS / "synonyms.toml"


def setup(app):
    app.connect("env-get-outdated", _pages_to_read)
    app.connect("env-before-read-docs", _check_pages)
    app.connect("doctree-read", _add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def synonyms():
    """Questions by the name of the page that answers them."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))["pages"]


def words_of(questions):
    """The words of questions, each once."""
    return sorted({word for question in questions for word in re.findall(r"[\w.]+", question)})


def _pages_to_read(app, env, added, changed, removed):
    """All pages with questions: a second build keeps of the index what is on pages, but not its entries."""
    return sorted(env.found_docs & synonyms().keys())


def _check_pages(app, env, names):
    missing = sorted(synonyms().keys() - env.found_docs)
    # The gallery and the reference are not part of a quick build.
    missing = [page for page in missing if not (app.config.docs_quick and page.startswith(("gallery/", "api/")))]
    if missing:
        raise ExtensionError(f"{FILE.name} names pages that do not exist: {', '.join(missing)}")


def _add(app, doctree):
    questions = synonyms().get(app.env.docname)
    if questions:
        entries = [("single", question, "", "main", None) for question in questions]
        doctree.insert(0, addnodes.index(entries=entries))
        doctree.insert(0, nodes.meta(name="keywords", content=", ".join(words_of(questions))))
