"""References that begin with an initial: "S. Mika et al." is no list whose first item is S."""

from docutils import nodes
from sphinx.transforms import SphinxTransform


def setup(app):
    app.add_transform(KeepInitials)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class KeepInitials(SphinxTransform):
    """Turn lists with letters in footnotes and citations back into text."""

    default_priority = 215

    def apply(self):
        for kind in (nodes.footnote, nodes.citation):
            for reference in self.document.findall(kind):
                for found in list(reference.findall(nodes.enumerated_list)):
                    if found["enumtype"] in ("upperalpha", "upperroman") and len(found) == 1:
                        found.replace_self(with_initial(found))


def with_initial(found):
    """The parts of a list of one item, with its letter in front."""
    start, roman = found.get("start", 1), {1: "I", 5: "V", 10: "X", 50: "L", 100: "C", 500: "D", 1000: "M"}
    letter = roman[start] if found["enumtype"] == "upperroman" else chr(ord("A") + start - 1)
    parts = list(found[0].children)
    parts[0].insert(0, nodes.Text(f"{letter}. "))
    return parts
