"""Give each page the description that search engines show: the beginning of its first paragraph."""

import re
from html import escape

from docutils import nodes

# Search engines cut longer ones.
LONGEST = 160


def setup(app):
    app.connect("html-page-context", _add_description)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _add_description(app, name, template, context, doctree):
    text = doctree and description(doctree)
    if text and 'name="description"' not in context.get("metatags", ""):
        context["metatags"] = context.get("metatags", "") + f'<meta name="description" content="{escape(text)}" />\n'


def description(doctree):
    """The first paragraph below the title, cut at the end of a sentence or word; empty where there is none."""
    paragraphs = (node.astext() for node in doctree.findall(nodes.paragraph) if _is_text(node))
    text = re.sub(r"\s+", " ", next((text for text in paragraphs if text.strip()), "")).strip()
    if len(text) <= LONGEST:
        return text
    cut = text[:LONGEST]
    sentence = max(cut.rfind(". "), cut.rfind("? "))
    return cut[: sentence + 1] if sentence > LONGEST // 3 else cut[: cut.rfind(" ")] + " …"


def _is_text(node):
    """Not a note, and not part of a list or table."""
    parent = node.parent
    return isinstance(parent, nodes.section | nodes.document) or parent.tagname == "desc_content"
