"""Inline code that begins with a public name becomes a link to its page in the reference.

On pages this is plain inline code: `KernelPCA`, `KernelPCA(0.95)`, `KernelPCA.denoise`, `preimage.solvers.FixedPoint`.
In docstrings it is text in single backticks, where names of the same class or module are known as well. Anything else
is shown as code.
"""

import re
from functools import cache

from docutils import nodes
from reference import load_names
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

logger = logging.getLogger(__name__)
NAME = re.compile(r"[A-Za-z_][\w.]*(?=$|\(|\[)")
# A name after one of these belongs to another library.
OTHERS = re.compile(r"(?:scikit-learn|SciPy|PyTorch|nilearn|Dask)(?:'s|’s)?\s+$")

# Links within links lose their text.
UNLINKED = (nodes.reference, addnodes.pending_xref, nodes.title, nodes.literal_block, nodes.term)


def setup(app):
    app.add_role("name", _role)
    app.add_post_transform(LinkNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _role(name, rawtext, text, lineno, inliner, options=None, content=()):
    """The default role of docstrings: code that remembers in which class and module it stands."""
    context = inliner.document.settings.env.ref_context
    node = nodes.literal(rawtext, text, classes=["name"])
    node["py:module"], node["py:class"] = context.get("py:module"), context.get("py:class")
    return [node], []


@cache
def public_names():
    """Full names of everything public by the short names that only one of them has."""
    found = {}
    # The modules are in the order of their importance: `explore` is that of the package, not of `preimage.explorer`.
    for module, names in load_names().public_names().items():
        for name in names:
            found.setdefault(name, f"{module}.{name}")
    return found


def may_be_link(node):
    """Whether inline code may become a link: it is in none, in no heading, and belongs to no other library."""
    parent = node.parent
    while parent is not None:
        if isinstance(parent, UNLINKED):
            return False
        parent = parent.parent
    place = node.parent.index(node)
    before = node.parent[place - 1].astext() if place else ""
    return not OTHERS.search(before) and set(node["classes"]) <= {"name"}


class LinkNames(SphinxPostTransform):
    """Replace inline code by links to the reference where it has what the code names."""

    default_priority = 8

    def run(self):
        known = public_names()
        for node in list(self.document.findall(nodes.literal)):
            if may_be_link(node) and (match := NAME.match(node.astext())):
                target = self._target(match[0], node, known)
                if target and target.docname != self.env.docname:
                    self._link(node, target)

    def _target(self, name, node, known):
        """The entry of the reference that a name means, with its full name."""
        objects = self.env.domains.python_domain.objects
        first, _, rest = name.partition(".")
        candidates = [name]
        if first in known:
            candidates += [f"{known[first]}.{rest}" if rest else known[first], known[first]]
        for context in (node.get("py:class"), node.get("py:module")):
            if context:
                candidates.append(f"{context}.{name}")
        if node.get("py:module") and node.get("py:class"):
            candidates.append(f"{node['py:module']}.{node['py:class']}.{name}")
        found = [objects[each] for each in candidates if each in objects and each.startswith("preimage.")]
        # A word such as `landmarks` is a parameter; modules are written in full.
        return next((each for each in found if each.objtype != "module" or "." in name), None)

    def _link(self, node, target):
        builder, page = self.app.builder, self.env.docname
        node.replace_self(make_refnode(builder, page, target.docname, target.node_id, node.deepcopy()))
