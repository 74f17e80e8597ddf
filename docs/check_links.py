"""Check that links and pictures of the built site lead somewhere: ``python docs/check_links.py docs/_build/html``.

Links to other sites are not followed, but nothing that a page loads may come from there. Each broken link and each
foreign part is printed with its page; the exit status is 1 if there is one.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ADDRESSES = {"a": "href", "link": "href", "img": "src", "script": "src", "iframe": "src", "source": "src"}
# Relations that a browser does not load.
NAMED_ONLY = {"canonical", "next", "prev", "index", "search", "author", "license"}


class Page(HTMLParser):
    """Addresses that a page refers to, those that it loads, and places on it that can be referred to."""

    def __init__(self, path):
        super().__init__()
        self.addresses, self.loaded, self.places = set(), set(), {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.places |= {attributes.get("id"), attributes.get("name")} - {None}
        if address := attributes.get(ADDRESSES.get(tag, "")):
            self.addresses.add(address)
            if tag != "a" and not set((attributes.get("rel") or "").split()) & NAMED_ONLY:
                self.loaded.add(address)


def pages_of(site):
    """The pages of a site by their paths; those among the static files of a theme are templates."""
    paths = (path for path in sorted(site.rglob("*.html")) if "_static" not in path.relative_to(site).parts)
    return {path: Page(path) for path in paths}


def is_elsewhere(address):
    return bool(urlsplit(address).netloc)


def broken_links(site):
    """Pairs of a page of the site and an address on it that leads nowhere."""
    pages = pages_of(site)
    found = []
    for path, page in pages.items():
        for address in sorted(page.addresses):
            parts = urlsplit(address)
            if parts.scheme or is_elsewhere(address):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            has_place = target not in pages or unquote(parts.fragment) in pages[target].places
            if not (target.exists() and has_place):
                found.append((path.relative_to(site).as_posix(), address))
    return found


def foreign_parts(site):
    """Pairs of a page of the site and an address on another host that it loads."""
    return [
        (path.relative_to(site).as_posix(), address)
        for path, page in pages_of(site).items()
        for address in sorted(page.loaded)
        if is_elsewhere(address)
    ]


def _main():
    site = Path(sys.argv[1]).resolve()
    broken, foreign = broken_links(site), foreign_parts(site)
    for page, address in broken + foreign:
        print(f"{page}: {address}")
    print(f"{len(broken)} broken links, {len(foreign)} parts from elsewhere")
    return bool(broken or foreign)


if __name__ == "__main__":
    sys.exit(_main())
