"""Check that links and pictures of the built site lead somewhere: ``python docs/check_links.py docs/_build/html``.

Links to other sites are not followed. Each broken one is printed with its page, and the exit status is their number, at
most 100.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ADDRESSES = {"a": "href", "link": "href", "img": "src", "script": "src", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """Addresses that a page refers to, and places on it that can be referred to."""

    def __init__(self, text):
        super().__init__()
        self.addresses, self.places = set(), {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.places |= {attributes.get("id"), attributes.get("name")} - {None}
        if address := attributes.get(ADDRESSES.get(tag, "")):
            self.addresses.add(address)


def broken_links(site):
    """Pairs of a page of the site and an address on it that leads nowhere."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in _pages(site)}
    found = []
    for path, page in pages.items():
        for address in sorted(page.addresses):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            known = target in pages and unquote(parts.fragment) in pages[target].places
            if not known and (target in pages or not target.exists()):
                found.append((path.relative_to(site), address))
    return found


def _pages(site):
    """Pages in order; those among the static files of a theme are templates."""
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]


if __name__ == "__main__":
    broken = broken_links(Path(sys.argv[1]).resolve())
    for page, address in broken:
        print(f"{page}: {address}")
    print(f"{len(broken)} broken links")
    sys.exit(min(len(broken), 100))
