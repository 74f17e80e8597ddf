"""A small writer of HTML: text, tables, figures, in the order in which they are added."""

import base64
import io
import os
from html import escape
from pathlib import Path

from preimage.report._style import STYLE


class Report:
    """One HTML page with everything inside: it can be sent by mail and opened anywhere.

    Every ``add_*`` appends to the page and returns the report, so that calls can be chained. Text is text: characters
    that mean something in HTML are escaped.

    Parameters
    ----------
    title : str

    Examples
    --------
    >>> from preimage.report import Report
    >>> report = Report("Two numbers").add_text("Smaller is better.").add_table(["method", "error"], [["PCA", 0.027]])
    >>> "<td class=\\"number\\">0.027</td>" in report.html()
    True
    """

    def __init__(self, title):
        self.title = title
        self._parts = []

    def add_heading(self, text):
        """Begin a section."""
        return self._add(f"<h2>{escape(text)}</h2>")

    def add_text(self, text):
        """Add paragraphs, separated by empty lines."""
        paragraphs = [part.strip() for part in text.split("\n\n") if part.strip()]
        return self._add("\n".join(f"<p>{escape(part)}</p>" for part in paragraphs))

    def add_code(self, text):
        """Add lines to type, as they are."""
        return self._add(f"<pre><code>{escape(text.strip())}</code></pre>")

    def add_table(self, header, rows, *, caption=None, marked=()):
        """Add a table.

        Parameters
        ----------
        header : k str
        rows : sequence of k cells each
            Format numbers first; columns of numbers are aligned to the right, a dash stands for one that is missing.
        caption : str or None, default=None
        marked : collection of int
            Rows to set off, counted from zero.
        """
        wrong = [len(row) for row in rows if len(row) != len(header)]
        if wrong:
            raise ValueError(f"Every row of the table needs {len(header)} cells, as the header has; got {wrong[0]}.")
        numeric = [all(_is_number(row[column]) for row in rows) for column in range(len(header))]
        lines = ["<figure><table>"]
        lines += [f"<caption>{escape(caption)}</caption>"] if caption else []
        lines += [f"<thead><tr>{_cells('th', header, numeric)}</tr></thead>", "<tbody>"]
        for number, row in enumerate(rows):
            opening = '<tr class="marked">' if number in marked else "<tr>"
            lines.append(f"{opening}{_cells('td', row, numeric)}</tr>")
        return self._add("\n".join([*lines, "</tbody></table></figure>"]))

    def add_figure(self, figure, *, caption=None, dpi=150):
        """Add a picture, embedded in the page.

        Parameters
        ----------
        figure : matplotlib Figure, or the path of a PNG file
        caption : str or None, default=None
            Also what screen readers say.
        dpi : int, default=150
            Resolution of a matplotlib figure.
        """
        picture = base64.b64encode(_png(figure, dpi)).decode("ascii")
        image = f'<img alt="{escape(caption or "figure")}" src="data:image/png;base64,{picture}">'
        legend = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        return self._add(f"<figure>{image}{legend}</figure>")

    def html(self):
        """The page as a string."""
        title = escape(self.title)
        return (
            f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
            + "\n".join(self._parts)
            + "\n</body>\n</html>\n"
        )

    def write(self, path):
        """Write the page to a file, whole or not at all; returns its path."""
        path = Path(path)
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            temporary.write_text(self.html(), encoding="utf-8")
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        return path

    def _add(self, part):
        self._parts.append(part)
        return self


def _cells(tag, cells, numeric):
    kinds = [' class="number"' if is_number else "" for is_number in numeric]
    return "".join(f"<{tag}{kind}>{escape(str(cell))}</{tag}>" for cell, kind in zip(cells, kinds))


def _is_number(cell):
    text = str(cell).lstrip("+-−–")
    return not text or text[0].isdigit()  # a dash alone stands for a missing number


def _png(figure, dpi):
    if not hasattr(figure, "savefig"):
        return Path(figure).read_bytes()
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()
