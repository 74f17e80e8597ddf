"""Equations as MathML, which browsers draw by themselves: no script, no font and no request.

Docutils has the converter; Sphinx has no renderer that uses it.
"""

import re
from html import escape, unescape
from xml.etree import ElementTree

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
NAMESPACE = "http://www.w3.org/1998/Math/MathML"
ElementTree.register_namespace("", NAMESPACE)
SCRIPTS = ("sub", "sup", "subsup")
FUNCTION_APPLICATION = "\u2061"  # an invisible operator between a function and its argument
THIN = "0.17em"  # LaTeX's thin space, a sixth of the size of the letters


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
    except (MathError, AttributeError, IndexError, TypeError, ElementTree.ParseError) as error:
        logger.warning("cannot convert the equation %r: %s", text, error, location=node)
        return f"<code>{escape(text)}</code>"


def converted(text, as_block=False):
    """MathML for LaTeX."""
    for pattern, instead in SPELLINGS:
        text = re.sub(pattern, instead, text)
    found = latex2mathml.tex2mathml(text, as_block=as_block)
    # Spaces are entities of HTML, which XML does not know.
    tree = ElementTree.fromstring(re.sub(r"&(?!amp;|lt;|gt;|quot;)\w+;", lambda entity: unescape(entity[0]), found))
    _put_indices_beside_accents(tree)
    _keep_fences_on_their_line(tree)
    _set_functions_apart(tree)
    return ElementTree.tostring(tree, encoding="unicode")


def _put_indices_beside_accents(tree):
    """The converter writes the index of an accented letter below it, as if it were the limit of a sum."""
    for element in tree.iter(_tag("munderover")):
        base, index, accent = element
        if accent.tag == _tag("mo") and accent.get("stretchy") == "false":
            element.tag = _tag("msub")
            element[:] = [ElementTree.Element(_tag("mover"), accent="true"), index]
            element[0].extend([base, accent])


def _keep_fences_on_their_line(tree):
    """A bar or bracket with an exponent is alone in its row; stretched to the height of it, it would drop."""
    for script in SCRIPTS:
        for element in tree.iter(_tag(f"m{script}")):
            if element[0].tag == _tag("mo"):
                element[0].set("stretchy", "false")
    # As in LaTeX, bars and angle brackets grow between \left and \right only, which the converter puts in a row.
    for row in tree.iter():
        is_pair = row.tag == _tag("mrow") and len(row) > 1 and row[0].tag == row[-1].tag == _tag("mo")
        for element in row:
            is_sized = {"stretchy", "minsize"} & set(element.attrib)
            if element.text in tuple("‖|⟨⟩") and not is_sized and not is_pair:
                element.set("stretchy", "false")


def _set_functions_apart(tree):
    """Names of functions stand apart from what is next to them, unless that is a bracket: s tanh s, but log(s)."""
    for row in list(tree.iter()):
        parts = []
        for place, element in enumerate(row):
            after = row[place + 1] if place + 1 < len(row) else element
            if element.text != FUNCTION_APPLICATION or after.text in tuple("([|‖"):
                parts.append(element)
                continue
            if len(parts) > 1 and parts[-2].tag != _tag("mo"):
                parts.insert(-1, ElementTree.Element(_tag("mspace"), width=THIN))
            parts.append(ElementTree.Element(_tag("mspace"), width=THIN))
        row[:] = parts


def _tag(name):
    return f"{{{NAMESPACE}}}{name}"
