"""Equations as MathML, which browsers draw by themselves: no script, no font and no request.

Docutils has the converter; Sphinx has no renderer that uses it.
"""

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def setup(app):
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _visit_inline(writer, node):
    writer.body.append(_mathml(node, as_block=False))
    raise nodes.SkipNode


def _visit_block(writer, node):
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    writer.body.append(f"{_mathml(node, as_block=True)}{number}</div>\n")
    raise nodes.SkipNode


def _mathml(node, as_block):
    text = node.astext().strip()
    try:
        return latex2mathml.tex2mathml(text, as_block=as_block)
    except MathError as error:
        logger.warning("cannot convert the equation %r: %s", text, error, location=node)
        return f"<code>{text}</code>"
