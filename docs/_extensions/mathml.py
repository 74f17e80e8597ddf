"""Equations as MathML, which browsers draw by themselves: no script, no font and no request.

Docutils has the converter; Sphinx has no renderer that uses it.
"""

import re
from html import escape

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)
# Spellings of LaTeX that the converter does not know, and what it knows instead.
SPELLINGS = (
    (r"\A([_^])", r"{}\1"),
    (r"\\d?frac(\d)(\d)", r"\\frac{\1}{\2}"),
    (r"\\tfrac(\d)(\d)", r"\\tfrac{\1}{\2}"),
    (r"\\dots[cbmo]?(?![A-Za-z])", r"\\ldots"),
    (r"\\([bB]igg?)(?![A-Za-z])", r"\\\1l"),
)
# A bar or bracket with an exponent is an operator alone in its row; stretched to the height of that row it would drop
# below the line.
EXPONENT_OF_A_FENCE = re.compile(r"(<m(?:sup|sub|subsup)>\s*<mo)(?![^>]*stretchy)")


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
        return converted(text, as_block)
    # The converter has no exception of its own for an argument that is missing.
    except (MathError, AttributeError, IndexError, TypeError) as error:
        logger.warning("cannot convert the equation %r: %s", text, error, location=node)
        return f"<code>{escape(text)}</code>"


def converted(text, as_block=False):
    """MathML for LaTeX."""
    for pattern, instead in SPELLINGS:
        text = re.sub(pattern, instead, text)
    return EXPONENT_OF_A_FENCE.sub(r'\1 stretchy="false"', latex2mathml.tex2mathml(text, as_block=as_block))
