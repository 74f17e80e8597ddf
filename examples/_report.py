"""The page of the demo: a small writer of HTML with text, tables and figures, in the order in which they are added."""

import base64
import io
import os
from collections.abc import Collection, Sequence
from html import escape
from pathlib import Path
from typing import Any

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #d9dee5; --paper: #fff; --tint: #eaf3fa; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ee; --soft: #9aa5b3; --line: #384250; --paper: #14181e; --tint: #1d3040; }
}
body { margin: 0 auto; max-width: 60rem; padding: 2.5rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
       font: 1.05rem/1.6 system-ui, sans-serif; }
h1 { font-size: 1.9rem; line-height: 1.25; margin: 0 0 1.2rem; }
h2 { font-size: 1.3rem; margin: 2.4rem 0 .6rem; padding-top: 1rem; border-top: 1px solid var(--line); }
p { max-width: 44rem; }
figure { margin: 1.6rem 0; overflow-x: auto; }
figure img { max-width: 100%; height: auto; background: #fff; border-radius: 4px; }
caption, figcaption { color: var(--soft); font-size: .92rem; text-align: left; }
figcaption { margin-top: .4rem; max-width: 44rem; }
caption { padding-bottom: .5rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .9rem .35rem 0; border-bottom: 1px solid var(--line); text-align: left; }
th { border-bottom-width: 2px; font-weight: 600; }
td.number, th.number { text-align: right; padding: .35rem .6rem; }
tr.marked td { background: var(--tint); font-weight: 600; }
pre { overflow-x: auto; padding: .9rem 1.1rem; background: var(--tint); border-radius: 6px; font-size: .92rem; }
footer { margin-top: 3rem; color: var(--soft); font-size: .88rem; }
"""


class Report:
    """One HTML page with everything inside: it can be sent by mail and opened anywhere.

    Every ``add_*`` appends to the page and returns the report, so that calls can be chained. Characters of texts
    that have a meaning in HTML are escaped.

    Parameters
    ----------
    title : str
    """

    def __init__(self, title: str) -> None:
        self.title = title
        self._parts: list[str] = []

    def add_heading(self, text: str) -> "Report":
        """Begin a section."""
        return self._add(f"<h2>{escape(text)}</h2>")

    def add_text(self, text: str) -> "Report":
        """Add paragraphs, separated by empty lines."""
        paragraphs = [part.strip() for part in text.split("\n\n") if part.strip()]
        return self._add("\n".join(f"<p>{escape(part)}</p>" for part in paragraphs))

    def add_code(self, text: str) -> "Report":
        """Add lines to type, as they are."""
        return self._add(f"<pre><code>{escape(text.strip())}</code></pre>")

    def add_table(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[Any]],
        *,
        caption: str | None = None,
        marked: Collection[int] = (),
    ) -> "Report":
        """Add a table.

        Parameters
        ----------
        header : k str
        rows : sequence of k cells each
            Format numbers first; columns of numbers are aligned to the right, a dash stands for one that is missing.
        caption : str or None, default=None
        marked : collection of int
            Numbers of the rows to highlight, from zero.
        """
        wrong = [len(row) for row in rows if len(row) != len(header)]
        if wrong:
            raise ValueError(
                f"Every row of the table needs {len(header)} cells, as the header has; got {wrong[0]}."
            )
        numeric = [
            all(_is_number(row[column]) for row in rows)
            for column in range(len(header))
        ]
        lines = ["<figure><table>"]
        lines += [f"<caption>{escape(caption)}</caption>"] if caption else []
        lines += [f"<thead><tr>{_cells('th', header, numeric)}</tr></thead>", "<tbody>"]
        for number, row in enumerate(rows):
            opening = '<tr class="marked">' if number in marked else "<tr>"
            lines.append(f"{opening}{_cells('td', row, numeric)}</tr>")
        return self._add("\n".join([*lines, "</tbody></table></figure>"]))

    def add_figure(
        self, figure: Any, *, caption: str | None = None, dpi: int = 150
    ) -> "Report":
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

    def html(self) -> str:
        """The page as a string."""
        title = escape(self.title)
        return (
            f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
            + "\n".join(self._parts)
            + "\n</body>\n</html>\n"
        )

    def write(self, path: str | Path) -> Path:
        """Write the page to a file, whole or not at all; returns its path."""
        path = Path(path)
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            temporary.write_text(self.html(), encoding="utf-8")
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        return path

    def _add(self, part: str) -> "Report":
        self._parts.append(part)
        return self


def _cells(tag: str, cells: Sequence[Any], numeric: Sequence[bool]) -> str:
    kinds = [' class="number"' if is_number else "" for is_number in numeric]
    return "".join(
        f"<{tag}{kind}>{escape(str(cell))}</{tag}>" for cell, kind in zip(cells, kinds)
    )


def _is_number(cell: Any) -> bool:
    text = str(cell).lstrip("+-−–")
    return not text or text[0].isdigit()  # a dash alone stands for a missing number


def _png(figure: Any, dpi: int) -> bytes:
    if not hasattr(figure, "savefig"):
        return Path(figure).read_bytes()
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()
